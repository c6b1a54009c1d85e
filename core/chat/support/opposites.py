"""Words that exclude each other: what is said is another thing where one stands in the place of the other."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, takewhile

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
        increases rises grows raises / decreases declines drops falls reduces lowers
        increased rose grew climbed gained raised / decreased declined dropped fell lost reduced lowered
        increasing rising growing raising / decreasing declining dropping falling reducing lowering
        increase raise / reduce lower
        maximum / minimum
        first / last
        include includes included including / exclude excludes excluded excluding except
        with / without
        allowed permitted / forbidden prohibited banned
        open opens opened opening / close closes closed closing shut
        start starts started begin begins began / stop stops stopped end ends ended finish finishes finished
        hour / day / week / month / quarter / year
        hours / days / weeks / months / quarters / years
        calendar / business working
        during / after before
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
        accept accepts accepted approve approves approved adopt adopts adopted / reject rejects rejected
        favour favor for / against
        add adds added introduce introduces introduced / remove removes removed
        include includes included / omit omits omitted
        allow allows allowed permit permits permitted / forbid forbids forbade prohibit prohibits prohibited
        encrypted / plain
        grant grants granted / deny denies denied revoke revokes revoked
        hire hires hired / dismiss dismisses dismissed
        lend lends lent / borrow borrows borrowed
        install installs installed / uninstall uninstalls uninstalled
        connect connects connected / disconnect disconnects disconnected
        expand expands expanded / shrink shrinks shrank
        win wins / lose loses
        pass passes passed / fail fails failed
        agree agrees agreed / disagree disagrees disagreed
        active / inactive
        visible / invisible
        manual manually / automatic automatically
        public / private
        parallel / serial
        hot warm / cold cool
        wet / dry
        strong / weak
        full / empty
        fast faster / slow slower
        heavy heavier / light lighter
        high / low
        long / short
        old older / new newer young younger
        best / worst
        better / worse
        easy easier / difficult hard harder
        safe / dangerous
        same / different
        minimal / maximal
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
        超 上回 / 以下 未満 下回
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
        開 / 閉 休
        可決 承認 採択 / 否決 却下
        全会一致 満場一致 / 賛成多数
        入 / 退 出
        初 / 末
        発効 / 失効
        購入 / 売却
        昇 / 降
        着 / 発
        勝 / 敗
        収入 / 支出
        黒 / 白
        新 / 旧
        強 / 弱
        速 / 遅
        軽 / 重
        厚 / 薄
        温 熱 / 冷
        常時 / 随時
        手動 / 自動
        全員 / 一部
        暗号 / 平文
        追加 / 削除
        導入 / 廃止
        受理 承認 / 否認
        接続 / 切断
        雇用 採用 / 解雇
        拡大 / 縮小
        個人 / 法人
        直接 / 間接
        延長 / 短縮
        事前 / 事後
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
        초과 / 이하 미만 미달
        개 / 휴 폐
        가결 승인 / 부결
        만장일치 / 다수결
        동 / 서 / 남 / 북
        입 / 퇴 출
        월초 연초 주초 / 월말 연말 주말
        열고 엽니다 연다 / 닫고 닫습니다 닫는다
        발효 / 실효 만료
        구입 구매 / 매각 판매
        승인 수리 / 반려 거부
        추가 / 삭제
        도입 / 폐지
        연결 / 해제
        채용 고용 / 해고
        확대 / 축소
        연장 / 단축
        사전 / 사후
        직접 / 간접
        개인 / 법인
        수동 / 자동
        빠른 빠르 / 느린 느리
        무거운 무겁 / 가벼운 가볍
        강한 강하 / 약한 약하
        두꺼운 두껍 / 얇은 얇
        새 / 헌
        같은 / 다른
        잠 잠그 잠긴 / 열 열린
        늘리 늘려 / 줄이 줄여
        올리 올려 / 내리 내려
        켜 켜져 켠 / 꺼 꺼져 끈
        이상 / 미달
        수입 / 지출
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
_DENIES = {"en": ("non-", "un"), "ja": ("未", "非", "不", "無"), "ko": ("미", "비", "불", "부", "무")}
_LEAST = {"en": 4, "ja": 2, "ko": 2}
"""Beginnings that deny a word, and letters of the shortest word behind one: *unlocked*, 未成年, 비공개."""
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
    shorter, longer = sorted((one, other), key=len)
    if any(longer == f"{prefix}{shorter}" for prefix in _DENIES[language]) and len(shorter) >= _LEAST[language]:
        return True
    if language == "en":
        return False
    start = _alike(one, other)
    end = min(_alike(one[::-1], other[::-1]), len(shorter) - start)
    mine, there = one[start : len(one) - end], other[start : len(other) - end]
    if start + end > 0 and frozenset((mine, there)) in _KNOWN[language]:
        return True
    if frozenset((one[: len(one) - end], other[: len(other) - end])) in _KNOWN[language]:
        return True
    return language == "ko" and any(
        frozenset((mine, there)) in _KNOWN[language] for mine in _stems(one) for there in _stems(other)
    )


def _alike(one: str, other: str) -> int:
    """Return the number of letters with which both begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _stems(word: str) -> list[str]:
    """Return the known words of two syllables or more that a word begins with."""
    return [word[:size] for size in range(2, min(len(word), 4) + 1) if word[:size] in _WORDS["ko"]]
