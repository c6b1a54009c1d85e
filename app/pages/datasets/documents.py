"""Documents of a dataset: shows the passages read from one, returns its original file, deletes and restores some."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from flask import redirect, render_template, request
from flask_babel import format_date, ngettext
from flask_babel import gettext as _
from werkzeug.wrappers import Response

from braid.app.auth.identity import identity
from braid.app.pages.datasets.blueprint import ONE, address, audit, datasets, visible_datasets
from braid.app.pages.search.marking import PROSE, flow
from braid.app.site import site
from braid.app.user.datasets import document_in
from braid.app.user.questions import tried
from braid.app.web.transfers import MOST_AT_ONCE, chosen_ids, drop, flash_undo, original_file
from braid.app.words.gaps import gaps
from braid.app.words.values import sentences
from braid.core.adding.stored import select_documents
from braid.core.chat.asking.follow_up import content_words
from braid.core.datasets.outlines import SECTIONS, OutlineSection
from braid.core.errors import InvalidInputError, NotFoundError, Reason
from braid.core.indexes.document_progress import document_progress
from braid.core.jobs.store import ADDING, FAILED
from braid.core.search.term_weights import TermWeights
from braid.core.text.dates import dates_in
from braid.core.text.scripts import display_language
from braid.core.text.stopwords import FORM_OF_VERB
from braid.core.types import Dataset, Document, Passage

PASSAGES_PER_PAGE = 50
MAX_START = 10**9
MAX_CHOSEN = 1000


@datasets.get(f"{ONE}/documents/<int:document_id>")
def document(dataset_id: int, document_id: int) -> str:
    """Show the passages that a document was cut into."""
    dataset = visible_datasets().get(dataset_id)
    found = document_in(dataset.id, document_id)
    start = min(max(0, request.args.get("start", 0, type=int)), MAX_START)
    passages = site().braid.ledger.document_passages(found.id, [dataset.id], limit=PASSAGES_PER_PAGE + 1, offset=start)
    return render_template(
        "braid/datasets/document.html",
        dataset=dataset,
        document=found,
        progress=document_progress(site().braid, dataset.id, [found.id]).get(found.id),
        language=display_language(found.title),
        passages=[
            (passage, flow(passage.text, passage.file_type), passage.file_type in PROSE, display_language(passage.text))
            for passage in passages[:PASSAGES_PER_PAGE]
        ],
        earlier=_at(found, max(0, start - PASSAGES_PER_PAGE)) if start else "",
        later=_at(found, start + PASSAGES_PER_PAGE) if len(passages) > PASSAGES_PER_PAGE else "",
        gaps=gaps(found.metadata),
        has_original=bool(site().background.originals.ids_with_file([found])),
        summary=summary_of(dataset, found) if found.chunks and not start else None,
        writable=visible_datasets().may_write(dataset),
    )


@datasets.post(f"{ONE}/documents/remove")
def remove_documents(dataset_id: int) -> Response:
    """Delete the chosen documents with their parts; the next page offers to undo it."""
    dataset, here = visible_datasets().writable(dataset_id), site()
    chosen = _chosen_documents(dataset)
    if not chosen:
        return datasets.done(_("Nothing was selected."), "dataset", dataset_id=dataset.id)
    named = [each.source for each in chosen]
    found = select_documents(here.braid, named, dataset=dataset.id, source=None, filter=None, with_parts=True)
    gone = here.deleted_documents.discard(dataset.id, [each.id for each in found])
    for each in found:
        audit(dataset, "documents.removed", each.source)
    _drop_jobs(dataset, found)
    here.braid.indexer.wake()
    told = ngettext("%(num)s document deleted.", "%(num)s documents deleted.", gone.documents)
    flash_undo(told, address("restore_documents", dataset.id), "undo", gone.deletions)
    return redirect(address("dataset", dataset.id))


@datasets.post(f"{ONE}/documents/deleted")
def restore_documents(dataset_id: int) -> str | Response:
    """Restore deleted documents, by ids or whole deletions, or delete one for good; before that the page asks."""
    dataset, act = visible_datasets().writable(dataset_id), request.form.get("act", "")
    deleted, ids = site().deleted_documents, chosen_ids("c", most=MAX_CHOSEN)
    if act == "erase":
        if "confirmed" not in request.form:
            return _ask(dataset, ids)
        erased = [each.source for each in deleted.of_dataset(dataset.id) if each.id in set(ids)]
        deleted.erase(dataset.id, ids)
        for source in erased:
            audit(dataset, "documents.erased", source)
        return datasets.done(_("The document has been permanently deleted."), "dataset", dataset_id=dataset.id)
    if act not in {"restore", "undo"}:
        raise InvalidInputError(f"act is {act[:20]!r}; choose restore, undo or erase", field="act")
    back = deleted.restore(dataset.id, deletions=ids) if act == "undo" else deleted.restore(dataset.id, ids)
    for each in back.documents:
        audit(dataset, "documents.restored", each.source)
    site().braid.indexer.wake()
    site().background.scans.queue_waiting(identity().account.id, dataset_ids=[dataset.id])
    told = [ngettext("%(num)s document is back.", "%(num)s documents are back.", len(back.documents))]
    if back.taken:
        there = _("Another document has this name now, so it stays deleted: %(name)s.", name=back.taken[0].source)
        told = [*(told if back.documents else ()), there]
    return datasets.done(sentences(told), "dataset", dataset_id=dataset.id)


def _ask(dataset: Dataset, ids: Sequence[int]) -> str:
    """Ask whether deleted documents are to be deleted for good."""
    found = [each for each in site().deleted_documents.of_dataset(dataset.id) if each.id in ids]
    if not found:
        raise NotFoundError(Reason("dataset %(id)s has no such deleted document that can be restored", id=dataset.id))
    return render_template(
        "braid/delete.html",
        heading=_("Permanently delete this document?"),
        told=_("It cannot be undone."),
        names=[each.title or each.source for each in found],
        ids=[each.id for each in found],
        back=address("dataset", dataset.id),
    )


# ---------------------------------------------------------------- what the routes share


def _chosen_documents(dataset: Dataset) -> list[Document]:
    """Return the ticked documents; those already deleted are left out."""
    ledger = site().braid.ledger
    ids = chosen_ids("document", most=MAX_CHOSEN)
    found = (ledger.document_with_id(each, [dataset.id]) for each in ids)
    return [each for each in found if each is not None]


def _drop_jobs(dataset: Dataset, chosen: Sequence[Document]) -> None:
    """Remove failed uploads of these documents; without the documents there is nothing to retry."""
    failed = site().background.store.of_dataset(
        dataset.id, kinds=ADDING, states=FAILED, titles=[each.source for each in chosen], limit=MOST_AT_ONCE
    )
    for job in failed:
        drop(job)


def _at(document: Document, start: int) -> str:
    return address("document", document.dataset_id, document_id=document.id, start=start)


@datasets.get(f"{ONE}/documents/<int:document_id>/original")
def original(dataset_id: int, document_id: int) -> Response:
    """Return the file that a document was read from."""
    return original_file(document_in(visible_datasets().get(dataset_id).id, document_id))


QUESTIONS = 3
TERMS = 8
DATES = 8
SEEN_FOR_DATES = 200
"""Passages at the beginning of a document that its dates are taken from."""
SEEN_PASSAGES = 30
SEEN_CHARS = 400
"""Characters of a passage that its words are taken from."""
MIN_WORD_CHARS, MIN_LETTERS = 2, 4
"""Letters of a word, and of one in small Latin letters, of which shorter ones are mostly *all*, *not* and *may*."""
_IS_NO_NAME = re.compile(
    r"^(?:場合|とき|必要|可能|以上|以下|それぞれ|경우|필요|가능|이상|이하|정도)$"
    rf"|(?<=[가-힣])다$|^[있없않같][가-힣]*$|{FORM_OF_VERB.pattern}"
)
"""What is no name of anything: a word that any text has, a form of a verb or an adjective of Korean."""
_MAY_BE_VERB = re.compile(r"[가-힣]*[한된할될는은인던]")
"""The same, unless a particle follows elsewhere, as it does only behind nouns."""
HEADING_WEIGHT = 3
"""Passages that have a word, as many as one heading that has it counts for."""
FEW_PASSAGES = 3
"""From this number of passages on, a key term has to be in two of them."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What one sees of a document before reading it."""

    sections: tuple[OutlineSection, ...]
    terms: tuple[str, ...]
    questions: tuple[str, ...]
    dates: tuple[tuple[str, Passage], ...]
    """The days that the document names, in its order, each with the first passage that does."""


