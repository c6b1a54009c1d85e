"""Words that exclude each other: what is said is another thing where one stands in the place of the other."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

_OPPOSITES: Mapping[str, str] = {
    "en": """
        more / less fewer
        greater larger / smaller
        higher / lower
        highest largest most / lowest smallest least
        above over / below under
        before / after
        within / after
        earlier / later
        early / late
        earliest / latest
        increase rise growth / decrease decline drop fall reduction
        increases rises grows / decreases declines drops falls
        increased rose grew climbed gained / decreased declined dropped fell lost
        increasing rising growing / decreasing declining dropping falling
        maximum / minimum
        first / last
        include includes included including / exclude excludes excluded excluding except
        with / without
        allowed permitted / forbidden prohibited banned
        open opens opened opening / close closes closed closing shut
        start starts started begin begins began / stop stops stopped end ends ended finish finishes finished
        hour / day / week / month / quarter / year
        longer / shorter
        longest / shortest
        all none no / some
        all every / none no
        always / never
        inside / outside
        indoors / outdoors
        upper / lower
        left / right
        top / bottom
        front / rear back
        accept accepts accepted / reject rejects rejected
        enable enables enabled / disable disables disabled
        required mandatory compulsory obligatory / optional voluntary
        on / off
        northern / southern
        eastern / western
        north / south
        east / west
        unless / if
        valid / invalid
        possible / impossible
        legal / illegal
        complete / incomplete
        correct / incorrect
        limited / unlimited
        paid / unpaid
        known / unknown
        changed / unchanged
        free / paid
        internal / external
        inbound incoming / outbound outgoing
        positive / negative
        succeeded / failed
        arrive arrives arrived / depart departs departed
        import imports imported / export exports exported
        bought buys / sold sells
        won / lost
        profit / loss
        odd / even
        daily / weekly / monthly / yearly annually
        hourly / daily
        utc gmt / cet cest / jst kst / est edt / pst pdt / ist
    """,
    "ja": """
        以上 / 以下 未満
        超 / 以下 未満
        以前 / 以後 以降
        以内 / 以降 以後
        前 / 後
        増加 増大 増 上昇 / 減少 減 低下 下落
        最大 / 最小
        最高 / 最低
        最長 / 最短
        可能 / 不可能 不可
        可 / 不可
        開始 / 終了
        内部 / 外部
        内側 / 外側
        含 / 除
        高 / 低
        長 / 短
        多 / 少
        大 / 小
        上回 / 下回
        北部 / 南部 / 東部 / 西部
        最初 / 最後
        有効 / 無効
        有料 / 無料
        上 / 下
        左 / 右
        左側 / 右側
        東 / 西 / 南 / 北
        東側 / 西側 / 南側 / 北側
        賛成 / 反対
        許可 / 禁止
        必須 必要 義務 / 任意 不要
        必要 / 不要
        黒字 / 赤字
        前半 / 後半
        前期 / 後期
        初期 / 末期
        初頭 / 末
        成功 / 失敗
        合格 / 不合格
        開 / 閉
        増 / 減
        輸出 / 輸入
        入口 / 出口
        屋内 室内 / 屋外 室外
        国内 / 国外 海外
        午前 / 午後
        毎日 / 毎週 / 毎月 / 毎年
        奇数 / 偶数
        公開 / 非公開
    """,
    "ko": """
        이상 / 이하 미만
        초과 / 이하 미만
        이전 / 이후
        이내 / 이후
        전 / 후
        증가 늘어 늘었 늘어났 상승 올랐 / 감소 줄어 줄었 하락 내렸
        증가하 / 감소하
        최대 / 최소
        최고 / 최저
        최초 / 최후
        시작 / 종료
        가능 / 불가능
        포함 / 제외
        높은 높 / 낮은 낮
        많은 많 / 적은 적
        긴 길 / 짧은 짧
        위 / 아래
        내부 / 외부
        안쪽 / 바깥쪽
        실내 / 실외
        국내 / 국외 해외
        북부 / 남부 / 동부 / 서부
        동쪽 / 서쪽 / 남쪽 / 북쪽
        왼쪽 / 오른쪽
        찬성 / 반대
        허용 허가 / 금지
        의무 필수 / 선택
        유료 / 무료
        유효 / 무효
        흑자 / 적자
        전반 / 후반
        초반 / 후반
        초기 / 말기
        성공 / 실패
        합격 / 불합격
        수출 / 수입
        입구 / 출구
        오전 / 오후
        매일 / 매주 / 매월 매달 / 매년
        공개 / 비공개
        홀수 / 짝수
    """,
}
"""Sets of words by language, a line each: those of one part exclude those of the others."""


def _pairs(lines: str) -> frozenset[frozenset[str]]:
    sets = [[part.split() for part in line.split("/")] for line in lines.splitlines() if line.strip()]
    return frozenset(
        frozenset((one, other))
        for parts in sets
        for first, second in combinations(parts, 2)
        for one in first
        for other in second
    )


_KNOWN = {language: _pairs(lines) for language, lines in _OPPOSITES.items()}
_WORDS = {language: frozenset(word for pair in pairs for word in pair) for language, pairs in _KNOWN.items()}


def are_opposites(one: str, other: str, language: str) -> bool:
    """Return whether two words exclude each other, or begin with words that do.

    >>> are_opposites("증가했다", "줄었다", "ko"), are_opposites("refundable", "non-refundable", "en")
    (True, True)
    """
    if one == other:
        return False
    if frozenset((one, other)) in _KNOWN[language]:
        return True
    if language == "en":
        return one == f"non-{other}" or other == f"non-{one}"
    end = 0
    while end < min(len(one), len(other)) and one[-1 - end] == other[-1 - end]:
        end += 1
    if end > 0 and frozenset((one[: len(one) - end], other[: len(other) - end])) in _KNOWN[language]:
        return True
    return language == "ko" and any(
        frozenset((mine, there)) in _KNOWN[language] for mine in _stems(one) for there in _stems(other)
    )


def _stems(word: str) -> list[str]:
    """Return the known words of two syllables or more that a word begins with."""
    return [word[:size] for size in range(2, min(len(word), 4) + 1) if word[:size] in _WORDS["ko"]]
