"""Points in time on pages."""

from __future__ import annotations

import re

import pytest

from braid.app.words.values import moment
from braid.core.braid import Braid
from tests.web import make_app, sign_in


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, '<time datetime="1970-01-01T00:00:00Z">1970-01-01 00:00 UTC</time>'),
        (1_795_328_999.9, '<time datetime="2026-11-22T06:29:59Z">2026-11-22 06:29 UTC</time>'),
        (-40_000_000_000, '<time datetime="0702-06-15T00:53:20Z">0702-06-15 00:53 UTC</time>'),
        (1e15, ""),
    ],
)
def test_a_moment_says_that_it_is_in_utc(seconds: float, shown: str) -> None:
    assert moment(seconds) == shown


@pytest.mark.parametrize("language", ["en", "ja", "ko"])
def test_pages_have_times_that_programs_can_read(braid: Braid, language: str) -> None:
    page = sign_in(make_app(braid)).get(f"/account?lang={language}").text
    assert re.search(r'<time datetime="\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ">\d{4}-\d\d-\d\d \d\d:\d\d UTC</time>', page)
