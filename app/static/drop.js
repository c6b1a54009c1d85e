// Files and folders that are dragged over any page: where they go is what they are dropped on, this conversation or a dataset.
"use strict";

{
  const dialog = document.getElementById("drop-to"); // not in a frame: there they go to the conversation
  const said = dialog?.dataset ?? {};
  const choices = dialog?.querySelector("ul");
  const status = dialog?.querySelector("[role=status]");
  const composer = document.getElementById("composer");
  const zone = document.getElementById("upload") && document.getElementById("drop"); // of the dataset that is shown
  const started = new Promise((resolve) => addEventListener("DOMContentLoaded", resolve)); // the scripts after this one, too
  let dropped = null; // a promise of [file, path] pairs, from the drop until it is known where to
  let sending = false;
  let listed = false;

  const brings = (event) => event.dataTransfer?.types.includes("Files");

  async function filesOf(entry) {
    if (entry.isFile) {
      const file = await new Promise((resolve, reject) => entry.file(resolve, reject)).catch(() => null);
      return file ? [[file, entry.fullPath.replace(/^\//, "")]] : [];
    }
    const reader = entry.createReader();
    const found = [];
    for (;;) {
      const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject)).catch(() => []);
      if (!some.length) break;
      for (const each of some) found.push(...(await filesOf(each)));
    }
    return found;
  }

  // The entries of folders can be asked for only while the event is handled.
  async function read({ items, files }) {
    const plain = [...files].map((file) => [file, file.name]);
    const entries = [...items].filter((item) => item.kind === "file").map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    if (!entries.length) return plain;
    const found = [];
    for (const entry of entries) found.push(...(await filesOf(entry)));
    return found;
  }

  function choice(to, name, about) {
    const item = document.createElement("li");
    const button = Object.assign(document.createElement("button"), { type: "button" });
    button.dataset.to = to;
    button.append(Object.assign(document.createElement("strong"), { textContent: name, dir: "auto" }));
    if (about) button.append(Object.assign(document.createElement("span"), { className: "hint", textContent: about }));
    item.append(button);
    return item;
  }

  async function list() {
    listed = true;
    choices.replaceChildren(...(composer ? [choice("conversation", said.conversation, said.conversationAbout)] : []));
    const response = await fetch(said.url, { headers: { Accept: "application/json" } }).catch(() => null);
    const groups = response?.ok && !response.redirected ? (await response.json()).groups : [];
    const isHere = ({ href }) => href === location.pathname;
    const found = groups.flatMap((group) => group.entries).sort((a, b) => isHere(b) - isHere(a));
    choices.append(...found.map((each) => choice(isHere(each) && document.getElementById("upload") ? "here" : each.href, each.title, each.about)));
  }

  function tell(text, href) {
    status.textContent = text;
    if (href) status.append(" ", Object.assign(document.createElement("a"), { href, textContent: said.show }));
  }

  function open() {
    if (!dialog.open) dialog.showModal();
    if (sending) return;
    choices.hidden = false;
    tell("");
    if (!listed) list();
  }

  function close() {
    dropped = null;
    listed = sending;
    if (!sending) dialog?.close();
  }

  function mark(button) {
    for (const each of choices.querySelectorAll("button")) each.classList.toggle("over", each === button);
  }

  async function add(to) {
    const taken = dropped;
    const isHere = to === "conversation" || to === "here";
    dropped = null;
    sending = !isHere; // so that a second click sends nothing twice
    if (isHere) close();
    const [files] = await Promise.all([taken, started]);
    if (!isHere) return send(files, to);
    document.dispatchEvent(new CustomEvent("files-dropped", { detail: { to, files } }));
  }

  async function send(files, href) {
    choices.hidden = true;
    let sent = 0;
    const failed = [];
    for (const [file, path] of files) {
      tell(said[files.length === 1 ? "countOne" : "count"].replace("{sent}", sent).replace("{all}", files.length));
      const problem = await sendOne(file, path, href);
      if (problem) failed.push(`${path}: ${problem}`);
      else sent += 1;
    }
    tell([said[files.length === 1 ? "countOne" : "count"].replace("{sent}", sent).replace("{all}", files.length), ...failed].join("\n"), href);
    sending = listed = false;
  }

  async function sendOne(file, name, href) {
    const headers = {
      Accept: "application/json",
      "Content-Type": "application/octet-stream",
      "X-CSRFToken": document.querySelector("meta[name=csrf-token]").content,
    };
    const about = new URLSearchParams({ name, date: String(file.lastModified || "") });
    const response = await fetch(`${href}/files?${about}`, { method: "POST", body: file, headers }).catch(() => null);
    if (response?.status === 202) return "";
    const problem = await response?.json().catch(() => null);
    return problem?.message || problem?.detail || problem?.title || said.offline;
  }

  for (const kind of ["dragenter", "dragover"]) {
    document.addEventListener(kind, (event) => {
      if (!brings(event) || !(dialog || composer)) return;
      event.preventDefault();
      if (!dialog) return composer.classList.add("over");
      zone?.classList.toggle("over", zone.contains(event.target));
      if (kind === "dragenter" && !dropped && !zone) open(); // it would cover the zone
      mark(event.target.closest?.("#drop-to [data-to]"));
    });
  }
  document.addEventListener("dragleave", (event) => {
    if (event.relatedTarget) return; // it is still over the page
    for (const each of [composer, zone]) each?.classList.remove("over");
    if (dialog?.open && !dropped) close();
  });
  document.addEventListener("drop", (event) => {
    if (!brings(event) || !(dialog || composer)) return;
    event.preventDefault();
    for (const each of [composer, zone]) each?.classList.remove("over");
    if (sending) return;
    dropped = read(event.dataTransfer);
    if (zone?.contains(event.target)) return add("here");
    const button = dialog ? event.target.closest?.("#drop-to [data-to]") : null;
    if (button || !dialog) return add(button?.dataset.to ?? "conversation");
    mark(null);
    open();
  });
  choices?.addEventListener("click", (event) => {
    const button = event.target.closest("[data-to]");
    if (button && dropped) add(button.dataset.to);
  });
  dialog?.addEventListener("close", () => dialog.open || close()); // it may be open again by then
  addEventListener("beforeunload", (event) => { if (sending) event.preventDefault(); });
}
