// Keeps the line on indexing up to date.
"use strict";

const POLL_MS = { indexing: 1500, failed: 5000, ready: 4000 };

async function poll() {
  const line = document.getElementById("status");
  let wait = POLL_MS.ready;
  try {
    if (!document.hidden) {
      const response = await fetch(line.dataset.url);
      if (!response.ok) throw new Error(response.statusText);
      const status = await response.json();
      if (line.textContent !== status.text) line.textContent = status.text;
      line.className = status.state;
      wait = POLL_MS[status.state] ?? wait;
    }
  } catch {
    wait = POLL_MS.failed;
  }
  setTimeout(poll, wait);
}

poll();
