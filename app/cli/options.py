"""Option types for dates and formats, and the options of a search."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, get_args

import click

from braid.app.cli.common import Command
from braid.core.metadata.written import read_written
from braid.core.options import (
    ABOUT,
    ALL,
    CHOICES,
    MAX_DEPTH,
    OF_SITE,
    All,
    ChunkKind,
    DatasetIds,
    Filters,
    site_options,
    used_options,
)

if TYPE_CHECKING:
    from braid.config.settings import Settings
    from braid.core.models.rerank import Rerankers

SECONDS_OF_UNIT: Mapping[str, int] = {"min": 60, "h": 3600, "d": 86_400, "w": 604_800}


class Moment(click.ParamType[float]):
    """A date, a time, or a duration before now → seconds since the epoch. Local time unless a zone is given."""

    name = "DATE|DURATION"

    def __init__(self, *, end_of_day: bool = False) -> None:
        self.end_of_day = end_of_day

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the moment; a date alone means its first second, or its last if ``end_of_day`` is set."""
        if isinstance(value, float):
            return value
        if ago := re.fullmatch(r"(\d{1,6}(?:\.\d+)?) ?(min|h|d|w)", value):
            return time.time() - float(ago[1]) * SECONDS_OF_UNIT[ago[2]]
        try:
            moment = datetime.fromisoformat(value)
            if self.end_of_day and re.fullmatch(r"[\d-]+", value):
                moment += timedelta(days=1, microseconds=-1)
            return moment.timestamp()
        except (ValueError, OverflowError):
            forms = "a date (2026-01-31, 2026-01-31T18:00) nor a duration (90min, 12h, 7d, 2w)"
            self.fail(f"{value!r} is neither {forms}", param, ctx)


class FileTypes(click.ParamType[frozenset[str]]):
    """Comma-separated names of formats: ``pdf,md``; for a search also labels that documents were given."""

    name = "TYPE,…"

    def __init__(self, *, labels: bool = False) -> None:
        self._labels = labels

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> frozenset[str]:
        """Return names of readable formats; an extension is replaced by its format, ``htm`` by ``html``."""
        if isinstance(value, frozenset):
            return value
        from braid.core.ingest.formats import file_types
        from braid.core.ingest.plan import file_type_of

        given = [name.strip().lower().removeprefix(".") for name in value.split(",") if name.strip()]
        types = {name: file_type_of(f".{name}") for name in given}
        unknown = [name for name, file_type in types.items() if file_type not in file_types()]
        if (unknown and not self._labels) or not given:
            self.fail(f"{', '.join(unknown) or value!r} is none of {', '.join(file_types())}", param, ctx)
        return frozenset(name if name in unknown else file_type for name, file_type in types.items())


class DatasetId(click.ParamType[int | All]):
    """The id of a dataset, or ``all``."""

    name = "ID|all"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | All:
        """Return the id, or ``all``."""
        try:
            return ALL if value == ALL else int(value)
        except ValueError:
            self.fail(f"{value!r} is neither the id of a dataset, such as 1 or -1, nor all", param, ctx)


def _chosen_datasets(context: click.Context, parameter: click.Parameter, given: tuple[int | All, ...]) -> DatasetIds:
    """Return what the repeated option means."""
    if ALL in given:
        if len(given) > 1:
            raise click.BadParameter("all stands alone: it has every dataset that you may read")
        return ALL
    return tuple(each for each in given if each != ALL) or None


def _parameters(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, float]:
    """Return numbers by name; the search checks the names and bounds."""
    found: dict[str, float] = {}
    for each in given:
        name, _, value = each.partition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            raise click.BadParameter(f"{each!r} is not of the form NAME=NUMBER, such as variants=4") from None
    return found


