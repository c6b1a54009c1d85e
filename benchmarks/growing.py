"""Bytes that a page is sent of an answer while it is written: all of it each time, and what is new of it."""

from __future__ import annotations

import argparse

from benchmarks.common import arguments, show
from braid.app.web.event_stream import event
from braid.app.web.markdown import answer_html
from braid.app.web.turn_progress import RENDER_EVERY_S, AnswerSoFar
from braid.core.chat.marks import mark

ANSWER_CHARS, CHARS_PER_SECOND = 20_000, 400
SENTENCE = f"The pump **must** be switched off before the filter `P-10` is changed {mark(1)}."
SHAPES = {
    "paragraphs": ("", f"{SENTENCE}\n\n"),
    "one paragraph": ("", f"{SENTENCE} "),
    "a list": ("", f"- {SENTENCE}\n"),
    "a table": ("| part | what |\n|---|---|\n", f"| part | {SENTENCE} |\n"),
    "a block of code": ("```\n", f"{SENTENCE}\n"),
}
"""The beginning of an answer, and what is repeated in it."""


def main() -> None:
    """Print the bytes of each shape of answer."""

    def add(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--chars", type=int, default=ANSWER_CHARS, help=f"of the answer ({ANSWER_CHARS:,})")
        parser.add_argument(
            "--speed", type=int, default=CHARS_PER_SECOND, help=f"characters a second ({CHARS_PER_SECOND})"
        )

    args = arguments("Bytes of an answer that grows on a page.", add=add)
    step = max(1, int(args.speed * RENDER_EVERY_S))
    rows = [[shape, *_bytes(start, repeated, args.chars, step)] for shape, (start, repeated) in SHAPES.items()]
    title = f"An answer of {args.chars:,} characters, {step} with each event"
    names = ["answer", "its HTML", "all of it each time", "what is new", "new : all"]
    show(
        {row[0]: dict(zip(names[1:], row[1:], strict=True)) for row in rows}, [(title, names, rows)], as_json=args.json
    )


def _bytes(start: str, repeated: str, chars: int, step: int) -> tuple[int, int, int, float]:
    text = start + repeated * (chars // len(repeated) + 1)
    growing, whole, new, html = AnswerSoFar(), 0, 0, ""
    for end in (*range(step, chars, step), chars):
        html = str(answer_html(text[:end]))
        whole += len(event("text", {"html": html}).encode())
        new += len(growing.event(text[:end]).encode())
    return len(html.encode()), whole, new, new / whole


if __name__ == "__main__":
    main()
