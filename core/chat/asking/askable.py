"""What a part of a document can be asked about: by its heading, and by what its first sentences and tables say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from braid.core.chat.quoting.tables import split_tables
from braid.core.text.contents import section_number
from braid.core.text.scripts import question_language, text_language
from braid.core.text.sentences import sentences

Kind = Literal[
    "question",
    "definition",
    "steps",
    "way",
    "case",
    "outcome",
    "price",
    "amount",
    "length",
    "value",
    "cell",
    "topic",
    "title",
]
"""In the order in which they are preferred. ``question``: the heading asks it. ``steps``: how one does something;
``way``: the same, where the heading names the way, or asks indirectly. ``case``, ``outcome``: what one does, and what
happens, when something is so. ``amount``: of a unit; ``length``: how long it takes; ``value``: what else a number is
said of. ``cell``: one of a table."""
Language = Literal["en", "ja", "ko", ""]

MAX_HEADING_CHARS = 60
MIN_LETTERS = 2
SEEN_SENTENCES = 6
MAX_SENTENCE_CHARS = 300
SEEN_ROWS = 4
MAX_CELL_CHARS = 30
MAX_LINE_CHARS = 24
"""Longest line that may be a heading of the sentence behind it."""
_AROUND = " \n\t-*•"
_FIRST_SYLLABLE, _FINALS, _FINAL_L = 0xAC00, 28, 8

_SAYS_NOTHING = re.compile(
    r"(?:sheet|page|slide|table|figure|chapter|section|part|step|item|シート|ページ|スライド|表|図|시트|페이지|슬라이드|표|그림)\s*\d*"
    r"|(?:table of )?contents|introduction|overview|summary|conclusions?|navigation|menu|search|results?|methods?"
    r"|discussion|background|abstract|preface|foreword|cover|about|warning|caution|important|faq|note that|the end|next"
    r"|(?:(?:important|more|other|general|further|usage) )?(?:notes?|tips?|remarks?|information|examples?)"
    r"(?: (?:on|about) (?:usage|use)| \d{1,3})?"
    r"|name|synopsis|description|options|files|bugs|authors?|environment|exit status|history|to ?do"
    r"|purpose|scope|definitions?|general provisions"
    r"|general|misc(?:ellaneous)?|other|details|links|contact|further reading|see also|home|title"
    r"|目的|総則|[附付]則|定義|適用範囲|목적|총칙|부칙|정의|적용 ?범위"
    r"|目\s*次|はじめに|序文|前書き|まえがき|おわりに|あとがき|概要|まとめ|ナビゲーション|メニュー|検索|備考|補足|その他|例"
    r"|注意(?:事項|点)?|メモ|名前|書式|説明|オプション|バグ|作者|関連項目|その\d{1,2}|手順\s?\d{1,2}"
    r"|목\s*차|차례|머리말|서론|들어가며|맺음말|개요|결론|내비게이션|메뉴|검색|비고|예시?"
    r"|(?:주의|유의|참고|기타)(?: ?사항)?|메모|이름|설명|형식|옵션|버그|만든 ?이|단계 ?\d{1,2}",
    re.IGNORECASE,
)
_IS_CODE = re.compile(
    r"[$>#→←↑↓•·] ?.*|--?\w\S*(?: .*)?|\S*(?:::|\w_\w)\S*|\w+://\S+"
    r"|(?-i:[a-z_][A-Za-z0-9_.+-]*\([a-z0-9_.,]*\))|[a-z_][a-z0-9_.+-]*\((?:\d?|[!-~]*[=_'*&\x22][!-~]*)\)"
    r"|(?:[/\\]|\.{1,2}/|~/|[a-z]:\\)[!-~]+|[!-~]*/|[!-~]*\\[!-~]*\\[!-~]*"
    r"|\S+\.(?:md|txt|rst|py|sh|html?|json|ya?ml|toml|cfg|ini|conf|xml|csv|log|pdf|docx?|xlsx?|pptx?)",
    re.IGNORECASE,
)
"""A heading that is code, an option, an address or the name of a file, and nobody's words."""
_LEFT_OUT = re.compile(
    r"\b(?:licen[cs]es?|licensing|copyrights?|legal notices?|colophon|change ?logs?|release notes|revision history"
    r"|version history|acknowledge?ments?|credits|references|bibliography|appendix|index|glossary)\b"
    r"|ライセンス|著作権|奥付|(?:更新|変更|改訂|改版)履歴|リリースノート|謝辞|参考文献|付録|索引"
    r"|라이[선센]스|저작권|판권|(?:변경|개정|수정) ?(?:내역|이력|기록)|릴리스 노트|감사의 (?:말|글)|참고 ?문헌"
    r"|부록|색인|찾아보기",
    re.IGNORECASE,
)
_LEGAL = re.compile(
    r"permission is (?:hereby )?granted|all rights reserved|without warranty|copyright (?:©|\(c\)|\d)"
    r"|(?:©|\(c\)) ?(?:19|20)\d\d"
    r"|無断(?:転載|複製)|無保証|무단 ?(?:전재|복제)",
    re.IGNORECASE,
)
_CHAPTER = re.compile(
    r"(?:chapter|part|step) \d{1,3}(?: \([^()]{1,30}\))?[.:]? |第\s?[\d一二三四五六七八九十]+\s?[章節条部編][ \u3000]"
    r"|제\s?\d+\s?[장절조부편] ",
    re.IGNORECASE,
)
_COUNTER = re.compile(r"[a-zつ個件種人回年月日時分]|개|가지|종|명|번|년|월|일")
"""What follows a number that counts things, and is none of a heading."""
_VERBS = (
    "add|build|change|check|choose|configure|connect|copy|create|delete|deploy|disable|download|enable|export|generate|get"
    "|import|install|make|modify|move|open|prepare|remove|rename|replace|report|restore|run|send|set up|share|start"
    "|stop|submit|test|update|upgrade|upload|use|write"
)
_OF_ITSELF = re.compile(
    r"\bthis (?:faq|document|documentation|guide|manual|page|book|file|site|list|section|chapter)\b"
    r"|(?:この|本)(?:文書|書|ガイド|マニュアル|ページ|資料|FAQ)|이 (?:문서|책|안내서|설명서|페이지|자료|FAQ)",
    re.IGNORECASE,
)
"""A question about the document itself, which says nothing without it."""
_ASKS = re.compile(r"[?？]$|(?:ですか|ますか|でしょうか|나요|까요|습니까)$")
_WHO_KO = "무엇|무슨|누가|누구|어떤|어디|언제|왜|어떻게|얼마|몇"
_HEADINGS: tuple[tuple[Language, Kind, re.Pattern[str]], ...] = (
    ("en", "definition", re.compile(r"What (?P<what>(?:an? |the )?[\w /-]{2,40}) (?:is|are)")),
    ("en", "steps", re.compile(rf"(?:How to (?P<what>\S.{{0,60}})"
        rf"|(?P<verb>(?:{_VERBS}) [a-z].{{0,60}}))", re.IGNORECASE)),
    ("en", "case", re.compile(r"(?P<verb>(?:When|If) (?:an?|the|you|your|something|nothing|it|there) .{1,60})")),
    ("ja", "definition", re.compile(r"(?P<what>.{2,40}?) ?とは")),
    ("ja", "way", re.compile(
        r".{1,50}(?:方法|手順|やり方|仕方|しかた|使い方|書き方|作り方|選び方|見方)"
        r"|.{0,60}(?:何|誰|どう|どこ|どの|どれ|いつ|なぜ).{0,60}か")),
    ("ja", "steps", re.compile(
        r"(?P<what>.{2,50}(?:する|作る|変える|加える|調べる|見る|使う|選ぶ|直す|送る|行う|出す|書く|入れる))(?:には)?")),
    ("ja", "case", re.compile(
        r"(?P<what>(?:(?!場合と|ときと|時と).){2,50}(?:とき|場合))は?"
        r"|(?P<verb>.{1,40}(?:ない|が(?:遅い|重い|多い)|ている))")),
    ("ja", "outcome", re.compile(r"(?P<what>.{2,50}(?:すると|したら|しなければ))")),
    ("ko", "definition", re.compile(r"(?P<what>.{2,40}?)(?:이란|(?<=[가-힣])란)")),
    ("ko", "question", re.compile(rf"(?P<what>(?:.{{0,60}} )?(?:{_WHO_KO}).{{0,60}}나)")),
    ("ko", "way", re.compile(r".{1,50}(?:방법|절차|순서|는 법)")),
    ("ko", "steps", re.compile(
        r"(?P<what>.{2,50}려면)"
        r"|(?P<verb>.{0,50}(?:하|만들|바꾸|넣|지우|옮기|고치|나누|붙이|그리|보내|켜|끄|되돌리|불러오|가져오))기")),
    ("ko", "case", re.compile(r"(?P<what>.{2,50}(?:때|경우))(?:에?는)?")),
    ("ko", "outcome", re.compile(r"(?P<what>.{2,50}(?:하|되|으)면)")),
)  # fmt: skip
_CLAUSE = re.compile(
    r"(?:what|who|which|how|when|why|where|if|is|are|was|do|does|did|can)\b.{0,60}"
    r"|.{0,60} (?:is|are|was|were|does|has|have|cannot|can)\b.{0,60}"
    r"|.{0,60}[!?:。！？：].{0,60}|.{0,60}\.(?: .{0,60})?|the (?:[^ ]{1,40} ){3,9}.{0,60}|.{0,60}[\"“”「」].{0,60}"
    r"|.{0,60}(?:[うくぐすつぬぶむる]|ない|か|よう|[はをがにでとてただ])|.{0,60}(?:니다|한다|있다|없다|이다|까|나|하면|으면|되면|하고|해서|때|려면|[전후뒤]에|에[서게]|까지|부터|[을를은는])"
    r"|(?:그러나|그런데|하지만|그리고|또한|따라서|그래서) .{0,60}",
    re.IGNORECASE,
)
"""A heading that is no name of a thing, to ask about as such."""
_NAME = r"(?:[A-Z][\w/+-]{0,40}|[a-z]{0,40}\d[\w-]{0,40})(?: (?:of|and|for|[A-Z\d][\w/+-]{0,40})){0,3}"
_TIME = r"(?:second|minute|hour|day|week|month|year)s?"
_AMOUNT = r"(?:[$€£¥]\s?\d|\d[\d,.]{0,12}\s?(?:euros?|dollars?|pounds?|yen|won|EUR|USD|GBP|JPY|KRW)\b)"
_ABOUT = r"(?:(?:about|up to|at most|at least|only|exactly|set to|limited to) )?"
_THING = r"(?:the|an?) (?:[\w-]{1,40} ){0,4}?[\w-]{1,40}"
_JA = r"[^、。，．はがをにで\s「」『』（）()：:]"
_NAME_JA = rf"{_JA}(?:{_JA}|(?<=[A-Za-z0-9]) (?=[A-Za-z0-9ぁ-龠])){{1,23}}"
_NAME_KO = r"[가-힣A-Za-z0-9][가-힣A-Za-z0-9-]{0,20}(?: [가-힣A-Za-z0-9-]{1,20}){0,2}?"
_SAID: tuple[tuple[Language, Kind, re.Pattern[str]], ...] = (
    ("en", "definition", re.compile(
        rf"(?P<what>(?-i:An? )(?:(?!(?:whose|that|which|with|in|of|for)\b)[\w-]{{1,40}} ){{0,3}}?[\w-]{{1,40}}"
        rf"|(?-i:{_NAME}))"
        r" (?:is|are) (?:an?|the|any|one of)\s", re.IGNORECASE)),
    ("en", "price", re.compile(rf"(?P<what>{_THING}) costs (?:about )?{_AMOUNT}", re.I)),
    ("en", "length", re.compile(rf"(?P<what>{_THING}) (?P<verb>last|take)s {_ABOUT}\d+ {_TIME}\b", re.I)),
    ("en", "value", re.compile(rf"(?P<what>the (?:[\w-]{{1,40}} ){{0,5}}?[\w-]{{1,40}})"
        rf" is {_ABOUT}(?:\d|{_AMOUNT})", re.I)),
    ("ja", "definition", re.compile(
        rf"(?P<what>{_NAME_JA}) ?(?:とは、?|(?<!と)は、?"
        r"(?=[^。]{1,200}(?:のことです|のことである|をいう|をいいます|を指す|を指します)。))")),
    ("ja", "price", re.compile(
        rf"(?P<what>{_NAME_JA}) ?は、?[^。]{{0,30}}?\d[\d,.]{{0,12}} ?[万千億]?(?:円|ドル|ユーロ|ウォン)")),
    ("ja", "amount", re.compile(
        rf"(?P<what>{_NAME_JA}) ?は、?"
        rf"[^。]{{0,30}}?\d[\d,.]{{0,12}} ?(?P<unit>日|週間|か月|年|時間|分|秒|人|件|回|ページ)間?"
        r"(?P<bound>まで|以内|以上|以下|ごと)?(?=です|である|と(?:する|します)|。)")),
    ("ko", "definition", re.compile(
        rf"(?P<what>{_NAME_KO})(?:이란|(?<=[가-힣])란|[은는]"
        r"(?=[^.]{1,200}(?:말합니다|말한다|뜻합니다|뜻한다|의미합니다|의미한다|말해요|뜻해요)))[ ,]")),
    ("ko", "price", re.compile(
        rf"(?P<what>{_NAME_KO})[은는] "
        rf"[^.]{{0,30}}?\d[\d,.]{{0,12}} ?[만천억]? ?(?:원|달러|유로|엔)(?=[이입까을로\s.]|$)")),
    ("ko", "amount", re.compile(
        rf"(?P<what>{_NAME_KO})[은는] "
        rf"[^.]{{0,30}}?\d[\d,.]{{0,12}} ?(?P<unit>일|주|개월|년|시간|분|초|명|건|회|페이지|쪽)간?"
        r"(?: ?(?P<bound>까지|이내|이상|이하|마다))?(?=(?:에|로)? ?(?:합니다|한다)|입니다|이다|이에요|예요|\.)")),
)  # fmt: skip
_POINTS = re.compile(
    r"(?:this|that|these|those|it|there|here|they|we|you|he|she|one|another|each|every|all|some|any|such|both|note"
    r"|what|which|who|if|when|in|for|by|to|as|so)\b"
    r"|これ|それ|あれ|ここ|そこ|この|その|あの|こちら|彼|私|何|今"
    r"|이것|그것|이는|그는|여기|이 |그 |저 |이러|그러|우리|이들",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"(?:the )?(?:limit|price|cost|fee|maximum|minimum|default|value|number|size|length|rate|deadline)"
    r"|上限|下限|期限|締め?切り?|料金|価格|費用|金額|期間|制限|単位|初期値|標準|定員"
    r"|한도|상한|하한|기한|마감|요금|가격|비용|금액|기간|제한|기본값|정원",
    re.IGNORECASE,
)
"""Names that say something only with the heading."""
_VAGUE = re.compile(
    r"回数|場合|対象|条件|時期|方法|手続き?|申請|届出?|宿題|例外|範囲|内容|事項|種類|理由|結果|作業|準備|確認"
    r"|횟수|경우|대상|조건|시기|방법|절차|신청|신고|숙제|예외|범위|내용|사항|종류|이유|결과|작업|준비|확인"
)
"""Headings of one word that say of what only with those above them."""
_NO_THING = re.compile(
    r"(?:no|none|yes|without|with|other|all|total)\b.*|.*(?:なし|あり|無し|有り|その他|合計)|.*(?:[없있않]음|기타|합계)"
    r"|.*[\d._@/\\()（）\[\]:].*",
    re.IGNORECASE,
)
"""A cell that names no thing, or by a code alone, and a column with a remark in its name."""
_WHO = re.compile(r".*(?:[者員長人氏方]|さん)|.*(?:[가-힣]{2}자|직원|사원|회원|사람|팀장)")
"""Who does something, and costs nothing and lasts no days."""


