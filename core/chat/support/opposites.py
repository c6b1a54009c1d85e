"""Pairs of opposites that turn what is said, when one stands in the place of the other."""

from __future__ import annotations

from collections.abc import Mapping

_PAIRS: Mapping[str, str] = {
    "en": """
        more/less more/fewer greater/smaller higher/lower highest/lowest above/below over/under before/after
        increase/decrease increases/decreases increased/decreased increasing/decreasing maximum/minimum most/least
        largest/smallest first/last include/exclude includes/excludes included/excluded with/without allowed/forbidden
        allowed/prohibited open/closed earlier/later longer/shorter all/none always/never inside/outside upper/lower
        rises/falls rose/fell rise/fall accept/reject accepted/rejected enable/disable enabled/disabled
        required/optional on/off northern/southern eastern/western north/south east/west
    """,
    "ja": """
        以上/以下 以上/未満 以前/以後 以前/以降 前/後 増加/減少 増/減 最大/最小 最高/最低 最長/最短 可能/不可能
        開始/終了
        上昇/下降
        上昇/低下 内部/外部
        含/除 高/低 長/短 多/少 上回/下回 北部/南部 東部/西部 最初/最後 有効/無効 上/下
        賛成/反対
    """,
    "ko": """
        이상/이하 이상/미만 초과/미만 이전/이후 전/후 증가/감소 증가하/감소하 최대/최소 최고/최저 최초/최후 시작/종료
        상승/하락
        가능/불가능
        포함/제외 높은/낮은 많은/적은 긴/짧은 높/낮 많/적 위/아래 내부/외부 북부/남부 동부/서부 찬성/반대
    """,
}
_OPPOSITES = {language: {frozenset(pair.split("/")) for pair in pairs.split()} for language, pairs in _PAIRS.items()}


def are_opposites(one: str, other: str, language: str) -> bool:
    """Return whether two words are opposites, or begin with opposites and go on alike.

    >>> are_opposites("증가했다", "감소했다", "ko")
    True
    """
    if one == other:
        return False
    known = _OPPOSITES.get(language, set())
    if frozenset((one, other)) in known:
        return True
    if language == "en":
        return False
    end = 0
    while end < min(len(one), len(other)) and one[-1 - end] == other[-1 - end]:
        end += 1
    return end > 0 and frozenset((one[: len(one) - end], other[: len(other) - end])) in known
