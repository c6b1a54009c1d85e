"""What a turn looked for after its first search, in the language of the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask_babel import gettext as _
from flask_babel import ngettext

from braid.app.words.reasons import translated

MOST_CHARS = 200


def lookup_text(lookup: Mapping[str, Any], *, question: str = "") -> str:
    """Return a lookup in words; ``lookup`` is one as it is stored. The ``question`` above it is not repeated.

    Raises KeyError for a tool without words.
    """
    asked, new = str(lookup.get("about") or lookup["asked"])[:MOST_CHARS], int(lookup["new"])
    if lookup["why"] == "document" and not lookup["problem"]:
        return str(
            ngettext(
                "Read all of “%(asked)s”: %(num)s passage",
                "Read all of “%(asked)s”: %(num)s passages",
                new,
                asked=asked,
            )
        )
    if lookup["why"] == "part":
        return str(
            ngettext("Read “%(asked)s”: %(num)s passage", "Read “%(asked)s”: %(num)s passages", new, asked=asked)
        )
    done = _done(lookup, asked, is_repeated=lookup["asked"].strip() == question.strip())
    if problem := lookup["problem"]:
        return str(_("%(done)s: %(problem)s", done=done, problem=translated(problem) or problem))
    if lookup["tool"] in ("list_datasets", "table"):
        return done
    came = ngettext("%(num)s new passage", "%(num)s new passages", new) if new else _("nothing new")
    return str(_("%(done)s: %(came)s", done=done, came=came))


def bill_text(bill: Mapping[str, Any]) -> str:
    """Return what looking up more has cost, in words."""
    parts = [ngettext("%(num)s search", "%(num)s searches", bill["searches"])]
    if bill["model_calls"]:
        parts.append(ngettext("%(num)s call of the model", "%(num)s calls of the model", bill["model_calls"]))
        parts.append(ngettext("%(num)s token", "%(num)s tokens", bill["tokens"]))
    parts.append(_("%(seconds)s s", seconds=f"{bill['ms'] / 1000:.1f}"))
    return " · ".join(map(str, parts))


def _done(lookup: Mapping[str, Any], asked: str, *, is_repeated: bool) -> str:
    if lookup["why"] == "document":
        return str(_("Read “%(asked)s”", asked=asked))
    if lookup["why"] == "language" and is_repeated:
        return str(_("Also searched documents in other languages"))
    if lookup["why"] == "language":
        return str(_("Searched documents in another language for “%(asked)s”", asked=asked))
    return _did(lookup["tool"], asked)


def _did(tool: str, asked: str) -> str:
    texts = {
        "search": _("Searched again for “%(asked)s”", asked=asked),
        "read": _("Read on in “%(asked)s”", asked=asked),
        "find_exact": _("Looked for “%(asked)s” letter for letter", asked=asked),
        "list_datasets": _("Looked which datasets there are"),
        "table": _("Calculated from a table: “%(asked)s”", asked=asked),
    }
    return str(texts[tool])
