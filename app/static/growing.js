// An answer that grows: only what is new of its HTML is sent, and only what differs is replaced, so that what is selected
// or scrolled in the rest stays.
"use strict";

class Growing {
  #html = "";

  // ``keep`` is how much of the HTML so far stays, ``html`` what follows it.
  show(box, { keep, html }) {
    this.#html = this.#html.slice(0, keep) + html;
    const made = document.createElement("template");
    made.innerHTML = this.#html;
    update(box, made.content);
  }
}

// Make the children of an element those of another, which loses them; those that are equal stay where they are.
function update(shown, made) {
  const before = [...shown.childNodes];
  const after = [...made.childNodes];
  for (const [at, node] of after.entries()) {
    const old = before[at];
    if (!old) shown.append(node);
    else if (old.isEqualNode(node)) continue;
    else if (old.nodeType === Node.TEXT_NODE && node.nodeType === Node.TEXT_NODE && node.data.startsWith(old.data)) {
      old.appendData(node.data.slice(old.data.length));
    } else if (old.nodeType === Node.ELEMENT_NODE && old.cloneNode(false).isEqualNode(node.cloneNode(false))) update(old, node);
    else old.replaceWith(node);
  }
  for (const old of before.slice(after.length)) old.remove();
}
