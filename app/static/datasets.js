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

document.documentElement.classList.add("scripted");

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
