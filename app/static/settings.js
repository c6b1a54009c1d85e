// The page works without this file. With it, the balance is said in words.
"use strict";

const alpha = document.getElementById("alpha");
const words = alpha.labels[0].querySelector("output");

function sayBalance() {
  const meaning = Math.round(100 * alpha.value);
  words.value = words.dataset.words.replace("{meaning}", meaning).replace("{keywords}", 100 - meaning);
  alpha.setAttribute("aria-valuetext", words.value);
}

alpha.addEventListener("input", sayBalance);
sayBalance();