@dataclass(frozen=True, slots=True)
class Askable:
    """What can be asked: a kind, what of, and the language that its words are of; empty where they are names alone."""

    kind: Kind
    what: str
    language: Language
    more: str = ""
    """The column of a cell; the unit and the bound of an amount; the verb of a length; a topic within an English
    sentence."""
    said: str = ""
    """The text that answers it; empty where the whole part does."""


def heading_of(heading: str) -> str:
    """Return a heading without its number; empty where it says nothing, as "Contents", or is too long.

    >>> heading_of("2.1 Hotels"), heading_of("第3章 休暇"), heading_of("Table of contents")
    ('Hotels', '休暇', '')
    """
    number, rest = section_number(heading)
    chapter = _CHAPTER.match(heading)
    is_numbered = len(number) > 1 or (number and not _COUNTER.match(rest) and heading[0].isdigit())
    bare = (heading[chapter.end() :] if chapter else rest if is_numbered else heading).strip()
    is_told = sum(map(str.isalpha, bare)) >= MIN_LETTERS and len(bare) <= MAX_HEADING_CHARS
    return bare if is_told and not _is_no_heading(bare) else ""


def _is_no_heading(bare: str) -> bool:
    said = bare.rstrip(" .:：。")
    return bool(_SAYS_NOTHING.fullmatch(said) or _IS_CODE.fullmatch(bare) or _LEFT_OUT.search(bare))


