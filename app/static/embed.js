// <braid-chat> and <braid-picker> for the pages of another app:
//
//   <script src="https://braid.example.org/static/embed.js"></script>
//   <braid-picker datasets="3,-1" lang="ja" theme="dark"></braid-picker>
//   <braid-chat assistant="7"></braid-chat>
//
// Events: "braid-selection" with detail.datasets, the ids of the ticked datasets, and "braid-answer" with detail.text and
// detail.conversation. The server allows the page's origin by its setting frame_ancestors.
"use strict";

{
  const root = new URL("..", document.currentScript.src).href;

  class Embedded extends HTMLElement {
    static observedAttributes = ["url", "lang", "theme", "datasets", "assistant"];
    #frame = null;
    #origin = "";
    #listen = (event) => this.#hear(event);

    /** The ids of the ticked datasets; null until they are known. */
    selection = null;

    connectedCallback() {
      addEventListener("message", this.#listen);
      this.#open();
    }

    disconnectedCallback() {
      removeEventListener("message", this.#listen);
      this.#frame?.remove();
      this.#frame = null;
    }

    attributeChangedCallback(name, before, after) {
      if (this.#frame && before !== after) this.#open();
    }

    #open() {
      const base = this.getAttribute("url") ?? root;
      const address = new URL(this.page, base.endsWith("/") ? base : `${base}/`);
      for (const id of (this.getAttribute("datasets") ?? "").split(",")) if (id.trim()) address.searchParams.append("d", id.trim());
      for (const name of ["lang", "theme", "assistant"]) if (this.getAttribute(name)) address.searchParams.set(name, this.getAttribute(name));
      this.#origin = address.origin;
      this.#frame?.remove();
      const frame = document.createElement("iframe");
      frame.title = this.getAttribute("title") ?? "Braid";
      frame.addEventListener("load", () => frame.contentWindow?.postMessage({ braid: "hello" }, this.#origin));
      Object.assign(frame.style, { border: "0", width: "100%", height: "100%", display: "block" });
      if (!this.style.display) this.style.display = "block";
      if (!this.style.height) this.style.height = this.startHeight;
      frame.src = address.href;
      this.#frame = frame;
      this.append(frame);
    }

    #hear(event) {
      if (event.origin !== this.#origin || event.source !== this.#frame?.contentWindow) return;
      const { braid, ...detail } = event.data ?? {};
      if (braid === "selection") this.selection = detail.datasets;
      if (braid === "height" && this.grows) this.style.height = `${detail.height}px`;
      if (braid === "selection" || braid === "answer") {
        this.dispatchEvent(new CustomEvent(`braid-${braid}`, { detail, bubbles: true }));
      }
    }
  }

  customElements.define("braid-chat", class extends Embedded {
    page = "embed/chat";
    startHeight = "640px";
    grows = false;
  });
  customElements.define("braid-picker", class extends Embedded {
    page = "embed/picker";
    startHeight = "240px";
    grows = true;
  });
}
