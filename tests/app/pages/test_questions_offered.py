"""Questions that pages offer are answered by the text: of a document, of a dataset, and below an answer."""

from __future__ import annotations

import re

import pytest
from flask.testing import FlaskClient

from braid.app.opening import FIRST_DATASET
from braid.core.braid import Braid
from braid.core.types import ChunkInput, DocumentInput
from tests.web import post_form, text_of
from tests.worlds import WAIT_S

MANUAL = (
    ("Navigation", "index | modules | next | previous"),
    ("Contents", "1. Seals ........ 2\n2. Bearings ........ 5\n3. Storage ........ 9"),
    ("Seals", "The seal of the pump lasts three years. Replace the seal when water drips from the pump."),
    ("Bearings", "The bearings of the pump are greased once a month. Use grease of class two for bearings."),
    ("Storage", "Store the pump in a dry hall. Storage outside lets the seal of the pump crack."),
)


@pytest.fixture
def manual(library: Braid) -> Braid:
    chunks = tuple(
        ChunkInput(f"{heading}\n{text}", heading_path=f"Pump manual > {heading}", page=page)
        for page, (heading, text) in enumerate(MANUAL, start=1)
    )
    library.ledger.put_document(1, DocumentInput("pump.pdf", "Pump manual", "pdf", chunks))
    library.indexer.wake()
    assert library.indexer.wait(WAIT_S)
    return library


def document_page(client: FlaskClient, braid: Braid, **arguments: str) -> str:
    found = next(each for each in braid.ledger.documents(1) if each.source == "pump.pdf")
    return client.get(f"/datasets/1/documents/{found.id}", query_string=arguments).text


def offered(page: str) -> list[str]:
    return re.findall(r'<button[^>]* name="example" value="([^"]+)"', page)


def test_a_document_at_a_glance(client: FlaskClient, manual: Braid) -> None:
    page = document_page(client, manual)
    assert offered(page) == [
        "What should I know about seals?",
        "What do I need to know about bearings?",
        "What should I know about storage?",
    ]
    glance = page.partition('class="card glance"')[2].partition("</section>")[0]
    terms = re.findall(r'<a class="chip"[^>]*>([^<]+)</a>', glance)
    assert "pump" in terms
    assert "the" not in terms
    assert re.findall(
        r'<li><a dir="auto" href="[^"]*#passage(\d)">([^<]+)</a> <span class="hint">page (\d)', glance
    ) == [(str(place), heading, str(place + 1)) for place, (heading, _) in enumerate(MANUAL)]
    assert 'class="card glance"' not in document_page(client, manual, start="2")


def test_key_terms_are_those_of_the_headings_and_not_of_the_first_pages(client: FlaskClient, library: Braid) -> None:
    licence = [ChunkInput(f"Copies of number {number} are frequently distributed verbatim.") for number in range(30)]
    parts = [
        ChunkInput(f"{name} {number}\nThe {name} is looked at here.", heading_path=f"Guide > {name} {number}")
        for name in ("Gearbox", "Lubricant", "Impeller", "Flange")
        for number in range(10)
    ]
    library.ledger.put_document(1, DocumentInput("guide.pdf", "Guide", "pdf", (*licence, *parts)))
    library.indexer.wake()
    assert library.indexer.wait(WAIT_S)
    found = next(each for each in library.ledger.documents(1) if each.source == "guide.pdf")
    terms = re.findall(r'<a class="chip"[^>]*>([^<]+)</a>', client.get(f"/datasets/1/documents/{found.id}").text)
    assert {term.lower() for term in terms[:4]} == {"gearbox", "lubricant", "impeller", "flange"}


def test_key_terms_are_names_of_things_and_no_forms_of_verbs(client: FlaskClient, library: Braid) -> None:
    rules = (
        "연차 휴가는 15일이 있다. 권한은 팀장이 가진다. 설치된 기기를 쓸 수 있는 직원이 있다.",
        "연차 휴가를 쓸 수 있다. 권한이 필요하고 설치된 기기를 신청하는 직원이 있다.",
        "The may and all rules of Wi-Fi use are not here.",
        "The may and all rules of Wi-Fi use are not there.",
    )
    library.ledger.put_document(1, DocumentInput("rules.pdf", "규정", "pdf", tuple(map(ChunkInput, rules))))
    library.indexer.wake()
    assert library.indexer.wait(WAIT_S)
    found = next(each for each in library.ledger.documents(1) if each.source == "rules.pdf")
    page = client.get(f"/datasets/1/documents/{found.id}").text
    terms = set(re.findall(r'<a class="chip"[^>]*>([^<]+)</a>', page))
    assert terms.isdisjoint({"있다", "있는", "설치된", "필요하고", "신청하는", "may", "all", "use", "not"})
    assert {"휴가는", "Wi-Fi"} & terms, terms


def test_what_is_offered_is_answered_when_it_is_asked(client: FlaskClient, manual: Braid) -> None:
    for question in offered(document_page(client, manual)):
        answer = post_form(client, "/chat/messages", example=question, d="1")
        assert "Pump manual" in text_of(client.get(answer.location).text.partition('class="sources"')[2])


