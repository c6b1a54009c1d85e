// Times come in UTC. With this file they are shown in the browser's time zone, in the page's language.
"use strict";

{
  const language = document.documentElement.lang;
  const regional = navigator.languages.find((one) => one === language || one.startsWith(`${language}-`)) ?? language;
  const short = new Intl.DateTimeFormat(regional, { dateStyle: "medium", timeStyle: "short" });
  const exact = new Intl.DateTimeFormat(regional, { dateStyle: "full", timeStyle: "long" });

  const localize = (root) => {
    for (const time of root.querySelectorAll("time[datetime]:not([title]), time.ago[title$=UTC]")) {
      const moment = new Date(time.dateTime);
      if (Number.isNaN(moment.getTime())) continue;
      if (!time.title) time.textContent = short.format(moment); // else its text says how long ago it was
      time.title = exact.format(moment);
    }
  };

  localize(document);
  // Lists are written again while something is under way.
  new MutationObserver((changes) => {
    for (const { target, addedNodes } of changes) if (addedNodes.length) localize(target);
  }).observe(document.body, { childList: true, subtree: true });
}