def askables(path: str, text: str) -> list[Askable]:
    """Return what a part of a document can be asked about, the most telling first; nothing of licences, changelogs,
    indexes and tables of contents.

    ``path`` are its headings, as passages have them, ``text`` is its beginning.

    >>> [(each.kind, each.what) for each in askables("Travel > How to book a room", "A room costs 90 EUR a night.")]
    [('steps', 'book a room'), ('price', 'a room')]
    """
    if _LEFT_OUT.search(path) or _LEGAL.search(text):
        return []
    heading = heading_of(path.rpartition(" > ")[2])
    prose, rows = split_tables(text)
    found = [*_by_heading(heading)]
    for sentence in sentences(prose)[:SEEN_SENTENCES]:
        for start in _starts(sentence):
            found += _by_sentence(sentence[start:].strip(_AROUND), heading, prose)
    for row in rows[:SEEN_ROWS]:
        name, cell = row.cells[0], row.cells[1] if len(row.cells) > 1 else ""
        column = row.columns[1] if len(row.columns) > 1 else ""
        if cell and _is_name(name) and _is_name(column):
            found.append(Askable("cell", name, question_language(column), column, cell))
    is_asked = any(each.said == "" for each in found)
    is_thing = not (_CLAUSE.fullmatch(heading) or _BARE.fullmatch(heading) or _VAGUE.fullmatch(heading))
    if heading and not is_asked and is_thing:
        language = question_language(heading)
        is_name = language == "en" != text_language(prose)
        found.append(Askable("topic", heading, "" if is_name else language, _in_sentence(heading, prose)))
    return found


