// Every part of the chat works without this file, a page at a time. With it, answers appear as they are written.
"use strict";

const form = document.getElementById("composer");
const box = form.elements.text;
const log = document.getElementById("log");
const said = form.dataset;
const refused = document.getElementById("refused");
const SILENCE_MS = 45_000; // the server says something every 15 seconds
const UNSTORED_MS = 8_000; // how long an answer that shall stop may be without an address to stop it at

const REATTACH_MS = [300, 1000, 2000, 4000, 8000]; // the server may be restarting

const MOST_LINES = 12;
const MOST_CHARS = 1_200; // of a question that is shown whole

let running = null; // { abort, stop, follow, seen, answer, wanted } while an answer is being written

function announce(text) {
  document.getElementById("announcer").textContent = text;
}

async function post(url, fields, options = {}) {
  const send = () => fetch(url, { method: "POST", body: fields, ...options, headers: { "X-CSRFToken": csrf, Accept: "application/json", ...options.headers } });
  const response = await send();
  if (response.status !== 400 || !isExpired(400, await response.clone().json().catch(() => null)) || !(await renew())) return response;
  if (fields.has("csrf_token")) fields.set("csrf_token", csrf);
  return send();
}

// ---- asking

function ask(text, about) {
  if (running || refuse(text)) return;
  const fields = new FormData(form);
  fields.set("text", text);
  if (about) fields.delete("about");
  for (const key of about ?? []) fields.append("about", key);
  const turn = pendingTurn(text);
  form.dispatchEvent(new CustomEvent("asked", { detail: { turn } }));
  log.append(turn);
  if (turn.previousElementSibling) turn.scrollIntoView({ block: "start" }); // the first one is at the top
  run(turn, text, () => stream(form.action, fields), () => turn.remove());
}

// A question that was edited, or an answer that is written again: what followed it belongs to another version.
function askInPlace(turn, text, address, fields, keepText) {
  if (running || refuse(text)) return;
  const later = [];
  for (let next = turn.nextElementSibling; next; next = next.nextElementSibling) later.push(next);
  const pending = pendingTurn(text);
  if (keepText) pending.querySelector(".prose").replaceWith(turn.querySelector(".prose").cloneNode(true));
  else for (const next of later) next.remove();
  turn.replaceWith(pending);
  if (!keepText) pending.scrollIntoView({ block: "nearest" });
  run(pending, text, () => stream(address, fields), () => {
    pending.replaceWith(turn);
    turn.after(...later);
  });
}

// An answer that is being written, also by a question in another tab or before this page was loaded.
function attach(turn) {
  if (running) return;
  const text = turn.querySelector(".question p").textContent;
  const pending = pendingTurn(text);
  pending.querySelector(".prose").replaceWith(turn.querySelector(".prose"));
  turn.replaceWith(pending);
  run(pending, text, () => follow(turn.dataset.follow), () => {});
}

function stream(address, fields) {
  return post(address, fields, { signal: running.abort.signal, headers: { Accept: "text/event-stream" } });
}

function follow(address) {
  const headers = { Accept: "text/event-stream", "Last-Event-ID": running.seen };
  return fetch(address, { signal: running.abort.signal, headers });
}

// The turn goes on at the server, whatever becomes of the connection: it is followed again until it has ended.
async function run(turn, text, begin, undo) {
  running = { abort: new AbortController(), stop: "", follow: "", seen: 0, answer: new Growing(), wanted: true };
  busy(true);
  announce(said.asking);
  try {
    let problem = await listen(turn, begin);
    for (const [attempt, pause] of REATTACH_MS.entries()) {
      if (!problem?.lost || !running.follow || !running.wanted) break;
      if (attempt === 1) {
        progress(turn, "lost", said.retrying);
        announce(said.retrying);
      }
      await new Promise((resolve) => setTimeout(resolve, pause));
      running.abort = new AbortController();
      problem = await listen(turn, () => follow(running.follow));
    }
    if (problem) fail(turn, text, problem, running.follow ? () => {} : undo);
  } finally {
    running = null;
    busy(false);
    const next = log.querySelector(".turn[data-follow]"); // it is written by another process
    if (next) setTimeout(() => attach(next), 2000);
    else offerNext();
  }
}

