// Files that are dropped, pasted or picked in the chat. One is sent after the other: the first may make the conversation.
"use strict";

{
  const area = document.getElementById("files");
  const words = area.dataset;
  const picked = document.getElementById("attach-files");
  const READ_MS = 30_000; // a question waits that long for its files to be read
  const queue = [];
  let sending = false;
  let polling = 0;

  const unread = () => Number(area.querySelector("#listed [data-waiting]")?.dataset.waiting ?? 0);
  const isNew = () => !words.list;

  function line(file) {
    const item = document.createElement("li");
    const bar = document.createElement("progress");
    bar.max = 100;
    bar.value = 0;
    bar.setAttribute("aria-label", file.name);
    item.append(file.name, " ", bar);
    document.getElementById("sending").append(item);
    return item;
  }

  function refuse(item, reason) {
    item.className = "failed";
    item.querySelector("progress")?.remove();
    const text = document.createElement("span");
    text.className = "reason";
    text.textContent = reason;
    const close = document.createElement("button");
    close.type = "button";
    close.className = "quiet";
    close.textContent = words.dismiss;
    close.addEventListener("click", () => { item.remove(); box.focus(); });
    item.append(text, " ", close);
    announce(`${item.firstChild.textContent}: ${reason}`);
  }

  function send(file, item, isAgain = false) {
    return new Promise((resolve) => {
      const request = new XMLHttpRequest();
      request.open("POST", `${words.add}?${new URLSearchParams({ name: file.name })}`);
      request.responseType = "json";
      request.setRequestHeader("Accept", "application/json");
      request.setRequestHeader("Content-Type", "application/octet-stream");
      request.setRequestHeader("X-CSRFToken", csrf);
      request.upload.onprogress = ({ loaded, total }) => { item.querySelector("progress").value = total ? (100 * loaded) / total : 0; };
      request.onerror = () => resolve({ reason: said.offline });
      request.onload = () => {
        const answer = request.response ?? {};
        if (!isAgain && isExpired(request.status, answer)) {
          const failed = { reason: said.over };
          return renew().then((is) => resolve(is ? send(file, item, true) : failed), () => resolve({ reason: said.offline }));
        }
        resolve(request.status === 202 ? answer : { reason: answer.detail || answer.title || said.failed });
      };
      request.send(file);
    });
  }

  // A first question that is on its way makes the conversation.
  async function noQuestion() {
    while (isNew() && running) await new Promise((resolve) => setTimeout(resolve, 100));
  }

  async function pump() {
    if (sending) return;
    sending = true;
    for (let next = queue.shift(); next; next = queue.shift()) {
      const [file, item] = next;
      if (file.size > Number(words.maxMb) * 1048576) { refuse(item, words.tooLarge); continue; }
      await noQuestion();
      const first = isNew();
      const answer = await send(file, item);
      if (answer.reason) { refuse(item, answer.reason); continue; }
      await noQuestion();
      if (first && !isNew()) { queue.unshift(next); continue; } // it belongs to the conversation that a question has made
      item.remove();
      if (first) belongTo(answer);
      await refresh();
    }
    sending = false;
    poll();
  }

  async function refresh() {
    const response = await fetch(words.list).catch(() => null);
    if (!response?.ok) return;
    const before = unread();
    const open = area.querySelector("details")?.open;
    if (area.contains(document.activeElement)) return; // somebody types a name there
    area.querySelector("#listed").innerHTML = await response.text();
    if (open) area.querySelector("details").open = true;
    if (unread() && words.watch) { // above the question it is said what cannot be found yet
      document.head.append(Object.assign(document.createElement("script"), { src: words.watch }));
      words.watch = "";
    } else if (before !== unread()) area.querySelector("[name=conversation]")?.dispatchEvent(new Event("change", { bubbles: true }));
    if (before && !unread()) announce(words.read);
  }

  area.addEventListener("click", async (event) => {
    const button = event.target.closest(".remove");
    if (!button) return;
    event.preventDefault();
    const fields = new FormData(button.form, button); // which has no value of a disabled one
    button.disabled = true;
    const response = await post(button.formAction, fields, { redirect: "manual", headers: { Accept: "text/html" } }).catch(() => null);
    button.disabled = false;
    if (response?.type !== "opaqueredirect") return announce(said.failed);
    box.focus();
    refresh();
  });

  function poll() {
    clearTimeout(polling);
    if (!isNew() && unread()) polling = setTimeout(async () => { await refresh(); poll(); }, 700);
  }

  function add(files) {
    for (const file of files) queue.push([file, line(file)]);
    pump();
  }

  // A question that is sent while files are on their way waits until they are read.
  let held = false;
  let waiting = false;
  form.addEventListener("submit", async (event) => {
    if (held || running || !(sending || queue.length || unread())) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (waiting) return;
    waiting = true;
    const { submitter } = event;
    document.getElementById("held").hidden = false;
    announce(words.held);
    const until = Date.now() + READ_MS;
    const isWaited = () => Date.now() < until || (isNew() && sending); // the first file makes the conversation
    while (isWaited() && (sending || queue.length || unread())) await new Promise((resolve) => setTimeout(resolve, 200));
    document.getElementById("held").hidden = true;
    waiting = false;
    held = true;
    form.requestSubmit(submitter?.isConnected ? submitter : null);
    held = false;
  }, { capture: true });

  document.getElementById("attach").addEventListener("click", () => picked.click());
  picked.addEventListener("change", () => { add([...picked.files]); picked.value = ""; });
  box.addEventListener("paste", (event) => {
    const files = [...event.clipboardData.files];
    if (!files.length || event.clipboardData.types.includes("text/plain")) return; // text from an office program brings a picture of itself
    event.preventDefault();
    add(files);
  });
  document.addEventListener("files-dropped", ({ detail: { to, files } }) => to === "conversation" && add(files.map(([file]) => file)));
  addEventListener("beforeunload", (event) => { if (sending || queue.length) event.preventDefault(); });
  poll();
}
