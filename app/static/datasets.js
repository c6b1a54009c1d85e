// The pages work without this file. With it, lists show what is under way as it goes on, and small acts need no new page.
"use strict";

const live = document.getElementById("live");
const announcer = document.getElementById("announcer");
const FAST_MS = 1200;
let timer = 0;
let told = "";
let toldAt = 0;
const { title } = document;
let allSent = false; // and their end not told yet

const ticks = () => [...live.querySelectorAll("input[name=document]")];

// The box above all others needs this script.
function showTickAll() {
  const every = document.getElementById("tick-all");
  if (every) every.hidden = !ticks().length;
}

function isBusy() {
  return Boolean(live.firstElementChild?.dataset.busy);
}

// Say now and then how far it is, and once that it is done; not every step.
function announce(wasBusy) {
  if (!announcer) return;
  const now = Date.now();
  const summary = live.firstElementChild?.dataset.summary ?? "";
  const isOver = (wasBusy || allSent) && !isBusy();
  if (isOver) {
    allSent = false;
    const failed = Number(live.firstElementChild.dataset.failed);
    document.dispatchEvent(new CustomEvent("documents-read", { detail: { failed } }));
    if (document.hidden) document.title = `✓ ${title}`; // seen among other tabs, until one comes back
  }
  if (!isOver && (summary === told || now - toldAt < 8000)) return;
  told = summary;
  toldAt = now;
  announcer.textContent = isOver ? `${live.dataset.done} ${summary}` : summary;
}

function show(html) {
  const ticked = new Set([...live.querySelectorAll("input:checked")].map((box) => box.id));
  const focused = live.contains(document.activeElement) ? document.activeElement.id : "";
  const wasBusy = isBusy();
  const said = html.replace(/name="csrf_token" value="[^"]*"/g, ""); // a new one each time
  if (live.shown !== said) {
    live.innerHTML = html;
    live.shown = said;
    showTickAll();
    tellTimeLeft();
    for (const id of ticked) {
      const box = document.getElementById(id);
      if (box) box.checked = true;
    }
    if (focused) (document.getElementById(focused) ?? live.querySelector("a, button, input"))?.focus({ preventScroll: true });
  }
  announce(wasBusy);
}

async function refresh() {
  clearTimeout(timer);
  if (!document.hidden) {
    try {
      const response = await fetch(live.dataset.live, { headers: { Accept: "text/html" } });
      const isTyped = [...document.querySelectorAll("textarea")].some((area) => area.value);
      if (response.redirected && !isTyped) return location.reload(); // signed out: signing in comes back here
      if (response.redirected) return;
      if (response.ok) show(await response.text());
    } catch {
      // the next round may do
    }
  }
  if (isBusy()) timer = setTimeout(refresh, FAST_MS);
}

async function act(form) {
  await fetch(form.action, { method: "POST", body: new FormData(form) }).catch(() => undefined);
  await refresh();
}

if (live) {
  if (isBusy()) timer = setTimeout(refresh, FAST_MS);
  showTickAll();
  live.addEventListener("change", ({ target }) => {
    const every = document.getElementById("tick-all");
    if (target === every) for (const box of ticks()) box.checked = every.checked;
    else if (every) every.checked = ticks().every((box) => box.checked);
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    document.title = title;
    refresh();
  });
  document.addEventListener("documents-added", (event) => {
    allSent ||= event.detail.all; // they may be in the search before they were ever seen on their way
    refresh();
  });
  live.addEventListener("submit", (event) => {
    if (!("inline" in event.target.dataset)) return;
    event.preventDefault();
    act(event.target);
  });
}

// ---- a quick look at a document: its outline and first passages beside the list, by a button or by the space bar

const look = document.getElementById("look");
const LOOKED_AT = 5; // passages

async function lookAt(link) {
  const body = look.querySelector(".look-body");
  look.opener = link.id;
  look.querySelector("h2").textContent = link.textContent;
  look.querySelector("a").href = link.href;
  body.replaceChildren();
  body.setAttribute("aria-busy", "true");
  if (!look.open) look.showModal();
  const response = await fetch(link.href, { headers: { Accept: "text/html" } }).catch(() => null);
  if (response?.redirected) return location.assign(link.href); // signed out
  const page = response?.ok && new DOMParser().parseFromString(await response.text(), "text/html").querySelector("main > article");
  if (look.opener !== link.id) return; // another one was asked for meanwhile
  for (const later of page ? page.querySelectorAll(`.passages li:nth-child(n+${LOOKED_AT + 1})`) : []) later.remove();
  const parts = page ? page.querySelectorAll(".place:not(.passages .place), .notice, .glance, .passages") : [look.dataset.failed];
  body.append(...parts);
  for (const contents of body.querySelectorAll(".glance details")) contents.open = false;
  body.removeAttribute("aria-busy");
  body.scrollTo(0, 0);
}

