"""Words of the pages: each thing has one, in each language, as docs/terms.md says; and how sentences are written."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from braid.core.chat.texts import TEXTS as ANSWER_TEXTS
from tests.app.words.test_translations import ROOT, TRANSLATED, source_texts, texts_of

PLACEHOLDER = re.compile(r"%\(\w+\)s|\{\w+\}")
CODE = re.compile(r"https?://|python -m \S+|[A-Za-z0-9]*[_.][A-Za-z0-9_.]+|--\w+|, …")
OTHER_SENSE = {
    ("account", "With your own key, models of that provider run in your name and on your account. "),
    ("user", "This page was opened through a proxy that is not counted in the trusted_proxies setting. "),
}
"""Messages that use an English word of the list in another sense: the bill at a provider, a command."""


@dataclass(frozen=True)
class Term:
    """A row of docs/terms.md: the English term and, by language, its words and those that are not said."""

    english: str
    words: dict[str, tuple[str, ...]]
    unwanted: dict[str, tuple[str, ...]]


def terms() -> list[Term]:
    lines = (ROOT / "docs" / "terms.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")][1:]
    return [
        Term(
            row[0],
            {"en": (row[0],), "ja": _forms(row[2]), "ko": _forms(row[4])},
            {"en": _forms(row[1]), "ja": _forms(row[3]), "ko": _forms(row[5])},
        )
        for row in rows
    ]


def _forms(cell: str) -> tuple[str, ...]:
    return tuple(form.strip() for form in cell.split(" / ") if form.strip())


TERMS = terms()


def english_word(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){re.escape(word)}(?:s|es)?(?![\w-])", re.IGNORECASE)


def plain(text: str) -> str:
    """The text without what is filled in, code and addresses."""
    return CODE.sub(" ", PLACEHOLDER.sub(" ", text))


def texts(language: str) -> list[str]:
    """All texts of the pages in this language, and Braid's own sentences in answers."""
    said = [
        plain(form) for by_language in ANSWER_TEXTS.values() for name, form in by_language.items() if name == language
    ]
    if language == "en":
        return said + [plain(form) for _, forms in source_texts() for form in forms]
    return said + [plain(form) for forms in texts_of(language).values() for form in forms]


def test_the_list_is_read() -> None:
    assert len(TERMS) > 50
    assert all(term.words["ja"] and term.words["ko"] for term in TERMS)
    assert len({term.english for term in TERMS}) == len(TERMS)


@pytest.mark.parametrize("language", TRANSLATED)
def test_each_term_is_translated_by_its_word(language: str) -> None:
    longest_first = sorted(TERMS, key=lambda term: -len(term.english))
    missing = []
    for (_, forms), translated in texts_of(language).items():
        rest = plain(forms[0])
        for term in longest_first:
            rest, found = english_word(term.english).subn(" ", rest)
            said = all(any(word in plain(text) for word in term.words[language]) for text in translated)
            if found and not said and not any(t == term.english and forms[0].startswith(m) for t, m in OTHER_SENSE):
                missing.append((term.english, forms[0], translated[0]))
    assert missing == []


@pytest.mark.parametrize("language", ["en", *TRANSLATED])
def test_what_is_not_said_occurs_nowhere(language: str) -> None:
    wanted = sorted({word for term in TERMS for word in term.words[language]}, key=len, reverse=True)
    unwanted = [word for term in TERMS for word in term.unwanted[language]]
    found = []
    for text in texts(language):
        rest = text
        for word in wanted if language != "en" else ():
            rest = rest.replace(word, " ")
        found += [(word, text) for word in unwanted if _has(rest, word, language)]
    assert found == []


def _has(text: str, word: str, language: str) -> bool:
    return bool(english_word(word).search(text)) if language == "en" else word in text


def test_english_is_written_in_one_way() -> None:
    wrong = (r"\w …", r"\.\.\.", r"\d %", r"%% of", r"\b(can't|don't|tick|anew|whoever|mend|somebody)\b", '"')
    assert matches("en", *wrong) == []


