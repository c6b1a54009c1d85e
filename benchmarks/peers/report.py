"""The tables of the peers, from their JSON results; where Braid loses is said first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.common import markdown_table
from benchmarks.peers.measure import AT_ONCE, FULL_SETTING, IN_PROCESSES, PROCESSES, SHARES
from benchmarks.peers.process import TITLES
from benchmarks.peers.workload import LANGUAGES

LANGUAGE_OF = {
    "scifact": "en",
    "cosqa-dev": "en",
    "mtrag-mini": "en",
    "jsquad-valid": "ja",
    "gimphelp-ja": "ja",
    "gimphelp-ko": "ko",
    "ko-strategyqa-facts": "ko",
}
BRAID = "braid"
NOTHING = "–"
TIED = 1.02
"""A figure that differs by less than 2 % is no loss."""
Results = Mapping[str, Any]
Figures = Mapping[str, Any]
Place = tuple[str, ...]
"""Keys that lead to a figure of a peer."""


def page(results: Results, *, plot: str) -> str:
    """The generated section of docs/benchmarks.md."""
    parts = [_losses(results), f"![Braid beside other libraries]({plot})", _setup(results)]
    for setting in results["settings"]:
        if setting["collections"] == FULL_SETTING:
            parts += [_speed(setting), _processes(setting), _filters(setting), _languages(setting)]
    parts += [_collections(results), _costs(results), _quality(results), _reasons(results)]
    return "\n\n".join(part for part in parts if part)


# ---------------------------------------------------------------- where Braid loses


def _losses(results: Results) -> str:
    """Every figure in which a peer is better."""
    lines = []
    for title, unit, higher, figures in _comparisons(results):
        if BRAID not in figures:
            continue
        own = figures[BRAID]
        others = {name: value for name, value in figures.items() if name != BRAID and value is not None}
        better = [name for name, value in others.items() if own is None or _is_better(value, own, higher=higher)]
        if better:
            better.sort(key=lambda name: others[name], reverse=higher)
            said = ", ".join(f"{TITLES[name]} {_number(others[name])}" for name in better)
            lines.append(f"- {title}: {said}; Braid {'gave no answer' if own is None else _number(own) + unit}")
    text = "\n".join(lines) or "- In no figure of this run."
    return f"Where Braid loses:\n\n{text}"


def _is_better(value: float, own: float, *, higher: bool) -> bool:
    return value > own * TIED if higher else value * TIED < own


def _comparisons(results: Results) -> Iterator[tuple[str, str, bool, Mapping[str, float | None]]]:
    """Title, unit, whether higher is better, and the figure of each peer."""
    for setting in results["settings"]:
        where = _where(setting)
        names = dict.fromkeys(name for peer in setting["peers"].values() for name in peer.get("cells", ()))
        for name in names:
            how = "" if name == "all" else f", {name}"
            yield f"p50, {where}{how}", " ms", False, _picked(setting, ("cells", name, "p50"))
            if "clients" in name:
                yield f"searches per second, {where}{how}", "", True, _picked(setting, ("cells", name, "qps"))
        for title, place in COSTS.items():
            yield f"{title}, {where}", "", False, _picked(setting, place)
    for judged in results["quality"]:
        yield f"nDCG@10, {judged['set']}", "", True, _picked(judged, NDCG)


# ---------------------------------------------------------------- tables


def _setup(results: Results) -> str:
    rows = []
    for name, peer in results["peers"].items():
        reason = peer.get("missing") or peer.get("failed")
        versions = ", ".join(f"{package} {version}" for package, version in peer.get("versions", {}).items())
        rows.append([TITLES[name], versions, f"not measured: {reason}" if reason else peer["about"]])
    plan, machine = results["plan"], results["machine"]
    queries = plan["rounds"] * plan["queries"]
    text = (
        f"{machine['date']}, {machine['cores']} cores, Python {machine['python']}. Hybrid search, ten hits,"
        " 50 candidates per leg where that can be set; embedding costs nothing (vectors are given)."
        f" {queries} queries per cell in {plan['rounds']} rounds, all libraries in turn in each; a slow one gets as"
        f" many as it answers in {plan['cap_s']:.0f} s. In brackets: times Braid's figure in the same run."
    )
    return f"{text}\n\n{markdown_table(['library', 'versions', 'set up as'], rows)}"


def _speed(setting: Results) -> str:
    clients = AT_ONCE.name
    places = {
        "p50 ms": ("cells", "all", "p50"),
        "p95 ms": ("cells", "all", "p95"),
        "per second": ("cells", "all", "qps"),
        "queries": ("cells", "all", "queries"),
        f"{clients}: p50 ms": ("cells", clients, "p50"),
        f"{clients}: p95 ms": ("cells", clients, "p95"),
        f"{clients}: per second": ("cells", clients, "qps"),
    }
    return _table(f"{_where(setting)}, one client and {AT_ONCE.clients} at once:", setting, places, plain=("queries",))


def _processes(setting: Results) -> str:
    """Searches per second of several clients in one process and in several, each beside Braid's in several."""
    own = _find(setting["peers"].get(BRAID, {}), ("cells", IN_PROCESSES.name, "qps"))
    rows = []
    for name, peer in setting["peers"].items():
        for cell, processes in ((AT_ONCE, 1), (IN_PROCESSES, PROCESSES)):
            figures = peer.get("cells", {}).get(cell.name, {})
            if own and "qps" in figures:
                place = [TITLES[name], processes]
                rows.append([*place, *(figures[key] for key in ("p50", "p95", "qps")), own / figures["qps"]])
    if not any(row[1] == PROCESSES for row in rows):
        return ""
    columns = ["library", "processes", "p50 ms", "p95 ms", "per second", f"Braid's in {PROCESSES} : these"]
    return f"{_where(setting)}, {AT_ONCE.clients} clients:\n\n{markdown_table(columns, rows)}"