def _plain_option(name: str) -> Command:
    """Return the option of the command line for an option of `ABOUT`."""
    told = ABOUT[name]
    types: Mapping[str, Any] = {
        "weight": click.FloatRange(0, 1),
        "depth": click.IntRange(0, MAX_DEPTH),
        "number": float,
        "choice": click.Choice(CHOICES.get(name, ())),
    }
    help_ = f"{told.help} (setting {name})." if name in OF_SITE else f"{told.help}."
    return click.option(
        f"--{name.replace('_', '-')}", type=types[told.kind], help=help_.replace("`k`", "-k").replace("`", "")
    )


RANKING_OPTIONS = (
    click.option("--mode", type=click.Choice(CHOICES["mode"]), help="Legs that search (setting mode)."),
    click.option("--alpha", type=click.FloatRange(0, 1), help="Weight of the dense leg in weighted fusion."),
    *(_plain_option(name) for name in ABOUT if name != "min_score"),
    click.option(
        "--engine",
        type=click.Choice([*CHOICES["engine"], "reference"]),
        help="Braid's engine, or LangChain's stock classes (reference: the older name).",
    ),
    click.option("--strategy", default="basic", show_default=True, help="How to expand the query and refine hits."),
    click.option(
        "--reranker", metavar="NAME", help="cohere:, jina:, voyage:, tei:, local:MODEL, onnx:FOLDER, or '' for none."
    ),
    click.option(
        "--parameter",
        "parameters",
        metavar="NAME=NUMBER",
        multiple=True,
        callback=_parameters,
        help="Parameter of the strategy, such as variants=4; repeatable.",
    ),
    click.option("-k", type=click.IntRange(1, 1000), help="Number of hits (setting k)."),
)
SCOPE_OPTIONS = (
    click.option("--user", metavar="NAME|ID", help="User who searches; optional if there is only one."),
    click.option(
        "--dataset",
        "datasets",
        metavar="ID|all",
        type=DatasetId(),
        multiple=True,
        callback=_chosen_datasets,
        help="Dataset to search; repeatable. all: everything that the user may read.",
    ),
)
FILTER_OPTIONS = (
    _plain_option("min_score"),
    click.option("--file-type", "file_types", type=FileTypes(labels=True), help="Only these formats or labels."),
    click.option(
        "--chunk-kind",
        "chunk_kinds",
        type=click.Choice(get_args(ChunkKind)),
        multiple=True,
        help="Only these parts of programs; repeatable.",
    ),
    click.option("--source-prefix", default="", help="Only documents whose source starts with this."),
    click.option(
        "--filter",
        "where",
        metavar="CONDITION",
        multiple=True,
        help="Only documents with this metadata, such as 'year>=2024' or 'tags~a'; repeatable.",
    ),
    click.option("--since", type=Moment(), help="Only documents dated at this time or later."),
    click.option("--until", type=Moment(end_of_day=True), help="Only documents dated at this time or earlier."),
)


def add_options(*options: Command) -> Command:
    """Return one decorator for several options."""

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def query_options(settings: Settings, asked: Mapping[str, Any], rerankers: Rerankers | None = None) -> dict[str, Any]:
    """Return values for the fields of `braid.core.types.SearchOptions`, from the command line, then the settings.

    ``asked`` holds the values of RANKING_OPTIONS and FILTER_OPTIONS; None means not given. With the ``rerankers`` of an
    open data directory, the one that administrators chose takes the place of the settings'.
    """
    named = (*OF_SITE, *ABOUT, "engine", "parameters")
    given = {name: asked[name] for name in named if asked.get(name) is not None}
    filters = Filters(
        file_types=asked.get("file_types") or frozenset(),
        source_prefix=asked.get("source_prefix") or "",
        date_from=asked.get("since"),
        date_to=asked.get("until"),
        metadata=read_written(asked.get("where") or ()),
        chunk_kinds=frozenset(asked.get("chunk_kinds") or ()),
    )
    of_site = site_options(settings)
    if rerankers is not None:
        of_site["reranker"] = rerankers.in_force(of_site["reranker"])
    return {**used_options(given, of_site), "filters": filters}
