"""Names that exclude each other: codes, people with a title, places of one kind. What no list makes safe is open."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

_CODE = re.compile(r"(?=[^\d]*\d)(?=.*[A-Za-z])[A-Za-z\d]+(?:-[A-Za-z\d]+)*")
_TITLE_BEFORE = re.compile(
    r"\b(?:Mr|Ms|Mrs|Miss|Dr|Prof|Professor|Judge|Captain|Sir|Lady|Senator|Sergeant|Inspector)\.?\s(?:[A-Z]\w*\s)?$"
)
_TITLE_BEHIND = re.compile(
    r"さん|氏|様|くん|ちゃん|\s?(?:씨|님|군|양|과장|부장|대리|차장|팀장|사장|이사|회장|대표|교수|박사|선생|의원|장관|대통령|선수"
    r"|감독|기자|변호사)"
)
_JA_TITLE = re.compile(
    r"(?:氏|様|部長|課長|係長|社長|会長|教授|博士|先生|議員|大臣|首相|大統領|選手|監督|記者|弁護士|委員長)$"
)
_KO_SURNAMES = frozenset(
    "김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하곽성차주우구민진지엄채원천방공현함변염여추도소석선설마길"
    "연위표명기반왕금옥육인맹제모"
)
_PLACES = tuple(
    frozenset(words.split())
    for words in (
        """
        Japan Korea China India Germany France Italy Spain Portugal Austria Switzerland Sweden Norway Denmark
        Finland Poland Russia Ukraine Turkey Greece Egypt Brazil Argentina Chile Mexico Canada Australia
        Thailand Vietnam Indonesia Taiwan
        """,
        """
        Tokyo Osaka Kyoto Nagoya Sapporo Fukuoka Seoul Busan Incheon Daegu Beijing Shanghai Berlin Hamburg
        Munich Cologne Paris Lyon London Manchester Rome Milan Madrid Barcelona Lisbon Vienna Zurich Geneva
        Stockholm Oslo Copenhagen Helsinki Warsaw Moscow Boston Chicago Toronto Sydney Melbourne Singapore
        Bangkok Rotterdam Amsterdam Brussels Prague Budapest Athens
        """,
        """
        日本 韓国 中国 米国 英国 ドイツ フランス イタリア スペイン ポルトガル オーストリア スイス スウェーデン
        ノルウェー デンマーク ロシア インド ブラジル カナダ タイ ベトナム
        """,
        """
        東京 大阪 京都 名古屋 札幌 仙台 横浜 神戸 広島 福岡 北海道 ベルリン パリ ロンドン ローマ ニューヨーク
        ソウル 釜山 北京 上海
        """,
        """
        일본 한국 중국 미국 영국 독일 프랑스 이탈리아 스페인 포르투갈 오스트리아 스위스 스웨덴 노르웨이 덴마크
        러시아 인도 브라질 캐나다 태국 베트남
        """,
        """
        서울 부산 대구 인천 광주 대전 울산 수원 제주 도쿄 오사카 교토 베를린 파리 런던 로마 뉴욕 베이징 상하이
        """,
    )
)
"""Countries and cities; a country and its capital, which stand for each other, are in different sets."""
_NEAR = 0.75
"""Likeness of two spellings from which they may be of one name."""


def are_other_names(said: str, there: str, before: str, behind: str) -> bool:
    """Return whether two words, with the same text before and behind them, name other things of one kind.

    >>> are_other_names("E-105", "E-104", "the connector ", " is used")
    True
    """
    if _CODE.fullmatch(said) and _CODE.fullmatch(there):
        return _plain(said) != _plain(there)
    if any(said in places and there in places for places in _PLACES):
        return True
    if SequenceMatcher(None, said, there).ratio() >= _NEAR:
        return False
    if _TITLE_BEFORE.search(before[-40:]):
        return said[:1].isupper() and there[:1].isupper() and len(said) > 1 and len(there) > 1
    mine, other = _JA_TITLE.search(said), _JA_TITLE.search(there)
    if mine and other:
        return mine[0] == other[0] and 0 < mine.start() < 5 and 0 < other.start() < 5
    if not _TITLE_BEHIND.match(behind):
        return False
    if "가" <= said[0] <= "힣":
        return all(2 <= len(name) <= 4 and name[0] in _KO_SURNAMES for name in (said, there))
    return all(len(name) < 5 and name.isalpha() for name in (said, there))


def _plain(code: str) -> str:
    return code.replace("-", "").lower()
