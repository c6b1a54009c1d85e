// Keeps the line on indexing up to date. In the chat it is of the datasets that the question is searched in, and looked
// at as soon as these change.
"use strict";

{
  const POLL_MS = { indexing: 1500, failed: 5000, ready: 4000 };
  const ASKED = ["d", "offered", "assistant", "conversation"];
  const REST = 5; // times as long where nothing is shown
  let polling = 0;
  let looks = 0;

  function address(line, form) {
    const asked = form ? [...new FormData(form)].filter(([name]) => ASKED.includes(name)) : [];
    return asked.length ? `${line.dataset.url}?${new URLSearchParams(asked)}` : line.dataset.url;
  }

  async function look() {
    clearTimeout(polling);
    const mine = ++looks;
    const line = document.getElementById("status");
    const form = line.closest("form");
    let wait = POLL_MS.ready;
    try {
      if (!document.hidden) {
        const response = await fetch(address(line, form));
        if (!response.ok) throw new Error(response.statusText);
        const status = await response.json();
        if (mine !== looks) return; // the datasets have changed since
        if (line.textContent !== status.text) line.textContent = status.text;
        line.className = status.state;
        wait = (POLL_MS[status.state] ?? wait) * (form && status.state === "ready" ? REST : 1);
      }
    } catch {
      wait = POLL_MS.failed;
    }
    clearTimeout(polling);
    polling = setTimeout(look, wait);
  }

  document.addEventListener("change", ({ target }) => ASKED.includes(target.name) && look());
  look();
}
