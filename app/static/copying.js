// What is to be handed on, a link or a key, is copied by a button; several links with their names. Without this file it is selected by hand.
"use strict";

{
  const said = Object.assign(document.createElement("span"), { className: "visually-hidden", role: "status" });
  document.body.append(said);

  const copied = async (text) => {
    if (await navigator.clipboard?.writeText(text).then(() => true, () => false)) return true;
    const area = Object.assign(document.createElement("textarea"), { value: text }); // over plain HTTP there is no clipboard
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  };

  document.addEventListener("click", async ({ target }) => {
    const button = target.closest("[data-copies]");
    if (!button) return;
    const found = [...document.querySelectorAll(button.dataset.copies)];
    const texts = found.map((each) => each.value ?? each.textContent);
    const lines = found.map(({ dataset: { name } }, place) => `${/^[=+\-@＝＋－＠]./.test(name) ? "'" : ""}${name}\t${texts[place]}`); // they are pasted into spreadsheets
    const is = await copied(found.length > 1 ? lines.join("\n") : texts[0]);
    button.textContent = said.textContent = is ? button.dataset.done : button.dataset.failed;
    button.focus();
  });

  // A file that is made here leaves no link in the browser's list of downloads.
  document.addEventListener("click", ({ target }) => {
    const { keeps, text } = target.closest("[data-keeps]")?.dataset ?? {};
    if (!keeps) return;
    const href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    Object.assign(document.createElement("a"), { href, download: keeps }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60_000);
  });
}