def _by_heading(heading: str) -> Iterator[Askable]:
    if not heading:
        return
    if _ASKS.search(heading):
        if not _OF_ITSELF.search(heading):
            yield Askable("question", heading, "")
        return
    language = question_language(heading)
    for of, kind, pattern in _HEADINGS:
        found = pattern.fullmatch(heading) if of == language else None
        if found is not None:
            named = found.groupdict()
            yield Askable(kind, named.get("what") or _from_verb(named.get("verb") or "", of) or heading, of)
            return


def _from_verb(verb: str, language: Language) -> str:
    """Return what is done as questions say it: with a small letter, with とき, with -려면."""
    if verb and language == "ko":
        final = (ord(verb[-1]) - _FIRST_SYLLABLE) % _FINALS
        return f"{verb}려면" if final in (0, _FINAL_L) else f"{verb}으려면"
    return f"{verb}とき" if verb and language == "ja" else _lower(verb)


def _starts(sentence: str) -> Iterator[int]:
    """Yield where a sentence begins, and where it does behind a line that may be a heading."""
    yield 0
    before, _, _ = sentence.rstrip().rpartition("\n")
    if before.strip() and len(before.rpartition("\n")[2]) <= MAX_LINE_CHARS:
        yield len(before) + 1


def _is_name(cell: str) -> bool:
    return any(map(str.isalpha, cell)) and len(cell) <= MAX_CELL_CHARS and not _NO_THING.fullmatch(cell)


