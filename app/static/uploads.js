// Files and folders, chosen or dropped: each is sent in a request of its own, a few at a time.
"use strict";

const form = document.getElementById("upload");
const box = document.getElementById("sending");
const list = document.getElementById("sending-files");
const said = form.dataset;
const AT_ONCE = 3;
const TRIES = 4;
const waiting = [];
let active = 0;
let all = 0;
let sent = 0;
let failed = 0;
let counting = 0;
let failedBefore = 0; // files of the dataset that could not be read before these

document.getElementById("folder-choice").hidden = !("webkitdirectory" in document.createElement("input"));

// ---------------------------------------------------------------- one file

function line(file, path) {
  const item = document.createElement("li");
  const name = document.createElement("span");
  const bar = document.createElement("progress");
  const state = document.createElement("span");
  name.textContent = path;
  bar.max = 100;
  bar.value = 0;
  bar.setAttribute("aria-label", path);
  state.textContent = said.waiting;
  item.append(name, bar, state);
  return { file, path, item, bar, state, tries: 0 };
}

function fail(upload, reason) {
  failed += 1;
  upload.state.textContent = "";
  upload.item.querySelector(".reason")?.remove();
  const text = document.createElement("span");
  text.className = "reason";
  text.textContent = reason;
  const again = document.createElement("button");
  again.type = "button";
  again.className = "quiet";
  again.textContent = said.retry;
  again.setAttribute("aria-label", said.retryName.replace("{name}", upload.path));
  again.addEventListener("click", () => {
    failed -= 1;
    text.remove();
    again.remove();
    upload.tries = 0;
    queue(upload);
    pump();
  });
  upload.state.append(again);
  upload.item.append(text);
  list.prepend(upload.item);
}

// Resolves to "" when it is taken in, else to the reason; "again" when it may work later.
function send(upload) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    const about = new URLSearchParams({ name: upload.path, date: String(upload.file.lastModified || "") });
    request.open("POST", `${said.files}?${about}`);
    request.responseType = "json";
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.setRequestHeader("X-CSRFToken", csrf);
    request.upload.onprogress = ({ loaded, total }) => {
      const percent = total ? Math.floor((100 * loaded) / total) : 0;
      upload.bar.value = percent;
      upload.state.textContent = `${percent} %`;
    };
    request.onerror = () => resolve("again");
    request.onload = () => {
      if (request.status === 202) resolve("");
      else if (isExpired(request.status, request.response) && upload.tries < TRIES) {
        renew().then((is) => resolve(is ? "again" : request.response.message), () => resolve("again"));
      }
      else if ([429, 502, 504].includes(request.status)) resolve("again");
      else resolve(request.response?.message || request.response?.detail || request.response?.title || said.offline);
    };
    request.send(upload.file);
  });
}

async function take(upload) {
  if (upload.file.size > Number(said.maxMb) * 1048576) return fail(upload, said.tooLarge);
  let reason = "again";
  while (reason === "again" && upload.tries < TRIES) {
    if (upload.tries) await new Promise((resolve) => setTimeout(resolve, 500 * 2 ** upload.tries));
    upload.tries += 1;
    reason = await send(upload);
  }
  if (reason) return fail(upload, reason === "again" ? said.offline : reason);
  sent += 1;
  upload.bar.value = 100;
  upload.state.textContent = said.sent;
  upload.item.remove(); // what was taken in stands in the list of documents
  return undefined;
}

// ---------------------------------------------------------------- all of them

function count() {
  const text = said[(failed ? "countFailed" : sent === all && !said.then ? "reading" : "count") + (all === 1 ? "One" : "")];
  const told = text.replace("{sent}", sent).replace("{all}", all).replace("{failed}", failed);
  document.getElementById("sending-count").textContent = told;
  document.getElementById("sending-all").value = all ? (100 * sent) / all : 0;
  document.getElementById("sending-all").hidden = sent === all; // how they are read is shown below
  list.hidden = !list.children.length;
}

// What came of them, once all are read: how many are ready, how many could not be read, and where to go on.
function tellOutcome({ failed: unread }) {
  if (!all || failed || active || waiting.length || said.then) return;
  const lost = Math.min(all, Math.max(0, unread - failedBefore));
  const told = said[(lost ? "unread" : "ready") + (all === 1 ? "One" : "")].replace("{ready}", all - lost).replace("{all}", all).replace("{failed}", lost);
  document.getElementById("sending-count").textContent = told;
  const sentNow = document.getElementById("sent"); // on the page of a dataset
  const [ask, why] = sentNow.children;
  sentNow.hidden = false;
  ask.hidden = lost === all;
  why.hidden = !lost;
}

document.addEventListener("documents-read", ({ detail }) => tellOutcome(detail));

function refreshSoon() {
  if (counting) return;
  counting = setTimeout(() => {
    counting = 0;
    const isLast = !active && !waiting.length;
    if (said.then && isLast && !failed) return location.assign(said.then); // to the dataset that was made for them
    document.dispatchEvent(new CustomEvent("documents-added", { detail: { all: isLast } }));
  }, 700);
}

function pump() {
  count();
  while (active < AT_ONCE && waiting.length) {
    const upload = waiting.shift();
    active += 1;
    take(upload).finally(() => {
      active -= 1;
      refreshSoon();
      pump();
    });
  }
}

function queue(upload) {
  upload.state.textContent = said.waiting;
  waiting.push(upload);
}

function add(files) {
  if (!files.length) return;
  if (!active && !waiting.length && !failed) {
    all = 0;
    sent = 0;
    list.replaceChildren();
    failedBefore = Number(document.querySelector("#live > div")?.dataset.failed ?? 0);
    document.getElementById("sent")?.setAttribute("hidden", "");
  }
  const lines = files.map(([file, path]) => line(file, path));
  all += lines.length;
  list.append(...lines.map((upload) => upload.item));
  lines.forEach(queue);
  box.hidden = false;
  pump();
}

for (const id of ["files", "folder"]) {
  const input = document.getElementById(id);
  const take = () => {
    add([...input.files].map((file) => [file, file.webkitRelativePath || file.name]));
    input.value = "";
  };
  input.addEventListener("change", take);
  take(); // what was chosen before this script ran
}

document.addEventListener("files-dropped", ({ detail: { to, files } }) => to === "here" && add(files)); // by drop.js

addEventListener("beforeunload", (event) => {
  if (active || waiting.length) event.preventDefault();
});
