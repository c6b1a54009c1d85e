"""A passage as it is read: its sentences and items of lists, its headings, captions and furniture."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from braid.core.chat.quoting.tables import is_row, is_rule
from braid.core.chat.quoting.wanted import is_question
from braid.core.text.contents import bare, contents_lines, has_leader, section_number
from braid.core.text.letters import odd_share
from braid.core.text.scripts import HAN, KANA
from braid.core.text.sentences import sentences

Kind = Literal["sentence", "item", "heading", "head", "caption", "furniture"]
"""``head`` is that of a mail: who wrote it to whom, when, and about what."""
LIST_MARK = re.compile(r"^[ \t]*(\d{1,3}[.)]|[-*+•・])\s+")
LONGEST_HEADING = 90
LEAST_INTRODUCTION, LEAST_WORDS = 40, 9
LEAST_PART = 12
"""Fewest letters that tell a part of a heading; half as many of Japanese or Korean."""
MOST_ODD = 0.4
"""Largest share of one letter or marks among the words of a line that is not garbled."""
LEAST_WORD = 4
"""Fewest letters of a word of English that ends a line which does not go on."""
_KEY = re.compile(r"[A-Za-z0-9+=]{40,}")
_TITLE = re.compile(r"^#{1,6}\s+")
_BOLD = re.compile(r"(?<![A-Za-z\d*\\])\*\*(?=[^\s*])([^*\n]{1,400}?)(?<=\S)\*\*(?![A-Za-z\d*])")
_SAYS = re.compile(r"\d|[:：]\s*\S|(?:です|ます|でした|ました|ません|ください|니다|[어아해세에]요)$")
"""What a name has not: a number, what stands behind a colon, the end of a sentence."""
_ALL_BOLD = re.compile(r"^[ \t]*\*\*[^*\n]{1,400}\*\*[ \t]*$")
_WHO, _SUBJECT = r"From|To|差出人|送信者|宛先|送信先|보낸 ?사람|받는 ?사람", "Subject|件名|제목"
_NAME = rf"(?:({_WHO})|{_SUBJECT}|Date|Sent|Cc|Bcc|Reply-To|日時|送信日時|日付|보낸 ?날짜|날짜|참조)\**[ \t]*[:：]"
_HEAD_LINE = re.compile(rf"[ \t>*]*{_NAME}", re.IGNORECASE)
"""A line of a mail's head, by the names that mail programs write; its group is whose it is."""
_SUBJECT_IN = re.compile(rf"(?:{_SUBJECT})\**[ \t]*[:：]\s*(.*?)(?=$|\s+\**{_NAME})", re.IGNORECASE)
_ENDS = re.compile(r"[.!?…。！？｡．:：;；][」』）】〕〉》”’\"')\]*_]*$")
_CJK = f"[{KANA}{HAN}、。「」『』（）！？：；・，．]"
_HAS_CJK = re.compile(f"[{KANA}{HAN}\uac00-\ud7a3]")
_BETWEEN = re.compile(rf"(?:(?<={_CJK})|(?<=\d))\s*\n\s*(?={_CJK})")
_LEADS = re.compile(
    r"\b(?:as follows|(?:the )?following)\W*$|(?:次|以下)の(?:とおり|通り).{0,8}$|(?:다음|아래)과? 같.{0,8}$"
)
_ENDED_WITHIN = re.compile(r"[。！？｡．]|[.!?]\s")
_BEGINS_WITHIN = re.compile(r"^[a-zà-öø-ÿ,;:)\]、。，．）」』！？ー]")
_OWN_EN = r"(?:document|documentation|guide|manual|page|book|file|section|chapter|article|policy|handbook|list)s?\b"
_OWN_JA, _OWN_KO = (
    "文書|書|ガイド|マニュアル|ページ|資料|章|節|規程|規則",
    "문서|책|안내서|설명서|페이지|자료|장|절|지침|규정",
)
_POINTS_BACK = re.compile(
    rf"(?:this|these)\b(?! {_OWN_EN})|(?:those|such|they|their|its|but|however|therefore|thus|hence|consequently"
    r"|instead|otherwise|nevertheless|the (?:former|latter)|in (?:this|that|these|those|such) cases?|as a result)\b"
    r"|that(?: \w+)? (?:is|was|means|can|will|has|does)\b|that['’]s\b|so,? "
    r"|it\b(?!(?:['’]s| is| was| may be| can be)(?: \w+){1,2} (?:to|that|whether|if)\b)"
    rf"|この(?!{_OWN_JA}|ほか|他)|その(?!ほか|他|もの)|これ(?!まで|から)|それ(?!ぞれ)|こう(?:した|いった)|そう(?:した|いった|する)"
    r"|そこで|しかし|ただし|だが|けれども|したがって|つまり|一方|前者|後者|両者"
    rf"|이 (?!(?:{_OWN_KO})[은는이가을를의에 ])|그 |(?:[이그](?:것|들|곳|때)|여기)(?:[은는이가을를의에도로과와] ?| )"
    r"|[이그](?:는|를|에|와|로|보다|러한|런|렇게|처럼|로써) |그(?:래서|러나|러므로|런데|렇지만|리고)"
    r"|하지만|다만|단,|따라서|반면",
    re.IGNORECASE,
)
"""The beginning of a sentence that needs the one before it, for its noun or its other half."""
_IS_CUT = re.compile("[,、，]|[はがをにのとでもへやし]$")
"""What headings have not, and lines have that a sentence is cut into."""
_PARAGRAPH = re.compile(r"\n[ \t\u3000]*\n")
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_NUMBERED = re.compile(r"^(?:\d+(?:\.\d+)+\.?|[A-Z]\.\d+(?:\.\d+)*\.?|第[\d一二三四五六七八九十]+[章節条])\s*\S")
_LABEL = r"(?:\bfig(?:ure|\.)?|\b(?:table|listing|photo)|図表?|表|写真|그림|표|사진|도표)"
_NUMBER = r"(?:[A-Z][-.‑–]?)?\d{1,4}(?:[-.‑–]\d{1,4}){0,3}"
_FIGURE = re.compile(_LABEL, re.IGNORECASE)
_CAPTION = re.compile(rf"[<〈\[【(（]?\s*{_LABEL}\s{{0,3}}{_NUMBER}(\s*[>〉\]】)）.:：．]+)?\s*\S", re.IGNORECASE)
"""The beginning of a caption; its group is what no sentence has between the number and its verb."""


