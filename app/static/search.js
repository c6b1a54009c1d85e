// The search page works without this file. With it, a search does not reload the page, and the choices are
// remembered.
"use strict";

const form = document.getElementById("search");
const REGIONS = ["results", "languages", "status"];
const CHOICES = "braid.choices";

function address() {
  const fields = new URLSearchParams(new FormData(form));
  if (fields.get("mode") !== "hybrid") fields.delete("fusion");
  if (fields.get("fusion") !== "weighted") fields.delete("alpha");
  for (const name of ["source", "from", "to"]) if (!fields.get(name)) fields.delete(name);
  return `${form.action}?${fields}`;
}

// ---- searching without a reload

let running = null;
let shown = location.search;

// With ``from``, the number of the first hit that was not shown before, the focus goes on there.
async function search(url = address(), from = 0) {
  running?.abort();
  running = new AbortController();
  const { signal } = running;
  document.body.classList.add("loading");
  try {
    const response = await fetch(url, { signal, headers: { Accept: "text/html" } });
    if (response.redirected) return location.assign(url); // signed out: the form to sign in comes back to this search
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    for (const id of REGIONS) {
      const next = page.getElementById(id);
      if (next) document.getElementById(id).replaceWith(document.adoptNode(next));
    }
    document.title = page.title;
    history.pushState(null, "", url);
    shown = location.search;
    announce(document.querySelector(from ? "#results .go-on span" : "#results .summary, #results h1")?.textContent);
    if (from) (document.querySelector(`#hit-${from} a`) ?? document.getElementById("results")).focus();
  } catch (error) {
    if (error.name === "AbortError") return;
    announceOffline();
  } finally {
    if (running.signal === signal) document.body.classList.remove("loading");
  }
}

function announce(text) {
  document.getElementById("announcer").textContent = (text ?? "").replace(/\s+/g, " ").trim();
}

function announceOffline() {
  const notice = document.createElement("p");
  notice.className = "notice";
  notice.textContent = form.dataset.offline;
  document.getElementById("results").replaceChildren(notice);
  announce(form.dataset.offline);
}

// ---- remembering the choices

function remember() {
  const fields = new FormData(form);
  const { mode, fusion, alpha, k, strategy } = Object.fromEntries(fields);
  const choices = { of: form.dataset.choices, d: fields.getAll("d"), mode, fusion, alpha, k, strategy };
  localStorage.setItem(CHOICES, JSON.stringify(choices));
}

function recall() {
  let saved;
  try {
    saved = JSON.parse(localStorage.getItem(CHOICES));
  } catch {
    return;
  }
  if (saved?.of !== form.dataset.choices) return;  // somebody else's, or the user's preferences have changed
  for (const input of form.elements) {
    if (input.name === "d") input.checked = saved.d.includes("all") || saved.d.includes(input.value);
    else if (input.type === "radio") input.checked = input.value === saved[input.name];
    else if (input.name in saved) input.value = saved[input.name] || input.value;
  }
}

// On a narrow screen the results come first.
function foldPicker() {
  const picker = document.getElementById("picker");
  if (matchMedia("(max-width: 800px)").matches) picker.open = !form.elements.q.value;
  picker.classList.remove("unfolded");
}

function showStrategy(chosen) {
  document.querySelector("#strategies .chosen").textContent = chosen.labels[0].querySelector(".name").textContent;
}

// ---- start

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input:not([type=radio], [type=checkbox], [type=range]), textarea, select");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey || !form) return;
  event.preventDefault();
  form.elements.q.select();
});

if (form) {
  if (!location.search) recall();
  showStrategy(document.querySelector("[name=strategy]:checked"));
  form.elements.alpha.dispatchEvent(new Event("input"));  // balance.js puts it in words
  foldPicker();
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    foldPicker();
    search();
  });
  // The pickers stand outside the form's element but belong to it; `change` bubbles to the document.
  document.addEventListener("change", (event) => {
    if (event.target.form !== form) return;
    remember();
    if (event.target.name === "strategy") showStrategy(event.target);
    if (event.target.name !== "q" && form.elements.q.value.trim()) search();
  });
  document.addEventListener("click", (event) => {
    const further = event.target.closest("#further");
    if (!further || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    search(further.href.replace(/#.*/, ""), Number(further.dataset.from));
  });
  addEventListener("popstate", () => location.search !== shown && location.reload());
}
