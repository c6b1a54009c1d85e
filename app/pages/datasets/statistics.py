"""Statistics of a dataset, as figures and small charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flask import render_template

from braid.app.auth.access import rule
from braid.app.pages.datasets.blueprint import ONE, datasets, visible_datasets
from braid.app.site import site
from braid.app.words.languages import language_name
from braid.core.datasets.statistics import months_of, statistics_of

SHOWN_MONTHS = 24


@dataclass(frozen=True, slots=True)
class Bar:
    """A line of a chart. ``percent`` is its share of the longest line."""

    label: str
    count: int
    percent: int


@datasets.get(f"{ONE}/statistics")
@rule("user")
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