@dataclass(frozen=True, slots=True)
class TextPart:
    """A sentence, an item of a list, a heading, the caption of a figure or table, or another line, on one line."""

    text: str
    kind: Kind
    paragraph: int
    """Counts the paragraphs, and the items of lists."""
    mark: str = ""
    """``1.`` or ``-``, at the beginning of an item."""

    @property
    def line(self) -> str:
        """The text with the mark of its list."""
        return f"{self.mark} {self.text}" if self.mark else self.text

    @property
    def is_whole(self) -> bool:
        """Whether the part ends as a sentence does, or is an item."""
        return self.kind == "item" or ends(self.text)


def ends(text: str) -> bool:
    """Return whether a text ends as a sentence does."""
    return _ENDS.search(text.rstrip()) is not None


def is_code(text: str) -> bool:
    """Return whether most words of a text in Latin letters are none, as in names of files, options and commands."""
    words = text.split()
    return text.isascii() and 2 * sum(word.strip("\"'(),.;:!?").isalpha() for word in words) < len(words)


def introduces(text: str) -> bool:
    """Return whether what follows a text belongs to it: a command behind ``execute:``."""
    last = text.rstrip()[-20:]
    return (
        last[-1:] in (":", "：")
        or _LEADS.search(last) is not None
        or (len(text) > LEAST_INTRODUCTION and not ends(text))
    )


def begins_within(text: str) -> bool:
    """Return whether a text begins as the rest of a sentence does."""
    return _BEGINS_WITHIN.match(text.lstrip()) is not None


def points_back(text: str) -> bool:
    """Return whether a sentence is understood only behind the one before it: *These are …*, しかし, 이는.

    >>> points_back("It lasts a week."), points_back("It is possible to renew it."), points_back("その他の場合")
    (True, False, False)
    """
    return _POINTS_BACK.match(text.lstrip(" (（\"'“‘「『*")) is not None


def subject_of(head: str) -> str:
    """Return what a mail is about, by its head; empty where that does not say it.

    >>> subject_of("From: Ann Subject: The oak boards Date: 3 March 2026")
    'The oak boards'
    """
    found = _SUBJECT_IN.search(head)
    return found[1] if found else ""


def asks_for_figure(question: str) -> bool:
    """Return whether a question names a figure or table, with a number or without.

    >>> asks_for_figure("Where is the figure of the inflow?"), asks_for_figure("What was the inflow?")
    (True, False)
    """
    return _FIGURE.search(question) is not None


