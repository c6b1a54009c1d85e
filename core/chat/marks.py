"""Citation marks: what a model is asked to write, and what is understood from its answer.

Within Braid a *marked* text has one character per citation, from a private plane of Unicode that outside texts lose
when they come in. So nothing that a document or a model says can be taken for a citation by accident, and every other
character stays as it was written. At the edges a marked text becomes ``[1]`` with the positions of those brackets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

_PLANE = 0x100000
"""The first character of plane 16, which no script, icon font or emoji uses."""
_FOREIGN = re.compile("[\U00100000-\U0010ffff]")
MARKS = re.compile("[\U00100001-\U0010fffd]")
_NUMBER = re.compile(r"\[(\d{1,4})\]")
LONGEST_RANGE = 20


def mark(number: int) -> str:
    """Return the character that cites the passage with this number."""
    return chr(_PLANE + number)


def number_of(character: str) -> int:
    """Return the number of the passage that the character cites."""
    return ord(character) - _PLANE


def literal(text: str) -> str:
    """Return an outside text as one without marks: their characters, which mean nothing there, become U+FFFD."""
    return _FOREIGN.sub("\ufffd", text)


def renumbered(marked_text: str, new: Callable[[int], int]) -> str:
    """Return the marked text with other numbers."""
    return MARKS.sub(lambda found: mark(new(number_of(found[0]))), marked_text)


def cited_in(marked_text: str) -> tuple[int, ...]:
    """Return the numbers that the marked text cites, in its order, each once."""
    return tuple(dict.fromkeys(number_of(found[0]) for found in MARKS.finditer(marked_text)))


def without_marks(marked_text: str) -> str:
    """Return the text without its citations and the spaces before them."""
    return re.sub(rf"[ \t]*{MARKS.pattern}", "", marked_text)


def shown(marked_text: str, write: Callable[[int], str] = "[{}]".format) -> tuple[str, tuple[int, ...]]:
    """Return the text with its citations written out, and the positions at which they begin.

    >>> shown(f"Two years {mark(1)}.")
    ('Two years [1].', (10,))
    """
    parts: list[str] = []
    places: list[int] = []
    length = end = 0
    for found in MARKS.finditer(marked_text):
        written = marked_text[end : found.start()], write(number_of(found[0]))
        places.append(length + len(written[0]))
        length += len(written[0]) + len(written[1])
        parts += written
        end = found.end()
    return "".join([*parts, marked_text[end:]]), tuple(places)


def marked(text: str, places: Sequence[int] | None) -> str:
    """Return a shown text as a marked one. ``places`` are those of `shown`; None takes every ``[1]`` for a citation,
    as in answers that were stored before their positions were.

    >>> marked("argv[1] is read [1].", (16,)) == f"argv[1] is read {mark(1)}."
    True
    """
    parts: list[str] = []
    end = 0
    known = None if places is None else frozenset(places)
    for found in _NUMBER.finditer(text):
        if known is None or found.start() in known:
            parts += [text[end : found.start()], mark(int(found[1]))]
            end = found.end()
    return "".join([*parts, text[end:]])


# ---------------------------------------------------------------- what a model writes

_WORD = (
    r"(?:passages?|sources?|references?|refs?|citations?|cite|cit\.|see|documents?|docs?|chunks?|excerpts?|nos?|numbers?"
    r"|出典|出处|来源|文献|文書|資料|参照|参考|番号|引用|引文|根拠|段落|抜粋|ソース|출처|문서|자료|참고|참조|인용|근거|구절|단락)[\s.:：#]*"
)
_DASH = r"[-‐-―−]"
_N = r"\d{1,3}"
_TO = rf"\s?(?:{_DASH}|[~〜]|to|through)\s?"
_RANGE = rf"{_N}(?:{_TO}{_N})?"
_AND = r"\s?(?:[,;、，；&＆・]|and|or|und|および|及び|と|및|와|과)\s?"
_BEHIND = r"(?:†[^\[\]【】\n]{0,60})?"
_LIST = rf"\^?(?:{_WORD})?{_RANGE}(?:{_AND}(?:{_WORD})?{_RANGE}){{0,20}}{_BEHIND}"
_OWN = rf"p{_DASH}[0-9a-f]{{4}}[ \t]?[:：][ \t]?"
_OWN_RANGE = rf"\d{{1,9}}(?:{_TO}(?:{_OWN})?\d{{1,9}})?"
_OWN_LIST = rf"\^?(?:{_WORD})?{_OWN}{_OWN_RANGE}(?:{_AND}(?:{_WORD})?(?:{_OWN})?{_OWN_RANGE}){{0,20}}{_BEHIND}"
_OWN_MARK = (
    rf"\[\[{_OWN_LIST}\]\]|\\\[{_OWN_LIST}\\\]|[\[［【〔(（][ \t]?{_OWN_LIST}[ \t]?(?:[\]］】〕)）]|\Z)|{_OWN}\d{{1,9}}"
)
_LOOSE = (
    rf"\[\[(?P<double>{_LIST})\]\]|\[(?P<square>{_LIST})\]|［(?P<wide>{_LIST})］|【(?P<lens>{_LIST})】|〔(?P<shell>{_LIST})〕"
    rf"|[(（](?P<round>{_WORD}{_RANGE}(?:{_AND}(?:{_WORD})?{_RANGE}){{0,20}})[)）]"
    rf"|<sup>\[?(?P<sup>{_RANGE}(?:{_AND}{_RANGE}){{0,20}})\]?</sup>|(?P<raised>[¹²³⁴⁵⁶⁷⁸⁹][⁰¹²³⁴⁵⁶⁷⁸⁹]?)"
    rf"|[\[［【〔](?P<name>(?:(?!{_OWN})[^\[\]［］【】〔〕\n]){{3,120}})[\]］】〕]"
    rf"|[(（](?P<named>{_WORD}(?:(?!{_OWN})[^\[\]［］【】〔〕()（）\n]){{3,120}})[)）]"
)
_TOKEN = re.compile(
    rf"(?P<own>(?<![ \t])[ \t]*+(?:{_OWN_MARK}))|(?P<fence>(?<=\n)[ \t>]*(?:`{{3,}}(?=[^`\n]*$)|~{{3,}}))|(?P<ticks>`+)"
    rf"|(?P<blank>\n[ \t]*\n)|(?P<escaped>\\\S)|(?P<dollars>\$\$)"
    rf"|(?P<formula>\$(?![\s\d])(?:(?!{_OWN})[^$`\n]){{1,200}}(?<!\s)\$(?!\w))"
    rf"|(?P<loose>(?<![ \t])[ \t]*+(?:{_LOOSE}))",
    re.IGNORECASE | re.MULTILINE,
)
_MAY_GO_ON = re.compile(
    r"(?<![ \t])[ \t]*+(?:(?:(?:[［【〔(（][^\[\]［］【】〔〕()（）\n]{0,200}|\[\[?[^\[\]\n]{0,200})"
    r"(?:[\]］】〕)）][^\n]{0,16})?"
    r"|<(?:s(?:u(?:p(?:>[^<\n]{0,60}(?:<(?:/(?:s(?:u(?:p(?:>[^\n]{0,16})?)?)?)?)?)?)?)?)?)?|[¹²³⁴⁵⁶⁷⁸⁹⁰]++[^\n]{0,16})"
    rf"|\bp(?:{_DASH}(?:[0-9a-f]{{0,4}}(?:[ \t]?[:：][ \t]?\d{{0,9}})?)?)?|(?<!`)`++|(?<!~)~++|\\"
    r"|\$(?:(?![\s\d])[^$`\n]{0,200})?"
    r"|\n[ \t>]*+(?:`++[^`\n]*+|~*+)|)[ \t]*$",
    re.IGNORECASE,
)
"""The end of a text that may begin a mark, code or a formula, or that has to be seen with what follows it."""
_CONTEXT_CHARS = 300
_LINE_ENDS = re.compile(r"[ \t]*(?:\n|$)")
_CLAUSE_ENDS = re.compile(
    r"[ \t]*(?:$|[\n.,;:!?…。、，．！？；：|*_)）」』】〕”\"'\U00100001-\U0010fffd]"
    r"|(?:and|but|or|while|whereas|which|und|aber|oder)\b"
    rf"|[\[［【〔(（][ \t]?(?:$|\n|\^?(?:{_WORD})?\d)|<sup>|[¹²³⁴⁵⁶⁷⁸⁹])",
)
_ANOTHER = re.compile(
    rf"[ \t]?(?:and|or|und|oder|&|＆|および|及び|と|및|와|과)[ \t]?(?:\[\^?{_N}\]|［{_N}］|【{_N}】|〔{_N}〕)",
    re.IGNORECASE,
)
_ONLY_NUMBERED = re.compile(r"(?:^|\n)[ \t>]*(?:\d{1,3}[.)]|[-*+])$")
_ENDS_SENTENCE = re.compile(r"[.!?…。．！？]$")
_CAN_BE_CITED = re.compile(r"[\w.!?…。．！？)）」』】”\"'’*_%°\U00100001-\U0010fffd]$")
_LATIN_WORD = re.compile(r"[A-Za-z0-9_\u00c0-\u024f\u0370-\u052f)\]}\"'\\]$")
_LONG_WORD = re.compile(r"(?:[^\W\d_]{4,}|[.!?…。．！？)）」』”\"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3])$")
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_FIRST_AND_LAST = re.compile(rf"(\d{{1,9}})(?:{_TO}(\d{{1,9}}))?", re.IGNORECASE)
_OWN_BEGIN = re.compile(_OWN, re.IGNORECASE)
_OWN_ID = re.compile(rf"p{_DASH}([0-9a-f]{{4}})[ \t]?[:：]")
_LEADING_WORD = re.compile(rf"^{_WORD}", re.IGNORECASE)
_ANDS = frozenset(
    ("", ",", ";", "、", "，", "；", "&", "・", "and", ", and", "und", "および", "及び", "と", "및", "와", "과")
)
_LONGEST_AND = 8
_BEGINS_LINE = re.compile(rf"[\s>*+\-\d.)]*(?:{MARKS.pattern})+")
_FORMULA_ENDS = {"\\(": "\\)", "\\[": "\\]", "$$": "$$"}
_LABEL = re.compile(
    r"(?:box|fig(?:ure)?\.?|tab(?:le)?\.?|step|option|item|section|chapter|eq(?:uation)?\.?|key|button|page|line|row|column"
    r"|field|question|part|port|level|abbildung|abb\.|tabelle|schritt|kapitel|abschnitt|seite|zeile|feld|taste)"
)
_DETERMINER = re.compile(
    r"an?|the|this|that|each|every|its|your|their|im|am|zum|zur|vom|der|die|das|dem|den|des|eine?|einem"
)
_CJK_LABEL = re.compile(r"(?<![\u3400-\u9fff\uac00-\ud7a3])(?:[図表式第問제표식]|그림|문항)\s?$")
_NEEDS_VALUES = re.compile(
    r"(?:\b(?:in|is|are|be|to|from|between|within|of|at|equals|intervals?|ranges?|lists?|arrays?|vectors?|sets?|values?"
    r"|lines|rows|columns|pages|ports|levels|zeilen|spalten|seiten|intervall|bereich|ist|sind|von|zwischen|auf)|[=∈]"
    r"|区間|範囲|値|配列|[はがをにの]|구간|범위|값|배열|[은는을를에])\s?$",
    re.IGNORECASE,
)
"""What stands before an interval, or before the values of a list."""


@dataclass(slots=True)
class CitationFilter:
    """Takes a model's Markdown piece by piece and returns it as a marked text.

    ``own`` is the beginning of the marks that the prompt asked for, such as ``p-7f3a:``; they count wherever they are,
    and those of no passage are removed. Other forms that models use, ``[1]``, ``【1】``, ``[1, 2]``, ``¹``,
    ``(source 1)`` and the name of a file, count at the end of a clause, outside of code, if all of their
    numbers were given, and only in an answer without marks of the form asked for (see `read`). Of these, one in
    brackets that cites a single passage that does not exist is removed. Everything else stays as it is.
    """

    given: frozenset[int]
    """Numbers of the passages in the prompt."""
    own: str = ""
    renumber: bool = False
    """Number the citations from 1 in the order of the text, instead of as in the prompt."""
    names: Mapping[str, int] = field(default_factory=dict)
    """Names of the passages' files, in lower case, with the numbers of the passages."""
    loose: bool = True
    """Whether other forms than that of the prompt count."""
    cited: list[int] = field(default_factory=list)
    """Numbers of the prompt, in the order of the text, each once."""
    removed: int = 0
    """How many citations of passages that do not exist were removed."""
    found_own: bool = False
    """Whether the answer has marks of the form that the prompt asked for."""
    found_loose: bool = False
    """Whether a mark of another form was understood as a citation, or removed."""
    _held: str = ""
    _before: str = "\n"
    """The end of what has been returned, as it was written."""
    _code: str = ""
    """What ends the code or the formula that the text is in, a fence behind a line break; empty outside of them."""
    _was_mark: bool = False
    """Whether the last character returned is a mark."""
    _line: str = ""
    """The beginning of the line that the text is in."""
    _since: str = "?"
    """What follows the last mark, which may have been removed, as far as another one may belong to it."""
    _dropped: str = ""
    """The spaces before the last mark that was removed."""

    def feed(self, piece: str) -> str:
        """Take the next piece; return the marked text that can be shown now."""
        text = self._held + literal(piece)
        lead = "\n" if self._before.endswith("\n") else ""  # a line that begins here may be a fence
        tail = _MAY_GO_ON.search(lead + text, max(0, len(lead + text) - _CONTEXT_CHARS))
        cut = max(0, tail.start() - len(lead)) if tail else len(text)
        shown, done = self._read(text, cut)
        self._held = text[done:]
        return shown

    def flush(self) -> str:
        """Return the rest of the text. Call it once, after the last piece."""
        held, self._held = self._held, ""
        return self._read(held, len(held))[0]

    def read(self, text: str) -> str:
        """Return a whole text: where it has marks of the form asked for, no other form counts."""
        first = CitationFilter(self.given, self.own, self.renumber, self.names, self.loose)
        result = first.feed(text) + first.flush()
        if first.is_mixed:
            first = self.strict()
            result = first.feed(text) + first.flush()
        self.cited, self.removed = first.cited, first.removed
        self.found_own, self.found_loose = first.found_own, first.found_loose
        return result

    @property
    def is_mixed(self) -> bool:
        """Whether what was understood before the first mark of the form asked for is no citation: read it again."""
        return self.found_own and self.found_loose

    def strict(self) -> CitationFilter:
        """Return a new filter for which no other form counts than that of the prompt."""
        return CitationFilter(self.given, self.own, self.renumber, self.names, loose=False)

    def _read(self, new: str, cut: int) -> tuple[str, int]:
        """Return the text up to ``cut``, where no mark can go on, or to the token that goes on there, and its length in
        ``new``; what follows it is known to follow.
        """
        text, begin = self._before + new, len(self._before)
        end, last = begin, begin + cut
        out: list[str] = []
        for token in _TOKEN.finditer(text, begin):
            if token.end() > last:
                last = min(last, token.start())
                break
            self._append(out, text[end : token.start()])
            self._append(out, written := self._token(token))
            self._since = self._since if written else ""
            end = token.end()
        self._append(out, text[end:last])
        self._before = text[max(0, last - _CONTEXT_CHARS) : last] or "\n"
        return "".join(out), last - begin

    def _append(self, out: list[str], written: str) -> None:
        if not written:
            return
        names_target = written[0] == ":" and _BEGINS_LINE.fullmatch(self._line)
        if self._was_mark and (written[0] == "(" or names_target):  # a citation is no text of a link, nor names one
            out.append(" ")
        out.append(written)
        self._line = (self._line + written).rpartition("\n")[2][:_CONTEXT_CHARS]
        self._was_mark = bool(MARKS.match(written[-1]))
        self._since = "" if self._was_mark else (self._since + written)[: _LONGEST_AND + 1]

    def _token(self, token: re.Match[str]) -> str:
        written = token[0]
        if token["own"]:
            return self._own(written)
        if token["fence"] or token["ticks"] or (self._code and written == "\\`"):
            self._turn_code(token)
        elif token["escaped"] or token["dollars"]:
            self._turn_formula(written)
        elif token["blank"] and not self._code.startswith("\n"):
            self._code = ""
        elif token["loose"] and not self._code and not self.found_own and self.loose:
            return self._loose(token)
        return written

    def _turn_code(self, token: re.Match[str]) -> None:
        """Note that code begins or ends. A fence is kept with a line break before it."""
        ticks = token[0].strip(" \t>\\")
        if not self._code.startswith("\n"):
            if token["fence"]:
                self._code = f"\n{ticks}"
            elif self._code in ("", ticks):
                self._code = "" if self._code else ticks
        elif token["fence"] and ticks.startswith(self._code[1:]) and _LINE_ENDS.match(token.string, token.end()):
            self._code = ""

    def _turn_formula(self, written: str) -> None:
        """Note that a formula begins or ends."""
        if not self._code:
            self._code = _FORMULA_ENDS.get(written, "")
        elif self._code == written:
            self._code = ""

    def _own(self, written: str) -> str:
        if not self.own or self.own[2:-1] not in _OWN_ID.findall(written.lower()):
            return written
        self.found_own = True
        return self._cite(_numbers_in(_OWN_BEGIN.sub("", written).partition("†")[0]), _spaces_of(written))

    def _loose(self, token: re.Match[str]) -> str:
        written = token["loose"]
        numbers = self._numbers(token)
        if not numbers or not self._is_place(token, is_list=len(numbers) > 1):
            return written
        invented = len(numbers) == 1 and numbers[0] <= 99 and not (token["raised"] or token["sup"])
        follows = not self._since and not self.given.isdisjoint(numbers)  # directly behind a mark it is no interval
        if not (self.given.issuperset(numbers) or invented or follows):
            return written
        self.found_loose = True
        return self._cite(numbers, _spaces_of(written))

    def _numbers(self, token: re.Match[str]) -> list[int]:
        if name := token["name"] or token["named"]:
            return self._named(name)
        forms = ("double", "square", "wide", "lens", "shell", "round", "sup", "raised")
        within = next(filter(None, map(token.__getitem__, forms)), "").translate(_RAISED).partition("†")[0]
        if token["raised"] and int(within) not in self.given:
            return [int(digit) for digit in within]  # ¹² says 1 and 2 where there is no passage 12
        return _numbers_in(within)

    def _named(self, text: str) -> list[int]:
        """Return the numbers of the passages of these files; none if one of them is unknown."""
        whole = text.strip().lower()
        parts = [whole] if whole in self.names else [part.strip() for part in re.split(r"[,;、，；]", whole)]
        found = [self.names.get(part) or self.names.get(_LEADING_WORD.sub("", part)) for part in parts]
        known = [number for number in found if number is not None]
        return list(dict.fromkeys(known)) if len(known) == len(parts) else []

    def _is_place(self, token: re.Match[str], is_list: bool) -> bool:
        """Return whether a mark may be here: behind a statement, at the end of a clause."""
        start = max(0, token.start() - _CONTEXT_CHARS)
        before = token.string[start : token.start()].rstrip(" \t")
        behind_mark = self._since.strip() in _ANDS
        if not behind_mark:
            attached = _spaces_of(token[0]) == ""
            if (
                not _CAN_BE_CITED.search(before[-1:])
                or _ONLY_NUMBERED.search(before)
                or (attached and not self._can_be_attached(token, before))
                or _is_label(before)
                or (is_list and _NEEDS_VALUES.search(before[-_CONTEXT_CHARS // 10 :]))
            ):
                return False
        if token["name"] and token.string.startswith(("(", "["), token.end()):
            return False
        another = _ANOTHER.match(token.string, token.end())
        if _CLAUSE_ENDS.match(token.string, (another or token).end()):
            return True
        ends = behind_mark or _ENDS_SENTENCE.search(before[-1:]) is not None
        headed = token["lens"] or token["shell"]  # which may begin a step or a section, too
        return ends and (headed is None or token.string[token.end() : token.end() + 1].isspace())

    def _can_be_attached(self, token: re.Match[str], before: str) -> bool:
        """Return whether a mark can be here without a space before it: ``argv[1]`` and ``m²`` are something else."""
        if token["raised"] or token["sup"] or token[0].startswith("[^"):
            return _LONG_WORD.search(before) is not None
        return _LATIN_WORD.search(before[-1:]) is None

    def _cite(self, numbers: Sequence[int], space: str) -> str:
        kept: list[str] = []
        for number in dict.fromkeys(numbers):
            if number not in self.given:
                self.removed += 1
                continue
            if number not in self.cited:
                self.cited.append(number)
            kept.append(mark(self.cited.index(number) + 1 if self.renumber else number))
        if not kept:
            self._dropped = space
            return ""
        space = space or self._dropped if not self._since and not self._was_mark else space
        return space + "".join(kept)


def _numbers_in(written: str) -> list[int]:
    """Return the numbers of a list, those of its ranges included, each once."""
    numbers: list[int] = []
    for first, last in _FIRST_AND_LAST.findall(written):
        start, stop = sorted((int(first), int(last or first)))
        numbers += range(start, min(stop, start + LONGEST_RANGE - 1) + 1)
    return list(dict.fromkeys(numbers))


def _is_label(before: str) -> bool:
    """Return whether the text ends with what is named by the number behind it, as in "Fill in box [4]"."""
    *others, last = ["", *before[-_CONTEXT_CHARS // 5 :].lower().split()[-3:]]
    if _LABEL.fullmatch(last.lstrip("(*_")):
        return not any(map(_DETERMINER.fullmatch, others))
    return _CJK_LABEL.search(before[-4:]) is not None


def _spaces_of(written: str) -> str:
    return written[: len(written) - len(written.lstrip(" \t"))]
