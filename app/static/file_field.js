// A field for a file says the name of the one that was chosen. Without this file the browser's own button is there.
"use strict";

for (const told of document.querySelectorAll(".file-field output")) {
  const field = document.getElementById(told.htmlFor.value);
  const none = told.textContent;
  const tell = () => { told.textContent = field.files[0]?.name ?? none; };
  field.addEventListener("change", tell);
  field.form.addEventListener("reset", () => setTimeout(tell));
  tell(); // a browser keeps what was chosen when one goes back
}
