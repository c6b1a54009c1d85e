// Offers people, or groups, whose name contains what is typed. In a field for several each that is chosen becomes a box beside it,
// which can be unticked. Without this file a name is typed whole.
"use strict";

const PEOPLE_WAIT_MS = 150;

for (const field of document.querySelectorAll("[data-people]")) {
  const list = document.getElementById(field.getAttribute("list"));
  const boxes = "several" in field.dataset && field.parentElement.appendChild(document.createElement("div"));
  let timer = 0;
  let running = null;

  const offer = async () => {
    running?.abort();
    running = new AbortController();
    const kind = field.dataset.kind || field.form.elements.kind?.value || "user";
    const url = `${field.dataset.people}?${new URLSearchParams({ kind, name: field.value.trim() })}`;
    try {
      const names = await (await fetch(url, { signal: running.signal })).json();
      list.replaceChildren(...names.map((value) => Object.assign(document.createElement("option"), { value })));
    } catch {
      list.replaceChildren(); // a help that is missing; the form works without it
    }
  };

  const choose = () => {
    const name = field.value.trim();
    if (!boxes || ![...list.options].some(({ value }) => value === name)) return false;
    const box = Object.assign(document.createElement("input"), { type: "checkbox", name: `${field.name}_chosen`, value: name, checked: true });
    const label = Object.assign(document.createElement("label"), { className: "check" });
    label.append(box, ` ${name}`);
    if (![...boxes.querySelectorAll("input")].some(({ value }) => value === name)) boxes.append(label);
    const none = () => !boxes.querySelector(":checked");
    box.addEventListener("change", () => { field.required = none(); });
    field.value = "";
    field.required = none();
    list.replaceChildren();
    return true;
  };

  if (boxes) {
    boxes.className = "boxes";
    boxes.setAttribute("role", "status");
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.isComposing && choose()) event.preventDefault();
    });
  }
  field.addEventListener("input", (event) => {
    if (event.inputType === "insertReplacementText" || !event.inputType) choose(); // an offer was taken
  });
  field.form.addEventListener("input", () => {
    clearTimeout(timer);
    if (field.value.trim().length > 1) timer = setTimeout(offer, PEOPLE_WAIT_MS);
  });
}
