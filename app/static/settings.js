// The page works without this file. With it, a section is saved as soon as a field changes, and the balance is said in words.
"use strict";

const page = document.getElementById("settings");
const alpha = document.getElementById("alpha");
const words = alpha.labels[0].querySelector("output");

function sayBalance() {
  const meaning = Math.round(100 * alpha.value);
  words.value = words.dataset.words.replace("{meaning}", meaning).replace("{keywords}", 100 - meaning);
  alpha.setAttribute("aria-valuetext", words.value);
}

alpha.addEventListener("input", sayBalance);
sayBalance();

function say(form, text, wrong) {
  const said = form.querySelector(".saved");
  said.classList.toggle("wrong", wrong);
  said.value = text;
}

async function save(form) {
  if (!form.reportValidity()) return say(form, "", false);
  if (form.querySelector("#datasets-these:checked") && !form.querySelector(".these :checked")) return say(form, page.dataset.none, true);
  const sent = new FormData(form);
  form.sent = sent;
  say(form, "", false);
  const response = await fetch(form.action, { method: "POST", body: sent, headers: { Accept: "application/json" } }).catch(() => null);
  if (form.sent !== sent) return; // what was changed since is on its way
  const problem = response && !response.ok ? await response.json().catch(() => ({})) : null;
  if (!response?.ok) return say(form, problem?.message ?? problem?.detail ?? problem?.title ?? page.dataset.offline, true);
  say(form, page.dataset.saved, false);
  const { language, theme } = form.elements;
  if (!language) return;
  if (language.value !== language.dataset.was) return location.reload();
  if (theme.value === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
}

// What was changed before this script ran is not saved yet: the button stays.
function isChanged(form) {
  return [...form.elements].some((field) => {
    if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
    if (field.options) return field.selectedIndex !== Math.max(0, [...field.options].findIndex((option) => option.defaultSelected));
    if (field.type === "range") return Math.abs(field.value - field.defaultValue) >= field.step / 2; // browsers round it
    return field.matches("input, textarea") && field.value !== field.defaultValue;
  });
}

for (const form of document.querySelectorAll("form[data-saves]")) {
  form.classList.toggle("changed", isChanged(form));
  if (form.elements.language) form.elements.language.dataset.was = [...form.elements.language.options].find((option) => option.defaultSelected)?.value ?? "";
  form.addEventListener("change", () => save(form));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    save(form);
  });
}

// Which section one reads.
const links = document.querySelectorAll(".sections a[href^='#']");
const seen = new IntersectionObserver(
  (entries) => {
    for (const { target } of entries.filter((entry) => entry.isIntersecting)) {
      for (const link of links) {
        if (link.hash === `#${target.id}`) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    }
  },
  { rootMargin: "-10% 0px -75%" },
);
for (const link of links) seen.observe(document.querySelector(link.hash));
