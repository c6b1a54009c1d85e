// The palette: Ctrl+K or ⌘K on every page, or its button, finds what one can go to or begin, by name; ? lists the keys.
"use strict";

{
  const palette = document.getElementById("palette");
  const button = document.getElementById("palette-button");
  const shortcuts = document.getElementById("shortcuts");
  const field = palette.querySelector("input");
  const list = palette.querySelector("[role=listbox]");
  const status = palette.querySelector("[role=status]");
  const said = palette.dataset;
  const WAIT_MS = 300; // what is typed is searched for in documents, too
  let timer = 0; // of the search that waits for more to be typed; 0 when none does
  let running = null;
  let listed = null; // promises true once the list is of what is typed, and false if more was typed meanwhile

  const options = () => [...list.querySelectorAll("[role=option]")];
  const current = () => list.querySelector("[aria-selected=true]");

  function make(tag, attributes, ...parts) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...parts.filter(Boolean));
    return element;
  }

  function picture(name) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
    svg.setAttribute("class", "icon");
    svg.setAttribute("aria-hidden", "true");
    use.setAttribute("href", `${said.sprite}#${name}`);
    svg.append(use);
    return svg;
  }

  function show({ groups, missing }) {
    let number = 0;
    list.replaceChildren(...groups.map(({ name, entries }, place) => {
      const heading = make("div", { class: "group", id: `palette-group-${place}` }, name);
      const lines = entries.map(({ title, about, href, icon }) => make(
        "div",
        { role: "option", id: `palette-${number++}`, "data-href": href, "aria-selected": "false" },
        picture(icon),
        make("span", { class: "title", dir: "auto" }, title),
        about && make("span", { class: "about", dir: "auto" }, about),
      ));
      return make("div", { role: "group", "aria-labelledby": heading.id }, heading, ...lines);
    }));
    choose(options()[0]);
    field.setAttribute("aria-expanded", String(number > 0));
    status.textContent = [number ? said.found.replace("{count}", number) : said.nothing, missing].filter(Boolean).join(" ");
    status.classList.toggle("visually-hidden", number > 0 && !missing);
  }

  function choose(option) {
    current()?.setAttribute("aria-selected", "false");
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) field.setAttribute("aria-activedescendant", option.id);
    else field.removeAttribute("aria-activedescendant");
  }

  async function find() {
    running?.abort();
    running = new AbortController();
    try {
      const url = `${said.url}?${new URLSearchParams({ q: field.value })}`;
      const response = await fetch(url, { signal: running.signal, headers: { Accept: "application/json" } });
      if (response.status === 401) return location.reload(); // signed out: the form to sign in comes back here
      if (!response.ok) throw new Error(response.statusText);
      show(await response.json());
      return true;
    } catch (error) {
      if (error.name === "AbortError") return false;
      show({ groups: [] });
      status.textContent = said.offline;
      return true;
    }
  }

  function look() {
    clearTimeout(timer);
    timer = 0;
    listed = find();
  }

  function open() {
    if (palette.open) return palette.close();
    field.value = "";
    palette.showModal();
    look();
  }

  function go(option, event) {
    if (!option) return;
    if (option.dataset.href.startsWith("#")) {
      palette.close();
      const [, act, value] = /^#(\w+)-?(.*)$/.exec(option.dataset.href);
      ACTS[act](value);
    } else if (event.ctrlKey || event.metaKey) window.open(option.dataset.href, "_blank", "noopener");
    else location.assign(option.dataset.href);
  }

  // What is done in place: where the page has a button for it, by that.
  const ACTS = {
    shortcuts: () => shortcuts.showModal(),
    sign: () => document.getElementById("sign-out").click(),
    language: (code) => document.querySelector(`#languages a[lang="${code}"]`).click(),
    async theme(name) {
      const headers = { Accept: "application/json", "X-CSRFToken": document.querySelector("meta[name=csrf-token]").content };
      const response = await fetch(said.settings, { method: "POST", headers, body: new URLSearchParams({ theme: name }) }).catch(() => null);
      if (!response?.ok) return location.assign(`${said.settings}#look`); // where it can be done without a script
      if (name === "auto") delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = name;
    },
  };

  const STEPS = {
    ArrowDown: (all, at) => all[(at + 1) % all.length],
    ArrowUp: (all, at) => all.at(at - 1),
    PageDown: (all, at) => all[Math.min(at + 7, all.length - 1)],
    PageUp: (all, at) => all[Math.max(at - 7, 0)],
  };

  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(look, WAIT_MS);
  });
  field.addEventListener("keydown", async (event) => {
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Escape") {
      event.preventDefault(); // a search field would take it to be emptied
      palette.close();
    }
    if (event.key !== "Enter" && !(event.key in STEPS)) return;
    event.preventDefault();
    if (timer) look();
    if (!(await listed) || !palette.open) return;
    const all = options();
    if (event.key === "Enter") go(current(), event);
    else choose(STEPS[event.key](all, all.indexOf(current())));
  });
  list.addEventListener("click", (event) => go(event.target.closest("[role=option]"), event));
  palette.addEventListener("click", (event) => event.target === palette && palette.close());
  shortcuts.addEventListener("click", (event) => event.target === shortcuts && shortcuts.close());
  document.addEventListener("keydown", (event) => {
    if (event.key !== "?" || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest("input, textarea, select, [contenteditable]") || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    shortcuts.showModal();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
    event.preventDefault();
    open();
  });
  document.addEventListener("keydown", (event) => {
    if (event.code !== "KeyO" || !(event.ctrlKey || event.metaKey) || !event.shiftKey || event.altKey) return;
    event.preventDefault();
    location.assign(said.new);
  });
  button.addEventListener("click", open);
  button.hidden = false;
  if (/Mac|iPhone|iPad/.test(navigator.platform)) {
    button.querySelector("kbd").textContent = "⌘K";
    for (const key of shortcuts.querySelectorAll("kbd")) if (key.textContent === "Ctrl") key.textContent = "⌘";
  }
}
