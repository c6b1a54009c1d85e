// The page works without this file. With it, one box selects all.
"use strict";

const every = document.getElementById("tick-all");
const boxes = [...document.querySelectorAll("input[name=c][type=checkbox]")];

if (every) {
  document.getElementById("all-label").hidden = false;
  every.addEventListener("change", () => {
    for (const box of boxes) box.checked = every.checked;
  });
  for (const box of boxes) box.addEventListener("change", () => {
    every.checked = boxes.every(({ checked }) => checked);
  });
}
