// The dataset picker works without this file. With it, typing finds a dataset and Enter selects only that one; in the
// chat, what is selected is named above the question box.
"use strict";

{
  const picker = document.getElementById("picker");
  const filter = document.getElementById("filter");
  // In a search with few datasets there is no filter.
  const matches = document.getElementById("matches");
  const count = document.getElementById("picker-count");
  const button = document.getElementById("picker-button");
  const chips = document.getElementById("chips");
  const said = picker.dataset;
  const isSheet = picker.hasAttribute("popover");
  const fold = (text) => text.normalize("NFKC").toLowerCase().trim();
  const rows = [...picker.querySelectorAll(".dataset")].map((line, position) => {
    const name = line.querySelector(".name").textContent;
    const about = line.querySelector(".about")?.textContent ?? "";
    return { line, position, name, box: line.querySelector("input"), text: fold(`${name} ${about}`) };
  });
  const groups = [...picker.querySelectorAll(".picked")];
  let best = null; // what Enter selects

  const isShown = (row) => !row.line.hidden;
  const ticked = () => rows.filter((row) => row.box.checked);

  // ---- finding

  function find() {
    const wanted = fold(filter.value);
    const words = wanted.split(/\s+/);
    for (const row of rows) row.line.hidden = !words.every((word) => row.text.includes(word));
    for (const group of groups) {
      group.hidden = ![...group.querySelectorAll(".dataset")].some((line) => !line.hidden);
      for (const folded of group.querySelectorAll(".folded")) {
        folded.hidden = ![...folded.querySelectorAll(".dataset")].some((line) => !line.hidden);
        folded.open = Boolean(wanted);
      }
    }
    best?.line.classList.remove("best");
    const found = rows.filter(isShown);
    best = wanted ? (found.find((row) => row.text.startsWith(wanted)) ?? found[0]) : null;
    best?.line.classList.add("best");
    matches.textContent = best
      ? said.found.replace("{count}", found.length).replace("{name}", best.name)
      : wanted ? said.nothing : "";
  }

  function selectOnly(row) {
    for (const { box } of rows) box.checked = false;
    row.box.checked = true;
    filter.value = "";
    find();
    row.box.dispatchEvent(new Event("change", { bubbles: true }));
    if (!isSheet) return;
    picker.hidePopover();
    document.getElementById("text").focus();
  }

  function move(event) {
    const boxes = rows.filter((row) => isShown(row) && row.box.checkVisibility()).map((row) => row.box);
    const next = boxes.indexOf(event.target) + (event.key === "ArrowDown" ? 1 : -1);
    event.preventDefault();
    (next < 0 ? filter ?? boxes[0] : boxes[Math.min(next, boxes.length - 1)])?.focus();
  }

  filter?.addEventListener("input", find);
  picker.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229) return;
    const isHere = event.target === filter || event.target.name === "d";
    if (event.key === "Enter" && event.target === filter) {
      event.preventDefault();
      if (best) selectOnly(best);
    } else if (event.key === "Escape" && isSheet) {
      event.preventDefault(); // a search field would take it to be emptied
      event.stopPropagation();
      picker.hidePopover();
      button.focus();
    } else if (isHere && (event.key === "ArrowDown" || event.key === "ArrowUp")) move(event);
    else if (event.key === "Tab" && isSheet) stay(event);
  });

  // ---- what is selected

  function chip(text, row) {
    const item = document.createElement("li");
    item.textContent = text;
    if (!row) return item;
    const remove = document.createElement("button");
    remove.type = "button";
    remove.textContent = "×";
    remove.setAttribute("aria-label", said.remove.replace("{name}", row.name));
    remove.addEventListener("click", () => {
      row.box.checked = false;
      row.box.dispatchEvent(new Event("change", { bubbles: true }));
      (chips.querySelector("button") ?? button).focus();
    });
    item.append(remove);
    return item;
  }

  function showChips(chosen) {
    if (!chips) return;
    if (chosen.length === rows.length) chips.replaceChildren(chip(said.everything));
    else if (!chosen.length) chips.replaceChildren(chip(said.personal));
    else {
      const named = chosen.slice(0, Number(said.chips)).map((row) => chip(row.name, row));
      const others = chosen.length - named.length;
      chips.replaceChildren(...named, ...(others ? [chip(said.more.replace("{count}", others))] : []));
    }
  }

  // Everything is sent as such, so that a dataset that is created later is searched, too.
  rows[0]?.box.form.addEventListener("formdata", ({ formData }) => {
    if (ticked().length) formData.delete("offered"); // with none ticked it says that a form was sent
    if (ticked().length === rows.length) formData.set("d", "all");
  });

  function tell() {
    const chosen = ticked();
    const text = chosen.length
      ? said.some.replace("{ticked}", chosen.length).replace("{all}", rows.length)
      : said.none;
    count.textContent = text;
    // beside it the chips say that these are all
    if (button) button.querySelector("output").textContent = chosen.length === rows.length ? "" : text;
    showChips(chosen);
    for (const group of groups) {
      const boxes = [...group.querySelectorAll("input[name=d]")];
      const every = group.querySelector(".select-all");
      every.checked = boxes.every((box) => box.checked);
      every.indeterminate = !every.checked && boxes.some((box) => box.checked);
    }
  }

  picker.addEventListener("change", (event) => {
    if (event.target.classList.contains("select-all")) {
      const shown = [...event.target.closest(".picked").querySelectorAll(".dataset:not([hidden]) input")];
      for (const box of shown) box.checked = event.target.checked;
      shown[0]?.dispatchEvent(new Event("change", { bubbles: true })); // the search page searches again
    }
    tell();
  });

  // ---- the sheet: selected ones first, the focus inside until it is closed

  function order() {
    for (const list of picker.querySelectorAll(".picked-rows")) {
      const own = rows.filter((row) => row.line.parentElement === list);
      own.sort((a, b) => b.box.checked - a.box.checked || a.position - b.position);
      list.append(...own.map((row) => row.line));
    }
  }

  function stay(event) {
    const stops = [...picker.querySelectorAll("button, input, summary")].filter((element) => element.checkVisibility());
    const [first, last] = [stops[0], stops.at(-1)];
    const leaves = event.shiftKey ? document.activeElement === first : document.activeElement === last;
    if (!leaves) return;
    event.preventDefault();
    (event.shiftKey ? last : first).focus();
  }

  if (isSheet) {
    filter.autofocus = true; // at once as it opens: `toggle` comes later, and keys before it would go to the button
    picker.addEventListener("beforetoggle", (event) => event.newState === "open" && order());
    picker.addEventListener("toggle", (event) => {
      if (event.newState === "open") return;
      filter.value = "";
      find();
      if (document.activeElement === document.body) button.focus();
    });
  }

  tell();
}
