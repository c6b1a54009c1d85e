"""The pages of one dataset: its documents, with those that are being added, who may read it, and its statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from flask import Response, jsonify, render_template, request
from flask_babel import gettext as _
from limits import parse as parse_limit
from werkzeug.wrappers import Response as AnyResponse

from braid.app.auth.access import throttle
from braid.app.auth.identity import identity
from braid.app.pages.datasets.blueprint import ONE, address, datasets, visible_datasets
from braid.app.pages.datasets.document_list import FILTERS, DocumentList, document_list
from braid.app.pages.sharing import SharedThings, add_sharing, kind_of, sharing_of
from braid.app.pages.status import status_of
from braid.app.site import site
from braid.app.user.questions import tried
from braid.app.user.sharing import hand_over
from braid.app.words.languages import language_name
from braid.app.words.values import dataset_name
from braid.core.datasets.statistics import months_of, statistics_of
from braid.core.jobs.store import OPEN, Job, JobKind, JobState
from braid.core.ledger.deleted_documents import DeletedDocument
from braid.core.types import MAX_NAME_CHARS, Dataset

QUESTIONS = 3
SEEN_DOCUMENTS = 5
"""Documents at the top of the list that are asked about."""
SHOWN_DELETED = 100
SHOWN_MONTHS = 24
FINDS = parse_limit("120/minute")
TASKS: tuple[JobKind, ...] = ("export", "import", "reembed")
ENDED: tuple[JobState, ...] = ("done", "failed")


@datasets.get(ONE)
def dataset(dataset_id: int) -> str:
    """Show a dataset with its documents."""
    return dataset_page(visible_datasets().get(dataset_id))


@datasets.get(f"{ONE}/live")
def live(dataset_id: int) -> str:
    """Render the list of documents alone, for the page's script."""
    return render_template("braid/datasets/_documents.html", **_list_values(visible_datasets().get(dataset_id)))


def dataset_page(dataset: Dataset, *, problem: str = "") -> str:
    """Render the page of a dataset, with a problem if there is one."""
    settings = site().settings
    return render_template(
        "braid/datasets/dataset.html",
        problem=problem,
        max_file_mb=settings.max_file_mb,
        max_name=MAX_NAME_CHARS,
        embedding_model=settings.embedding_model,
        sharing=sharing_of(dataset, visible_datasets()),
        deleted=_deleted(dataset),
        most_deleted=SHOWN_DELETED,
        **_list_values(dataset),
    )


def _deleted(dataset: Dataset) -> list[DeletedDocument]:
    """Return deleted documents that the user may restore, the last ones first."""
    if not visible_datasets().may_write(dataset):
        return []
    return site().deleted_documents.of_dataset(dataset.id, limit=SHOWN_DELETED + 1)


def _list_values(dataset: Dataset) -> dict[str, object]:
    counted = site().braid.ledger.dataset(dataset.id)  # before what is in progress: a document since is not searchable
    found = document_list(dataset)
    task = _task(dataset) if visible_datasets().may_write(dataset) else None  # if nothing was busy, it is final
    return {
        "dataset": replace(counted, description=dataset.description, owner=dataset.owner),
        "writable": visible_datasets().may_write(dataset),
        "listed": found,
        "filters": FILTERS,
        "task": task,
        "busy": found.overview.busy,
        "questions": [] if found.overview.busy or found.arguments or found.page else _questions(dataset, found),
        "status": status_of(site(), [dataset]) if found.overview.busy else None,
    }


def _questions(dataset: Dataset, found: DocumentList) -> list[str]:
    """Return questions that the documents at the top of the list answer, one about each."""
    asked = [row for row in found.rows if row.document_id and row.chunks][:SEEN_DOCUMENTS]
    return tried(
        [site().outlines.of_document(row.document_id, dataset.id) for row in asked], most=min(QUESTIONS, len(asked))
    )


def _task(dataset: Dataset) -> Job | None:
    """Return the user's last export, import or embedding of the dataset."""
    store = site().background.store
    found = store.of_dataset(dataset.id, kinds=TASKS, states=(*OPEN, *ENDED), limit=20)
    return next((job for job in found if job.user_id == identity().account.id), None)


# ---------------------------------------------------------------- statistics


@dataclass(frozen=True, slots=True)
class Bar:
    """A line of a chart. ``percent`` is its share of the longest line."""

    label: str
    count: int
    percent: int


@datasets.get(f"{ONE}/statistics")
def statistics(dataset_id: int) -> str:
    """Show documents by type, by month and by language."""
    dataset, ledger = visible_datasets().get(dataset_id), site().braid.ledger
    found = statistics_of(ledger, dataset.id)
    languages = site().dataset_languages.counts(dataset)
    return render_template(
        "braid/datasets/statistics.html",
        dataset=dataset,
        found=found,
        types=bars([(each.file_type or "?", each.documents) for each in found.formats]),
        months=bars(months_of(ledger, dataset.id)[-SHOWN_MONTHS:]),
        languages=bars([(language_name(code), count) for code, count in languages.most_common()]),
        sampled=languages.total(),
    )


def bars(counts: Sequence[tuple[str, int]]) -> list[Bar]:
    """Return the counts as a chart."""
    most = max((count for _label, count in counts), default=1)
    return [Bar(label, count, round(100 * count / most)) for label, count in counts]


# ---------------------------------------------------------------- who may read it

add_sharing(
    datasets,
    ONE,
    SharedThings(
        find=lambda id_: visible_datasets().get(id_),
        sharable=lambda id_: visible_datasets().sharable(id_),
        own=lambda id_: visible_datasets().personal(id_),
        name_of=lambda dataset: dataset_name(dataset.name),
        page=lambda dataset, problem: dataset_page(dataset, problem=problem),
        address=lambda dataset: address("dataset", dataset.id),
        hand_over=hand_over,
    ),
)


@datasets.get("/people.json")
def people() -> Response:
    """Return the names of people, or of groups, that contain what was typed; for administrators of anyone, too."""
    me, kind, typed = identity(), request.args.get("kind", ""), request.args.get("name", "")
    throttle(FINDS, "people", str(me.account.id))
    if kind == "anyone" and me.is_admin:
        return jsonify(site().shares.find("user", typed, or_suspended=True))
    return jsonify(site().shares.find(kind_of(kind), typed, besides=me.account.id))


@datasets.post(f"{ONE}/decline")
def decline(dataset_id: int) -> AnyResponse:
    """Decline a user's request for access."""
    dataset, name = visible_datasets().sharable(dataset_id), request.form.get("name", "")
    site().shares.decline(dataset, name, by=identity().account.name)
    told = _("The request of %(name)s is declined.", name=name)
    return (
        datasets.done(told, "index")
        if request.form.get("back") == "index"
        else datasets.done(told, "dataset", dataset_id=dataset.id)
    )
