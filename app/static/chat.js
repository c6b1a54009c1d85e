// Every part of the chat works without this file, a page at a time. With it, answers appear as they are written.
"use strict";

const form = document.getElementById("composer");
const box = form.elements.text;
const log = document.getElementById("log");
const said = form.dataset;
const csrf = document.querySelector("meta[name=csrf-token]").content;
const SILENCE_MS = 45_000; // the server says something every 15 seconds

let running = null; // { abort, stop } while an answer is being written

function announce(text) {
  document.getElementById("announcer").textContent = text;
}

function post(url, fields, options = {}) {
  return fetch(url, { method: "POST", body: fields, ...options, headers: { "X-CSRFToken": csrf, Accept: "application/json", ...options.headers } });
}

function reveal(root) {
  for (const element of root.querySelectorAll(".script[hidden]")) element.hidden = false;
}

// ---- asking

async function ask(text) {
  if (running || !text.trim()) return;
  const turn = pendingTurn(text);
  const fields = new FormData(form);
  fields.set("text", text);
  const abort = new AbortController();
  running = { abort, stop: null };
  busy(true);
  announce(said.asking);
  let silence = null;
  const watch = () => {
    clearTimeout(silence);
    silence = setTimeout(() => abort.abort("silence"), SILENCE_MS);
  };
  try {
    watch();
    const response = await post(form.action, fields, { signal: abort.signal, headers: { Accept: "text/event-stream" } });
    if (!response.ok || !response.headers.get("Content-Type").startsWith("text/event-stream")) {
      fail(turn, text, await problemOf(response));
      return;
    }
    let finished = false;
    for await (const { kind, values } of events(response.body, watch)) {
      finished ||= kind === "answer" || kind === "error";
      happened(turn, text, kind, values);
    }
    if (!finished) fail(turn, text, { title: said.broken });
  } catch {
    const stopped = abort.signal.aborted && abort.signal.reason !== "silence";
    fail(turn, text, { title: stopped ? said.stopped : said.offline });
  } finally {
    clearTimeout(silence);
    running = null;
    busy(false);
  }
}

async function* events(body, received) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    received();
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const [, kind, data] = /^event: (\w+)\ndata: (.*)$/s.exec(block) ?? [];
      if (kind) yield { kind, values: JSON.parse(data) };
    }
  }
}

async function problemOf(response) {
  try {
    return await response.json();
  } catch {
    return { title: said.failed };
  }
}

function happened(turn, text, kind, values) {
  if (kind === "turn") running.stop = values.stop;
  else if (kind === "text") turn.querySelector(".prose").innerHTML = values.html;
  else if (kind === "answer") finish(turn, values);
  else if (kind === "error") fail(turn, text, values);
  else progress(turn, kind, values.text);
}

function pendingTurn(text) {
  for (const part of document.querySelectorAll(".first")) part.remove();
  const turn = document.getElementById("pending").content.firstElementChild.cloneNode(true);
  turn.querySelector(".question p").textContent = text;
  log.append(turn);
  if (turn.previousElementSibling) turn.scrollIntoView({ block: "start" }); // the first one is at the top
  return turn;
}

function progress(turn, kind, text) {
  const line = document.createElement("li");
  line.className = kind;
  line.textContent = text;
  turn.querySelector(".progress").append(line);
}

function finish(turn, values) {
  const page = new DOMParser().parseFromString(values.html, "text/html").body.firstElementChild;
  reveal(page);
  page.classList.add("fresh");
  turn.replaceWith(page);
  document.getElementById("conversations").innerHTML = values.sidebar;
  if (form.action !== new URL(values.messages, location).href) {
    form.action = values.messages;
    history.replaceState(null, "", values.conversation);
  }
  const heading = document.getElementById("chat-heading");
  heading.textContent = values.title;
  heading.classList.remove("visually-hidden");
  document.title = `${values.title} · Braid`;
  announce(said.ready);
}

