"""View of a search result for the page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache

from flask_babel import format_decimal, ngettext
from flask_babel import gettext as _
from markupsafe import Markup

from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.pages.search.card import Reason, Reasoning, is_prose, readable
from braid.app.pages.search.form import FILTER_ARGUMENTS, Carried, SearchForm
from braid.app.pages.search.marking import Segment, snippet, wanted_tokens
from braid.app.site import site
from braid.app.web.waiting import waiting
from braid.app.words.reasons import folded
from braid.app.words.searches import ShownFilter, added_forms_text, shown_filter
from braid.app.words.values import dataset_name
from braid.core.chat.quoting.extractive import passage_coverage
from braid.core.chat.quoting.match import SCALES, CosineScale, weak_ones
from braid.core.chat.quoting.wanted import without_asking
from braid.core.errors import EmbeddingError
from braid.core.options import ALL, MAX_K, Datasets, GroupBy
from braid.core.search.hits import is_letters_alone
from braid.core.search.term_weights import TermWeights
from braid.core.text.analyzer import Analyzer
from braid.core.text.letters import is_garbled
from braid.core.text.scripts import display_language
from braid.core.types import Dataset, Degraded, Hit, Part, Passage, SearchResult

FURTHER = 10
"""Hits that are shown besides, each time that more are asked for."""
_BUSY = re.compile(r"is busy; try again in (\d+) s")


@dataclass(frozen=True, slots=True)
class ShownPlace:
    """Another place with the same text."""

    title: str
    dataset: str
    href: str


@dataclass(frozen=True, slots=True)
class ShownHit:
    """A numbered passage with its snippet and reasons."""

    number: int
    passage: Passage
    dataset: str
    href: str
    snippet: tuple[Segment, ...]
    """Empty for a passage of letters without meaning."""
    language: str
    title_language: str
    prose: bool
    reasons: tuple[Reason, ...]
    also_in: tuple[ShownPlace, ...]
    rerank_score: str
    """Empty without a reranker."""
    weak: bool
    """Whether it is hardly near the query, and has few of its words."""
    more_in_document: int
    more_href: str
    """The address of the same search in this document alone; empty in a search by three fields."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A part that is missing from the answer; empty ``datasets`` means that it is missing for all."""

    leg: Part
    datasets: tuple[str, ...]
    reasons: tuple[str, ...]

    @property
    def told(self) -> tuple[str, ...]:
        """Reasons that are in words for readers: of passages that wait."""
        return tuple(reason for reason in self.reasons if isinstance(reason, Markup))

    @property
    def only_waits(self) -> bool:
        """Whether passages are still being indexed, and nothing failed."""
        return self.leg in ("dense", "bm25") and 0 < len(self.told) == len(self.reasons)

    @property
    def failures(self) -> tuple[tuple[str, str], ...]:
        """Why the language model could not be used: in a sentence with its remedy, and in technical words."""
        if self.leg != "model" or self.busy_s:
            return ()
        return tuple(folded(reason) for reason in self.reasons if not isinstance(reason, Markup))

    @property
    def busy_s(self) -> int:
        """Seconds after which a model that was busy may be asked again; 0 for one that failed otherwise."""
        found = [_BUSY.search(reason) for reason in self.reasons]
        return max((int(each[1]) for each in found if each), default=0) if self.leg == "model" else 0


@dataclass(frozen=True, slots=True)
class Timing:
    """A stage of the search. ``percent`` is its share of the longest one."""

    name: str
    ms: int
    percent: int


@dataclass(frozen=True, slots=True)
class Answer:
    """Everything that the result part of the page shows."""

    text: str
    hits: tuple[ShownHit, ...]
    is_far: bool
    """Whether there are hits, and all of them are weak."""
    by_document: bool
    degraded: tuple[Missing, ...]
    unresolved: tuple[int, ...]
    searched: tuple[str, ...]
    """The datasets' names, each with its number of hits where there are several datasets and any hits."""
    searched_chunks: int
    unsearched: tuple[Dataset, ...]
    """The datasets with documents that were not searched, where nothing near was found."""
    everywhere: str
    """The address of the same search in all datasets."""
    meant: str
    """The query with words of the documents in place of those that none has; empty where there is none."""
    meant_href: str
    of_all: int
    """Passages, or documents, of which the hits are the best; 0 where a filter leaves out an unknown number."""
    further_href: str
    """The address of the same search with more hits; empty where there are no more, or where none leads to them."""
    is_all: bool
    """Whether nothing else matches, as far as is known."""
    kinds: tuple[tuple[GroupBy, str], ...]
    """What a hit is, and the address of the same search with such hits."""
    read_filters: tuple[ShownFilter, ...]
    added_forms: str
    """By which other forms of its names the query was searched, too, in one line."""
    total_ms: int
    timings: tuple[Timing, ...]


