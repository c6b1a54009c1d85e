"""What a question wants to hear: a number or a date, and what is itself only a question."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from braid.core.chat.quoting.kinds import WHEN, Kind, kinds_of

_WANTS_NUMBER = re.compile(
    rf"\bhow (?:much|many|long|often|old|far|tall|tight|fast|big|large|high|deep|soon|heavy|wide)\b|{WHEN}"
    r"|\b(?:what|which|whose) (?:year|date|day|time|percentage|number|age|amount|price|cost|budget)\b"
    r"|\b(?:cost|price|budget)\b"
    r"|いくら|いつ|何(?![かもがをのとでに]|という|故)|どのくらい|どれくらい|どれだけ"
    r"|얼마|언제|몇|며칠",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\d|[一二三四五六七八九十百千](?:年|月|日|時|人|個|歳|回|円|つ|本|名|世紀)"
    r"|(?:하나|둘|셋|넷|한|두|세|네|다섯|여섯) ?(?:개|명|번|살|시|달|층)|이틀|사흘|나흘|열흘"
    r"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|hundred|thousand|million)\b",
    re.IGNORECASE,
)
_WANTS_LIST = re.compile(
    r"^\s*(?:please )?(?:list|name|enumerate)\b|\b(?:all|every) (?:of )?(?:the |its )?\w+|\bwhich \w+s\b|\bwhat are\b"
    r"|\bhow (?:do|can|could|should|must|to)\b(?! (?:i|you|we|they|one) (?:know|tell|recogni[sz]e)\b)"
    r"|\b(?:ingredients|kinds|types) of\b|\b(?:steps|procedure|instructions|checklist|order)\b"
    r"|材料|種類|[いきぎしちにびみりえけげせてべめれ]方(?:を|は|$|[?？。])|すべて|全て|全部|一覧|挙げ|列挙"
    r"|手順|方法|どうやって|どのように|どうすれば|やり方|順序|順番|流れ"
    r"|모두|모든|전부|목록|나열|절차|방법|어떻게|순서|단계|재료|종류|만드는 ?법|하는 ?법",
    re.IGNORECASE,
)
_COMPARES = re.compile(
    r"\b(?:compare|comparison|compared|differ|differs|difference|differences|versus|vs)\b"
    r"|\bwhat (?:has |have )?changed\b"
    r"|比較|比べ|違い|どう違|どう変わ|何が変わ|비교|차이|어떻게 다르|어떻게 바뀌|어떻게 달라|무엇이 (?:바뀌|달라)",
    re.IGNORECASE,
)
_VALIDITY = re.compile(
    r"\bin force\b|\btakes effect\b|\beffective (?:from|as of)\b|\bvalid (?:from|until)\b|\breplaces\b"
    r"|施行|発効|に代わる|시행(?:한|하|된|되)|대체(?:한|하)",
    re.IGNORECASE,
)
_WANTS_DEFINITION = re.compile(
    r"^\s*what(?: is| are|['’]s) (?:an? )?(?P<is>(?!(?:the|it|this|that)\b)[^?,:]{2,40}?)\s*\?*\s*$"
    r"|^\s*what does (?:an? )?(?P<means>[^?,:]{2,40}?) (?:mean|stand for)\b"
    r"|^\s*(?P<ja>[^、。?？]{2,40}?) ?(?:とは|って|というのは)(?: ?(?:何|なん|どんな|どういう)|[?？。\s]*$)"
    r"|^\s*(?P<ko>[^.?？]{2,40}?)(?:이란|란|[은는이가]) ?(?:무엇|뭐|뭔|무슨 (?:뜻|말))",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"(?:とは|って|には|では|[はがをにへ])?(?:何|なん|どう(?:すれば|したら|やって|やれば)?|どの(?:よう|様)に|ど[のれ](?:くらい|ぐらい)"
    r"|いつ|どこ|誰|だれ|なぜ|いくつ|いくら|どれ)"
    r"(?:くらい|ぐらい|だけ|から|まで|[がをにのとへはも]|で(?!す))?(?:よい|いい|良い)?|(?:をする|する|した|の)?(?:には|ときは)(?=$|[、。?？])"
    r"|(?<=[てで])も(?:よい|いい|良い)(?=です|か|[?？])|(?:を)?教えて(?:(?:くださ|下さ)い|もらえますか)"
    r"|(?:の)?(?:です|でしょう|ます|ました|ません)か(?=$|[。?？\s])|について"
    r"|(?:이란|[은는이가란을를])? ?(?:무엇|뭐|뭔|어떻게|어떤|언제|어디|누구|(?<![가-힣])누가"
    r"|(?<![가-힣])왜(?![가-힣])|얼마나?(?: (?:자주|오래|많이))?|며칠|몇(?![가-힣]{2}))(?:에서|서|[인이에를을가나])?"
    r"|(?:とは|って|というのは)(?=[?？。\s]*$)|(?<=[가-힣A-Za-z\d]{2})(?:이란|란)(?=\s*[?？]\s*$)"
    r"|(?:하려면|하는 ?방법|려면)|(?<= )방법[은을이]?"
    r"|(?:알려 ?(?:주세요|줘)|궁금(?:해요|합니다)"
    r"|대해서?|인가요|입니까|(?:해야 ?)?[하되있한된인]?(?:나요|가요|까요|습니까))(?=$|[.?？\s])"
    r"|(?i:\bwhat (?:should|must|do) (?:i|we|you) (?:(?:need|have) to )?know about\b|\btell me (?:more )?about\b)"
)
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_SECTION = re.compile(
    r"(?:§{1,2} ?|\b(?:article|section|clause) )(?P<en>\d+(?:\.\d+)*)(?![\d.]*\d)"
    r"|第 ?(?P<ja>\d+) ?条|제 ?(?P<ko>\d+) ?조(?!각|건)",
    re.IGNORECASE,
)
_OWN_SECTION = re.compile(
    r"\W*(?:(?:§ ?|(?:article|section|clause) )?(?P<en>\d+(?:\.\d+)*)[.)]?(?=\s|$)"
    r"|第 ?(?P<ja>\d+) ?条|제 ?(?P<ko>\d+) ?조)",
    re.IGNORECASE,
)
"""The number of a section, in a question and at the beginning of its heading or of its text."""
_DIGITS = re.compile(r"\d+")
_QUOTES = " .。\"'“”‘’「」『』()（）\n"
_QUESTION = re.compile(r"[?？]\s*$|(?:ですか|ますか|나요|까요|습니까)[。.]?\s*$")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a question, in English, Japanese or Korean, wants to hear. It is read once, however many texts are judged.

    >>> Wanted.of("What is the telephone number of the gate?").lacks_kind("The gate is open until 19:00.")
    True
    """

    number: bool
    """A number, an amount or a date."""
    list: bool
    """A whole list, or the steps of a procedure."""
    comparison: bool
    """What two things, or two versions, have in common."""
    validity: bool
    """From when on something is in force."""
    years: frozenset[str]
    """The years that it names."""
    numbers: frozenset[str]
    """The numbers that it names itself."""
    kinds: tuple[Kind, ...]
    """The kinds of answer that it asks for."""
    sections: frozenset[str]
    """The sections that it names: ``3.3`` of §3.3, ``12条``."""
    definition: re.Pattern[str] | None
    """How a sentence begins that says what the thing is that it asks about; None where it asks something else."""

    @classmethod
    def of(cls, question: str) -> Wanted:
        """Read a question."""
        return cls(
            number=_WANTS_NUMBER.search(question) is not None,
            list=_WANTS_LIST.search(question) is not None,
            comparison=_COMPARES.search(question) is not None,
            validity=tells_validity(question),
            years=years_in(question),
            numbers=frozenset(_DIGITS.findall(question)),
            kinds=kinds_of(question),
            sections=frozenset(map(_named_section, _SECTION.finditer(unicodedata.normalize("NFKC", question)))),
            definition=_definition_of(question),
        )

    def has_number(self, text: str) -> bool:
        """Return whether a text has a number that the question has not."""
        new = _DIGITS.sub(lambda found: " " if found[0] in self.numbers else found[0], text)
        return _NUMBER.search(new) is not None

    def lacks_kind(self, text: str) -> bool:
        """Return whether a text lacks a kind of answer without which it is none: a telephone number, a price …"""
        return any(kind.is_needed and not kind.is_in(text) for kind in self.kinds)

    def kinds_in(self, text: str) -> int:
        """Return how many of the kinds of answer that are asked for a text has."""
        return sum(kind.is_in(text) for kind in self.kinds)