// The question stays where it is, with a button to ask it again.
function fail(turn, text, problem) {
  turn.classList.add("failed");
  turn.removeAttribute("aria-busy");
  const notice = turn.querySelector(".notice");
  notice.hidden = false;
  notice.querySelector("strong").textContent = problem.title || said.failed;
  notice.querySelector(".detail").textContent = problem.message ?? problem.detail ?? "";
  notice.querySelector(".again").addEventListener("click", () => {
    if (running) return;
    turn.remove();
    ask(text);
  });
  announce(`${problem.title || said.failed} ${problem.message ?? problem.detail ?? ""}`);
}

function busy(is) {
  document.getElementById("send").hidden = is;
  document.getElementById("stop").hidden = !is;
  if (!is && document.activeElement === document.body) box.focus({ preventScroll: true });
}

function stop() {
  const { stop: address, abort } = running ?? {};
  if (!abort) return;
  if (!address) abort.abort("stopped");
  else post(address, new FormData()).catch(() => abort.abort("stopped"));
}

// ---- the composer

function grow() {
  if (CSS.supports("field-sizing", "content")) return;
  box.style.setProperty("height", "auto");
  box.style.setProperty("height", `${box.scrollHeight + 2}px`);
}

box.addEventListener("input", grow);
box.addEventListener("keydown", (event) => {
  // While Japanese or Korean is being composed, Enter accepts a candidate; Safari says so by the key code alone.
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  event.preventDefault();
  form.requestSubmit();
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (running) return;
  const example = event.submitter?.name === "example" ? event.submitter.value : "";
  const text = example || box.value;
  if (!example) box.value = "";
  grow();
  ask(text);
});
document.getElementById("stop").addEventListener("click", stop);
document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && !hidePreview() && !document.querySelector("dialog[open], [popover]:popover-open")) stop();
  if (event.key !== "/" || event.target.closest("input, textarea, select, dialog")) return;
  event.preventDefault();
  box.focus();
});

// ---- how to search

const options = document.getElementById("options");
const paces = form.elements.pace;

// What the experts' values are is said only while they are in force.
function nameOptions() {
  const isExpert = paces.value === "expert";
  for (const name of ["mode", "strategy"]) {
    const chosen = options.querySelector(`[name=${name}]:checked`)?.parentElement.querySelector(".name");
    const text = chosen?.firstChild.textContent.trim() ?? "";
    document.querySelector(`#options-button .${name}`).textContent = isExpert ? text : "";
  }
  options.querySelector("output[for=alpha]").textContent = Number(form.elements.alpha.value).toFixed(2);
}

options.addEventListener("input", () => {
  paces.value = "expert";
  nameOptions();
});
for (const pace of paces) pace.addEventListener("change", nameOptions);

// ---- the side bar

const dialog = document.getElementById("dialog");
const find = document.getElementById("find");
let searching = 0;

find.addEventListener("submit", (event) => event.preventDefault());
find.addEventListener("input", () => {
  clearTimeout(searching);
  searching = setTimeout(async () => {
    const wanted = new URLSearchParams(new FormData(find));
    const response = await fetch(`${find.dataset.list}?${wanted}`).catch(() => null);
    if (!response?.ok) return announce(said.offline);
    const list = document.getElementById("conversations");
    list.innerHTML = await response.text();
    announce(said.listed.replace("{count}", list.querySelectorAll("li").length));
  }, 200);
});

async function manage(link) {
  const response = await fetch(link.href).catch(() => null);
  const page = response?.ok && new DOMParser().parseFromString(await response.text(), "text/html").getElementById("manage");
  if (!page) return location.assign(link.href);
  const close = document.createElement("form");
  close.method = "dialog";
  const button = document.createElement("button");
  button.className = "quiet";
  button.textContent = document.querySelector("#history .phone").textContent;
  close.append(button);
  page.querySelector(".back").replaceWith(close);
  page.querySelector("h1").outerHTML = page.querySelector("h1").outerHTML.replace(/h1/g, "h2");
  page.classList.remove("card", "narrow");
  dialog.replaceChildren(page);
  dialog.showModal();
}