def build_answer(result: SearchResult, form: SearchForm, *, carried: Carried | None = None) -> Answer:
    """Return the page's view of a result.

    ``carried`` are the query arguments that lead back to the search; None means those of the form.
    """
    datasets, analyzer = form.readable.all, site().braid.analyzer
    way_back = form.query_arguments() if carried is None else carried
    names = {dataset.id: dataset_name(dataset.name) for dataset in datasets}
    searched = [dataset for dataset in datasets if _was_searched(dataset, form)]
    wanted = wanted_tokens(analyzer, result.query.text)
    weak = [*_weak_ones(result, form), *filter(is_letters_alone, result.hits)]
    return Answer(
        text=result.query.text,
        hits=tuple(
            _show_hit(number, hit, names, way_back, analyzer, wanted, weak=hit in weak)
            for number, hit in enumerate(result.hits, start=1)
        ),
        is_far=bool(weak) and len(weak) == len(result.hits),
        by_document=result.query.group_by == "document",
        degraded=missing_parts(result.degraded, searched),
        unresolved=result.unresolved_dataset_ids,
        searched=tuple(_with_counts(searched, result)),
        searched_chunks=sum(dataset.chunks for dataset in searched),
        unsearched=()
        if len(result.hits) > len(weak)
        else tuple(d for d in datasets if d.documents and d not in searched),
        everywhere=_everywhere(form),
        meant=result.did_you_mean if "q" in way_back else "",
        meant_href=url_for("braid.search.index", **{**way_back, "q": result.did_you_mean}),
        of_all=_count_all(searched, result, form),
        further_href=_further(result, form, way_back),
        is_all=len(result.hits) < _wanted(form) and not result.degraded,
        kinds=tuple(_kinds(way_back)) if "q" in way_back else (),
        read_filters=tuple(_filter_link(shown_filter(asdict(each)), form, way_back) for each in result.read_filters),
        added_forms=added_forms_text([asdict(each) for each in result.added_forms]),
        total_ms=round(result.timings_ms.get("total", 0.0)),
        timings=timings_of(result.timings_ms),
    )


def _filter_link(read: ShownFilter, form: SearchForm, carried: Carried) -> ShownFilter:
    """Return the filter with the address of the search without it, or with it."""
    words = {**form.filter_words, read.said: not read.applied}
    changed = {name: [said for said, is_on in words.items() if is_on is on] for name, on in FILTER_ARGUMENTS.items()}
    return replace(read, href=url_for("braid.search.index", **{**carried, **changed}))


def _count_all(searched: Sequence[Dataset], result: SearchResult, form: SearchForm) -> int:
    if form.filters or any(each.applied for each in result.read_filters):
        return 0
    by_document = result.query.group_by == "document"
    return sum(dataset.documents if by_document else dataset.chunks for dataset in searched)


def _further(result: SearchResult, form: SearchForm, carried: Carried) -> str:
    if "q" not in carried or len(result.hits) < _wanted(form) or len(result.hits) >= MAX_K:
        return ""
    more: Carried = {**carried, "more": str(form.more + FURTHER)}
    return url_for("braid.search.index", **more, _anchor=f"hit-{len(result.hits) + 1}")


def _wanted(form: SearchForm) -> int:
    return min(MAX_K, form.k + form.more)


def _kinds(carried: Carried) -> Iterator[tuple[GroupBy, str]]:
    first: Carried = {name: value for name, value in carried.items() if name not in ("group", "more")}
    yield "passage", url_for("braid.search.index", **first)
    first["group"] = "document"
    yield "document", url_for("braid.search.index", **first)


def document_href(chunk_id: str, carried: Carried) -> str:
    """Return the address of a passage in its document, which links back to the search."""
    return url_for("braid.search.document", chunk_id=chunk_id, _anchor="cited", **carried)


def _everywhere(form: SearchForm) -> str:
    carried: Carried = {**form.query_arguments(), "d": ALL}
    return url_for("braid.search.index", **carried)


def _with_counts(searched: Sequence[Dataset], result: SearchResult) -> Iterator[str]:
    """Yield the names, with their numbers of hits where there are any; those of several without hits are counted."""
    counts = result.hits_by_dataset
    is_counted = len(searched) > 1 and bool(result.hits)
    without = sum(not counts.get(dataset.id) for dataset in searched) if is_counted else 0
    for dataset in searched:
        name, hits = dataset_name(dataset.name), counts.get(dataset.id, 0)
        if not is_counted:
            yield name
        elif hits or without == 1:
            yield _("%(name)s (%(count)s)", name=name, count=format_decimal(hits))
    if without > 1:
        yield ngettext("no matches in %(num)s other", "no matches in %(num)s others", without)


