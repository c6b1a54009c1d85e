// @ in the question lists documents and datasets; what is chosen stands above the box, and is all that is searched for
// this question. Without this file, a page's "Ask about this page" names it all the same.
"use strict";

{
  const about = document.getElementById("about");
  const menu = document.getElementById("mention");
  const list = document.getElementById("mention-list");
  const words = menu.dataset;
  const WAIT_MS = 120;
  const TYPED = /(?<![A-Za-z0-9._+-])[@＠]([^@＠\n]{0,60})$/u; // not in an address of mail
  let wait = 0;
  let asked = 0; // of several answers the last one counts
  let dismissed = ""; // what was typed when the list was closed by Esc

  const options = () => [...list.children];
  const current = () => list.querySelector("[aria-selected=true]");
  const typed = () => (box.selectionStart === box.selectionEnd ? TYPED.exec(box.value.slice(0, box.selectionStart)) : null);

  function close() {
    asked += 1;
    clearTimeout(wait);
    menu.hidden = true;
    list.replaceChildren();
    for (const name of ["aria-controls", "aria-activedescendant"]) box.removeAttribute(name);
  }

  function select(option) {
    current()?.setAttribute("aria-selected", "false");
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    box.setAttribute("aria-activedescendant", option.id);
  }

  function show(entries) {
    if (!entries.length) return close();
    list.replaceChildren(...entries.map(({ title, about: place, beside, key, icon }, number) => {
      const option = document.createElement("div");
      const name = Object.assign(document.createElement("span"), { className: "title", textContent: title, dir: "auto" });
      const where = Object.assign(document.createElement("span"), { className: "place", textContent: place, dir: "auto" });
      option.innerHTML = `<svg class="icon" aria-hidden="true"><use href="${words.sprite}#${icon}"/></svg>`;
      for (const [attribute, value] of Object.entries({ role: "option", id: `mention-${number}`, "aria-selected": "false" })) option.setAttribute(attribute, value);
      option.dataset.key = key;
      option.dataset.beside = beside;
      option.append(name, where);
      return option;
    }));
    menu.hidden = false;
    menu.style.maxHeight = `min(46dvh, 320px, ${Math.max(80, Math.round(menu.parentElement.getBoundingClientRect().bottom) - 12)}px)`;
    box.setAttribute("aria-controls", list.id);
    select(list.firstElementChild);
    announce(words.found.replace("{count}", entries.length));
  }

  async function look() {
    const found = typed();
    if (!found || found[0] === dismissed) return close();
    const mine = (asked += 1);
    const url = `${words.url}?${new URLSearchParams({ q: found[1].trim(), to: "ask" })}`;
    const response = await fetch(url, { headers: { Accept: "application/json" } }).catch(() => null);
    const groups = response?.ok && !response.redirected ? (await response.json()).groups : [];
    if (mine === asked) show(groups.flatMap((group) => group.entries));
  }

  function name(key, text, beside = "") {
    if ([...about.children].some((item) => item.dataset.about === key)) return;
    const item = Object.assign(document.createElement("li"), { dir: "auto" });
    item.dataset.about = key;
    item.append(text, Object.assign(document.createElement("input"), { type: "hidden", name: "about", value: key }));
    if (beside) item.firstChild.after(" ", Object.assign(document.createElement("small"), { textContent: beside, title: beside }));
    about.append(item);
    removable(item);
  }

  function removable(item) {
    const text = item.firstChild.textContent.trim();
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: "×" });
    button.setAttribute("aria-label", about.dataset.remove.replace("{name}", text));
    button.addEventListener("click", () => {
      item.remove();
      box.focus();
    });
    item.append(button);
  }

  function choose(option) {
    const [whole] = typed();
    const end = box.selectionStart;
    box.setRangeText("", end - whole.length, end, "end");
    name(option.dataset.key, option.querySelector(".title").textContent, option.dataset.beside);
    close();
    box.dispatchEvent(new Event("input", { bubbles: true }));
    box.focus();
  }

  // While something is composed, the input method has the keys; what it has written so far is looked up all the same.
  function key(event) {
    if (menu.hidden || event.isComposing || event.keyCode === 229) return;
    const all = options();
    const at = all.indexOf(current());
    if (event.key === "ArrowDown") select(all[(at + 1) % all.length]);
    else if (event.key === "ArrowUp") select(all.at(at - 1));
    else if (event.key === "Enter" || event.key === "Tab") choose(current());
    else if (event.key === "Escape") {
      dismissed = typed()?.[0] ?? "";
      close();
    } else return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  box.addEventListener("keydown", key, { capture: true });
  box.addEventListener("input", () => {
    clearTimeout(wait);
    const found = typed();
    if (!found) return close();
    if (!found[0].startsWith(dismissed)) dismissed = "";
    wait = setTimeout(look, WAIT_MS);
  });
  box.addEventListener("blur", () => setTimeout(() => document.activeElement === box || close(), 150));
  list.addEventListener("mousedown", (event) => event.preventDefault()); // the box keeps the focus
  list.addEventListener("click", (event) => choose(event.target.closest("[role=option]")));

  // "Ask about this page", in the panel and in lists beside the conversation.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-about]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    name(link.dataset.about, link.dataset.name);
    box.focus();
  });

  // What a question was asked about is shown below it, and is not kept for the next one.
  form.addEventListener("asked", ({ detail: { turn } }) => {
    const shown = turn.querySelector(".question .named");
    shown.replaceChildren(...[...about.children].map((item) => {
      const named = item.cloneNode(true);
      for (const part of named.querySelectorAll("input, button")) part.remove();
      return named;
    }));
    shown.hidden = !about.children.length;
    about.replaceChildren();
  });

  for (const item of about.children) removable(item);
}
