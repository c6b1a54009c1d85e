// Whose page this is, and the token that its forms are sent with.
"use strict";

const TOKEN = document.querySelector("meta[name=csrf-token]");
const owner = TOKEN.dataset.user;
let csrf = TOKEN.content;

// A form of an earlier session of the same user gets the token of this one. Returns whether it has; throws without a server.
async function renew() {
  const response = await fetch(location.href, { headers: { Accept: "text/html" } });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const token = page.querySelector("meta[name=csrf-token]");
  if (token?.dataset.user !== owner) return false;
  csrf = token.content;
  for (const input of document.querySelectorAll("[name=csrf_token]")) input.value = csrf;
  return true;
}

// Whether this answer refuses a form because its session is over.
function isExpired(status, problem) {
  return status === 400 && problem?.field === "csrf_token";
}
