// The pages work without this file. With it, what is under way is shown as it goes on.
"use strict";

async function refresh() {
  const shown = document.getElementById("live");
  const wait = Number(shown?.dataset.refresh);
  if (!wait) return;
  await new Promise((resolve) => setTimeout(resolve, wait));
  const busy = shown.contains(document.activeElement) && document.activeElement !== shown;
  if (!document.hidden && !busy) {
    try {
      const response = await fetch(location.href, { headers: { Accept: "text/html" } });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const next = page.getElementById("live");
      if (response.ok && next) shown.replaceWith(document.adoptNode(next));
    } catch {
      // the next round may do
    }
  }
  refresh();
}

refresh();

// On phones the sections are one row: the one that is open is brought into view.
const here = document.querySelector(".sections [aria-current]");
here?.parentElement.scrollTo({ left: here.offsetLeft - here.parentElement.offsetLeft - 40 });

// A list follows what is typed into its search, and so does the address. Enter still loads the page.
const finder = document.querySelector("form[data-follows]");
let finding = 0;
let asked = null;

async function follow() {
  asked?.abort();
  asked = new AbortController();
  const wanted = new URLSearchParams(new FormData(finder));
  const address = `${finder.getAttribute("action")}?${wanted}`;
  try {
    const response = await fetch(address, { headers: { Accept: "text/html" }, signal: asked.signal });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const next = page.getElementById("found");
    if (!response.ok || !next) return;
    document.getElementById("found").replaceWith(document.adoptNode(next));
    history.replaceState(null, "", address);
    document.getElementById("announcer").textContent = next.querySelector("[role=status]")?.textContent ?? "";
    document.dispatchEvent(new Event("listed"));
  } catch {
    // more was typed, or the server is away: Enter loads the page
  }
}

finder?.addEventListener("input", () => {
  clearTimeout(finding);
  finding = setTimeout(follow, 150);
});

// Of many groups those are shown whose name has what is typed, and those that are ticked.
for (const field of document.querySelectorAll("[data-narrows]")) {
  const boxes = [...document.getElementById(field.dataset.narrows).children];
  const nameOf = (box) => (box.control ?? box).value.replace(box.control ? "" : /^\w+:/, ""); // a label's group, or that of a button
  field.hidden = false;
  field.addEventListener("input", () => {
    const part = field.value.trim().normalize("NFKC").toLowerCase();
    for (const each of boxes) {
      each.hidden = !nameOf(each).normalize("NFKC").toLowerCase().includes(part) && !each.querySelector(":checked");
    }
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault(); // it only looks
  });
}
