"""Labels of Korean forms, whose letters are set apart so that all are of one width: 연 락 처 is 연락처."""

from __future__ import annotations

import re

_SPACED = re.compile(
    r"(?P<before>^[ \t\u3000]{0,9}|[ \t\u3000]{2}|[|○●□■◇◆▶▷※·•*.)）-][ \t\u3000]{0,9})"
    r"(?P<label>[가-힣](?P<space>[ \t\u3000]{1,9})[가-힣](?:(?P=space)[가-힣]){0,5})(?=[ \t\u3000]{0,9}(?:[:：|]|$))",
    re.MULTILINE,
)
_WORDS = (
    "성명 이름 주소 전화 직위 직급 직책 직업 부서 소속 비고 합계 소계 총계 일시 일자 장소 날짜 제목 내용 목적 "
    "대상 기간 금액 단가 수량 품명 품목 규격 단위 사유 학교 학과 전공 생일 나이 성별 국적 본적 서명 담당 대표 "
    "상호 업태 종목 수신 발신 참조 경유 번호 구분 항목 기타 결과 계약 용도 면적 높이 길이 무게 색상 등급 상태"
)
_OF_TWO = frozenset(_WORDS.split())
"""Labels of two letters; others with one space between them may be two words: 할 일."""


def joined_labels(text: str) -> str:
    """Return the text with the letters of each label, before a colon, or alone in a line or a cell, as one word.

    >>> joined_labels("성   명 : 박하늘 | 연 락 처\\n할 일: 그 외")
    '성명 : 박하늘 | 연락처\\n할 일: 그 외'
    """
    return _SPACED.sub(_joined, text)


def _joined(found: re.Match[str]) -> str:
    label = found["label"].replace(found["space"], "")
    is_one = len(label) > 2 or len(found["space"]) > 1 or label in _OF_TWO
    return found["before"] + label if is_one else found[0]