def _filters(setting: Results) -> str:
    names = ["all", *(f"{share} %" for share in SHARES)]
    places = {f"{'100 %' if name == 'all' else name}: p50 ms": ("cells", name, "p50") for name in names}
    short = [
        f"{TITLES[peer]} {figures['cells'][name]['hits']:.1f} at {name}"
        for peer, figures in setting["peers"].items()
        for name in names
        if 0 <= figures.get("cells", {}).get(name, {}).get("hits", 10) < 9.5
    ]
    note = f"\n\nFewer than ten hits on average: {', '.join(short)}." if short else ""
    return _table(f"{_where(setting)}, a filter that selects a part of the passages:", setting, places) + note


def _languages(setting: Results) -> str:
    places = {f"{language}: p50 ms": ("cells", language, "p50") for language in LANGUAGES}
    return _table(f"{_where(setting)}, queries in English, Japanese, Korean:", setting, places)


def _collections(results: Results) -> str:
    """p50 by number of collections, one column per setting."""
    settings = results["settings"]
    if len({setting["collections"] for setting in settings}) < 2:
        return ""
    columns = [f"{setting['size']:,} in {setting['collections']}: p50 ms" for setting in settings]
    figures = [_texts(setting, ("cells", "all", "p50")) for setting in settings]
    rows = [[TITLES[name], *(of[name] for of in figures)] for name in results["peers"]]
    return f"Passages in so many collections, all searched:\n\n{markdown_table(['library', *columns], rows)}"


def _costs(results: Results) -> str:
    tables = [
        _table(f"{_where(setting)}, building, a new passage, memory and disk:", setting, COSTS)
        for setting in results["settings"]
        if setting["collections"] == FULL_SETTING
    ]
    text = (
        "One new passage is found by its rare word, another by its vector, so many seconds after its put began. Memory"
        " is the process's resident memory after the searches, its libraries included; what is kept in memory alone has"
        " no disk."
    )
    return "\n\n".join([*tables, text]) if tables else ""