if (look) {
  live.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-look]");
    if (button) lookAt(document.getElementById(button.dataset.look));
  });
  live.addEventListener("keydown", (event) => {
    if (event.key !== " " || !event.target.matches(".documents tbody th > a")) return;
    event.preventDefault();
    lookAt(event.target);
  });
  look.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === " " && !event.target.closest("a, button, summary")) look.close();
    else if (by && event.altKey) {
      const links = [...live.querySelectorAll(".documents tbody th > a")];
      const next = links[links.findIndex(({ id }) => id === look.opener) + by];
      if (next) lookAt(next);
    } else return;
    event.preventDefault();
  });
  look.addEventListener("click", ({ target }) => target === look && look.close());
  look.addEventListener("close", () => document.getElementById(look.opener)?.focus());
}

// ---- how long it takes until everything is read, from how fast it was so far

const LEAST_MS = 3000;
let begun = null;

function tellTimeLeft() {
  const told = document.getElementById("all-told");
  const bar = told?.parentElement.querySelector("progress");
  if (!told?.dataset.left) return void (begun = null);
  const now = Date.now();
  if (!begun || bar.value < begun.value) begun = { at: now, value: bar.value };
  const done = bar.value - begun.value;
  if (!done || now - begun.at < LEAST_MS) return;
  const seconds = ((bar.max - bar.value) * (now - begun.at)) / done / 1000;
  const [unit, amount] = seconds < 60 ? ["second", Math.max(10, Math.round(seconds / 10) * 10)] : ["minute", Math.ceil(seconds / 60)];
  const time = new Intl.NumberFormat(document.documentElement.lang, { style: "unit", unit, unitDisplay: "long" }).format(amount);
  told.append(` · ${told.dataset.left.replace("{time}", time)}`);
}

// The list follows what is typed and chosen; the address does, too, for reloads and the way back.
const finder = document.getElementById("find-datasets");
let finding = 0;

function follow() {
  const wanted = new URLSearchParams(new FormData(finder));
  live.dataset.live = `${finder.dataset.live}?${wanted}`;
  history.replaceState(null, "", `${finder.action}?${wanted}`);
  refresh();
}

finder?.addEventListener("input", () => {
  clearTimeout(finding);
  finding = setTimeout(follow, 150);
});
const isChosen = (field) => (field.options ? !field.options[field.selectedIndex].defaultSelected : field.value !== field.defaultValue);
if ([...(finder?.querySelectorAll("input[type=search], select") ?? [])].some(isChosen)) follow(); // before this script ran
finder?.addEventListener("submit", (event) => {
  event.preventDefault();
  follow();
});

// An import is sent as it is, so that its progress can be shown.
document.querySelector("[data-import]")?.addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target;
  const bar = form.querySelector("progress");
  const said = form.querySelector("[data-told]");
  const request = new XMLHttpRequest();
  const name = new URLSearchParams({ name: form.elements.name.value });
  request.open("POST", `${form.action}?${name}`);
  request.responseType = "json";
  request.setRequestHeader("Accept", "application/json");
  request.setRequestHeader("Content-Type", "application/octet-stream");
  request.setRequestHeader("X-CSRFToken", csrf);
  request.upload.onprogress = ({ loaded, total }) => {
    bar.value = total ? (100 * loaded) / total : 0;
    said.textContent = form.dataset.sending.replace("{percent}", String(Math.floor(bar.value)));
  };
  const stop = (text) => {
    said.textContent = text;
    bar.hidden = true;
  };
  request.onerror = () => stop(form.dataset.offline);
  request.onload = () => {
    const refuse = () => stop(request.response?.message || request.response?.detail || request.response?.title || form.dataset.offline);
    if (request.status === 202) location.href = request.response.href;
    else if (isExpired(request.status, request.response)) renew().then((is) => (is ? form.requestSubmit() : refuse()), refuse);
    else refuse();
  };
  bar.hidden = false;
  request.send(form.elements.file.files[0]);
});

// On a phone adding is behind a button; who comes to add finds it open.
{
  const adding = document.querySelector(".adding");
  const open = () => { if (adding && location.hash === "#add-title") adding.open = true; };
  addEventListener("hashchange", open);
  open();
}
