// Offers the documents whose name contains what is typed. Without this file the page lists them after sending.
"use strict";

const field = document.getElementById("name");
const list = document.getElementById("names");
const WAIT_MS = 150;
let timer = 0;
let running = null;

async function offer() {
  running?.abort();
  running = new AbortController();
  const url = `${field.dataset.url}?${new URLSearchParams({ name: field.value })}`;
  try {
    const documents = await (await fetch(url, { signal: running.signal })).json();
    list.replaceChildren(...documents.map(({ source, title }) => {
      const option = document.createElement("option");
      option.value = source;
      if (title && title !== source) option.label = `${title} (${source})`;
      return option;
    }));
  } catch {
    list.replaceChildren();  // a help that is missing; the form works without it
  }
}

field.addEventListener("input", () => {
  clearTimeout(timer);
  if (field.value.trim()) timer = setTimeout(offer, WAIT_MS);
});
if (field.value.trim() && field.value !== field.defaultValue) offer(); // it was typed before this script ran
