// The page works without this file: browsers print by their menu. With it, by a button.
"use strict";

const button = document.getElementById("print");

button.hidden = false;
button.addEventListener("click", () => print());
