"""Lines of a page to paragraphs: which line goes on in the next one, and what is between them.

A line goes on where the first word of the next one would not have fitted into it. Between Japanese or Chinese
characters nothing is put, between Latin words a space; hyphens that only parted a word are left out. Korean is broken
within words by some programs and between them by others: the words of the document decide, and in doubt a space stays.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby, pairwise
from statistics import median

from braid.core.ingest.readers.document import CJK
from braid.core.ingest.readers.paged.characters import LinePiece
from braid.core.ingest.readers.paged.layout import ColumnBlock, Layout, Row, RuledTable
from braid.core.ingest.readers.paged.right_to_left import spaced
from braid.core.text.contents import has_leader

Grid = list[list[str]]
Part = str | Grid
"""Paragraphs, or the texts of a table's cells row by row."""

_CJK = re.compile(f"[{CJK}]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_LONGEST_WORD = 100
_HYPHENS = "-\u2010\u00ad\x02\ufffe"
_BEFORE_HYPHEN = re.compile(f"([^\\W\\d_]{{1,{_LONGEST_WORD}}})[{re.escape(_HYPHENS)}]$")
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_MARK, _SHY = re.compile("[\x02\ufffe]"), re.compile("\u00ad")
_ITEM = re.compile(
    r"[-*+•·‣▪◦○●■□▶※]\s|\(?(?:\d{1,3}|[a-zA-Z]|[가-하ア-ン])[.)）]\s|[①-⑳]|第[\d一二三四五六七八九十百]+[条章節]|제\d+[조장]"
)
_MARK_ALONE = re.compile(r"[-*+•·‣▪◦○●■□▶※–]|\(?(?:\d{1,3}|[a-zA-Z]|[가-하ア-ン])[.)）]|[①-⑳]")
_HANGING = 3.0
"""How far below an item's mark, to the right, its other lines may begin, in their heights."""
_GOES_ON = re.compile(r"[.,;:!?)\]](?= )|[、。，．」』）](?=[^\s])")
"""What no line begins with."""
_SENTENCE_END = re.compile(r"[.!?。！？:：][\"'”’」』)）\]]*$")
_KOREAN_SENTENCE = re.compile("[가-힣][.!?]")
_LONG = 0.8
"""Share of the width of a block of Korean sentences from which a line that ends in one goes on in the next."""
_TALLER = 1.35
"""A line that is so much taller than its neighbour is not of its paragraph."""
_APART = 1.3
"""Least distance of two paragraphs, in the usual distance of lines."""
_MIN_STEPS = 2
"""Distances of lines of one size by which what is usual among them is known."""
_MOST_STEP = 2.0
"""Heights of a line that it is below another one of its paragraph, where there is nothing to compare it with."""
_RAGGED, _SHORT, _MIN_RAGGED = 0.9, 6.0, 0.25
"""A line is short by more than a letter and less than a word, in its heights; so many of the lines are."""
_TOUCHING = 0.5
"""Widest space between two letters of a word that are pieces for themselves, in their heights."""
_MAX_REPEATED = 20_000
"""Characters of a merged cell in all of its places."""
_MANY_ENDS = 12
"""Lines' ends of a document in which one word that seems to be broken may be there by chance."""
_LEAST_BROKEN = 0.05
"""Share of the lines' ends at which a word is seen to be broken, from which others are taken to be so."""
_NUMBER_ENDS, _NUMBER_GOES_ON = re.compile(r"\d[.,]?$"), re.compile(r"\d|[만천백억조원년월일시분초명개대호회쪽권]")
"""A number that is broken within it, or before what it counts."""
_NEVER_FIRST = re.compile(
    "(?:[은는을를의에로과와]|에서|에게|으로|까지|부터|처럼|보다|이며|이고|이다|입니다)(?![가-힣])"
)
"""What no line begins with unless a word was broken before it."""
_PARTICLE = re.compile(
    r"(?:[은는이가을를의에로과와도만서]|에서|에게|으로|까지|부터|처럼|보다|마다|라고|이라|이며|이고|이다|입니다|하는|하고|하여|한다|했다|된다|되는)"
    r"(?![가-힣])"
)
_ALWAYS_FIRST = re.compile("(?:및|또는|씨[가는를의]?|것[은이을도]?|때[에는]?)(?![가-힣])")
"""What is no rest of a word."""
_ENDING = re.compile(
    r"(?:[은는이가을를의게면고며]|에서|으로|하고|하며|하여|되어|있는|없는|한다|했다|된다|이다|니다|[.,!?…)”」])$"
)


class Words:
    """The words of a document that stand within lines, where nothing parts them."""

    def __init__(self, pages: Iterable[tuple[str, Layout]]) -> None:
        self._words: set[str] = set()
        ends = [0, 0]
        broken: list[tuple[str, str]] = []
        for text, layout in pages:
            for block in layout.body:
                last = ""
                for row in block.rows:
                    said = _row_text(text, row)
                    if _HANGUL.match(said[-1:]):
                        ends[_RAGGED * row[-1].height < block.right - row[-1].right < _SHORT * row[-1].height] += 1
                    parts = said.split()
                    if parts and _HANGUL.match(last[-1:]) and _HANGUL.match(parts[0]):
                        broken.append((last, parts[0]))
                    last = parts[-1] if parts else ""
                    self._words.update(word.strip(".,;:!?()[]「」'\"“”‘’").casefold() for word in parts[1:-1])

        self.are_whole = ends[1] > _MIN_RAGGED * sum(ends)
        """Whether lines of Korean end between words: then many of them are short by some letters."""
        self.are_broken = not self.are_whole and self._are_broken(broken)
        """Whether lines of Korean end within words: then some begin with what is no word."""

    def _are_broken(self, ends: Sequence[tuple[str, str]]) -> bool:
        within = between = 0
        for first, second in ends:
            are_two = len(first) > 1 and len(second) > 1 and first in self and second in self
            is_one = first + second in self
            within += (is_one and not are_two) or _NEVER_FIRST.match(second) is not None
            between += are_two and not is_one
        by_chance = len(ends) >= _MANY_ENDS
        return within > max(by_chance, _LEAST_BROKEN * len(ends), between / 2)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and word.strip(".,;:!?()[]「」'\"“”‘’").casefold() in self._words


def page_parts(text: str, body: Sequence[ColumnBlock], words: Words) -> list[Part]:
    """Return the paragraphs and tables of a page in reading order."""
    found: list[Part] = []
    for is_table, blocks in groupby(body, key=lambda block: block.table is not None):
        if is_table:
            found += [part for block in blocks if block.table for part in _table_parts(text, block.table, words)]
        elif paragraphs := _paragraphs(text, list(blocks), words):
            found.append(paragraphs)
    return found


def _table_parts(text: str, table: RuledTable, words: Words) -> list[Part]:
    """Return the texts of a table's cells. A merged cell is repeated above the columns of its header, and down the rows
    that it names; else it is there once. One for which that would be too much is a paragraph below the table instead.
    """
    texts = {number: _cell(text, pieces, words) for number, pieces in table.cells.items()}
    numbers = _without_repeated(table.grid)
    places = Counter(number for row in numbers for number in row)
    below = [texts.pop(number) for number in table.cells if places[number] * len(texts[number]) > _MAX_REPEATED]
    grid: Grid = []
    for at, row in enumerate(numbers):
        is_header = at == 0 and len(numbers) > 1 and len(set(row)) > 1
        cells = [
            texts.get(number, "") if is_header or column == 0 or number != row[column - 1] else ""
            for column, number in enumerate(row)
        ]
        grid.append(cells[:1] if len(set(row)) == 1 else cells)
    return [grid, *below]


def _without_repeated(grid: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the grid without columns, and rows, that are in each place one with what is before them."""
    rows = [list(row) for row in grid]
    rows = rows[:1] + [row for before, row in pairwise(rows) if row != before]
    columns = list(zip(*rows, strict=True))
    kept = columns[:1] + [column for before, column in pairwise(columns) if column != before]
    return [list(row) for row in zip(*kept, strict=True)]


def _cell(text: str, pieces: Sequence[LinePiece], words: Words) -> str:
    joined = ""
    for piece in pieces:
        joined = join_lines(joined, piece.of(text), words)
    return _plain(joined)


def _plain(text: str) -> str:
    return spaced(_SHY.sub("", _MARK.sub("-", text)).strip())


def _paragraphs(text: str, blocks: Sequence[ColumnBlock], words: Words) -> str:
    parts: list[str] = []
    before: tuple[ColumnBlock, Row] | None = None
    usual = _usual_step(blocks)
    for block in blocks:
        lines = list(_block_text(text, block, words))
        if not lines:
            continue
        joined = "".join(lines)
        after = (block, block.rows[0])
        if (
            parts
            and before is not None
            and not _is_far_below(before[1], after[1], usual)
            and _goes_on(text, before, after, parts[-1], joined)
        ):
            parts[-1] = join_lines(parts[-1], joined, words)
        else:
            parts.append(joined)
        before = (block, block.rows[-1])
    return _plain("\n\n".join(parts))


def _usual_step(blocks: Sequence[ColumnBlock]) -> float:
    """Return the usual distance of two lines of a page; the least, where no two are in one block."""
    within = [below[0].top - above[0].top for block in blocks for above, below in pairwise(block.rows)]
    if steps := [step for step in within if step > 0]:
        return median(steps)
    between = (below.rows[0][0].top - above.rows[-1][0].top for above, below in pairwise(blocks))
    return min((step for step in between if step > 0), default=0.0)


def _is_far_below(before: Row, after: Row, usual: float) -> bool:
    """Return whether a row is in the column of another, and further below it than the next line of a paragraph."""
    is_in_column = after[0].left < before[-1].right and before[0].left < after[-1].right
    return is_in_column and after[0].top - before[0].top > _APART * usual


def join_lines(before: str, after: str, words: Words) -> str:
    """Return two parts of a sentence that a line break parted.

    >>> join_lines("a two-col", "umn page", Words(()))
    'a two-col umn page'
    >>> join_lines("the hyphen-", "ation", Words(()))
    'the hyphenation'
    >>> join_lines("検索は意味と", "語で行う。", Words(()))
    '検索は意味と語で行う。'
    """
    space = before[-1:].isspace() or after[:1].isspace()
    before, after = before.rstrip(), after.lstrip()
    if not before or not after:
        return before + after
    hyphenated, following = _word_before_hyphen(before), _FIRST_WORD.match(after)
    if hyphenated and following and not space:
        return _without_hyphen(before, after, hyphenated[1], following[0], words)
    if before[-1] in _HYPHENS:
        return before + after
    if _CJK.match(before[-1]) or _CJK.match(after[0]):
        return before + (" " if space and not (_CJK.match(before[-1]) and _CJK.match(after[0])) else "") + after
    if words.are_broken and not space and _NUMBER_ENDS.search(before) and _NUMBER_GOES_ON.match(after):
        return before + after
    if _HANGUL.match(after[0]) and not space:
        last, first = before.rsplit(maxsplit=1)[-1], after.split(maxsplit=1)[0]
        if _is_one_korean_word(last, first, words):
            return before + after
    return f"{before} {after}"


def _word_before_hyphen(text: str) -> re.Match[str] | None:
    """Look at the end alone: a paragraph that grows line by line is asked at each line."""
    return _BEFORE_HYPHEN.search(text, max(0, len(text) - _LONGEST_WORD)) if text.endswith(tuple(_HYPHENS)) else None


def _without_hyphen(before: str, after: str, first: str, second: str, words: Words) -> str:
    """Leave the hyphen out, unless it is written within lines as well, or is between capitals."""
    whole = before[:-1]
    keeps = second[0].isupper() or len(first) < 2 or (f"{first}-{second}" in words and first + second not in words)
    return f"{whole}-{after}" if keeps else whole + after


def _is_one_korean_word(first: str, second: str, words: Words) -> bool:
    if words.are_whole:
        return False
    if not _HANGUL.match(first[-1]):
        return first[-1].isalnum() and _PARTICLE.match(second) is not None
    if first + second in words or second in ("다.", "다!", "다?"):
        return True
    if first in words and second in words:
        return False
    if not words.are_broken:
        return _NEVER_FIRST.match(second) is not None
    if _PARTICLE.match(second) is not None:
        return True
    return _ENDING.search(first) is None and _ALWAYS_FIRST.match(second) is None


def _block_text(text: str, block: ColumnBlock, words: Words) -> Iterator[str]:
    """Yield the lines of a block with what is between them."""
    rows = [row for row in block.rows if _row_text(text, row)]
    if not rows:
        return
    steps = _Steps(rows)
    korean = _Korean(text, block)
    paragraph = _row_text(text, rows[0])
    for before, after in pairwise(rows):
        following = _row_text(text, after)
        step, usual = after[0].top - before[0].top, steps.usual(before, after)
        if _GOES_ON.match(following):  # behind the raised number of a footnote
            paragraph += following
            continue
        if (
            0 < step <= _APART * usual
            and (_fills(before, after, text, korean) or _word_before_hyphen(paragraph))
            and not _begins(text, block, before, after, korean)
        ):
            paragraph = join_lines(paragraph, following, words)
            continue
        is_near = 0 < step <= _APART * usual and not _is_indented(text, block, before, after)
        yield paragraph + ("\n" if is_near else "\n\n")
        paragraph = following
    yield paragraph


class _Steps:
    """Usual distances from line to line in a block, for each size of letters: notes are set closer than the text."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._of_size: dict[int, list[float]] = defaultdict(list)
        for before, after in pairwise(rows):
            if after[0].top > before[0].top and (size := self._size(before, after)):
                self._of_size[size].append(after[0].top - before[0].top)
        steps = [after[0].top - before[0].top for before, after in pairwise(rows) if after[0].top > before[0].top]
        self._all = median(steps) if steps else 0.0
        if len(steps) < _MIN_STEPS:  # two lines between tables may be two paragraphs
            self._all = min(self._all, _MOST_STEP * max(piece.height for row in rows for piece in row))
        self._usual = {size: median(found) for size, found in self._of_size.items() if len(found) >= _MIN_STEPS}

    def usual(self, before: Row, after: Row) -> float:
        """Return the usual distance of two lines of this size; of all lines, where they are of two, or few."""
        return self._usual.get(self._size(before, after), self._all)

    @staticmethod
    def _size(before: Row, after: Row) -> int:
        sizes = round(before[0].height), round(after[0].height)
        return sizes[0] if abs(sizes[0] - sizes[1]) <= 1 else 0


class _Korean:
    """What the Korean of a block says of its lines, looked for once in all of them."""

    def __init__(self, text: str, block: ColumnBlock) -> None:
        self._text = text
        self.block = block

    @cached_property
    def has_second_item(self) -> bool:
        """Whether a line is the second item of a list, before which ``다.`` is the third."""
        return any(_row_text(self._text, row).startswith("나.") for row in self.block.rows)

    @cached_property
    def has_sentences(self) -> bool:
        """Whether a sentence of Korean ends in the block."""
        return any(_KOREAN_SENTENCE.search(_row_text(self._text, row)) for row in self.block.rows)


def _begins(text: str, block: ColumnBlock, before: Row, after: Row, korean: _Korean) -> bool:
    """Return whether a row begins a paragraph, or is a row of a table, or of another size."""
    heights = before[-1].height, after[0].height
    return (
        (len(before) > 1 and not _is_behind_mark(text, before))
        or len(after) > 1
        or min(before[0].line, after[0].line) < 0  # what was written on the page afterwards
        or _is_indented(text, block, before, after)
        or max(heights) > _TALLER * min(heights)
        or _begins_item(text, after, korean)
        or has_leader(_row_text(text, before))
    )


def _begins_item(text: str, row: Row, korean: _Korean) -> bool:
    """Return whether a row is an item of a list; ``다.`` alone is the end of a sentence of Korean."""
    item = _ITEM.match(_row_text(text, row))
    return item is not None and (item[0] != "다. " or korean.has_second_item)


def _is_behind_mark(text: str, row: Row) -> bool:
    """Return whether a row is the mark of a list's item and, as a piece for itself, the item's first line."""
    return len(row) == 2 and _MARK_ALONE.fullmatch(row[0].of(text)) is not None


def _is_indented(text: str, block: ColumnBlock, before: Row, after: Row) -> bool:
    """Return whether a row begins further to the right than the one before, but for those below an item's first."""
    left = before[-1].left if _is_behind_mark(text, before) else before[0].left
    hangs = len(before) == 1 and _ITEM.match(_row_text(text, before)) is not None
    if hangs and after[0].left - left < _HANGING * after[0].height:
        return False
    return after[0].left - left > 0.7 * after[0].height and after[0].left - block.left < 5 * after[0].height


def _fills(before: Row, after: Row, text: str, korean: _Korean) -> bool:
    """Return whether the first word of the next row would not have fitted into the row."""
    following = _row_text(text, after)
    width = after[-1].right - after[0].left
    if _CJK.match(following[0]) or _HANGUL.match(following[0]):
        first = 2.0 if _CJK.match(following[0]) else min(len(following.split()[0]), 6) + 1.0
        needed = first * max(width / max(len(following), 1), after[0].height * 0.8)
    else:
        needed = (len(following.split()[0]) + 1) * width / max(len(following), 1)
    is_full = korean.block.right - before[-1].right < needed * 1.15
    return is_full or _goes_on_in_korean(before, after, text, korean)


def _goes_on_in_korean(before: Row, after: Row, text: str, korean: _Korean) -> bool:
    """Return whether a long line ends within a sentence of Korean: some programs break its lines at any length."""
    block, said, following = korean.block, _row_text(text, before), _row_text(text, after)
    is_long = before[-1].right - block.left >= _LONG * (block.right - block.left)
    is_within = _HANGUL.match(said[-1]) is not None and _HANGUL.match(following[0]) is not None
    return is_long and is_within and korean.has_sentences


def _goes_on(
    text: str, before: tuple[ColumnBlock, Row], after: tuple[ColumnBlock, Row], said: str, following: str
) -> bool:
    """Return whether a sentence goes on in the next column."""
    first = following[0]
    return (
        not _SENTENCE_END.search(said.rstrip())
        and len(before[1]) == len(after[1]) == 1
        and (first.islower() or bool(_CJK.match(first)) or bool(_HANGUL.match(first)))
        and max(before[1][0].height, after[1][0].height) <= _TALLER * min(before[1][0].height, after[1][0].height)
        and _fills(before[1], after[1], text, _Korean(text, before[0]))
    )


def _row_text(text: str, row: Row) -> str:
    """Return the text of a row, a space between its pieces unless they are letters that touch."""
    if len(row) == 1:
        return row[0].of(text)
    joined = ""
    last: LinePiece | None = None
    for piece in row:
        said = piece.of(text)
        is_next = last is not None and last.end - last.start == piece.end - piece.start == 1
        is_next = is_next or (_CJK.match(joined[-1:]) is not None and _CJK.match(said) is not None)
        touches = last is not None and is_next and piece.left - last.right < _TOUCHING * max(last.height, piece.height)
        joined += said if touches or not joined or not said else f" {said}"
        last = piece
    return joined.strip()