def _by_sentence(sentence: str, heading: str, text: str) -> Iterator[Askable]:
    if len(sentence) > MAX_SENTENCE_CHARS:
        return
    language = question_language(sentence)
    for of, kind, pattern in _SAID:
        found = pattern.match(sentence) if of == language else None
        if found is None or _POINTS.match(found["what"]) or (kind != "definition" and _WHO.fullmatch(found["what"])):
            continue
        named = found.groupdict()
        what = _in_sentence(found["what"], sentence)
        if _BARE.fullmatch(what):
            if not heading or what in heading or question_language(heading) != of:
                continue
            what = {
                "en": f"{what} for {_in_sentence(heading, text)}",
                "ja": f"{heading}の{what}",
                "ko": f"{heading} {what}",
            }[of]
        more = named.get("verb") or f"{named.get('unit') or ''}{named.get('bound') or ''}"
        yield Askable(kind, what, of, more, sentence)
        return


def _in_sentence(name: str, text: str) -> str:
    """Return a name as it is written within a sentence: with a small letter, unless it is a proper name there."""
    first, _, rest = name.partition(" ")
    if first in ("A", "An", "The") or (first.endswith("ing") and first.istitle()):
        return _lower(name)
    known = rf"(?<![\w-]){re.escape(first.lower().rstrip('s'))}s?(?![\w-])"
    is_common = first.istitle() and (rest.islower() or re.search(known, text, re.IGNORECASE))
    is_proper = re.search(rf"[a-z,] {re.escape(first)}(?![\w-])", text)
    return _lower(name) if is_common and not is_proper else name


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