def _definition_of(question: str) -> re.Pattern[str] | None:
    found = _WANTS_DEFINITION.search(question)
    if found is None:
        return None
    name = re.escape(next(filter(None, found.groups())).strip(_QUOTES))
    also = r"[\"'”’)）」』]* ?(?:[(（][^()（）]{1,60}[)）] ?)?"
    return re.compile(
        rf"(?<!\w){name}s?{also},? ?\b(?:means?\b|refers? to\b|stands? for\b|denotes?\b"
        r"|(?:is|was) (?:\w+ly |also |simply )?(?:(?:an?|the|any|one|(?:yet )?another|what|how)\b"
        r"|(?!not )(?:[\w-]+ ){1,3}(?:that|which|used|designed)\b)"
        r"|(?:are|were) (?!(?:not|only|also|never|always|very|under|in|on|at|for|to|by|from|of|available|special"
        r"|[\w-]+(?:ed|ing|ly|ful|able))\b))"
        rf"|\b(?:called|known as|termed|named) (?:an? |the )?[\"'“‘(]*{name}(?!\w)"
        rf"|(?<!の){name}{also}(?:とは|というのは|は(?=.{{0,300}}(?:です|である|だ|のこと|[をい]いう|指す|指します)。?$))"
        rf"|{name}{also}と(?:は?呼|いう|いい|称)"
        rf"|{name}{also}(?:이란|란|[은는](?=.{{0,300}}(?:이다|입니다|말한다|말합니다|뜻|의미|가리)))"
        rf"|{name}{also}(?:이라|라)고 ?(?:부|하|한|불)",
        re.IGNORECASE,
    )