def test_a_dataset_offers_a_question_about_each_of_its_newest_documents(client: FlaskClient, manual: Braid) -> None:
    assert offered(client.get("/datasets/1").text)[0] == "What should I know about seals?"
    assert offered(client.get("/datasets/1?order=name").text) == [], "only where the newest are at the top"


def test_below_an_answer_are_the_sections_beside_the_cited_ones(client: FlaskClient, manual: Braid) -> None:
    where = post_form(client, "/chat/messages", text="How often are the bearings greased?", d="1").location
    page = client.get(where).text
    [address] = re.findall(r'data-next="([^"]+)"', page)
    cited = re.findall(r'<span class="path">([^<]+)</span>', page)
    questions = offered(client.get(address).text)
    assert questions
    assert all(not any(heading.lower() in question for heading in cited) for question in questions)
    assert not any("Navigation" in question or "Contents" in question for question in questions)
    post_form(client, f"{where.partition('#')[0]}/messages", text=questions[0], d="1")
    assert questions[0] not in offered(client.get(address).text), "it was asked"


def test_of_what_may_no_longer_be_read_nothing_is_asked(client: FlaskClient, manual: Braid) -> None:
    where = post_form(client, "/chat/messages", text="How often are the bearings greased?", d="1").location
    [address] = re.findall(r'data-next="([^"]+)"', client.get(where).text)
    manual.ledger.remove_document(1, "pump.pdf")
    assert offered(client.get(address).text) == []


def test_questions_are_in_the_language_of_their_section_and_without_numbers(
    client: FlaskClient, library: Braid
) -> None:
    for source, title, heading, text in (
        ("docks.html", "2.3. 대화 상자와 도킹", "대화 상자 위치", "대화 상자 위치는 끌어서 바꿉니다. 도킹도 됩니다."),
        ("ref.pdf", "第3章 保守の手引き", "3.2 点検の間隔", "点検の間隔は三か月です。点検の記録を残します。"),
    ):
        chunk = ChunkInput(f"{heading}\n{text}", heading_path=f"{title} > {heading}")
        library.ledger.put_document(1, DocumentInput(source, title, source[-4:].strip("."), (chunk,)))
    assert library.indexer.wait(WAIT_S)
    asked = offered(client.get("/chat").text)
    assert "대화 상자 위치는 무엇인가요?" in asked
    assert "点検の間隔について教えてください" in asked


def test_the_dates_that_a_document_names_lead_to_their_passages(client: FlaskClient, library: Braid) -> None:
    texts = ("Signed on 3 May 2024.", "It ends on 2025-12-31, not on 31.02.2025.", "2024年5月3日に結ばれた。")
    chunks = tuple(ChunkInput(text) for text in texts)
    number = library.ledger.put_document(1, DocumentInput("lease.md", "Lease", "md", chunks)).document_id
    page = client.get(f"/datasets/1/documents/{number}").text
    dates = re.findall(r'<a class="chip" href="[^"]*#passage(\d)">([^<]+)</a>', page)
    assert dates == [("0", "May 3, 2024"), ("1", "December 31, 2025")]
    page = client.get(f"/datasets/1/documents/{number}?lang=ja").text
    assert ">2025年12月31日</a>" in page


def summaries(page: str) -> list[dict[str, str]]:
    """Return the fields of each form that asks for a summary."""
    forms = re.findall(r'<form class="summarise".*?</form>', page, re.DOTALL)
    return [dict(re.findall(r'name="(d|about|example)" value="([^"]*)"', form)) for form in forms]


@pytest.mark.parametrize("language", ["en", "ja", "ko"])
def test_a_document_a_dataset_and_a_citation_are_summarised_by_a_button(
    client: FlaskClient, manual: Braid, language: str
) -> None:
    headers = {"Accept-Language": language}
    passage = manual.search("seal of the pump lasts", user_id=1, dataset_ids=[1]).hits[0].passage
    document = manual.ledger.document(1, "pump.pdf")
    assert document is not None
    for address in (f"/datasets/1/documents/{document.id}", f"/documents/passage/{passage.chunk_id}?as=text"):
        (fields,) = summaries(client.get(address, headers=headers).text)
        answer = client.get(post_form(client, "/chat/messages", **fields).location, headers=headers)
        (said,) = re.findall(r'<p class="hint">([^<]*Pump manual[^<]*)</p>', answer.text)
        assert "5" in said, "all passages were read"
        assert "The seal of the pump lasts three years." in text_of(answer.text)
        assert "Use grease of class two for bearings." in text_of(answer.text)
    manual.ledger.rename_dataset(1, FIRST_DATASET)  # which pages show in their language
    (fields,) = summaries(client.get("/datasets/1", headers=headers).text)
    assert (FIRST_DATASET in fields["example"]) == (language == "en")
    whole = text_of(client.get(post_form(client, "/chat/messages", **fields).location, headers=headers).text)
    titles = {each.title for each in manual.ledger.documents(1)}
    assert len(titles) > 1
    assert all(title in whole for title in titles)
