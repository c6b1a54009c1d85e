"""Korean particles by the sound before them, and values in texts."""

from __future__ import annotations

import re

import pytest
from flask import render_template_string
from flask_babel import force_locale, lazy_gettext, ngettext
from flask_babel import gettext as _
from markupsafe import Markup

from braid.app.factory import register_braid
from braid.app.host import HostUser
from braid.app.words.filled import PARTICLE, choose, fill, final_sound
from braid.core.braid import Braid
from tests.app.words.test_translations import texts_of
from tests.web import make_app

ENDINGS = {
    "보고서": "vowel",
    "파일": "l",
    "문서 3": "consonant",
    "그룹": "consonant",
    "서울": "l",
    "회의록.hwp": "vowel",
    "index.html": "l",
    "notes.md": "vowel",
    "report.docx": "vowel",
    "README": "vowel",
    "PDF": "vowel",
    "URL": "l",
    "ROM": "consonant",
    "Python": "consonant",
    "Excel": "l",
    "gpt-4.1-mini": "vowel",
    "qwen3:8b": "vowel",
    "backup": "consonant",
    "Notebook": "consonant",
    "Chrome": "consonant",
    "“규정”": "consonant",
    "회의 (2026)": "vowel",
    "http://127.0.0.1:11434": "vowel",
    "12": "vowel",
    "0": "consonant",
    "7": "l",
    "40%": "vowel",
    "カタログ": "vowel",
    "ペン": "consonant",
    "漢字": "",
    "": "",
    "***": "",
}


@pytest.mark.parametrize(("text", "sound"), ENDINGS.items())
def test_how_a_text_ends_when_it_is_read(text: str, sound: str) -> None:
    assert final_sound(text) == sound


@pytest.mark.parametrize(
    ("particle", "after"),
    [
        ("을(를)", ("보고서를", "파일을", "그룹을", "漢字을(를)")),
        ("를(을)", ("보고서를", "파일을", "그룹을", "漢字를(을)")),
        ("이(가)", ("보고서가", "파일이", "그룹이", "漢字이(가)")),
        ("은(는)", ("보고서는", "파일은", "그룹은", "漢字은(는)")),
        ("와(과)", ("보고서와", "파일과", "그룹과", "漢字와(과)")),
        ("(으)로", ("보고서로", "파일로", "그룹으로", "漢字(으)로")),
        ("(이)", ("보고서", "파일이", "그룹이", "漢字(이)")),
    ],
)
def test_each_particle_after_each_sound(particle: str, after: tuple[str, ...]) -> None:
    words = ("보고서", "파일", "그룹", "漢字")
    assert tuple(word + choose(particle, word) for word in words) == after


def test_only_the_particles_of_the_text_itself_are_chosen() -> None:
    said = "양식 을(를)"
    assert fill("“%(name)s”을(를) 저장했어요.", {"name": said}) == "“양식 을(를)”을 저장했어요."
    assert fill("%(a)s은(는) %(b)s(으)로 바뀌어요.", {"a": "이름", "b": "A.pdf"}) == "이름은 A.pdf로 바뀌어요."


def test_values_in_markup_are_escaped_and_what_is_seen_is_what_counts() -> None:
    text = fill(Markup("<b>%(name)s</b>을(를) 삭제했어요."), {"name": "<글>"})
    assert text == "<b>&lt;글&gt;</b>을 삭제했어요."
    assert isinstance(text, Markup)


def test_counts_have_separators_and_ids_have_none() -> None:
    assert fill("%(num)s of %(all)s, %(id)s, %(is)s", {"num": 2173, "all": 10, "id": 2173, "is": True}) == (
        "2,173 of 10, 2173, True"
    )


def test_pages_and_messages_are_filled_alike(braid: Braid) -> None:
    app = make_app(braid)
    lazy = lazy_gettext("“%(name)s” saved.", name="서울")
    with app.test_request_context("/search?lang=ko"):
        assert _("“%(name)s” saved.", name="보고서") == "“보고서”를 저장했어요."
        assert str(lazy) == "“서울”을 저장했어요."
        assert ngettext("%(num)s document", "%(num)s documents", 2173) == "문서 2,173개"
        page = '{{ _("“%(name)s” saved.", name=name) }} {{ ngettext("%(num)s document", "%(num)s documents", 2173) }}'
        assert render_template_string(page, name="그룹") == "“그룹”을 저장했어요. 문서 2,173개"
        with force_locale("en"):
            assert _("“%(name)s” saved.", name="보고서") == "“보고서” saved."


def test_a_name_that_is_asked_for_has_no_particle_of_unknown_sound() -> None:
    [told] = texts_of("ko")[None, ("Type the name to confirm: %(name)s",)]
    assert fill(told, {"name": "佐藤 健"}) == "삭제하려면 이름(佐藤 健)을 그대로 입력하세요"


def test_pages_in_a_host_app_are_filled_and_the_hosts_own_are_not(braid: Braid) -> None:
    from flask import Flask

    host = Flask("host")
    host.secret_key = "kept in the test"
    host.add_url_rule("/own", "own", lambda: ngettext("%(num)s page", "%(num)s pages", 2173))
    register_braid(host, lambda: HostUser("ann"), braid=braid)
    client = host.test_client()
    assert client.get("/own").text == "2173 pages"
    page = client.get("/braid/admin/nothing?lang=ko").text
    assert "페이지를 찾을 수 없어요" in page


def test_no_translation_has_a_particle_that_is_not_known() -> None:
    forms = [form for translated in texts_of("ko").values() for form in translated]
    assert sum(PARTICLE.search(form) is not None for form in forms) > 80
    bare = re.compile(r"%\(\w+\)s[”]?(?:[을를은는이가과와]|으로|로)(?=[ .,]|$)")
    assert [form for form in forms if bare.search(form)] == [], "write both forms: 을(를), (으)로"