def summary_of(dataset: Dataset, document: Document) -> Summary:
    """Return the outline, the key terms, the dates and tried questions of a document that the user may read."""
    parts = site().outlines.of_document(document.id, dataset.id)
    sections = tuple(each for each in parts if each.heading)[:SECTIONS]
    passages = site().braid.ledger.document_passages(document.id, [dataset.id], limit=SEEN_FOR_DATES)
    seen = passages[:: -(-len(passages) // SEEN_PASSAGES) or 1]  # of all parts: what it begins with may be a licence
    terms = _key_terms(dataset, [passage.text[:SEEN_CHARS] for passage in seen], [each.heading for each in sections])
    return Summary(sections, terms, tuple(tried([parts], most=QUESTIONS)), _dates(passages))


def _dates(passages: Sequence[Passage]) -> tuple[tuple[str, Passage], ...]:
    first: dict[str, Passage] = {}
    for passage in passages:
        for day in dates_in(passage.text):
            first.setdefault(day, passage)
    return tuple((format_date(date.fromisoformat(day), "long"), first[day]) for day in [*first][:DATES])


def _key_terms(dataset: Dataset, texts: Sequence[str], headings: Sequence[str]) -> tuple[str, ...]:
    """Return the words that many of the texts have and few passages of the dataset, the weightiest first.

    A word weighs more with each heading that has it.
    """
    here = site().braid
    headed = Counter(terms for each in headings for terms in content_words(each, here.analyzer).values())
    spelled: dict[frozenset[str], str] = {}
    said_otherwise: set[frozenset[str]] = set()
    counts: Counter[frozenset[str]] = Counter()
    for text in texts:
        words = {terms: word for word, terms in content_words(text, here.analyzer).items() if _is_word(word)}
        counts.update(words.keys())
        for terms, word in words.items():
            if spelled.get(terms, word) != word:
                said_otherwise.add(terms)
            spelled[terms] = min(spelled.get(terms, word), word, key=len)
    least = 1 if len(texts) < FEW_PASSAGES else 2
    often = {
        terms: count
        for terms, count in counts.items()
        if count >= least and (terms in said_otherwise or not _MAY_BE_VERB.fullmatch(spelled[terms]))
    }
    scope = here.manager.check(user_id=identity().account.id, dataset_ids=[dataset.id])
    known = {term for terms in often for term in terms}
    idf = TermWeights(here.bm25, here.analyzer, here.ledger, scope).known(known)

    def weight(terms: frozenset[str]) -> float:
        return (often[terms] + HEADING_WEIGHT * headed[terms]) * sum(idf.get(term, 0.0) for term in terms) / len(terms)

    best = sorted(often, key=lambda terms: (-weight(terms), spelled[terms]))
    return tuple(spelled[terms] for terms in best[:TERMS])


def _is_word(word: str) -> bool:
    least = MIN_LETTERS if word.isascii() and word.islower() else MIN_WORD_CHARS
    return len(word) >= least and any(map(str.isalpha, word)) and not _IS_NO_NAME.search(word)
