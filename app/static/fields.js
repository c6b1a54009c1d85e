// The form works without this file. With it, the page says what is being done, and the comparison appears as it grows.
"use strict";

const form = document.getElementById("search");
const results = document.getElementById("results");
const announcer = document.getElementById("announcer");
let running = null;
let written = null;

async function compare() {
  running?.abort();
  running = new AbortController();
  written = new Growing();
  const { signal } = running;
  begin();
  if (matchMedia("(max-width: 800px)").matches) document.getElementById("picker").open = false;
  try {
    const headers = { Accept: "text/event-stream" };
    const response = await fetch(form.action, { method: "POST", body: new FormData(form), headers, signal });
    if (response.status === 401) {
      remember();
      return location.reload(); // the form to sign in comes back to these fields
    }
    if (response.ok) await read(response.body);
    else refuse(await response.json());
  } catch (error) {
    if (error.name !== "AbortError") refuse({ title: form.dataset.offline });
  }
  if (running.signal === signal) results.removeAttribute("aria-busy");
}

async function read(body) {
  let rest = "";
  let ended = false;
  for await (const text of chunks(body)) {
    const events = (rest + text).split("\n\n");
    rest = events.pop();
    for (const event of events) ended = ["answer", "error"].includes(take(event)) || ended;
  }
  if (!ended) refuse({ title: form.dataset.offline });  // the server went away in the midst of it
}

async function* chunks(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
}

function take(event) {
  const [, kind, data] = /^event: (\w+)\ndata: (.*)$/.exec(event) ?? [];
  if (kind) SHOW[kind]?.(JSON.parse(data));
  return kind;
}

// ---- what is shown

const SHOW = {
  stage: ({ text }) => step(text),
  query: ({ text }) => note(text),
  search: ({ text }) => note(text),
  text: (values) => written.show(results.querySelector(".text"), values),
  answer: ({ html }) => {
    results.innerHTML = html;
    announcer.textContent = results.querySelector(".summary").textContent.replace(/\s+/g, " ").trim();
    remember();
  },
  error: ({ html }) => { results.innerHTML = html; },
};

function begin() {
  const heading = document.createElement("h1");
  heading.id = "results-heading";
  heading.textContent = form.dataset.wait;
  const stages = document.createElement("ol");
  stages.className = "stages";
  const text = document.createElement("div");
  text.className = "text";
  const box = document.createElement("div");
  box.className = "answer";
  box.append(heading, stages, text);
  results.replaceChildren(box);
  results.setAttribute("aria-busy", "true");
  results.scrollIntoView({ block: "nearest" });
}

function step(text) {
  const stages = results.querySelector(".stages");
  const last = stages.lastElementChild;
  last?.removeAttribute("aria-current");
  last?.classList.add("done");
  const item = document.createElement("li");
  item.setAttribute("aria-current", "step");
  item.textContent = text;
  stages.append(item);
  announcer.textContent = text;
}

function note(text) {
  const last = results.querySelector(".stages").lastElementChild;
  if (last) last.textContent += ` ${text}`;
}

function refuse({ title, detail }) {
  const notice = document.createElement("p");
  notice.className = "notice";
  notice.setAttribute("role", "alert");
  notice.textContent = [title, detail].filter(Boolean).join(": ");
  results.replaceChildren(notice);
}

// The way back from a passage leads to this address, which fills the form in again.
function remember() {
  const fields = new FormData(form);
  fields.delete("csrf_token");
  const address = `${location.pathname}?${new URLSearchParams(fields)}`;
  if (address.length < 6000) history.replaceState(null, "", address);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  compare();
});
if ("starts" in form.dataset) compare();