def test_japanese_is_written_in_one_way() -> None:
    """Polite sentences, full-width colons, 「」, digits for what is counted, a space before and after Latin letters."""
    letter = "[ぁ-ヶ一-龠]"
    assert (
        matches("ja", f"{letter} ?:", f": ?{letter}", ": $", "[“”‘’]", "[一二三四五六七八九]つ", "〜", rf"{letter} …")
        == []
    )
    assert matches("ja", "(?:[^い]だ|である|しろ|せよ)。") == []
    assert matches("ja", f"{letter}[A-Za-z0-9]", f"[A-Za-z0-9]{letter}") == []


def test_korean_is_written_in_one_way() -> None:
    """Sentences end in -요, never in -니다 or -십시오; quotation marks are “ ”."""
    assert matches("ko", "니다", "니까", "십시오", "[‘’「」：、。]", '"', "[가-힣] …") == []
    nouns = "음|기|함|개|까지|이상|공개|것|일치|방식|등"
    assert matches("ko", rf"[가-힣](?<!요)(?<!예)(?<!죠)(?<!{')(?<!'.join(nouns.split('|'))})[.!?](?: |$)") == []


def matches(language: str, *wrong: str) -> list[tuple[str, str]]:
    return [(pattern, text) for text in texts(language) for pattern in wrong if re.search(pattern, text)]


# ---------------------------------------------------------------- one meaning for each text

ROLES = {"button": "act", "a": "act", "option": "value"} | dict.fromkeys(
    ("th", "legend", "summary", "dt", "label", "h1", "h2", "h3"), "name"
)
ONE_MEANING = {
    "Add documents",
    "Audit log",
    "Dataset settings",
    "Delete",
    "Details",
    "Documents",
    "Expert",
    "Filter",
    "Glossary",
    "Groups",
    "Hand over",
    "Jobs",
    "Manage conversations",
    "Models",
    "New assistant",
    "Other apps",
    "Reject",
    "Rename",
    "Sharing",
    "Sign in",
    "Statistics",
}
"""Buttons and links that are called as what they lead to, so that each language has one word for both."""
CONTEXTS = {"conversation", "dataset", "document", "expiry", "filter", "key", "person", "rank", "sign-in"}
"""What the contexts of messages say: what an adjective such as *on*, *all* or *new* is said of."""
ELEMENT = re.compile(r"<(\w+)([^<>]*)>\s*(?:\{\{ ?icon\([^}]*\) ?\}\}\s*)?\{\{ ?_\(\"([^\"%{]+)\"\) ?\}\}")


def roles() -> dict[str, set[str]]:
    """The roles of each text of one or two words in the templates: what is done, what is named, a state, a value."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / "app" / "templates").rglob("*.html"):
        source = re.sub(r"\{%.*?%\}", "", path.read_text(encoding="utf-8"))
        source = re.sub(r"\{\{.*?\}\}", lambda code: code[0].replace("<", "").replace(">", ""), source)
        for tag, attributes, text in ELEMENT.findall(source):
            role = "state" if tag == "span" and re.search("state|chip", attributes) else ROLES.get(tag)
            if role and len(text.split()) <= 2:
                found.setdefault(text, set()).add(role)
    return found


def test_no_short_text_has_two_roles_without_a_context() -> None:
    found = roles()
    assert len(found) > 80
    assert {text for text, its in found.items() if len(its) > 1} == ONE_MEANING


def test_contexts_say_what_a_word_is_said_of() -> None:
    used = source_texts()
    assert {context for context, _ in used if context} == CONTEXTS
    with_context = {forms for context, forms in used if context}
    assert not {forms for context, forms in used if not context and forms in with_context}


def test_a_count_of_passages_and_a_limit_of_passages_are_two_texts() -> None:
    for language in TRANSLATED:
        translated = texts_of(language)
        assert translated[None, ("Passages",)] != translated[None, ("Number of passages",)]
