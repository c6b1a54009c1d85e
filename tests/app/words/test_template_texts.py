"""Texts of templates in the language that holds when they are rendered."""

from __future__ import annotations

from flask import render_template_string
from flask_babel import force_locale

from braid.core.braid import Braid
from tests.web import make_app

TEXTS = '{{ _("Datasets") }}, {{ ngettext("%(num)s document", "%(num)s documents", 2) }}'


def test_a_template_is_in_the_language_that_holds_now(braid: Braid) -> None:
    app = make_app(braid)
    with app.test_request_context("/search?lang=ja"):
        assert render_template_string(TEXTS) == "データセット, 文書 2 件"
        with force_locale("ko"):
            assert render_template_string(TEXTS) == "데이터셋, 문서 2개"
        assert render_template_string(TEXTS) == "データセット, 文書 2 件"
    with app.test_request_context("/search?lang=en"):
        assert render_template_string(TEXTS) == "Datasets, 2 documents"
