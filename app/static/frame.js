// Inside a frame: tells the page around it what is ticked and answered, once that page has said hello from an origin that
// the server allows.
"use strict";

{
  const allowed = document.documentElement.dataset.frameOrigins.split(" ").map((one) => (one === "self" ? location.origin : one));
  let origin = "";

  const tell = (message) => origin && parent.postMessage(message, origin);
  const boxes = () => [...document.querySelectorAll('.dataset input[name="d"]')];
  const tellSelection = () =>
    boxes().length && tell({ braid: "selection", datasets: boxes().filter((box) => box.checked).map((box) => Number(box.value)) });
  const tellHeight = () => tell({ braid: "height", height: Math.ceil(document.body.getBoundingClientRect().height) });

  addEventListener("message", (event) => {
    if (event.source !== parent || !allowed.includes(event.origin) || event.data?.braid !== "hello") return;
    origin = event.origin;
    tellSelection();
    tellHeight();
  });
  document.addEventListener("change", (event) => {
    if (event.target.closest("#picker")) setTimeout(tellSelection); // "select all" ticks the others first
  });
  document.addEventListener("braid-answered", (event) => tell({ braid: "answer", ...event.detail }));
  new ResizeObserver(tellHeight).observe(document.body);

  // The chat and its passages may be shown in a frame; what leads to any other page opens a tab.
  function openOutside(link) {
    const address = new URL(link.href, location.href);
    const stays = address.origin === location.origin && /\/(chat(\/|$)|documents\/passage\/)/.test(address.pathname);
    if (!stays && !link.getAttribute("href").startsWith("#")) link.target = "_blank";
  }
  for (const link of document.querySelectorAll("a[href]")) openOutside(link);
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]"); // one that came with an answer
    if (link) openOutside(link);
  }, true);
}