// ---- answers: copy, ask again, thumbs, citations

async function copy(button) {
  const label = button.querySelector("span");
  const before = label.textContent;
  let done = true;
  try {
    await navigator.clipboard.writeText(button.dataset.text);
  } catch {
    done = copyTheOldWay(button.dataset.text); // over plain HTTP there is no clipboard
  }
  label.textContent = done ? said.copied : said.uncopied;
  announce(label.textContent);
  setTimeout(() => (label.textContent = before), 2000);
}

function copyTheOldWay(text) {
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}

function clicked(link) {
  const fields = new FormData();
  fields.set("kind", "click");
  fields.set("number", link.dataset.number);
  post(link.closest(".turn").dataset.feedback, fields, { keepalive: true }).catch(() => {});
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a.manage, a[data-number], button.copy, button.retry");
  if (!link || event.ctrlKey || event.metaKey) return;
  if (link.matches(".copy")) copy(link);
  else if (link.matches(".retry")) ask(link.dataset.text);
  else if (link.dataset.number) clicked(link);
  else {
    event.preventDefault();
    manage(link);
  }
});

document.addEventListener("submit", async (event) => {
  if (!event.target.matches(".thumbs")) return;
  event.preventDefault();
  const button = event.submitter;
  const fields = new FormData(event.target, button);
  const response = await post(event.target.action, fields).catch(() => null);
  if (!response?.ok) return announce(said.failed);
  const withdrawn = button.value === "none";
  for (const thumb of event.target.querySelectorAll(".thumb")) {
    const on = thumb === button && !withdrawn;
    thumb.setAttribute("aria-pressed", on);
    thumb.value = on ? "none" : thumb.dataset.kind;
  }
  announce(withdrawn ? said.withdrawn : said.thanks);
});

// ---- a look at a cited passage

const preview = document.getElementById("preview");
let leaving = 0;

function showPreview(link) {
  const source = link.closest(".turn")?.querySelector(`.source[data-number="${link.dataset.number}"]`);
  if (!source) return;
  clearTimeout(leaving);
  preview.replaceChildren(...[...source.querySelectorAll(".source-title, .place, .excerpt")].map((part) => part.cloneNode(true)));
  for (const inner of preview.querySelectorAll("a")) inner.replaceWith(...inner.childNodes);
  preview.hidden = false;
  link.setAttribute("aria-describedby", "preview");
  const at = link.getBoundingClientRect();
  const left = Math.max(8, Math.min(at.left, innerWidth - preview.offsetWidth - 8));
  const above = at.top - preview.offsetHeight - 6;
  preview.style.setProperty("left", `${left}px`);
  preview.style.setProperty("top", `${above > 8 ? above : at.bottom + 6}px`);
}

function hidePreview() {
  const wasShown = !preview.hidden;
  preview.hidden = true;
  document.querySelector("[aria-describedby=preview]")?.removeAttribute("aria-describedby");
  return wasShown;
}

function leavePreview() {
  leaving = setTimeout(hidePreview, 200);
}

for (const [kind, act] of [["mouseover", showPreview], ["focusin", showPreview], ["mouseout", leavePreview], ["focusout", leavePreview]]) {
  log.addEventListener(kind, (event) => event.target.matches(".prose a.cite") && act(event.target));
}
preview.addEventListener("mouseenter", () => clearTimeout(leaving));
preview.addEventListener("mouseleave", leavePreview);
addEventListener("scroll", hidePreview, { passive: true });

// ---- start

reveal(document);
nameOptions();
grow();
if (matchMedia("(min-width: 801px)").matches) box.focus({ preventScroll: true });
if (!location.hash && log.children.length > 1) log.lastElementChild.scrollIntoView({ block: "start" });
