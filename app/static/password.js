// Passwords can be shown while they are typed. They are hidden again before they are sent, as browsers expect.
"use strict";

for (const box of document.querySelectorAll("input[data-shows]")) {
  const field = box.form.elements[box.dataset.shows];
  const show = (is) => { field.type = is ? "text" : "password"; };
  box.closest("[hidden]")?.removeAttribute("hidden");
  box.checked = false; // a browser may keep the tick of an earlier visit
  box.addEventListener("change", () => show(box.checked));
  box.form.addEventListener("submit", () => show(false));
}
