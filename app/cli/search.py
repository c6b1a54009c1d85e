"""``search`` and ``explain``: finds passages, and explains why one is or is not among them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from braid.app.cli.common import BraidCommand, choose_user, current_settings, json_option
from braid.app.cli.options import FILTER_OPTIONS, RANKING_OPTIONS, SCOPE_OPTIONS, add_options, query_options
from braid.app.cli.output import complain, complain_degraded, make_console, plural, print_json, wants_json
from braid.app.opening import open_braid
from braid.app.terminal import clean, one_line
from braid.core.errors import NotFoundError
from braid.core.types import ALL

if TYPE_CHECKING:
    from braid.core.braid import Braid
    from braid.core.types import DatasetIds, Explanation, Hit, LegScore, Passage, SearchResult

CHUNK_ID = re.compile(r"[0-9a-f]{32}")
SHOWN_PLACES = 3  # other places of the same text that are printed; --json has all
NO_DATASET = "this user has no dataset to search: add one (dataset add NAME), or name shared ones (--dataset ID)"
SHOWN_CHARS = 600  # of a passage that are printed; --json has all of it


@click.command(cls=BraidCommand)
@click.argument("text")
@add_options(*SCOPE_OPTIONS, *RANKING_OPTIONS, *FILTER_OPTIONS)
@json_option
@click.pass_context
def search(context: click.Context, /, text: str, user: str | None, datasets: DatasetIds, **asked: Any) -> None:
    """Search for TEXT.

    Without --dataset, searches all personal datasets of the user; with --dataset all, the shared ones, too.
    """
    settings = current_settings()
    query_options(settings, asked)  # what is wrong is refused before anything is opened
    with open_braid(settings) as braid:
        options = query_options(settings, asked, braid.manager.rerankers)
        result = braid.manager.search(text, **_arguments(braid, user, datasets, asked["strategy"], options))
        if datasets in (None, ALL) and not result.collections:
            result = replace(result, notes=(*result.notes, NO_DATASET))
    refuse_unknown(result.unresolved_dataset_ids, datasets)
    complain_degraded(result)
    for read in result.read_filters:
        complain(f"filter: {read.reason}")
    for form in result.added_forms:
        complain(f"also searched: {form.added!r} for {form.said!r}")
    if result.did_you_mean:
        complain(f"did you mean: {result.did_you_mean}")
    if wants_json():
        print_json(result)
    else:
        _print_hits(result)
    complain_unknown(result)
    # without hits, a missing leg may be the reason
    is_inconclusive = bool(result.degraded) and not result.hits
    context.exit(1 if result.unresolved_dataset_ids or is_inconclusive else 0)


@click.command(cls=BraidCommand)
@click.argument("text")
@click.argument("chunk_or_source", metavar="CHUNK_ID_OR_SOURCE")
@add_options(*SCOPE_OPTIONS, *RANKING_OPTIONS, *FILTER_OPTIONS)
@json_option
def explain(text: str, chunk_or_source: str, user: str | None, datasets: DatasetIds, **asked: Any) -> None:
    """Explain why a passage is, or is not, found for TEXT.

    For a source, explains the document's best passage. The options are those of search.
    """
    settings = current_settings()
    query_options(settings, asked)  # what is wrong is refused before anything is opened
    with open_braid(settings) as braid:
        options = query_options(settings, asked, braid.manager.rerankers)
        arguments = _arguments(braid, user, datasets, asked["strategy"], options)
        chunk_id = _chunk_of_source(braid, text, chunk_or_source, arguments)
        explanation = braid.manager.explain(text, chunk_id=chunk_id, **arguments)
    if wants_json():
        print_json(explanation)
    else:
        _print_explanation(explanation)


def _arguments(
    braid: Braid, user: str | None, datasets: DatasetIds, strategy: str, options: Mapping[str, Any]
) -> dict[str, Any]:
    user_id = choose_user(braid.ledger, user).id
    return {"user_id": user_id, "dataset_ids": datasets, "strategy": strategy, **options}


def complain_unknown(result: SearchResult) -> None:
    """Print which of the asked datasets were not searched to standard error."""
    for dataset_id in result.unresolved_dataset_ids:
        complain(f"error: dataset {dataset_id} is not open to this user; the others were searched")


def refuse_unknown(unresolved: tuple[int, ...], asked: DatasetIds) -> None:
    """Raise NotFoundError if none of the asked datasets can be searched."""
    if asked and unresolved and set(asked) <= set(unresolved):
        ids = ", ".join(map(str, unresolved))
        raise NotFoundError(f"no dataset with id {ids} is open to this user; see: dataset list")


def _chunk_of_source(braid: Braid, text: str, source: str, arguments: Mapping[str, Any]) -> str:
    """Return the given chunk id, or for a source the chunk id of its best passage."""
    from braid.core.datasets.scope import resolve_scope
    from braid.core.ingest.plan import source_name
    from braid.core.search.explain import best_passage

    if CHUNK_ID.fullmatch(source):
        return source
    asker = {name: arguments[name] for name in ("user_id", "dataset_ids")}
    scope = resolve_scope(braid.ledger, braid.registry, **asker)
    found = (braid.ledger.document(dataset_id, source_name(source)) for dataset_id in sorted(scope.dataset_ids))
    document = next((document for document in found if document is not None), None)
    if document is None:
        raise NotFoundError(f"{source!r} is neither a chunk id nor the source of a document in these datasets")
    wanted = {name: value for name, value in arguments.items() if name not in ("dataset_ids", "min_score")}
    return best_passage(braid.manager.search, braid.ledger, document, text, **wanted).chunk_id


# ---------------------------------------------------------------- for people


def _print_hits(result: SearchResult) -> None:
    if not result.hits:
        click.echo("Nothing was found.")
    for number, hit in enumerate(result.hits, start=1):
        click.echo(_hit_text(number, hit))
        click.echo()
    total = result.timings_ms.get("total")
    took = "" if total is None else f" in {total:.0f} ms"
    variants = f", {len(result.queries)} queries by {result.generator}" if len(result.queries) > 1 else ""
    complain(f"{len(result.hits)} of k={result.query.k}, {result.query.mode}, {result.strategy}{variants}{took}")
    if len(result.hits_by_dataset) > 1:
        counts = (f"{count} from dataset {dataset_id}" for dataset_id, count in result.hits_by_dataset.items())
        complain(", ".join(counts))


def _hit_text(number: int, hit: Hit) -> str:
    passage = hit.passage
    heading = " › ".join(part for part in (passage.title, passage.heading_path) if part)
    lines = [
        f"[{number}] {one_line(heading)}",
        f"    {one_line(passage.source)}{_position(passage)}{_kind(passage)}",
        f"    dataset {passage.dataset_id}, chunk {passage.chunk_id}",
        *([] if hit.rerank_score is None else [f"    reranked: {hit.rerank_score:.4f}"]),
        f"    score {hit.score:.4f} = {_reasons(hit.legs)}",
        *(f"    also in dataset {place.dataset_id}: {one_line(place.source)}" for place in hit.also_in[:SHOWN_PLACES]),
        *([f"    and in {more} more places"] if (more := len(hit.also_in) - SHOWN_PLACES) > 0 else []),
        *([f"    and {plural(hit.more_in_document, 'more passage')} of this document"] if hit.more_in_document else []),
        *_passage_lines(passage.text),
    ]
    return "\n".join(lines)


def _position(passage: Passage) -> str:
    """Return ``, page 3`` or ``, lines 10–25``; empty without a position."""
    for name, first, last in (
        ("page", passage.page, passage.page_end),
        ("line", passage.line, passage.line_end),
    ):
        if first is not None and last in (None, first):
            printed = f" (printed {passage.printed_page})" if name == "page" and passage.printed_page else ""
            return f", {name} {first}{printed}"
        if first is not None:
            return f", {name}s {first}–{last}"
    return ""


def _kind(passage: Passage) -> str:
    return f", {passage.chunk_kind}" if passage.chunk_kind else ""


def _reasons(legs: Iterable[LegScore]) -> str:
    """Return ``dense #1 (0.8312) 0.0164 + bm25 #3 (7.2100) 0.0159``: leg, rank, the leg's score, its contribution."""
    return " + ".join(f"{leg.leg} #{leg.rank} ({leg.score:.4f}) {leg.share:.4f}" for leg in legs) or "no leg"


def _passage_lines(text: str) -> Iterable[str]:
    shown = text if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS].rstrip() + " …"
    console = make_console()
    if not console.is_terminal:
        return textwrap.indent(clean(shown), "    ").splitlines()
    from rich.text import Text

    wrapped = Text(clean(shown)).wrap(console, max(console.width - 4, 20))
    return [f"    {line.plain.rstrip()}" for line in wrapped]


def _print_explanation(explanation: Explanation) -> None:
    click.echo(f"{'In' if explanation.found else 'Not in'} the result ({explanation.reason.replace('_', ' ')}).")
    click.echo(one_line(explanation.detail))
    if explanation.rank is not None:
        click.echo(f"rank {explanation.rank}: {_reasons(explanation.legs)}")
    if explanation.reranker:
        click.echo(f"reranked by {explanation.reranker}")
    click.echo(f"chunk {explanation.chunk_id}")