def _quality(results: Results) -> str:
    if not results["quality"]:
        return ""
    figures = [_texts(judged, NDCG, ratio=False) for judged in results["quality"]]
    columns = [f"{judged['set']} ({LANGUAGE_OF[judged['set']]})" for judged in results["quality"]]
    names = [name for name in results["peers"] if any(of.get(name, NOTHING) != NOTHING for of in figures)]
    rows = [[TITLES[name], *(of[name] for of in figures)] for name in names]
    for row, name in zip(rows, names, strict=True):
        values = [judged["peers"].get(name, {}).get("ndcg") for judged in results["quality"]]
        row.append(NOTHING if None in values else sum(values) / len(values))
    queries = ", ".join(f"{judged['set']} {judged['queries']}" for judged in results["quality"])
    table = markdown_table(["library", *columns, "mean"], rows)
    return (
        "nDCG@10 on the judged sets, with the default model's vectors and each library's own treatment of words, as it"
        f" comes:\n\n{table}\n\nQueries: {queries}."
    )


def _reasons(results: Results) -> str:
    """Why figures are missing, each reason once."""
    lines = []
    for setting in results["settings"]:
        for name, figures in setting["peers"].items():
            parts = {"build": figures["build"], "put": figures.get("put", {}), **figures.get("cells", {})}
            for part, figure in parts.items():
                if "failed" in figure and name in results["peers"] and "about" in results["peers"][name]:
                    lines.append(f"- {TITLES[name]}, {_where(setting)}, {part}: {figure['failed']}")
    return "Failed:\n\n" + "\n".join(lines) if lines else ""


# ---------------------------------------------------------------- cells


NDCG: Place = ("ndcg",)
COSTS: Mapping[str, Place] = {
    "build s": ("build", "build_s"),
    "put s": ("put", "put_s"),
    "found by word s": ("put", "found_by_word_s"),
    "found by vector s": ("put", "found_by_vector_s"),
    "memory MB": ("size", "rss_mb"),
    "disk MB": ("size", "disk_mb"),
}


def _find(peer: Figures, place: Place) -> Any:
    found: Any = peer
    for key in place:
        found = found.get(key, {}) if isinstance(found, Mapping) else {}
    return found or None


def _picked(setting: Results, place: Place) -> dict[str, float | None]:
    return {name: _find(peer, place) for name, peer in setting["peers"].items()}


def _table(title: str, setting: Results, places: Mapping[str, Place], *, plain: Sequence[str] = ()) -> str:
    columns = [_texts(setting, place, ratio=name not in plain) for name, place in places.items()]
    rows = [[TITLES[name], *(column[name] for column in columns)] for name in setting["peers"]]
    return f"{title}\n\n{markdown_table(['library', *places], rows)}"


def _texts(setting: Results, place: Place, *, ratio: bool = True) -> dict[str, str]:
    """The figure of each peer with its ratio to Braid's, or what there is instead."""
    values = _picked(setting, place)
    own = values.get(BRAID)
    texts = {}
    for name, value in values.items():
        if value is None:
            texts[name] = _instead(setting["peers"][name], place)
        elif ratio and own and name != BRAID:
            texts[name] = f"{_number(value)} ({_number(value / own)}×)"
        else:
            texts[name] = _number(value)
    return texts


def _instead(peer: Figures, place: Place) -> str:
    """What there is where a figure is missing: over how many seconds it would be, or that it failed."""
    for part in (_find(peer, place[:-1]), peer.get("build")):
        if part and "over_s" in part:
            return f"over {part['over_s']:.0f} s"
        if part and "failed" in part:
            return "failed"
    return NOTHING


def _where(setting: Results) -> str:
    return f"{setting['size']:,} passages in {setting['collections']} collections"


def _number(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.3f}" if abs(value) < 1 else f"{value:.2f}" if abs(value) < 10 else f"{value:,.1f}"
