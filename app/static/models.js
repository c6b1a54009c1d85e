// The models page works without this file. With it, a test shows the sentence as the model writes it.
"use strict";

async function stream(form, button, address) {
  const shown = place(form);
  shown.hidden = false;
  shown.textContent = "…";
  button.disabled = true;
  try {
    const fields = new FormData(form, button);
    const response = await fetch(address, { method: "POST", body: fields, headers: { Accept: "text/event-stream" } });
    if (!response.ok || !response.headers.get("Content-Type").startsWith("text/event-stream")) throw new Error(await reason(response));
    for await (const values of events(response.body)) shown.innerHTML = values.html;
  } catch (error) {
    shown.textContent = error.message;
  } finally {
    button.disabled = false;
  }
}

async function reason(response) {
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  return (page.querySelector("main") ?? page.body).textContent.trim().slice(0, 300);
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const data = /^event: test\ndata: (.*)$/s.exec(block)?.[1];
      if (data) yield JSON.parse(data);
    }
  }
}

function place(form) {
  const inside = form.querySelector(".result");
  if (inside) return inside;
  const row = form.closest("li");
  const found = row.querySelector(".result") ?? document.createElement("div");
  found.className = "result";
  row.append(found);
  return found;
}

document.addEventListener("submit", (event) => {
  const button = event.submitter;
  const target = button?.hasAttribute("formaction") ? button.formAction : event.target.action;
  if (!target.endsWith("/models/test") || ["embedding", "reranker"].includes(event.target.elements.role?.value)) return;
  event.preventDefault();
  stream(event.target, button, target);
});

// A provider with an address of its own needs none typed.
const provider = document.getElementById("provider");
const address = document.getElementById("base-url");

function needAddress() {
  const own = ["compatible", "ollama"].includes(provider.value);
  for (const part of [address.closest("label"), document.getElementById("base-url-hint")]) part.hidden = !own;
  address.required = provider.value === "compatible";
  address.placeholder = provider.value === "ollama" ? "http://127.0.0.1:11434/v1" : "http://localhost:8080/v1";
}

provider.addEventListener("change", needAddress);
needAddress();
