"""What a search read in a question, added to it, and looked for after it, in the language of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from babel.dates import format_skeleton
from flask_babel import get_locale, ngettext
from flask_babel import gettext as _
from flask_babel import lazy_gettext as _l
from markupsafe import Markup, escape

from braid.app.words.reasons import translated
from braid.app.words.values import dataset_name
from braid.core.chat.texts import TEXTS

KINDS: Mapping[str, str] = {
    "xlsx": _l("Tables"),
    "docx": _l("Word processing"),
    "pptx": _l("Slides"),
    "eml": _l("Mail"),
    "html": _l("Web pages"),
    "epub": _l("E-books"),
}
"""Names of those kinds of files that have several types, by one of these."""
OF_KIND = {"xls": "xlsx", "ods": "xlsx", "doc": "docx", "odt": "docx", "rtf": "docx", "ppt": "pptx", "odp": "pptx"}
LEADS = ("extractive", "another_script", "in_en", "in_ja", "in_ko")
"""The first lines of answers without a model, by their names in `braid.core.chat.texts`."""
SKELETONS = {1: "y", 2: "yMMM", 3: "yMMMd"}
"""How a period is written, by the number of parts that its days have."""


@dataclass(frozen=True, slots=True)
class ShownFilter:
    """A filter above an answer. ``said`` are the words of the question that it was read from."""

    text: str
    said: str
    applied: bool
    why: str
    """Why it is applied or not, in a sentence."""
    href: str = ""
    """The address of the search without it, or with it; empty in a chat."""


def shown_filter(read: Mapping[str, Any]) -> ShownFilter:
    """Return a filter in words; ``read`` is a `braid.core.types.ReadFilter` as JSON."""
    return ShownFilter(_text(read), read["said"], read["applied"], _why(read["why"], read["passages"]))


def added_forms_text(forms: Sequence[Mapping[str, str]]) -> str:
    """Return in one line by which other forms of its names a question was searched, too; empty where by none."""
    if not forms:
        return ""
    pairs = _(", ").join(f"{form['said']} → {form['added']}" for form in forms)
    return str(_("Also searched: %(pairs)s", pairs=pairs))


def _text(read: Mapping[str, Any]) -> str:
    key, value = str(read["key"]), str(read["value"])
    if read["kind"] == "dataset":
        return str(_("Dataset: %(name)s", name=dataset_name(value)))
    if read["kind"] == "file_type":
        return str(_("Files: %(types)s", types=_types(value.split(", "))))
    if read["kind"] == "date":
        value = " – ".join(map(_day, value.split("/")))
        return str(_("%(key)s: %(value)s", key=key or _("Date"), value=value))
    return str(_("%(key)s: %(value)s", key=key, value=value))


def _types(types: list[str]) -> str:
    names: dict[str, None] = {}
    for each in types:
        kind = OF_KIND.get(each, each)
        if kind in types and kind in KINDS:
            names[str(KINDS[kind])] = None
        elif each not in ("csv", "tsv") or "xlsx" not in types:
            names[each.upper()] = None
    return ", ".join(names)


def _day(day: str) -> str:
    """Return an ISO day, month or year as a page writes it; empty for an open end."""
    if not day:
        return ""
    parts = [int(part) for part in day.split("-")]
    at = date(*(*parts, 1, 1)[:3])
    return format_skeleton(SKELETONS[len(parts)], at, locale=get_locale())


def _why(why: str, passages: int) -> str:
    count = ngettext("%(num)s passage", "%(num)s passages", passages)
    said = {
        "asked": _("Your question asks for it. It leaves %(count)s.", count=count),
        "chosen": _("You chose it. It leaves %(count)s.", count=count),
        "taken_off": _("You removed it."),
        "unsure": _("Not applied, because the words may mean something else."),
        "few": _("Not applied, because it would leave only %(count)s.", count=count),
    }
    return str(said[why])


MOST_CHARS = 200


def lookup_text(lookup: Mapping[str, Any], *, question: str = "") -> str:
    """Return a lookup in words; ``lookup`` is one as it is stored. The ``question`` above it is not repeated.

    Raises KeyError for a tool without words.
    """
    about = _(", ").join(str(lookup.get("about") or "").split(", "))
    asked, new = (about or str(lookup["asked"]))[:MOST_CHARS], int(lookup["new"])
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


def lead_text(line: str) -> str:
    """Return what a page says in place of the first line of an answer without a model; other lines as they are."""
    name = next((name for name in LEADS if line in TEXTS[name].values()), "")
    said = {
        "extractive": _("Word for word from the documents:"),
        "another_script": _("Word for word from documents in another language:"),
        "in_en": _("Word for word from documents in English:"),
        "in_ja": _("Word for word from documents in Japanese:"),
        "in_ko": _("Word for word from documents in Korean:"),
    }
    return str(said.get(name, line))


def with_lead(html: Markup, text: str) -> Markup:
    """Return the HTML of an answer with the first line that pages have for it."""
    line = text.partition("\n")[0]
    return Markup(html.replace(escape(line), escape(lead_text(line)), 1)) if lead_text(line) != line else html
