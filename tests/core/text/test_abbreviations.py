"""Abbreviations that texts introduce, in three languages; and brackets that introduce none."""

from __future__ import annotations

import pytest

from braid.core.text.abbreviations import abbreviations_in
from braid.core.text.terms import MAX_OF_DOCUMENT, Term, heads_in, other_forms, terms_of


@pytest.mark.parametrize(
    ("text", "short", "long"),
    [
        ("The Service Level Agreement (SLA) is renewed.", "SLA", "Service Level Agreement"),
        ("Our SLA (Service Level Agreement) says so.", "SLA", "Service Level Agreement"),
        ("a higher level of tumor necrosis factor alpha (TNF-a)", "TNF-a", "tumor necrosis factor alpha"),
        ("就業規則（以下「規則」という。）は", "規則", "就業規則"),
        ("株式会社ブレイド（以下、「当社」という。）は", "当社", "株式会社ブレイド"),
        (
            "個人情報の保護に関する法律（以下「個人情報保護法」という。）",
            "個人情報保護法",
            "個人情報の保護に関する法律",
        ),
        ("業務委託契約書（以下本契約という。）を", "本契約", "業務委託契約書"),
        ("サービス品質保証（SLA）を定める", "SLA", "サービス品質保証"),
        ('근로기준법 시행령(이하 "영"이라 한다)에서', "영", "근로기준법 시행령"),
        ("개인정보를 다루는 개인정보 처리방침(이하 '방침'이라 합니다)", "방침", "개인정보 처리방침"),
        ("서비스 수준 협약(SLA)을 맺는다", "SLA", "서비스 수준 협약"),
    ],
)
def test_a_text_introduces_a_short_form(text: str, short: str, long: str) -> None:
    assert list(abbreviations_in(text)) == [(short, long)]


@pytest.mark.parametrize(
    "text",
    [
        "We met (on Tuesday) and left.",
        "the pump (XK)",
        "see Figure 3 (PDF)",
        "the flow rate (12 l/min)",
        "日本（にほん）は",
        "제3조(목적) 이 규칙은",
        "f(x) = (A + B)",
    ],
)
def test_other_brackets_introduce_nothing(text: str) -> None:
    assert list(abbreviations_in(text)) == []


def test_a_document_has_each_once_and_not_too_many() -> None:
    assert terms_of(["Service Level Agreement (SLA)", "service level agreement (SLA)"]) == [
        Term("SLA", "Service Level Agreement")
    ]
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    many = [f"{a.lower()}lpha {b.lower()}eta ({a}{b})" for a in letters for b in letters]
    assert len(terms_of(many)) == MAX_OF_DOCUMENT


TERMS = [
    Term("SLA", "Service Level Agreement"),
    Term("規則", "就業規則"),
    Term("영", "근로기준법 시행령"),
    Term("KTM", "Kept Time Model"),
    Term("PTO", "Paid Time Off", of_glossary=True),
]


@pytest.mark.parametrize(
    ("query", "added"),
    [
        ("When is the SLA renewed?", [("SLA", "Service Level Agreement")]),
        ("renew the service level agreement", [("Service Level Agreement", "SLA")]),
        ("規則の改定", [("規則", "就業規則")]),
        ("就業規則の改定", []),  # it has the other form within it
        ("SLA is a Service Level Agreement", []),
        ("SLAM dunks", []),
        ("the sla renewal", []),  # in small letters it may be a word, as *of* is, where no editor says otherwise
        ("ktm rules", [("KTM", "Kept Time Model")]),
        ("pto rules", [("PTO", "Paid Time Off")]),
    ],
)
def test_the_other_form_is_added(query: str, added: list[tuple[str, str]]) -> None:
    heads = set(heads_in(query))
    found = [each for each in TERMS if heads & {each.row["short_head"], each.row["long_head"]}]
    assert other_forms(query, found) == added


def test_a_form_with_many_meanings_is_too_ambiguous() -> None:
    terms = [Term("当社", name) for name in ("甲株式会社", "乙株式会社", "丙株式会社", "丁株式会社")]
    assert other_forms("当社の義務", terms) == []
    assert len(other_forms("当社の義務", terms[:2])) == 2
