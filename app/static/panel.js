// A cited passage opens beside the conversation or the results; on smaller screens it covers them until the button to
// close it or the browser's "back". Without this file, its link leads to the page that the panel takes it from.
"use strict";

// The card of the source that a link leads to.
function cardOf(link) {
  return link.closest(".hit") ?? link.closest(".turn")?.querySelector(`.source[data-number="${link.dataset.number}"]`);
}

// What a link to a source cites, as the source's card says it: its title, its place, and the cited sentence.
function glance(link) {
  const card = cardOf(link);
  const place = new URL(link.href, location).searchParams.get("said");
  const said = card?.querySelector(`[data-said="${place}"]`) ?? card?.querySelector(".excerpt, blockquote, .snippet");
  const parts = [...(card?.querySelectorAll(".source-title, .place") ?? []), said].filter(Boolean);
  return parts.map((part) => {
    const copy = document.createElement("p");
    copy.className = part.matches("blockquote, .snippet") ? "excerpt" : part.className;
    copy.lang = part.lang;
    copy.append(...part.cloneNode(true).childNodes);
    for (const mark of part === said ? copy.querySelectorAll(".cite") : []) mark.remove();
    for (const inner of copy.querySelectorAll("a")) inner.replaceWith(...inner.childNodes);
    return copy;
  });
}