def parts_of(text: str, headings: Sequence[str] = ()) -> list[TextPart]:
    """Return the parts of a passage's text, in order; lines of tables and of code are furniture here.

    ``headings`` are its title and the headings above it, which may be repeated in it.
    """
    known = frozenset(bare(section_number(heading)[1]) for heading in headings)
    lines = text.split("\n")
    contents = frozenset(line for found in contents_lines(lines) for line in lines[found.start : found.stop])
    blocks: list[tuple[Kind, str, list[str]]] = []
    is_mail = False
    paragraphs = _PARAGRAPH.split(text)
    for paragraph, following in zip(paragraphs, [*paragraphs[1:], ""], strict=True):
        is_below = bool(blocks) and blocks[-1][0] == "head"
        goes_on = bool(following.strip()) and 0 not in _heads(following.split("\n"))
        more = list(_blocks(paragraph, known, contents, is_mail=is_mail, is_below_head=is_below, goes_on=goes_on))
        is_mail = is_mail or any(kind == "head" for kind, _, _ in more)
        blocks += more
    found: list[TextPart] = []
    before = ""
    for number, (kind, mark, lines) in enumerate(blocks):
        text = "\n".join(lines)
        joined = " ".join((text if kind == "head" else _BETWEEN.sub("", text)).split())
        joined = joined if kind == "furniture" else _BOLD.sub(r"\1", joined)
        is_edge = number == len(blocks) - 1 or (number == 0 and begins_within(joined))
        if kind == "sentence":
            may_be = not introduces(before) and _is_heading(lines, joined, is_edge=is_edge)
            kind = "caption" if _is_caption(joined) else "heading" if may_be or _is_known(joined, known) else kind
        before = joined if kind in ("sentence", "item") else ""
        if kind in ("heading", "head", "caption", "furniture"):
            found.append(TextPart(joined, kind, number))
            continue
        pieces = [piece.strip() for piece in sentences(joined) if piece.strip()]
        found += [TextPart(piece, kind, number, mark if not at else "") for at, piece in enumerate(pieces)]
    return found


def _is_furniture(line: str) -> bool:
    """Return whether a line ends in dots, as in a table of contents, is mostly tags of a page's source, or garbled."""
    tags = sum(len(tag[0]) for tag in _TAG.finditer(line))
    return has_leader(line) or 2 * tags > len(line.strip()) or _is_garbled(line)


def _is_garbled(line: str) -> bool:
    """Return whether a line is of single letters and marks, or a key.

    >>> _is_garbled("b’ ’ b ’ ’지b’ ’ b ’ ’정b’ ’ b ’ ’할b’"), _is_garbled("I am a cook, and plan B is better.")
    (True, False)
    """
    return odd_share(line) > MOST_ODD or _KEY.fullmatch(line.strip()) is not None


def is_readable(text: str) -> bool:
    """Return whether most signs of a text are letters or digits, and few of its words single letters and marks.

    >>> is_readable("The gate is open until 19:00."), is_readable("b’’b’’Sb’’ b’’b’’Sb’’…(root-password-crypted)")
    (True, False)
    """
    signs = [sign for sign in text if not sign.isspace()]
    return odd_share(text) < MOST_ODD and 3 * sum(map(str.isalnum, signs)) >= 2 * len(signs) and "\ufffd" not in text


def _is_caption(text: str) -> bool:
    """Return whether a paragraph is a caption, *Figure 7. The palette*, and no sentence, *Table 2 lists them.*"""
    found = _CAPTION.match(text) if len(text) <= LONGEST_HEADING else None
    return found is not None and (bool(found[1]) or not ends(text))


def _is_known(line: str, known: frozenset[str]) -> bool:
    """Return whether a line is a heading above the passage, or the beginning or the end of one."""
    text = bare(section_number(line)[1])
    least = LEAST_PART // 2 if _HAS_CJK.search(line) else LEAST_PART
    return text in known or (len(text) >= least and any(each.startswith(text) or each.endswith(text) for each in known))


def _blocks(
    paragraph: str,
    known: frozenset[str],
    contents: frozenset[str],
    *,
    is_mail: bool,
    is_below_head: bool,
    goes_on: bool,
) -> Iterator[tuple[Kind, str, list[str]]]:
    """Yield what the lines of a paragraph belong to: kind, mark of a list, lines. A mail ``goes_on`` where it has other
    paragraphs below this one.
    """
    kind: Kind = "sentence"
    mark, lines = "", list[str]()
    is_code = False
    every = paragraph.split("\n")
    heads = _heads(every)
    for at, line in enumerate(every):
        found = LIST_MARK.match(line)
        fence = line.lstrip().startswith(("```", "~~~"))
        is_code ^= fence
        is_first = at - 1 in heads if at else is_below_head
        is_last = at + 1 >= len(every) or at + 1 in heads
        is_name = is_first and (goes_on or not is_last) and _is_name(line)  # of who is written to
        is_name |= not goes_on and (is_mail or bool(heads)) and _is_signature(every, at)
        is_aside = fence or is_code or is_row(line) or is_rule(line) or line in contents or _is_furniture(line)
        if at in heads:
            new: tuple[Kind, str, str] | None = None if kind == "head" and lines else ("head", "", line)
        elif is_aside or is_name:
            new = ("furniture", "", line)
        elif _TITLE.match(line) or _is_known(line, known) or _asks_in_bold(line) or _stands_above(every, at):
            new = ("heading", "", _TITLE.sub("", line))
        elif found:
            new = ("item", found[1], line[found.end() :])
        elif not lines or kind in ("heading", "head", "furniture"):
            new = ("sentence", "", line)
        else:
            new = None
        if new is None:
            lines.append(line.strip())
            continue
        if any(lines):
            yield kind, mark, lines
        kind, mark, lines = new[0], new[1], [new[2].strip()]
    if any(lines):
        yield kind, mark, lines