def without_asking(question: str) -> str:
    """Return a question without the words by which it asks, in Japanese and Korean; those of English are stop words.

    >>> without_asking("遅延アップロードとは何ですか").strip(), without_asking("가상 패키지는 무엇인가요?").strip(" ?")
    ('遅延アップロード', '가상 패키지')
    """
    left = _ASKING.sub(" ", question)
    return left if any(map(str.isalnum, left)) else question


def tells_validity(text: str) -> bool:
    """Return whether a text says from when on something is in force, or asks for it."""
    return _VALIDITY.search(text) is not None


def section_of(text: str) -> str:
    """Return the number of the section that begins with a text; empty where none does.

    >>> section_of("第12条（休暇）"), section_of("3.3 For late payment"), section_of("3.5% of it")
    ('12条', '3.3', '')
    """
    found = _OWN_SECTION.match(unicodedata.normalize("NFKC", text[:40]))
    return _named_section(found) if found else ""


def _named_section(found: re.Match[str]) -> str:
    sign = {"ja": "条", "ko": "조"}.get(found.lastgroup or "", "")
    return found[found.lastgroup or 0] + sign


def years_in(text: str) -> frozenset[str]:
    """Return the years that a text names, in four digits."""
    return frozenset(_YEAR.findall(text))


def is_question(text: str) -> bool:
    """Return whether a sentence asks something itself."""
    return _QUESTION.search(text.strip(_QUOTES)) is not None
