// The page works without this file. With it, one box selects all, and how many are selected is said.
"use strict";

{
  const boxes = () => [...document.querySelectorAll("input[name=c][type=checkbox]")];

  const tell = () => {
    const every = document.getElementById("tick-all");
    if (!every) return;
    document.getElementById("all-label").hidden = false;
    const told = document.getElementById("ticked");
    const number = boxes().filter(({ checked }) => checked).length;
    every.checked = number === boxes().length;
    every.indeterminate = number > 0 && !every.checked;
    if (told) told.textContent = told.dataset.told.replace("{num}", number);
  };

  document.addEventListener("change", ({ target }) => {
    if (target.id === "tick-all") for (const box of boxes()) box.checked = target.checked;
    tell();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches("input[type=checkbox]")) event.preventDefault(); // no act was chosen
  });
  document.addEventListener("listed", tell); // another list has come
  tell();
}