def _heads(lines: Sequence[str]) -> frozenset[int]:
    """Return which lines of a paragraph are heads of mails: runs of ``Name: value``, among them who wrote or got it."""
    found: list[int] = []
    run: list[int] = []
    for at, line in enumerate([*lines, ""]):
        if _HEAD_LINE.match(line) or (run and line[:1].isspace() and line.strip()):
            run.append(at)
            continue
        text = " ".join(" ".join(lines[n] for n in run).split())
        names = any((match := _HEAD_LINE.match(lines[n])) and match[1] for n in run)
        if names and len(run) > 1 and ("@" in text or _SUBJECT_IN.search(text)):  # a journey has From and To as well
            found += run
        run = []
    return frozenset(found)


def _is_short(line: str) -> bool:
    """Return whether a line is as short as a heading that stands right above its text, and ends no sentence."""
    line = line.strip()
    longest = LONGEST_HEADING // 4 if _HAS_CJK.search(line) else LONGEST_HEADING // 2
    return 0 < len(line) <= longest and not ends(line)


def _is_name(line: str) -> bool:
    """Return whether a line of a mail may be the name of a person, with a greeting or without: it says nothing.

    >>> [_is_name(line) for line in ("Dear Ann,", "The gate code is 4711", "暗証番号は変わりました", "담당자: 이영희")]
    [True, False, False, False]
    """
    return _is_short(line) and not LIST_MARK.match(line) and not _SAYS.search(line.rstrip())


def _is_signature(lines: Sequence[str], at: int) -> bool:
    """Return whether the last line of a mail is the name of who wrote it, behind a sentence."""
    return 0 < at == len(lines) - 1 and ends(lines[at - 1]) and _is_name(lines[at])


def _asks_in_bold(line: str) -> bool:
    """Return whether a line is a question in bold, above its answer: ``**Q. Is there a lift?**``."""
    return _ALL_BOLD.match(line) is not None and is_question(line.strip().strip("*"))


def _stands_above(lines: Sequence[str], at: int) -> bool:
    """Return whether a short line is a heading right above a line that is a sentence, and behind the end of another.

    A numbered one, which may be an item, is a heading on top of a paragraph whose next line is not indented.
    """
    line, before, after = lines[at].strip(), lines[at - 1] if at else "", lines[at + 1] if at + 1 < len(lines) else ""
    if not _is_short(line) or begins_within(after):
        return False
    if found := LIST_MARK.match(line):
        is_above = not (at or after[:1].isspace() or LIST_MARK.match(after)) and found[1][:1].isdigit()
        return is_above and bool(after) and (ends(after) or len(after) > len(line)) and line[-1] not in ",、，"
    return ends(after) and not (_is_cut(line) or introduces(line) or (before.strip() and not ends(before)))


def _is_cut(line: str) -> bool:
    """Return whether a line ends within a sentence."""
    last = line.split()[-1]
    return (len(last) < LEAST_WORD and last.islower() and last.isascii()) or _IS_CUT.search(line) is not None


def _goes_on(line: str) -> bool:
    """Return whether a line without an end has so many small words that it leads to what follows: *To list the files
    that a package provides execute the command*.
    """
    words = line.split()
    return len(words) >= LEAST_WORDS and sum(word.islower() for word in words) >= 0.7 * len(words)


def _is_heading(lines: Sequence[str], joined: str, *, is_edge: bool) -> bool:
    """Return whether a paragraph looks like a heading, or the term that what follows is about.

    At the edge of a passage it may be the rest, or the beginning, of a sentence.
    """
    if (
        len(lines) > 1
        or len(joined) > LONGEST_HEADING
        or ends(joined)
        or _ENDED_WITHIN.search(joined.lstrip("0123456789. "))
        or _goes_on(joined)
    ):
        return False
    return not is_edge or _NUMBERED.match(joined) is not None
