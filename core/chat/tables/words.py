"""The words of questions about tables, in English, Japanese and Korean: operations, comparisons, and what says nothing."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Literal

Operation = Literal["count", "sum", "average", "highest", "lowest"]

_ADJECTIVE_UP = "高|多|大き|長|重|広|新し|速"
OPERATIONS: Mapping[Operation, re.Pattern[str]] = {
    "count": re.compile(
        r"\bhow many(?: different| distinct| unique)?\b|\bnumber of(?: different| distinct| unique)?\b|\bcount(?: of| the)?\b"
        r"|何(?:件|人|名|個|台|社|冊|店舗?|行|品目?|種類?|か所|カ所|ヶ所|校|本|枚|回|組|つ)|いくつ|件数|(?<=の)数(?=[はをが])"
        r"|몇\s?(?:명|개|건|대|곳|권|가지|종류|행|회|번|분|군데)(?:의)?|(?<![가-힣])(?:개수|건수)|(?<=\s)수(?=[는가를])"
    ),
    "sum": re.compile(
        r"\b(?:sum|total(?:s|led|ling)?|altogether|in all|combined|summed|add(?:s|ed)? up(?: to)?)\b"
        r"|合計|総額|総計|総数|全部で|合わせて|累計|トータル"
        r"|(?:총\s?)?합계|총합|총액|총계|모두\s?(?:더하면|합치면|합해)|합치면|더하면|(?<![가-힣])총(?![가-힣])"
    ),
    "average": re.compile(r"\b(?:averages?|mean|on average)\b|平均|평균"),
    "highest": re.compile(
        r"\b(?:highest|largest|biggest|greatest|most(?: expensive)?|max(?:imum)?|longest|heaviest|latest|newest|top|"
        r"dearest|best|oldest|tallest)\b"
        r"|(?:最も|もっとも|一番|いちばん)(?:高|多|大き|長|重|広|新し)[いくかっ]*|最高|最大|最多|最長|最新|トップ"
        r"|(?:가장|제일)\s?(?:높|많|크|큰|길|긴|무거|비싼|비싸|최근|늦)[가-힣]*|최고|최대|최다"
    ),
    "lowest": re.compile(
        r"\b(?:lowest|smallest|least|fewest|min(?:imum)?|cheapest|shortest|lightest|earliest|youngest)\b"
        r"|(?:最も|もっとも|一番|いちばん)(?:低|少な|小さ|短|安|軽|早|古)[いくかっ]*|最低|最小|最少|最短|最安"
        r"|(?:가장|제일)\s?(?:낮|적|작|짧|싼|싸|저렴|가벼|이른|빠른|빨|오래)[가-힣]*|최저|최소"
    ),
}
AMOUNT = re.compile(r"\bhow much\b|いくら|얼마")
"""Asks for a sum where nothing else does."""
_UTMOST = (OPERATIONS["highest"], OPERATIONS["lowest"])
SUPERLATIVE = re.compile(r"最も|もっとも|一番|いちばん|가장|제일")
UP = re.compile(rf"(?:{_ADJECTIVE_UP}|遅)[いくかっ]?た?|(?:높|많|크|큰|길|긴|무거|비싼|비싸|최근|늦)[가-힣]*")
DOWN = re.compile(
    r"(?:低|少な|小さ|短|安|軽|早|古|若)[いくかっ]?た?|(?:낮|적|작|짧|싼|싸|저렴|가벼|이른|빠른|빨|오래|어린|젊은)[가-힣]*"
)
"""Adjectives that may stand apart from the word that makes them superlatives."""
_GROUP_ONLY = re.compile(r"\b(?:by|per|each|every)\b|ごと|毎|別|별")
_NUMBERS = {
    **{"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10},
    **{"二": 2, "三": 3, "四": 4, "五": 5, "十": 10, "두": 2, "세": 3, "네": 4, "다섯": 5, "열": 10},
}
_HOW_MANY = r"(?P<n>\d{1,2}|two|three|four|five|six|seven|eight|nine|ten)"
_UTMOST_EN = (
    r"(?:highest|largest|biggest|greatest|most|lowest|smallest|least|fewest|cheapest|dearest|longest|shortest|heaviest|"
    r"lightest|tallest|latest|newest|earliest|oldest|youngest|best)"
)
_COUNTER_JA = r"(?:件|つ|社|人|名|個|位|本|台|点|冊|か所|カ所|店舗?|校)(?:だけ)?"
_COUNTER_KO = r"(?:개|명|위|건|곳|군데|가지|권|대|팀)"
_TOP = tuple(
    re.compile(form)
    for form in (
        rf"\btop {_HOW_MANY}\b",
        rf"(?:上位|トップ|ベスト)\s?(?P<n>\d{{1,2}}|[二三四五十])(?:{_COUNTER_JA})?",
        rf"(?:상위|톱)\s?(?P<n>\d{{1,2}})\s?(?:{_COUNTER_KO})?",
    )
)
"""Say that the first few are asked for."""
_TOP_OF_UTMOST = tuple(
    re.compile(form)
    for form in (
        rf"\b{_HOW_MANY} (?={_UTMOST_EN}\b)",
        rf"\b{_UTMOST_EN} {_HOW_MANY}\b",
        rf"\b(?:the|which|what|show|list|name|me|find) {_HOW_MANY} (?=[a-z])",
        rf"(?P<n>\d{{1,2}}|[二三四五十])\s?{_COUNTER_JA}(?:[をのは]|まで)?",
        rf"(?P<n>\d{{1,2}}|두|세|네|다섯|열)\s?{_COUNTER_KO}(?:[의를을는은])?",
    )
)
"""Say so where there is an adjective such as *highest*, too."""
ORDERS: tuple[tuple[re.Pattern[str], Operation], ...] = (
    (
        re.compile(
            rf"(?:{_ADJECTIVE_UP})い(?:順|方|ほう)[にでからの]*|(?:높은|많은|큰|긴|비싼)\s?순(?:서)?(?:으로|대로)?"
        ),
        "highest",
    ),
    (
        re.compile(
            r"(?:低|少な|小さ|短|安|軽|早|古)い(?:順|方|ほう)[にでからの]*|(?:낮은|적은|작은|짧은|싼|저렴한)\s?순(?:서)?(?:으로|대로)?"
        ),
        "lowest",
    ),
)
"""Ask for rows in an order: only the first few of them are given."""

Comparison = Literal[">", ">=", "<", "<="]
_N = r"(?P<amount>[¥$€£₩]?\s?\d[\d,.]{0,40}\s?[万億千만억천]{0,4}(?:\s?[^\W\d_]{1,6}?|\s?%)??)"
COMPARISONS: tuple[tuple[re.Pattern[str], Comparison], ...] = (
    (
        re.compile(
            rf"(?:more|greater|higher|larger|bigger|longer|older|heavier) than {_N}(?![\w.,]{0, 40}\d)\b|\b(?:over|above|exceeding) {_N.replace('amount', 'amount2')}\b"
        ),
        ">",
    ),
    (re.compile(rf"\bat least {_N}\b|(?<!\w){_N.replace('amount', 'amount2')} or more\b"), ">="),
    (
        re.compile(
            rf"(?:less|fewer|lower|smaller|shorter|younger|lighter|cheaper) than {_N}\b|\b(?:under|below) {_N.replace('amount', 'amount2')}\b"
        ),
        "<",
    ),
    (re.compile(rf"\bat most {_N}\b|(?<!\w){_N.replace('amount', 'amount2')} or (?:less|fewer)\b"), "<="),
    (re.compile(rf"{_N}\s?以上|{_N.replace('amount', 'amount2')}\s?이상(?:인|의)?"), ">="),
    (re.compile(rf"{_N}\s?以下|{_N.replace('amount', 'amount2')}\s?이하(?:인|의)?"), "<="),
    (
        re.compile(
            rf"{_N}\s?(?:未満|より(?:少な|低|小さ|安|短|軽)[いくか]*)|{_N.replace('amount', 'amount2')}\s?(?:미만(?:인|의)?|보다\s?(?:적|낮|작|짧|싼|싸)[가-힣]*)"
        ),
        "<",
    ),
    (
        re.compile(
            rf"{_N}\s?(?:超|を超え[るた]?|を上回[るっ]た?|より(?:多|高|大き|長|重)[いくか]*)|{_N.replace('amount', 'amount2')}\s?(?:초과(?:인|의)?|(?:을|를)\s?넘는|보다\s?(?:많|높|크|큰|길|긴|비싼)[가-힣]*)"
        ),
        ">",
    ),
)
"""Words around a number, and what they ask of a column."""
GROUPS_BEFORE = re.compile(r"\b(?:by|per|(?:for|in|of) each|for every|each|every)\s(?:the\s)?$")
GROUPS_AFTER = re.compile(r"^\s?(?:ごと|毎|別|별)(?:の|に|로|의)?")
PERIODS = (
    (
        re.compile(
            r"\b(?:by|per|each|every) month\b|\b(?:in )?(?:which|what) month\b|月別|月ごと|月毎|월별"
            r"|(?:どの|何)月|(?<![\d今先前来翌毎])月(?=[はが]\s?(?:いつ|何月|どの月|どれ|[？?]|$))|(?:어느|무슨) ?달|몇 ?월|(?<![가-힣])달(?=[은이]\s?(?:언제|몇|어느|[？?]|$))"
        ),
        7,
    ),
    (
        re.compile(
            r"\b(?:by|per|each|every) year\b|\b(?:in )?(?:which|what) year\b|年別|年ごと|年度別|연도별|년도별"
            r"|(?:どの|何)年|(?<![\d今去昨前来翌毎])年(?=[はが]\s?(?:いつ|何年|どの年|どれ|[？?]|$))|(?:어느|무슨) ?해|몇 ?년"
        ),
        4,
    ),
)
"""Groups of dates, and the length of their ISO texts."""

LEAVES_OUT_BEFORE = re.compile(
    r"\b(?:(?:not|(?:is|are|was|were|do|does|did)n['’]t) (?:in|from|of|for|at|by)|without|except(?:ing)?(?: for)?|excluding"
    r"|other than|apart from|outside(?: of)?) (?:the )?"
)
LEAVES_OUT_AFTER = re.compile(
    r"\s?(?:以外(?:[のでに]は?)?|を?除(?:く|い[たて]|き|けば|外し[たて])"
    r"|[은는을를]? ?(?:제외(?:한|하고|하면|하여|된)?|빼고|뺀|말고)| ?이외[의에]?|[이가] 아닌)"
)
"""Words right before, and behind, values whose rows are left out."""
JOINS = re.compile(r"\s?(?:,|、|と|や|および|及び|와|과|및|(?:, )?(?:and|or|nor))\s?(?:the )?")
OF_ROWS = re.compile(r"\bhow many (?:rows|records|entries)\b|何件|件数|몇\s?건|건수")
"""Words that count rows, and no other number."""

MONEY = re.compile(
    r"price|cost|amount|budget|salary|revenue|sales|expens|fee|wage|価格|値段|単価|金額|費用|料金|給与|年収|予算|売上|가격|단가|금액|비용|요금|급여|연봉|예산|매출"
)
QUANTITY = re.compile(r"quantity|qty|units|数量|個数|販売数|台数|冊数|수량|개수|판매량|판매수")
PEOPLE = re.compile(
    r"headcount|head count|people|persons|staff count|participants|人数|社員数|従業員数|人員|参加者数|인원|직원\s?수|사원\s?수|참가자\s?수"
)
PERSON = re.compile(
    r"\bname\b|employee|member|person|student|staff|participant|氏名|名前|社員|従業員|担当者|会員|生徒|選手|이름|성명|직원|사원|회원|학생|선수|담당자"
)
NOT_ADDITIVE = re.compile(
    r"price|rate|age|temperature|score|rating|percent|average|ratio|year|単価|価格|率|年齢|気温|点|平均|温度|年|단가|가격|율|나이|연령|기온|점수|평균|온도|연도"
)
BY_ADJECTIVE: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (re.compile(r"expensive|cheapest|dearest|安|비싼|비싸|싼|싸|저렴|how much|いくら|얼마"), MONEY),
    (re.compile(r"\boldest|youngest|若|어린|젊은"), re.compile(r"\bage\b|年齢|나이|연령")),
    (
        re.compile(r"longest|shortest|最長|最短|長|短|긴|길|짧"),
        re.compile(r"length|duration|time|hours|minutes|長さ|時間|期間|길이|시간|기간"),
    ),
    (re.compile(r"heaviest|lightest|重|軽|무거|가벼"), re.compile(r"weight|重さ|重量|무게|중량")),
)
"""Adjectives, and the columns that they mean."""

REFUSED = re.compile(
    r"\b(?:not|no|never|without|except|excluding|other than|besides|difference|compared?|versus|vs|ratio|share|percentage|"
    r"median|change[sd]?|increased?|decreased?|grew|growth|more .{1,30} than (?!\d)|if|both|neither|why|second|third|n't)\b|n't\b"
    r"|\b(?:can|may|could) (?:i|we|you|one|a|each)\b|\bup to\b|何.{1,2}まで|でき|られ|몇\s?[가-힣]{1,3}\s?까지|수\s?있"
    r"|以外|除[いくけ]|[^少]ない(?!ですか)|ません|差|比|割合|中央値|増|減|どうして|なぜ|番目"
    r"|제외|말고|빼고|아닌|않|없|차이|비율|중앙값|증가|감소|왜|번째"
)
"""Words of questions that the grammar does not understand."""
_WHAT_IT_MEANS = re.compile(r"\bwhat (?:do|does|did)\b.{1,80}(?<!\bthe )(?<!\ba )\bmean\b")
"""Asks what something means, and for no mean."""
_PARTICLES = re.compile("^[のにをはがでと]{1,2}(?=.)|(?<=..)[のにをはがでと]{1,2}$")
MOST_NAMED = 3
"""Words that are named where a question is not understood."""
_FUNCTION_EN = frozenset(
    (
        *("a", "an", "the", "of", "in", "on", "at", "for", "to", "from", "by", "with", "and", "or", "is", "are"),
        *("was", "were", "be", "been", "do", "does", "did", "has", "have", "had", "there", "here", "it", "its"),
        *("this", "that", "these", "those", "what", "which", "who", "whose", "whom", "when", "where", "how"),
        *("many", "much", "all", "any", "each", "every", "per", "one", "ones", "me", "us", "i", "we", "you"),
        *("tell", "show", "give", "find", "calculate", "compute", "please", "can", "could", "would", "list"),
        *("listed", "table", "tables", "sheet", "spreadsheet", "workbook", "file", "document", "data", "according"),
        *("row", "rows", "entry", "entries", "record", "records", "item", "items", "value", "values", "amount"),
        *("number", "numbers", "overall", "together", "our", "your", "my", "their", "as", "than", "so", "far"),
        *("get", "got", "make", "made", "into", "over", "across", "whole", "entire", "some", "only", "just"),
        *("exactly", "s", "sold", "sell", "earn", "earned", "cost", "costs", "spent", "paid", "worth"),
        *("work", "works", "working", "worked", "based", "located", "employed", "belong", "belongs", "placed", "made"),
    )
)
_FUNCTION_JA = re.compile(
    r"(?:教|示|表示|計算|算出|求|知|見|持|有|存在|場合|全部|全体|全員|全て|全|各|人|名|件|個|台|社|冊|店|値|額|表|一覧|データ|シート|登録|記載|"
    r"何|誰|方|中|内|行|数|計|円|年|月|分|は|データ|テーブル|ファイル|合|もの|物|売|買|掛|入|出|付|高|多|低|少|大|小|最|一番|勤務|働|所属|在籍|配属)+"
)
_FUNCTION_KO = re.compile(
    r"(?:은|는|이|가|을|를|의|에서|에게|에|으로|로|와|과|도|만|까지|부터|인가요|인가|인지|인|이에요|예요|에요|입니까|입니다|이야|야|나요|있나요|있어요|있는|있습니까|"
    r"있|되나요|되|돼요|된|됩니까|무엇|뭐|뭔가요|무슨|어디|누구|누가|어느|어떤|몇|알려|주세요|주|줘|계산|해서|해|한|하는|하나요|할|총|모두|전부|전체|각각|각|중에서|중에|중|표|"
    r"시트|데이터|목록|파일|수|개|건|명|대|곳|권|값|것|팔린|팔렸|나요|어요|었|았|습니까|요|은요|사람|속한|들|입|니까|가지|그|이고|고|얼마|였|인가|든|며|면|높은|많은|낮은|적은|큰|작은|근무|일하|소속|재직|동안|사이|다음|부탁|드려|드립)+"
)
_JA_ALLOWED = re.compile(r"[\u3041-\u309f\u30fc、。？?！!「」・\s]+")
_WORD = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*|[가-힣]+|[^\W\d_a-z가-힣]+|\d+")


def asks_to_count(question: str) -> bool:
    """Return whether a question may be one about the numbers of a table, in English, Japanese or Korean."""
    text = question.casefold()
    if _WHAT_IT_MEANS.search(text):
        return False
    return names_operation(text) or _GROUP_ONLY.search(text) is not None


def names_operation(question: str) -> bool:
    """Return whether a question asks how many, how much, for a sum, an average, or the highest or lowest."""
    patterns = (*OPERATIONS.values(), AMOUNT, SUPERLATIVE)
    return any(pattern.search(question.casefold()) for pattern in patterns)


def top_of(text: str) -> tuple[int, int, int] | None:
    """Return (start, end, number) of ``top 3``, or of ``3`` where the text asks for the highest or lowest."""
    forms = _TOP
    if any(pattern.search(text) for pattern in (*(p for p, _ in ORDERS), *_UTMOST, SUPERLATIVE)) or (
        not text.isascii() and (UP.search(text) or DOWN.search(text))
    ):
        forms = (*_TOP, *_TOP_OF_UTMOST)
    found = next((match for form in forms if (match := form.search(text))), None)
    if found is None:
        return None
    start = found.start("n") if found.re in _TOP_OF_UTMOST else found.start()
    return start, found.end(), _NUMBERS.get(found["n"]) or int(found["n"])


def not_understood(rest: str, context: str) -> str:
    """Return the first words of the rest of a question that say something and are not in the table's context."""
    known = context.casefold()
    stems = {stem(word) for word in re.findall(r"[a-z0-9]+", known)}
    joined = "".join(known.split())
    unknown = (_PARTICLES.sub("", word) for word in _WORD.findall(rest) if not _says_nothing(word, stems, joined))
    return ", ".join(list(dict.fromkeys(unknown))[:MOST_NAMED])


def _says_nothing(word: str, stems: Collection[str], joined: str) -> bool:
    if word.isascii():
        return all(part in _FUNCTION_EN or stem(part) in stems for part in word.split("-"))
    if re.match("[가-힣]", word):
        return _FUNCTION_KO.fullmatch(_without_context(word, joined)) is not None
    parts = filter(None, _JA_ALLOWED.split(_without_context(word, joined)))
    return all(_FUNCTION_JA.fullmatch(part) for part in parts)


def _without_context(word: str, context: str) -> str:
    """Remove the longest parts of a word, of two characters or more, that the context has; leaves a particle at least."""
    for length in range(min(len(word), 30), 1, -1):
        for start in range(len(word) - length + 1):
            if word[start : start + length] in context:
                rest = word[:start] + ("의" if "가" <= word[0] <= "힣" else "の") + word[start + length :]
                return _without_context(rest, context) if len(rest) < len(word) else rest
    return word


def stem(word: str) -> str:
    """Return an English word without the ending of the plural."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("xes", "ches", "shes", "sses")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
