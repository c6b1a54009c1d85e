// Offers people, or groups, whose name contains what is typed; in a field for several, what is typed last. Without this file a name is typed whole.
"use strict";

const PEOPLE_WAIT_MS = 150;

for (const field of document.querySelectorAll("[data-people]")) {
  const list = document.getElementById(field.getAttribute("list"));
  let timer = 0;
  let running = null;

  const offer = async () => {
    running?.abort();
    running = new AbortController();
    const kind = field.form.elements.kind?.value || "user";
    const before = "several" in field.dataset ? field.value.slice(0, field.value.search(/[^,、]*$/)) : "";
    const name = field.value.slice(before.length).trim();
    const url = `${field.dataset.people}?${new URLSearchParams({ kind, name })}`;
    try {
      const names = await (await fetch(url, { signal: running.signal })).json();
      const option = (found) => Object.assign(document.createElement("option"), { value: `${before}${before && " "}${found}` });
      list.replaceChildren(...names.map(option));
    } catch {
      list.replaceChildren(); // a help that is missing; the form works without it
    }
  };

  field.form.addEventListener("input", () => {
    clearTimeout(timer);
    if (field.value.trim().length > 1) timer = setTimeout(offer, PEOPLE_WAIT_MS);
  });
}