// Returns what is wrong, or null when the answer has come.
async function listen(turn, begin) {
  const { abort } = running;
  let silence = null;
  const watch = () => {
    clearTimeout(silence);
    silence = setTimeout(() => abort.abort("silence"), SILENCE_MS);
  };
  try {
    watch();
    const response = await begin();
    if (!response.ok || !response.headers.get("Content-Type").startsWith("text/event-stream")) {
      return response.redirected ? { status: 401 } : await problemOf(response);
    }
    for await (const { kind, id, values } of events(response.body, watch)) {
      running.seen = id || running.seen;
      if (kind === "error") return values;
      happened(turn, kind, values);
      if (kind === "answer") return null;
    }
    return { title: said.broken, lost: true };
  } catch {
    const stopped = abort.signal.aborted && abort.signal.reason !== "silence";
    return stopped ? { title: said.stopped } : { title: said.offline, lost: true };
  } finally {
    clearTimeout(silence);
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
      const [, id, kind, data] = /^(?:id: (\d+)\n)?event: (\w+)\ndata: (.*)$/s.exec(block) ?? [];
      if (kind) yield { kind, id: Number(id ?? 0), values: JSON.parse(data) };
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

function happened(turn, kind, values) {
  if (kind === "turn") begun(values);
  else if (kind === "text") {
    running.answer.show(turn.querySelector(".prose"), values);
    followEnd();
  } else if (kind === "checked") {
    turn.querySelector(".remarks").innerHTML = values.html;
    followEnd();
  } else if (kind === "answer") finish(turn, values);
  else progress(turn, kind, values.text);
}

// The question is stored: from now on the page has an address at which the turn is found again.
function begun(values) {
  running.stop = values.stop;
  running.follow = values.follow;
  if (!running.wanted) stop(); // it was asked to stop before it could be told to
  if (form.action !== new URL(values.messages, location).href) belongTo(values);
  keepDraft();
  if (values.title) entitle(values);
}

// What is asked and added from now on belongs to the conversation that the first question or file has made.
function belongTo({ conversation, messages, files }) {
  keepDraft("");
  form.action = messages;
  keepDraft();
  const area = document.getElementById("files");
  area.dataset.list = area.dataset.add = files;
  document.getElementById("keep-files").action = `${files}/keep`;
  history.replaceState(null, "", conversation);
}

function entitle({ title, sidebar }) {
  document.getElementById("conversations").innerHTML = sidebar;
  const heading = document.getElementById("chat-heading");
  heading.textContent = title;
  heading.classList.remove("visually-hidden");
  const acts = document.getElementById("chat-acts");
  for (const link of acts.children) link.href = `${form.action.replace(/messages$/, "manage")}${link.hash}`;
  acts.hidden = false;
  document.title = `${title} · Braid`;
}

function pendingTurn(text) {
  for (const part of document.querySelectorAll(".first")) part.remove();
  const turn = document.getElementById("pending").content.firstElementChild.cloneNode(true);
  turn.querySelector(".question p").textContent = text;
  fold(turn);
  return turn;
}

// A long question does not fill screens above its answer.
function fold(turn) {
  const question = turn.querySelector(".question p");
  const { length } = question.textContent.split("\n");
  if (length <= MOST_LINES && question.textContent.length <= MOST_CHARS) return;
  const button = Object.assign(document.createElement("button"), { type: "button", className: "quiet unfold" });
  const show = (whole) => {
    question.classList.toggle("folded", !whole);
    button.textContent = whole ? said.part : said.whole;
    button.setAttribute("aria-expanded", whole);
  };
  button.addEventListener("click", () => show(question.classList.contains("folded")));
  question.after(button);
  show(false);
}

function progress(turn, kind, text) {
  const line = document.createElement("li");
  line.className = `step-${kind}`;
  line.textContent = text;
  turn.querySelector(".progress").append(line);
}

function finish(turn, values) {
  const page = new DOMParser().parseFromString(values.html, "text/html").body.firstElementChild;
  page.classList.add("fresh");
  settle(turn, page);
  fold(turn);
  followEnd();
  [stays, follows] = [follows, false];
  entitle(values);
  announce(said.ready);
  const conversation = Number(location.pathname.match(/chat\/(\d+)/)?.[1]) || null;
  const text = turn.querySelector(".answer .prose").textContent.trim();
  document.dispatchEvent(new CustomEvent("braid-answered", { detail: { text, conversation } })); // for frame.js
}

// Questions to go on with, below the last answer alone. They are asked for once the answer is there, which does not wait.
async function offerNext() {
  const turns = [...log.querySelectorAll(".turn")];
  for (const turn of turns.slice(0, -1)) turn.querySelector(".next-questions")?.replaceChildren();
  const place = turns.at(-1)?.querySelector(".next-questions");
  if (!place || running) return;
  const response = await fetch(place.dataset.next, { headers: { Accept: "text/html" } }).catch(() => null);
  const html = response?.ok && !response.redirected ? await response.text() : "";
  if (!html || !place.isConnected || running) return;
  place.innerHTML = html;
  if (stays) last.scrollIntoView({ block: "end" });
}

// Make the turn that was followed the stored one. Its text stays in its place, for somebody may have selected some of it.
function settle(turn, page) {
  let [shown, made] = [turn, page].map((one) => one.querySelector(".answer .prose"));
  if (made.closest(".source")) { // a featured passage is among the sources, where no text was before
    turn.querySelector(".answer").replaceChildren(...made.closest(".answer").childNodes);
    [shown, made] = [turn, page].map((one) => one.querySelector(".answer"));
  } else update(shown, made);
  for (;;) {
    for (const { name } of [...shown.attributes]) shown.removeAttribute(name);
    for (const { name, value } of made.attributes) shown.setAttribute(name, value);
    if (shown === turn) return;
    const { parentElement } = shown;
    for (const other of [...parentElement.childNodes]) if (other !== shown) other.remove();
    while (made.previousSibling) parentElement.prepend(made.previousSibling);
    while (made.nextSibling) parentElement.append(made.nextSibling);
    [shown, made] = [parentElement, made.parentElement];
  }
}

// The question stays where it is, with a button to ask it again; where that is in vain, it goes back into the box.
function fail(turn, text, problem, undo) {
  const here = location.pathname + location.search;
  if (problem.status === 401) return giveBack(turn, text, undo, said.signedOut, said.signIn, said.login ? `${said.login}?next=${encodeURIComponent(here)}` : location.href);
  if (isExpired(problem.status, problem)) return giveBack(turn, text, undo, said.over, said.reload, location.href);
  if (problem.status === 404) {
    giveBack(turn, text, undo, said.gone, said.begin, said.new);
    return keepDraft(box.value, said.first);
  }
  turn.classList.add("failed");
  turn.removeAttribute("aria-busy");
  const notice = turn.querySelector(".notice");
  notice.hidden = false;
  notice.querySelector("strong").textContent = problem.title || said.failed;
  notice.querySelector(".detail").textContent = problem.message ?? problem.detail ?? "";
  const { follow: address } = running;
  notice.querySelector(".again").addEventListener("click", () => {
    if (running) return;
    if (address) return location.reload(); // it is stored: the page knows how it stands
    undo();
    ask(text);
  });
  announce(`${problem.title || said.failed} ${problem.message ?? problem.detail ?? ""}`);
}

function giveBack(turn, text, undo, reason, remedy, href) {
  undo();
  if (turn.isConnected) turn.remove();
  if (!running.follow) box.value = box.value ? `${text}\n\n${box.value}` : text;
  grow();
  keepDraft();
  tell(`${reason} `, Object.assign(document.createElement("a"), { href, textContent: remedy }));
}

// What is in the box outlives a reload, in this tab, for this user and this conversation alone. What was sent is forgotten
// once it is stored.
function keepDraft(text = box.value, action = form.action) {
  const key = draftKey(action);
  if (text) sessionStorage.setItem(key, text);
  else sessionStorage.removeItem(key);
}

function draftKey(action) {
  return `braid.draft ${owner} ${new URL(action, location).pathname}`;
}

// ---- what is wrong with a question, above the buttons

function tell(...parts) {
  refused.replaceChildren(...parts);
  refused.hidden = !parts.length;
}

function refuse(text) {
  const count = [...text].length;
  const most = Number(said.most);
  if (!text.trim()) tell(said.empty);
  else if (count > most) tell(said.tooLong.replace("{count}", count.toLocaleString()).replace("{most}", most.toLocaleString()));
  else tell();
  return !refused.hidden;
}

function busy(is) {
  document.getElementById("send").hidden = is;
  const button = document.getElementById("stop");
  button.hidden = !is;
  button.disabled = false;
  if (!is && refused.textContent === said.writing) tell();
  if (!is && !touches && document.activeElement === document.body) box.focus({ preventScroll: true }); // else its keyboard comes
}

function stop() {
  if (!running) return;
  const one = running;
  one.wanted = false;
  document.getElementById("stop").disabled = true;
  if (one.stop) post(one.stop, new FormData()).then((response) => response.ok || goOn(one), () => goOn(one));
  else setTimeout(() => one.stop || one.abort.abort("stopped"), UNSTORED_MS);
}

// It could not be stopped, and is followed to its end.
function goOn(one) {
  if (running !== one) return; // it has ended meanwhile
  one.wanted = true;
  document.getElementById("stop").disabled = false;
  tell(said.unstopped);
}

// ---- the end of what is written

const toEnd = document.getElementById("to-end");
const last = document.getElementById("last");
let follows = false; // until somebody scrolls back
let stays = false; // at the end of an answer that was followed

function followEnd() {
  if (follows) last.scrollIntoView({ block: "end" });
}

new IntersectionObserver(([{ isIntersecting, boundingClientRect }]) => {
  toEnd.hidden = isIntersecting || boundingClientRect.top < 0;
}, { rootMargin: `0px 0px -${Math.min(form.offsetHeight, innerHeight / 2) - 30}px` }).observe(last); // not behind the composer
toEnd.addEventListener("click", () => {
  follows = running !== null;
  last.scrollIntoView({ block: "end" });
  box.focus({ preventScroll: true });
});
for (const kind of ["wheel", "touchmove", "keydown"]) {
  addEventListener(kind, ({ deltaY, key }) => {
    if (kind === "touchmove" || deltaY < 0 || ["ArrowUp", "PageUp", "Home"].includes(key)) stays = follows = false;
  }, { passive: true });
}

// ---- the composer

const touches = matchMedia("(hover: none) and (pointer: coarse)").matches; // its keyboard has no Shift+Enter: a button sends
if (touches) {
  // What is pressed beside the box keeps the keyboard, and so stays below the finger; what opens over the page does not.
  form.addEventListener("mousedown", (event) => event.target !== box && document.activeElement === box && event.preventDefault());
  document.addEventListener("toggle", ({ newState }) => newState === "open" && box.blur(), true);
  box.enterKeyHint = "enter";
  document.getElementById("composer-hint").textContent = box.dataset.touch;
}

function grow() {
  if (CSS.supports("field-sizing", "content")) return;
  box.style.setProperty("height", "auto");
  box.style.setProperty("height", `${box.scrollHeight + 2}px`);
}

box.addEventListener("input", () => {
  grow();
  keepDraft();
  if (!refused.querySelector("a")) tell();
});
box.addEventListener("keydown", (event) => {
  // While Japanese or Korean is being composed, Enter accepts a candidate; Safari says so by the key code alone.
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229 || touches) return;
  event.preventDefault();
  form.requestSubmit();
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (running) return box.value.trim() && tell(said.writing);
  const example = event.submitter?.name === "example" ? event.submitter.value : "";
  const text = example || box.value;
  if (refuse(text)) return box.focus();
  if (touches) box.blur(); // its keyboard would cover the answer
  if (!example) {
    keepDraft();
    box.value = "";
  }
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
  if (!options) return; // an assistant has its own
  const isExpert = paces.value === "expert";
  for (const name of ["mode", "strategy"]) {
    const chosen = options.querySelector(`[name=${name}]:checked`)?.parentElement.querySelector(".name");
    const text = chosen?.firstChild.textContent.trim() ?? "";
    document.querySelector(`#options-button .${name}`).textContent = isExpert ? text : "";
  }
  options.querySelector("output[for=alpha]").textContent = Number(form.elements.alpha.value).toFixed(2);
}

options?.addEventListener("input", () => {
  paces.value = "expert";
  nameOptions();
});
for (const pace of paces ?? []) pace.addEventListener("change", nameOptions);

// ---- the side bar

const dialog = document.getElementById("dialog");
const find = document.getElementById("find");
let searching = 0;

async function listFound() {
  const wanted = new URLSearchParams(new FormData(find)).toString();
  const response = await fetch(`${find.dataset.list}?${wanted}`).catch(() => null);
  if (!response?.ok) return announce(said.offline);
  const found = await response.text();
  if (wanted !== new URLSearchParams(new FormData(find)).toString()) return; // more was typed meanwhile
  list.innerHTML = found;
  announce(said.listed.replace("{count}", list.querySelectorAll("li").length));
}

async function listMore(link) {
  const response = await fetch(find.dataset.list + new URL(link.href).search).catch(() => null);
  if (!response?.ok) return announce(said.offline);
  const known = list.querySelectorAll("li").length;
  list.innerHTML = await response.text();
  list.querySelectorAll(".title")[known]?.focus();
}

find.addEventListener("submit", (event) => event.preventDefault());
find.addEventListener("input", () => {
  clearTimeout(searching);
  searching = setTimeout(listFound, 200);
});

// One stop of the tab key for each conversation; arrows lead to the next one, and to what can be done with it.
const list = document.getElementById("conversations");

function tame() {
  for (const link of list.querySelectorAll(".manage")) link.tabIndex = -1;
}

list.addEventListener("keydown", (event) => {
  const row = event.target.closest("li");
  if (!row || event.altKey || event.ctrlKey || event.metaKey) return;
  const rows = [...list.querySelectorAll("li")].filter((each) => each.checkVisibility());
  const at = rows.indexOf(row);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
  const inRow = { ArrowRight: ".manage", ArrowLeft: ".title" }[event.key];
  const next = inRow ? row.querySelector(inRow) : rows[to]?.querySelector(".title");
  if (!next) return;
  event.preventDefault();
  next.focus();
});
list.addEventListener("click", (event) => {
  const link = event.target.closest("a.longer");
  if (!link || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  listMore(link);
});
new MutationObserver(tame).observe(list, { childList: true });

let managed = null; // the link that opened what can be done with a conversation

async function manage(link) {
  const response = await fetch(link.href).catch(() => null);
  if (!(await showManaged(response))) return location.assign(link.href);
  managed = link;
  dialog.className = "popup";
  dialog.showModal();
  if (link.hash) showSharing();
  else placeActs();
}

async function showManaged(response) {
  const page = response?.ok && new DOMParser().parseFromString(await response.text(), "text/html").getElementById("manage");
  if (!page) return false;
  const close = document.createElement("form");
  close.method = "dialog";
  const button = document.createElement("button");
  button.className = "quiet";
  button.textContent = document.querySelector("#history .phone").textContent;
  close.append(button);
  page.querySelector(".back").replaceWith(close);
  page.querySelector("h1").outerHTML = page.querySelector("h1").outerHTML.replace(/h1/g, "h2");
  page.querySelector("#copy-link")?.removeAttribute("hidden");
  page.classList.remove("card", "narrow");
  dialog.replaceChildren(page);
  return true;
}

// A menu beside what opened it; on a phone its place is at the lower edge.
function placeActs() {
  if (dialog.className !== "popup") return;
  const { left, bottom } = managed.getBoundingClientRect();
  dialog.style.setProperty("--x", `${Math.max(8, Math.min(left, innerWidth - dialog.offsetWidth - 8))}px`);
  dialog.style.setProperty("--y", `${Math.max(8, Math.min(bottom + 4, innerHeight - dialog.offsetHeight - 8))}px`);
}

function showSharing() {
  const part = dialog.querySelector("#share");
  dialog.className = "sharing";
  dialog.querySelector("h2").textContent = part.dataset.heading;
  part.closest("details").open = true;
  part.querySelector("#copy-link, button").focus();
}

// The title is written where it stands: in its row, or above the conversation.
function renameInPlace() {
  const row = managed.closest("li");
  const fields = dialog.querySelector("#rename");
  dialog.close();
  const title = row?.querySelector(".title") ?? document.getElementById("chat-heading");
  if (!title.checkVisibility()) document.getElementById("history").showPopover();
  const input = fields.elements.title;
  const before = input.value;
  let isOver = false; // removing the field takes the focus from it, too
  const leave = () => {
    isOver = true;
    fields.remove();
    title.hidden = false;
  };
  title.hidden = true;
  title.after(fields);
  input.select();
  fields.addEventListener("keydown", (event) => {
    event.stopPropagation(); // arrows move in the text
    if (event.key === "Escape" && !event.isComposing) {
      event.preventDefault();
      leave();
      managed.focus();
    }
  });
  input.addEventListener("blur", () => {
    if (isOver) return;
    if (input.value.trim() && input.value !== before) fields.requestSubmit();
    else leave();
  });
  fields.addEventListener("submit", async (event) => {
    event.preventDefault();
    isOver = true;
    if (await arranged(fields)) leave();
  });
}

// What was done shows in the list, in the title and in what the next page would say of it; the conversation stays.
async function arranged(fields, submitter) {
  const body = new FormData(fields, submitter);
  const response = await post(fields.action, body, { redirect: "manual", headers: { Accept: "text/html" } }).catch(() => null);
  const next = response?.type === "opaqueredirect" && (await fetch(location.href).catch(() => null));
  if (!next?.ok) {
    if (submitter) fields.append(Object.assign(document.createElement("input"), { type: "hidden", name: submitter.name, value: submitter.value }));
    fields.submit(); // its page says what is wrong
    return false;
  }
  const page = new DOMParser().parseFromString(await next.text(), "text/html");
  const nameOf = (summary) => summary.firstChild.textContent;
  const open = new Set([...list.querySelectorAll("[open] > summary")].map(nameOf));
  list.innerHTML = page.getElementById("conversations").innerHTML;
  for (const summary of list.querySelectorAll("summary")) if (open.has(nameOf(summary))) summary.parentElement.open = true;
  document.getElementById("chat-heading").textContent = page.getElementById("chat-heading").textContent;
  document.title = page.title;
  for (const old of document.querySelectorAll("#main > .notice")) old.remove();
  document.getElementById("main").prepend(...page.querySelectorAll("#main > .notice"));
  if (find.elements.find.value) await listFound();
  const link = managed.isConnected ? managed : list.querySelector(`.manage[href="${managed.getAttribute("href")}"]`);
  link?.focus({ preventScroll: true });
  return true;
}

dialog.addEventListener("toggle", placeActs, { capture: true });
dialog.addEventListener("keydown", (event) => {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!by || dialog.className !== "popup") return;
  const items = [...dialog.querySelectorAll("summary, button, a, input:not([type=hidden])")].filter((one) => one.checkVisibility());
  event.preventDefault();
  items.at((items.indexOf(document.activeElement) + by) % items.length).focus();
});

// Sharing does not leave the conversation: what was done is said in the dialog.
dialog.addEventListener("submit", async (event) => {
  const { target, submitter } = event;
  if (target.method === "dialog") return;
  const isOpen = managed.pathname.replace(/manage$/, "messages") === new URL(form.action).pathname;
  if (target.id === "delete" && isOpen) return; // there is nothing to stay at
  event.preventDefault();
  if (!target.dataset.stays) {
    dialog.close();
    arranged(target, submitter);
    return;
  }
  const response = await post(target.action, new FormData(target), { headers: { Accept: "text/html" } }).catch(() => null);
  if (!(await showManaged(response))) return target.submit(); // its page says what is wrong
  showSharing();
  dialog.querySelector("#link-told").textContent = target.dataset.stays;
  dialog.querySelector("#copy-link, [data-stays] button").focus();
});

async function copyLink(button) {
  const link = dialog.querySelector("#link");
  link.select();
  const done = await navigator.clipboard?.writeText(link.value).then(() => true, () => false);
  const isCopied = done || document.execCommand("copy"); // over plain HTTP there is no clipboard
  dialog.querySelector("#link-told").textContent = isCopied ? button.dataset.done : button.dataset.failed;
}

dialog.addEventListener("click", (event) => {
  const button = event.target.closest("#copy-link");
  if (button) copyLink(button);
  if (event.target === dialog) dialog.close(); // beside it
  const summary = event.target.closest("summary");
  if (!summary) return;
  const part = summary.nextElementSibling;
  if (part.id === "rename" || part.id === "share") event.preventDefault();
  if (part.id === "rename") renameInPlace();
  if (part.id === "share") showSharing();
});

// ---- answers: copy, regenerate, continue, edit, versions, thumbs, citations

// The answer as it is read, with its sources: as HTML for a mail, and as text.
function copied(turn) {
  const prose = turn.querySelector(".answer .prose");
  const sources = [...turn.querySelectorAll(".source")].map((source) => {
    const title = (source.querySelector(".source-title :is(a, del)") ?? source.querySelector(".source-title")).textContent.trim();
    const places = [...source.querySelectorAll(".place span")].map((part) => part.textContent.trim());
    return `[${source.dataset.number}] ${[title, ...places].join(" · ")}`;
  });
  const page = document.createElement("div");
  page.append(...prose.cloneNode(true).childNodes);
  for (const cite of page.querySelectorAll("a.cite")) cite.replaceWith(cite.textContent);
  for (const text of sources.length ? [said.sources, ...sources] : []) {
    page.append(Object.assign(document.createElement("p"), { textContent: text }));
  }
  const read = textOf(prose);
  const text = sources.length ? `${read}\n\n${said.sources}\n${sources.join("\n")}` : read;
  return { "text/html": page.innerHTML, "text/plain": text };
}

// The text with the numbers and dots of its lists, which a browser draws beside the text.
function textOf(prose) {
  const page = prose.cloneNode(true);
  for (const list of page.querySelectorAll("ol, ul")) {
    for (const [at, item] of [...list.children].entries()) {
      const mark = list.matches("ol") ? `${list.start + at}. ` : "- ";
      const first = [...item.childNodes].find((node) => node.textContent.trim());
      (first?.nodeName === "P" ? first : item).prepend(mark);
    }
  }
  page.style.cssText = "position: fixed; inset-inline-start: -9999px";
  prose.after(page); // only what is laid out has line breaks
  const text = page.innerText;
  page.remove();
  return text;
}

async function copy(button) {
  const label = button.querySelector("span");
  const before = label.textContent;
  const asked = button.closest(".question")?.querySelector("p").textContent;
  const forms = asked ? { "text/plain": asked } : copied(button.closest(".turn"));
  let done = true;
  try {
    const blobs = Object.entries(forms).map(([kind, text]) => [kind, new Blob([text], { type: kind })]);
    await navigator.clipboard.write([new ClipboardItem(Object.fromEntries(blobs))]);
  } catch {
    done = copyTheOldWay(forms); // over plain HTTP there is no clipboard
  }
  label.textContent = done ? said.copied : said.uncopied;
  label.className = "told";
  announce(label.textContent);
  setTimeout(() => {
    label.textContent = before;
    label.className = "";
  }, 2000);
}

function copyTheOldWay(forms) {
  const fill = (event) => {
    event.preventDefault();
    for (const [kind, text] of Object.entries(forms)) event.clipboardData.setData(kind, text);
  };
  document.addEventListener("copy", fill);
  const done = document.execCommand("copy");
  document.removeEventListener("copy", fill);
  return done;
}

async function chooseVariant(button) {
  const turn = button.closest(".turn");
  const label = button.getAttribute("aria-label");
  const place = [...log.children].indexOf(turn);
  const part = button.closest(".answer") ? ".answer" : ".question";
  const response = await post(button.formAction, new FormData(button.form), { headers: { Accept: "text/html" } }).catch(() => null);
  if (!response?.ok) return announce(said.failed);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  log.replaceChildren(...page.getElementById("log").children);
  for (const each of log.children) fold(each);
  const buttons = [...(log.children[place]?.querySelectorAll(`${part} .variants button:not(:disabled)`) ?? [])];
  (buttons.find((one) => one.getAttribute("aria-label") === label) ?? buttons[0])?.focus({ preventScroll: true });
}

async function loadHow(details) {
  const link = details.querySelector("p > a");
  const response = link && (await fetch(link.href).catch(() => null));
  if (!response?.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  link.parentElement.replaceWith(page.querySelector(".how-found"));
  details.scrollIntoView({ block: "nearest" });
}

function clicked(link) {
  const fields = new FormData();
  fields.set("kind", "click");
  fields.set("number", link.dataset.number);
  const acts = link.closest(".turn").querySelector("form");
  if (acts) post(acts.action, fields, { keepalive: true }).catch(() => {});
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a.manage, a[data-number], a.cancel, button.copy, button.reword");
  if (!link || event.ctrlKey || event.metaKey) return;
  if (link.matches(".copy")) copy(link);
  else if (link.matches(".reword")) link.closest(".turn").querySelector(".edit").open = true; // which takes the focus
  else if (link.dataset.number) clicked(link);
  else if (link.matches(".cancel")) {
    event.preventDefault();
    leaveEdit(link.closest(".edit"));
  } else {
    event.preventDefault();
    manage(link);
  }
});

document.addEventListener("submit", (event) => {
  const { target, submitter } = event;
  const turn = (submitter ?? target).closest(".turn");
  if (!turn) return;
  event.preventDefault();
  const text = turn.querySelector(".question p").textContent;
  if (target.matches(".unsearched")) searchEverywhere(text);
  else if (target.matches(".thoroughly")) searchThoroughly(text, new FormData(target));
  else if (submitter?.matches(".thumb")) rate(submitter);
  else if (target.matches(".fault form")) sendFault(target);
  else if (submitter?.matches(".variants button")) chooseVariant(submitter);
  else if (submitter?.matches(".again")) askInPlace(turn, text, submitter.formAction, new FormData(target, submitter), false);
  else if (submitter?.matches(".resume")) askInPlace(turn, text, submitter.formAction, new FormData(target), true);
  else if (target.closest(".edit")) {
    const fields = new FormData(form);
    fields.set("text", target.elements.text.value);
    askInPlace(turn, target.elements.text.value, target.action, fields, false);
  }
});

function searchEverywhere(text) {
  const boxes = [...document.querySelectorAll("#picker [name=d]")];
  for (const box of boxes) box.checked = true;
  boxes[0]?.dispatchEvent(new Event("change", { bubbles: true }));
  ask(text);
}

// In the datasets of the question before, which are ticked again, and about what it named.
function searchThoroughly(text, before) {
  const datasets = before.getAll("d");
  const boxes = [...document.querySelectorAll("#picker [name=d]")];
  for (const box of boxes) box.checked = datasets.includes("all") || datasets.includes(box.value);
  boxes[0]?.dispatchEvent(new Event("change", { bubbles: true }));
  paces.value = "thorough";
  nameOptions();
  ask(text, before.getAll("about"));
}

async function rate(button) {
  const url = button.hasAttribute("formaction") ? button.formAction : button.form.action;
  const response = await post(url, new FormData(button.form, button)).catch(() => null);
  if (!response?.ok) return announce(said.failed);
  const withdrawn = button.value === "none";
  for (const thumb of button.parentElement.querySelectorAll(".thumb")) {
    thumb.dataset.kind ??= thumb.value;
    const on = thumb === button && !withdrawn;
    thumb.setAttribute("aria-pressed", on);
    thumb.value = on ? "none" : thumb.dataset.kind;
  }
  announce(withdrawn ? said.withdrawn : said.thanks);
  const acts = button.closest(".acts");
  acts?.parentElement.querySelector(".fault")?.remove();
  if (!acts || button.dataset.kind !== "down" || withdrawn) return;
  const fault = document.getElementById("fault-form").content.querySelector(".fault").cloneNode(true);
  fault.open = true;
  fault.querySelector("form").action = url;
  acts.after(fault);
}

async function sendFault(fields) {
  const response = await post(fields.action, new FormData(fields)).catch(() => null);
  const fault = fields.parentElement;
  const summary = fault.querySelector("summary");
  summary.textContent = response?.ok ? said.thanks : said.failed;
  announce(summary.textContent);
  if (!response?.ok) return;
  fault.open = false;
  summary.focus();
}

log.addEventListener("toggle", (event) => {
  if (!event.target.open) return;
  if (event.target.matches(".how")) loadHow(event.target);
  if (!event.target.matches(".edit")) return;
  const field = event.target.querySelector("textarea");
  field.focus();
  field.setSelectionRange(field.value.length, field.value.length);
}, true);
log.addEventListener("keydown", (event) => {
  const edit = event.target.closest(".edit");
  if (!edit || event.isComposing || event.keyCode === 229) return;
  if (event.key === "Enter" && !event.shiftKey && !touches && event.target.matches("textarea")) {
    event.preventDefault();
    event.target.form.requestSubmit();
  } else if (event.key === "Escape") {
    event.stopPropagation();
    leaveEdit(edit);
  }
});

function leaveEdit(edit) {
  edit.querySelector("form").reset();
  edit.open = false;
  edit.querySelector("summary").focus();
}

// ---- a look at a cited passage

const preview = document.getElementById("preview");
let leaving = 0;

function showPreview(link) {
  const parts = glance(link);
  if (!parts.length) return;
  clearTimeout(leaving);
  preview.replaceChildren(...parts);
  preview.hidden = false;
  link.setAttribute("aria-describedby", "preview");
  // Below the line where there is room, else above the paragraph: never over what is being read.
  preview.style.cssText = "";
  const at = link.getBoundingClientRect();
  const left = Math.max(8, Math.min(at.left, innerWidth - preview.offsetWidth - 8));
  const above = (link.closest("p, li, td, blockquote") ?? link).getBoundingClientRect().top - preview.offsetHeight - 6;
  const isLow = at.bottom + preview.offsetHeight + 14 > innerHeight;
  const top = isLow && above > 8 ? above : at.bottom + 6;
  preview.style.cssText = `left: ${left}px; top: ${top}px; max-height: ${innerHeight - top - 8}px`;
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
  log.addEventListener(kind, (event) => event.target.matches(".prose a.cite, .checked a.cite") && act(event.target));
}
preview.addEventListener("mouseenter", () => clearTimeout(leaving));
preview.addEventListener("mouseleave", leavePreview);
// A citation that comes into view because it gets the focus keeps its card.
addEventListener("scroll", () => {
  const link = log.querySelector("a.cite:focus-visible");
  const at = link?.getBoundingClientRect();
  if (!preview.hidden && at && at.bottom > 0 && at.top < innerHeight) showPreview(link);
  else hidePreview();
}, { passive: true });

// ---- start

document.cookie = `braid_minutes=${-new Date().getTimezoneOffset()};path=/;max-age=31536000;samesite=lax`;
form.noValidate = true; // what is wrong with a question is said in the page's language
for (const turn of log.children) fold(turn);
tame();
box.value ||= sessionStorage.getItem(draftKey(form.action)) ?? "";
nameOptions();
grow();
if (find.elements.find.value !== find.elements.find.defaultValue) listFound(); // it was typed before this script ran
if (matchMedia("(min-width: 801px)").matches) box.focus({ preventScroll: true });
if (!location.hash && log.children.length > 1) log.lastElementChild.scrollIntoView({ block: "start" });
const unfinished = log.querySelector(".turn[data-follow]");
if (unfinished) attach(unfinished);
else offerNext();
