// The page works without this file. With it, one box selects all, and how many are selected is said.
"use strict";

const every = document.getElementById("tick-all");
const boxes = [...document.querySelectorAll("input[name=c][type=checkbox]")];

if (every) {
  document.getElementById("all-label").hidden = false;
  const told = document.getElementById("ticked");
  const tell = () => {
    const number = boxes.filter(({ checked }) => checked).length;
    every.checked = number === boxes.length;
    every.indeterminate = number > 0 && !every.checked;
    if (told) told.textContent = told.dataset.told.replace("{num}", number);
  };
  every.addEventListener("change", () => {
    for (const box of boxes) box.checked = every.checked;
    tell();
  });
  for (const box of boxes) box.addEventListener("change", tell);
  tell();
}
