"""Two searches side by side."""

from __future__ import annotations

import re

from flask.testing import FlaskClient

from braid.app.pages.search.compare import Move, moves
from tests.app.pages.search.searched import NOTES, OTHER, hit
from tests.web import text_of


def test_what_moved_is_marked() -> None:
    first, second = [hit("a"), hit("b"), hit("c"), hit("d")], [hit("c"), hit("b"), hit("new"), hit("a")]
    left, right = moves(first, second)
    assert [move.kind for move in left] == ["kept", "kept", "kept", "gone"]
    assert right == [Move("up", 2), Move("same"), Move("new"), Move("down", 3)]


def test_equal_text_is_the_same_hit_whichever_place_stands_first() -> None:
    assert moves([hit("a", "b")], [hit("b", "a")]) == ([Move("kept")], [Move("same")])
    assert moves([], [hit("a")]) == ([], [Move("new")])
    assert moves([hit("a")], []) == ([Move("gone")], [])


def test_two_configurations_stand_side_by_side(client: FlaskClient) -> None:
    ways = {"a_mode": "keyword", "b_mode": "semantic", "a_d": [NOTES], "b_d": [NOTES, OTHER]}
    page = client.get("/search/compare", query_string={"q": "annealed alloy", **ways}).text
    first, second = page.partition('id="results"')[2].split('class="outcome"')[1:]
    assert "Alloy trial" in first
    assert "Garden" not in first
    assert 'class="move new">new' in second
    assert "1 passage is in both results" in page
    assert "same rank" in text_of(second)


def test_what_is_gone_is_marked_in_the_first_list(client: FlaskClient) -> None:
    ways = {"a_mode": "semantic", "b_mode": "keyword", "a_d": [NOTES], "b_d": [NOTES]}
    page = client.get("/search/compare", query_string={"q": "annealed", **ways}).text
    assert page.count('class="move gone">dropped out') == 1


def test_the_search_page_leads_to_the_comparison_with_its_choices(client: FlaskClient) -> None:
    page = client.get("/search?q=annealed&d=1&mode=hybrid&strategy=hyde&kind=pdf").text
    href = re.search(r'<a href="(/search/compare[^"]+)">Compare with another method', page)
    assert href is not None
    compared = client.get(href[1].replace("&amp;", "&")).text
    assert compared.count('<option value="hyde" selected>') == 2
    assert '<input type="hidden" name="kind" value="pdf">' in compared
    first, second = re.findall(r'<select name="._mode">(.*?)</select>', compared, re.DOTALL)
    assert 'value="hybrid" selected' in first
    assert 'value="keyword" selected' in second
    assert "in both results" in compared


def test_the_comparison_asks_for_a_query_first(client: FlaskClient) -> None:
    page = client.get("/search/compare").text
    assert "See what another search method changes" in page
    assert client.get("/search/compare?q=x&a_mode=wrong").status_code == 400