def _was_searched(dataset: Dataset, form: SearchForm) -> bool:
    return not dataset.of_others if form.datasets == Datasets.personal() else form.datasets.has(dataset.id)


def _show_hit(
    number: int,
    hit: Hit,
    names: Mapping[int, str],
    carried: Carried,
    analyzer: Analyzer,
    wanted: frozenset[str],
    *,
    weak: bool,
) -> ShownHit:
    return ShownHit(
        number=number,
        passage=hit.passage,
        dataset=_dataset_name(hit.passage.dataset_id, names),
        href=document_href(hit.passage.chunk_id, carried),
        snippet=_snippet(hit.passage, analyzer, wanted),
        language=display_language(hit.passage.text),
        title_language=display_language(hit.passage.title),
        prose=is_prose(hit.passage.file_type),
        reasons=Reasoning().reasons(hit.legs),
        also_in=_show_places(hit, names, carried),
        rerank_score="" if hit.rerank_score is None else f"{hit.rerank_score:.3f}",
        weak=weak,
        more_in_document=hit.more_in_document,
        more_href=_search_within(hit.passage, carried) if "q" in carried else "",
    )


def _snippet(passage: Passage, analyzer: Analyzer, wanted: frozenset[str]) -> tuple[Segment, ...]:
    if is_garbled(passage.text, passage.file_type):
        return ()
    return snippet(analyzer, readable(passage.text, passage.file_type), wanted)


def _weak_ones(result: SearchResult, form: SearchForm) -> list[Hit]:
    """Return the hits that are weak by both legs; none where the dense leg did not answer in full for the question."""
    braid = site().braid

    @cache
    def weights() -> Mapping[str, float]:
        scope = braid.manager.check(user_id=identity().account.id, dataset_ids=form.datasets.given)
        weigh = TermWeights(braid.bm25, braid.analyzer, braid.ledger, scope)
        return weigh.of_text(without_asking(result.query.text))

    return weak_ones(result, _scale, lambda passage: passage_coverage(weights(), passage, braid.analyzer))


def _search_within(passage: Passage, carried: Carried) -> str:
    within: Carried = {**carried, "source": passage.source, "d": [str(passage.dataset_id)]}
    return url_for("braid.search.index", **{name: value for name, value in within.items() if name != "group"})


def _scale(collection: str) -> CosineScale | None:
    try:
        return SCALES.get(site().braid.answering_model(collection).fingerprint)
    except EmbeddingError:
        return None


def _show_places(hit: Hit, names: Mapping[int, str], carried: Carried) -> tuple[ShownPlace, ...]:
    """Return where else the text is, each document by its title and dataset once."""
    places = dict[tuple[str, int], ShownPlace]()
    for each in hit.also_in:
        title, href = each.title or each.source, document_href(each.chunk_id, carried)
        shown = ShownPlace(title, _dataset_name(each.dataset_id, names), href)
        places.setdefault((title, each.dataset_id), shown)
    return tuple(places.values())


def _dataset_name(dataset_id: int, names: Mapping[int, str]) -> str:
    return names.get(dataset_id, str(dataset_id))


def missing_parts(degraded: Iterable[Degraded], datasets: Sequence[Dataset]) -> tuple[Missing, ...]:
    """Return what is missing, one entry per part, with the datasets that it concerns and the reasons."""
    parts: dict[Part, list[Degraded]] = {}
    for part in degraded:
        parts.setdefault(part.leg, []).append(part)
    return tuple(_missing(leg, several, datasets) for leg, several in parts.items())


def _missing(leg: Part, parts: Sequence[Degraded], datasets: Sequence[Dataset]) -> Missing:
    collections = {part.collection for part in parts}
    concerned = [dataset for dataset in datasets if dataset.collection in collections]
    everything = "" in collections or len(concerned) == len(datasets)
    names = dict.fromkeys(dataset_name(dataset.name) for dataset in concerned)
    reasons = waiting((part.reason for part in parts), datasets)
    return Missing(leg, () if everything else tuple(names), tuple(reasons))


def timings_of(timings_ms: Mapping[str, float]) -> tuple[Timing, ...]:
    """Return the stages of a search that took a millisecond or more."""
    stages = {
        "scope": _("scope"),
        "model": _("language model"),
        "embed": _("embedding"),
        "search": _("search"),
        "fuse": _("fusion"),
        "read": _("reading passages"),
        "rerank": _("reranking"),
    }
    longest = max((ms for stage, ms in timings_ms.items() if stage in stages), default=0) or 1
    return tuple(
        Timing(stages[stage], round(ms), round(100 * ms / longest))
        for stage, ms in timings_ms.items()
        if stage in stages and ms >= 0.5
    )