{
  const panel = document.getElementById("panel");
  const body = panel.querySelector(".panel-body");
  const heading = document.getElementById("panel-heading");
  const steps = [...panel.querySelectorAll("[data-step]")];
  const room = matchMedia("(min-width: 1100px)");
  const PASSAGE = /\/documents\/passage\/[^/]+(\/page\/\d+)?$/;
  const OPEN = "#stop:not([hidden]), #preview:not([hidden]), dialog[open], [popover]:popover-open";

  const edge = panel.querySelector(".panel-edge");
  const NARROWEST = 380;
  const STEP = 40; // pixels that an arrow key moves the edge
  const NARROWEST_TEXT = 0.6; // share of a page's width: a page with a few words alone is not blown up
  const IN_SIGHT = 0.6; // share of the panel's height: what is cited above that needs no scrolling
  const MARGIN = 0.015; // share of a page's width that is left at the sides of its text
  const kept = { width: "braid.panel.width", zoom: "braid.panel.zoom" };

  const isFramed = document.documentElement.classList.contains("framed"); // as high as its page: nothing covers it all
  const covered = document.querySelectorAll(".skip, .top, #main > :not(#panel, #announcer)");

  const asked = new Set(); // sources that were opened, or asked for before they are

  let opened = null; // the link of the source that is shown
  let loading = null; // what ends opening it
  let ahead = null; // what ends asking for another
  let next = null; // the last one that was touched meanwhile

  const isPassage = ({ origin, pathname }) => origin === location.origin && PASSAGE.test(pathname);
  const isSame = (link) => link.pathname === opened.pathname;

  // The sources of the same answer, or all hits. They may have been drawn again since.
  function sources() {
    const around = opened.closest(".turn, #results") ?? document;
    return [...(around.isConnected ? around : document).querySelectorAll("a[data-source]")];
  }

  function open(link) {
    opened = link;
    asked.add(link.pathname);
    if (panel.hidden && !room.matches) history.pushState({ source: true }, "");
    panel.hidden = false;
    cover();
    widen(Number(localStorage.getItem(kept.width)) || panel.offsetWidth);
    document.getElementById("preview")?.setAttribute("hidden", "");
    const links = sources();
    const at = links.findIndex(isSame);
    for (const step of steps) step.disabled = at < 0 || !links[at + Number(step.dataset.step)];
    for (const old of document.querySelectorAll("a[aria-current=location]")) old.removeAttribute("aria-current");
    for (const each of document.querySelectorAll("#log a, #results a")) if (isSame(each)) each.setAttribute("aria-current", "location");
    name(link.textContent, at, links.length);
    link.scrollIntoView({ block: "nearest" }); // lines are shorter now
    const glimpse = document.createElement("div");
    glimpse.className = "glimpse";
    glimpse.append(...glance(link));
    if (glimpse.firstChild) body.replaceChildren(glimpse); // to be read while the source is opened
    load(link.href);
  }

  // A page of a PDF is drawn when it is asked for first, which takes a while: it is asked for before somebody does, but
  // one at a time, and none while a source is opened: the server draws one after the other for a person.
  async function drawAhead(link) {
    if (!link || !cardOf(link)?.matches(".paged") || asked.has(link.pathname) || navigator.connection?.saveData) return;
    if (ahead || loading) {
      next = link;
      return;
    }
    asked.add(link.pathname);
    ahead = new AbortController();
    const headers = { Accept: "text/html", Purpose: "prefetch" };
    await fetch(link.href, { headers, priority: "low", signal: ahead.signal }).catch(() => asked.delete(link.pathname));
    ahead = null;
    drawNext();
  }

  function drawNext() {
    const link = next;
    next = null;
    drawAhead(link);
  }

  const drawLast = () => drawAhead(document.querySelector("#log > .turn:last-child .answer a.cite, #results .hit a[data-source]"));

  // What is below a source that covers it is out of reach, also for the keyboard and for screen readers.
  function cover() {
    for (const part of covered) part.inert = !panel.hidden && !room.matches;
  }

  function name(title, at, count) {
    const text = at < 0 ? panel.dataset.alone : panel.dataset.place;
    heading.textContent = text.replace("{number}", at + 1).replace("{count}", count).replace("{title}", title.trim());
  }

  async function load(href) {
    loading?.abort();
    loading = new AbortController();
    next = null;
    ahead?.abort();
    const { signal } = loading;
    panel.querySelector(".panel-head a").href = href;
    body.setAttribute("aria-busy", "true");
    try {
      const response = await fetch(href, { signal, headers: { Accept: "text/html" } });
      if (response.redirected && !isPassage(new URL(response.url))) return location.assign(href); // signed out
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      show(page.querySelector("main > article, main > .error"));
    } catch {
      if (signal.aborted) return;
      const notice = document.createElement("p");
      notice.className = "notice";
      notice.textContent = panel.dataset.failed;
      show(notice);
    }
    body.removeAttribute("aria-busy");
    loading = null;
    drawNext();
  }

  function show(shown) {
    const links = sources();
    const title = shown.querySelector("h1");
    if (title) name(title.textContent, links.findIndex(isSame), links.length);
    shown.removeAttribute("id");
    body.replaceChildren(document.adoptNode(shown));
    zoom(localStorage.getItem(kept.zoom) ?? "100");
    document.getElementById("announcer").textContent = heading.textContent;
    const cited = body.querySelector(".has-sentence mark b") ?? body.querySelector("#cited");
    body.scrollTo(0, 0);
    const below = cited ? cited.getBoundingClientRect().top - body.getBoundingClientRect().top : 0;
    if (below > body.clientHeight * IN_SIGHT) body.scrollTo(0, below - body.clientHeight / 3);
    const paper = body.querySelector(".paper");
    if (paper) paper.scrollLeft = startOf(paper, cited);
  }

  // ---- its width and the zoom of pages, which are kept for the next source and the next visit

  function zoom(percent) {
    const paper = body.querySelector(".paper");
    const links = [...body.querySelectorAll("a.zoom")];
    const wanted = links.find((link) => percentOf(link) === percent);
    if (!paper || !wanted) return;
    const fixed = inSight(paper);
    const before = paper.offsetHeight;
    paper.className = `paper zoom${percent}`;
    for (const link of links) link.toggleAttribute("aria-current", link === wanted);
    paper.querySelector("svg").style.setProperty("width", `${room.matches ? percent : percent / printed(paper).width}%`);
    paper.scrollLeft = startOf(paper, paper.querySelector("#cited"));
    if (before) body.scrollTop += (fixed * paper.offsetHeight) / before - fixed;
  }

  // What stays in its place, in pixels below the top of the page: what is cited if it is in sight, else the middle.
  function inSight(paper) {
    const [window, page, cited] = [body, paper, paper.querySelector("#cited")].map((one) => one?.getBoundingClientRect());
    const isCited = cited && cited.top >= window.top && cited.bottom <= window.bottom;
    return (isCited ? cited.top : window.top + window.height / 2) - page.top;
  }

  // Where a page has text, as shares of its width: on a small screen the margins are not what the room is for.
  function printed(paper) {
    const page = paper.querySelector("svg").viewBox.baseVal.width;
    const boxes = [...paper.querySelectorAll("text")].map((line) => [line.x.baseVal[0].value, line.textLength.baseVal.value]);
    const left = Math.max(0, Math.min(...boxes.map(([x]) => x)) / page - MARGIN);
    const right = Math.min(1, Math.max(...boxes.map(([x, width]) => x + width)) / page + MARGIN);
    const width = Math.max(right - left, NARROWEST_TEXT);
    return boxes.length ? { left: Math.min(left, 1 - width), width } : { left: 0, width: 1 };
  }

  // Lines are read from their beginning, unless what is cited begins out of sight.
  function startOf(paper, cited) {
    const { left } = printed(paper);
    const across = paper.scrollWidth;
    const start = room.matches ? 0 : left * across;
    const mark = cited?.getBBox ? (cited.getBBox().x / paper.querySelector("svg").viewBox.baseVal.width) * across : start;
    return mark < start + paper.clientWidth * 0.8 ? start : mark - paper.clientWidth / 4;
  }

  function percentOf(link) {
    return new URL(link.href).searchParams.get("zoom") ?? "100";
  }

  function widen(width) {
    const widest = Math.max(NARROWEST, Math.round(innerWidth * 0.7));
    const pixels = Math.round(Math.min(Math.max(width, NARROWEST), widest));
    document.body.style.setProperty("--panel", `${pixels}px`);
    for (const [name, value] of [["min", NARROWEST], ["max", widest], ["now", pixels]]) edge.setAttribute(`aria-value${name}`, value);
    return pixels;
  }

  const keepWidth = (width) => localStorage.setItem(kept.width, widen(width));

  edge.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    edge.setPointerCapture(event.pointerId);
    edge.onpointermove = ({ clientX }) => widen(innerWidth - clientX);
  });
  edge.addEventListener("lostpointercapture", () => {
    edge.onpointermove = null;
    keepWidth(panel.offsetWidth);
  });
  edge.addEventListener("dblclick", () => {
    localStorage.removeItem(kept.width);
    document.body.style.removeProperty("--panel");
  });
  edge.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: STEP, ArrowRight: -STEP }[event.key];
    if (!by) return;
    event.preventDefault();
    keepWidth(panel.offsetWidth + by);
  });

  function step(by) {
    const links = sources();
    const next = links[links.findIndex(isSame) + by];
    if (next && links.some(isSame)) open(next);
  }

  function close() {
    shut();
    if (history.state?.source) history.back(); // as if that had closed it
  }

  function shut() {
    loading?.abort();
    loading = null;
    panel.hidden = true;
    cover();
    body.replaceChildren();
    const back = opened.isConnected ? opened : [...document.querySelectorAll("a[aria-current=location]")].find(isSame);
    for (const link of document.querySelectorAll("a[aria-current=location]")) link.removeAttribute("aria-current");
    (back ?? document.getElementById("main")).focus({ preventScroll: Boolean(back) });
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    const elsewhere = event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
    const hasRoom = room.matches || !isFramed;
    if (!link || elsewhere || !hasRoom || link.closest(".panel-head") || !isPassage(link)) return;
    event.preventDefault();
    if (link.matches(".zoom")) {
      localStorage.setItem(kept.zoom, percentOf(link));
      return zoom(percentOf(link));
    }
    if (body.contains(link)) load(link.href); // another page of the same document
    else open(link);
    heading.focus({ preventScroll: true });
  });
  panel.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    const isNamed = event.target.closest("a[data-about]") && document.getElementById("about"); // in the question below
    if (isNamed && !room.matches) close();
    else if (button?.dataset.step) step(Number(button.dataset.step));
    else if (button?.matches("[data-close]")) close();
  });
  for (const kind of ["mouseover", "focusin"]) {
    document.addEventListener(kind, ({ target }) => drawAhead(target.closest?.("a.cite[href], a[data-source]")), { passive: true });
  }
  document.addEventListener("braid-answered", drawLast);
  drawLast();
  // After a reload the source of this place in the history is not open any more.
  if (history.state?.source) history.replaceState(null, "");
  addEventListener("popstate", () => panel.hidden || history.state?.source || shut());
  room.addEventListener("change", () => {
    cover();
    if (!panel.hidden) zoom(localStorage.getItem(kept.zoom) ?? "100");
  });
  document.addEventListener("keydown", (event) => {
    if (panel.hidden || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    const isInside = panel.contains(event.target);
    if (event.key === "Escape" && (isInside || !document.querySelector(OPEN))) {
      event.stopPropagation();
      close();
    }
    const by = { n: 1, p: -1 }[event.key];
    if (by && isInside) step(by);
  }, true);
}
