"""The peers' plots: bars and lines, one colour per library."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.measure import CLIENTS, FULL_SETTING, SHARES
from benchmarks.peers.process import TITLES
from benchmarks.plots import panels

COLOURS = dict(
    zip(
        TITLES,
        ("#d62728", "#1f77b4", "#7f7f7f", "#17becf", "#9467bd", "#2ca02c", "#ff7f0e", "#bcbd22"),
        strict=True,
    )
)


def draw(results: Mapping[str, Any], path: Path) -> None:
    """Six panels: speed, clients, filters, collections, costs, quality."""
    full = [setting for setting in results["settings"] if setting["collections"] == FULL_SETTING]
    titles = (
        "p50 ms, one client",
        f"searches per second, 1 and {CLIENTS} clients",
        "p50 ms by filter",
        "p50 ms by collections",
        "build s",
        "nDCG@10, mean of sets",
    )
    with panels(path, titles, columns=2) as axes:
        _bars(axes[0], {_size(one): _cells(one, "all", "p50") for one in full})
        last = full[-1:]
        clients = {f"{n}": f"{n} clients" if n > 1 else "all" for n in (1, CLIENTS)}
        _bars(axes[1], {label: _cells(one, name, "qps") for one in last for label, name in clients.items()})
        names = {"100 %": "all", **{f"{share} %": f"{share} %" for share in SHARES}}
        _lines(axes[2], {label: _cells(one, name, "p50") for one in last for label, name in names.items()})
        largest = max((setting["size"] for setting in results["settings"]), default=0)
        by_count = {f"{one['collections']}": one for one in results["settings"] if one["size"] == largest}
        _lines(axes[3], {label: _cells(one, "all", "p50") for label, one in by_count.items()})
        _bars(axes[4], {_size(one): _figures(one, "build", "build_s") for one in full})
        _bars(axes[5], {"": _mean_ndcg(results["quality"])}, log=False)
        axes[0].legend(fontsize=7)


def _size(setting: Mapping[str, Any]) -> str:
    return f"{setting['size']:,}"


def _cells(setting: Mapping[str, Any], cell: str, figure: str) -> dict[str, float]:
    found = {name: peer.get("cells", {}).get(cell, {}).get(figure) for name, peer in setting["peers"].items()}
    return {name: value for name, value in found.items() if value is not None}


def _figures(setting: Mapping[str, Any], part: str, figure: str) -> dict[str, float]:
    return {name: peer[part][figure] for name, peer in setting["peers"].items() if figure in peer.get(part, {})}


def _mean_ndcg(quality: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    means = {}
    for name in TITLES:
        values = [judged["peers"].get(name, {}).get("ndcg") for judged in quality]
        if values and None not in values:
            means[name] = sum(values) / len(values)
    return means


def _bars(axes: Any, groups: Mapping[str, Mapping[str, float]], *, log: bool = True) -> None:
    """A group of bars per label, a bar per library."""
    width = 0.8 / len(TITLES)
    for number, (name, title) in enumerate(TITLES.items()):
        bars = [(place + number * width, group[name]) for place, group in enumerate(groups.values()) if name in group]
        axes.bar([x for x, _ in bars], [y for _, y in bars], width, color=COLOURS[name], label=title)
    axes.set_xticks([place + 0.4 - width / 2 for place in range(len(groups))], list(groups))
    if log:
        axes.set_yscale("log")
        lowest = min((value for group in groups.values() for value in group.values()), default=1.0)
        axes.set_ylim(bottom=10.0 ** math.floor(math.log10(lowest)))


def _lines(axes: Any, points: Mapping[str, Mapping[str, float]]) -> None:
    """A line per library through its figures."""
    for name in TITLES:
        found = [(place, group[name]) for place, group in enumerate(points.values()) if name in group]
        axes.plot([x for x, _ in found], [y for _, y in found], "o-", color=COLOURS[name], markersize=3)
    axes.set_xticks(range(len(points)), list(points))
    axes.set_yscale("log")
