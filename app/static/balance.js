// The balances in words, as they are moved.
"use strict";

for (const slider of document.querySelectorAll("input[data-split]")) {
  const show = () => {
    const meaning = Math.round(100 * slider.value);
    const words = slider.dataset.split.replace("{meaning}", meaning).replace("{keywords}", 100 - meaning);
    slider.parentElement.querySelector("output").value = words;
    slider.setAttribute("aria-valuetext", words);
  };
  slider.addEventListener("input", show);
  show();
}
