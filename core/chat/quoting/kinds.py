"""Kinds of answers, such as an amount, a date or a person: how a question asks for one, and what a text has that is."""

from __future__ import annotations

import re
from dataclasses import dataclass

CURRENCIES = "EUR|USD|GBP|JPY|KRW|CHF"
_AMOUNT = (
    rf"(?:[$€£¥￥₩]|\b(?:{CURRENCIES}))\s?\d"
    rf"|(?<![\d,.])\d[\d,.]*+\s?(?:{CURRENCIES}|euros?|dollars?|pounds?|yen|won|cents?)(?![a-z])"
    r"|[\d万億千百]\s?(?:円|ドル|ユーロ|ウォン)|[\d만억천백]\s?(?:원|달러|유로|엔)"
    r"|\b(?:free of charge|for free)\b|無料|무료"
)
_CLOCK = (
    r"\d{1,2}[:.：]\d\d|\d ?(?:時|시|[ap]\.?m(?![a-z])|o'clock)|\b(?:noon|midnight)\b|正午|정오|자정"
    r"|[一二三四五六七八九十]時|(?:한|두|세|네|다섯|여섯|일곱|여덟|아홉|열) ?시"
)
WHEN = (
    r"\bwhen(?:['’]s| (?:is|are|was|were|do|does|did|will|would|can|could|should|must|may|has|have|to))\b"
    r"|\b(?:me|say) when\b|\bwhen\s*[?？]"
)
"""Where *when* asks, and is no conjunction."""
_COUNT = (
    r"(?:\d|\b(?:an?|half|one|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|forty|fifty"
    r"|sixty|ninety)\b)"
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of answer: the questions that ask for it, and what a text has that is one."""

    question: re.Pattern[str]
    answer: re.Pattern[str]
    is_needed: bool = False
    """Whether a text without it is no answer, and not only a worse one."""

    def is_in(self, text: str) -> bool:
        """Return whether a text has an answer of the kind."""
        return self.answer.search(text) is not None


def kinds_of(question: str) -> tuple[Kind, ...]:
    """Return the kinds of answer that a question asks for.

    >>> [kind.is_in("The rent is paid by the tenant.") for kind in kinds_of("Who pays? And how much?")]
    [False, False, True]
    """
    kinds = _OTHER_KINDS if _ASKS_OTHERWISE.search(question) else _NAMED_KINDS + _OTHER_KINDS
    return tuple(kind for kind in kinds if kind.question.search(question))


def _kind(question: str, answer: str, *, is_needed: bool = False) -> Kind:
    return Kind(re.compile(question, re.IGNORECASE), re.compile(answer, re.IGNORECASE), is_needed)


_NAMED = (
    (r"\b(?:tele)?phone number\b|電話番号|전화번호", r"\+?\d[\d ()/.-]{5,}\d|\b(?:extension|ext\.) ?\d|内線|내선"),
    (r"\be-?mail address\b|メールアドレス|이메일 주소|메일 주소", r"@"),
    (r"\b(?:price|cost|costs|fee|salary)\b|価格|値段|料金|委託料|給料|가격|요금|비용은|용역비는", _AMOUNT),
    (
        r"\b(?:opening|business|office) hours\b|\bwhat time (?:is|are|do|does|did|will|can)\b"
        r"|営業時間|何時(?!代|期|間)|영업 ?시간|운영 ?시간|몇 시(?! ?간)",
        _CLOCK,
    ),
)
_ASKS_OTHERWISE = re.compile(
    r"^\W*(?:(?:who|whom|whose|where|why|when)\b|how (?!much\b|many\b))"
    r"|誰|(?<!な)だれ|(?<!ほ)どこ|なぜ|(?<![ぶんじ])どう(?![ぶさろ])|いつ(?![もつ])|누구|누가|어디|(?<![가-힣])왜(?![가-힣])|어떻게|언제",
    re.IGNORECASE,
)
"""Questions for something else about what they name: *who* pays the fee, *when* the office has its hours."""
_FOUNDED = (
    r"\b(?:founded|established|born|built|started|began|begun|opened|since|created|formed|erected|completed)\b"
    r"|[設創]立|創業|開業|発足|結成|建て|設け|세워|[설창]립|창업|개업|발족|시작|태어|건립|[(（][^()（）]{0,40}\d{4}"
)
_ASKED = (
    (
        r"\bwhen was\b.{0,120}\b(?:founded|established|born|built)\b|いつ(?:設立|創立|創業)|언제 (?:설립|창립)",
        rf"^(?=[\s\S]*?(?:{_FOUNDED}))[\s\S]*?(?:\d|世紀|세기|[一二三四五六七八九十]年)",
    ),
    (
        r"\bwho\b.{0,60}\b(?:president|CEO|chief executive)\b"
        r"|(?:社長|代表(?:取締役|者)?)は(?:誰|だれ)|(?:대표|사장)(?:이사)?[은는이가] 누구",
        r"\b(?:president|CEO|chief executive|managing director)\b|社長|代表|取締役|대표|사장|회장",
    ),
)
_LIMIT = r"\b(?:limit|maximum|at most|cap)\b|上限|限度|最[大長]は?何|最大で|何.{1,2}まで|한도|상한|최대 ?(?:몇|얼마)"
_HOW_MUCH = (
    r"\bhow much\b"
    r"|\b(?:what|which)\b.{0,60}\b(?:rent|deposit|fares?|charge|premium|allowance|budget|bonus|wages?)\b"
    r"|いくら|何円|金額|얼마(?!나)|몇 ?원|금액"
)
_REASON = (
    r"\bwhy\b|\b(?:reason|cause)s?\b|なぜ|どうして|なんで|理由|原因|(?<![가-힣])왜(?![가-힣])|이유|원인",
    r"\b(?:because|since|as a result|due to|owing to|so that|in order to|caused?|reasons?|otherwise|therefore"
    r"|to (?:prevent|avoid|protect|make sure))\b"
    r"|ため|ので|から[、。だで]|おそれ|恐れ|理由|原因|により|によって|目的"
    r"|때문|므로|[아어해여]서(?![가-힣])|니까|위(?:해|하여)|이유|원인|인(?:해|하여)|목적",
)
_BETTER = (
    (_HOW_MUCH, _AMOUNT),
    (rf"^(?!.*(?:{_LIMIT})).*(?:{_HOW_MUCH})", "実費|全額|실비|전액"),  # what is paid as it is has no limit
    (
        _LIMIT,
        r"\b(?:up to|at most|maximum|limit(?:ed)?|no more than|not (?:more than|exceed)|capped|within|longest)\b"
        r"|上限|限度|最大|最長|まで|以内|以下|한도|상한|최대|까지|이내|이하",
    ),
    (  # a person, or who has a role
        r"\b(?:who|whom|whose)\b|誰|だれ|どなた|(?:担当|責任)者は|누구|누가|(?:담당|책임)자는",
        r"(?-i:\b(?:Mr|Mrs|Ms|Dr|Prof)\b|\b[A-Z][\w'’-]{1,30} (?:[A-Z]\. )?[A-Z][\w'’-])"
        r"|\b(?:head|leader|manager|director|chair\w*|officer|secretary|treasurer|supervisor|landlord|tenant|committee"
        r"|department|team|company|ltd)\b"
        r"|氏|さん|様|先生|委員|[部課係社会議室所店院]長|長の|上長|担当|責任者|管理人|株式会社|合同会社"
        r"|[가-힣]{2,4} ?(?:씨|님|위원)|(?:팀|부서|부|과|사|회|소|원|위원)장|대표|담당자|책임자|관리자|주식회사",
    ),
    (  # a place
        r"\bwhere\b|\b(?:which|what) (?:room|place|city|town|country|floor|building|address)\b"
        r"|どこ|場所|何階|所在地|어디|장소|몇 층",
        r"\b(?:floor|room|hall|building|street|road|basement|cellar|entrance|shelf|drawer|cupboard|folder|directory)\b"
        r"|\b(?:in|at|on|near|behind|beside|below|opposite) (?:the )?(?-i:[A-Z])"
        r"|[階館駅市県区町村棟店]|[室所]に|会議室|通り|広場|窓口|場所|住所"
        r"|\d ?층|호실|회의실|센터|강당|사무소|사무실|체육관|창고|건물|광장|주소|[가-힣]에 있",
    ),
    _REASON,
    (  # a date or a time
        rf"{WHEN}|\b(?:what|which) (?:date|day|time)\b|\bby when\b|\bdeadline\b"
        r"|いつ|日付|期限|締め?切|언제|날짜|기한|마감",
        rf"{_CLOCK}|(?-i:\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\b)|\b(?:mon|tues|wednes|thurs|fri"
        rf"|satur|sun)days?\b|\b(?:within|before|after|until|every)\b.{{0,30}}\b(?:day|week|month|year)s?\b"
        r"|\b\d{1,2}(?:st|nd|rd|th)\b|\b(?:19|20)\d\d\b"
        rf"|{_COUNT}[ -](?:seconds?|minutes?|hours?)\b|\b(?:at once|immediately|right away)\b"
        r"|[\d一二三四五六七八九十][年月日秒]|曜日|翌[日月週年]|毎[日月週年]|末日|前日|以内|前まで|すぐ|ただちに|直ちに"
        r"|\d ?[년월일초](?![가-힣]{2})|바로|즉시|요일|매[일월주년]|말일|다음 ?[날달주해]|전날|이내|전까지"
        r"|(?:하루|이틀|사흘|[한두세] ?달) 전",
    ),
    (  # a length of time
        r"\bhow long\b|\bhow many (?:days|weeks|months|years|hours|minutes)\b"
        r"|何(?:日|週|[かヶカ]月|年|時間|分)(?!に)|期間(?!中)"
        r"|며칠(?!에)|몇 (?:일|주|달|개월|년|시간|분)|기간(?! ?(?:중|동안))|얼마나 (?:걸|오래)",
        rf"{_COUNT}[ -](?:\w+ )?(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?)\b|\d ?(?:min|h)(?![a-z])"
        r"|[\d一二三四五六七八九十半](?:日間?|週間?|[かヶカ]月間?|年間?|時間|分間?)(?!以?前|後)"
        r"|\d ?(?:일|주|개월|달|년|시간|분)(?:간|씩)?(?! ?(?:전|후|뒤|까지))|하루|일주일|(?:한|두|세|석|넉) ?달(?! 전)",
    ),
    (
        r"\b(?:heav(?:y|ier|iest)|lighte(?:r|st)|weighs?|weight|mass)\b|重[さいく]|軽[さいく]|重量|質量|体重"
        r"|무게|중량|무거|무겁|가벼|가볍",
        r"\d ?(?:(?:m?g|kg|t|lbs?|kilos?|grams?|tons?)(?![a-z])|キロ|グラム|トン|킬로|그램|톤)",
    ),
    (
        r"\bhow (?:tall|high|deep|wide|far|thick)\b|\b(?:height|width|depth|length|distance)\b"
        r"|高さ|長さ|幅|奥行|距離|深さ|身長|높이|길이|너비|깊이|거리|폭[은이]",
        r"\d ?(?:(?:[mck]?m|inch(?:es)?|feet|ft|miles?|met(?:er|re)s?)(?![a-z])"
        r"|ミリ|センチ|メートル|キロ|미터|밀리|센티|킬로)",
    ),
    (
        r"\b(?:loud\w{0,3}|quiet\w{0,3}|nois[ey]\w{0,3})\b|うるさ|静か|騒音|運転音|시끄|조용|소음",
        r"\d ?(?:dB|デシベル|데시벨)",
    ),
    (
        r"\b(?:temperature|how (?:hot|warm|cold))\b|温度|気温|何度(?!も)|온도|기온|몇 ?도",
        r"\d ?(?:°|℃|degrees\b|度|도(?![가-힣]))",
    ),
    (
        r"\b(?:percent(?:age)?|what share)\b|割合|パーセント|何割|비율|퍼센트",
        r"\d ?(?:[%％]|percent\b|パーセント|割|퍼센트)",
    ),
    (  # whether something is allowed or possible
        r"^\s*(?:can|may|am|is it|are)\b.{0,60}\b(?:i|we|you|allowed|permitted|possible)\b"
        r"|[てで]も(?:よい|いい|良い)|できますか|認められ"
        r"|[가-힣]도 [되돼]나요|수 있(?:나요|습니까|어요)|가능한가요|허용",
        r"\b(?:may (?:only|not)|(?:must|are) not|cannot|allowed|permitted|forbidden|prohibited|consent)\b"
        r"|禁止|認め|でき(?:る|ます|ない|ません)。?$|ならない|なりません|可能|許可|承諾"
        r"|금지|허용|가능|수 (?:있|없)(?:다|습니다|어요)|동의|[안못] ?[된됩]",
    ),
)
REASON = _kind(*_REASON)
AMOUNT = re.compile(_AMOUNT, re.IGNORECASE)
_NAMED_KINDS = tuple(_kind(question, answer, is_needed=True) for question, answer in _NAMED)
_OTHER_KINDS = (
    *(_kind(question, answer, is_needed=True) for question, answer in _ASKED),
    *(_kind(question, answer) for question, answer in _BETTER),
)
