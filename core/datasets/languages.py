"""Languages of datasets, from a sample of their documents."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import BigInteger, ColumnElement, cast, func, select

from braid.core.ledger.change_log import ChangeLog
from braid.core.ledger.ledger import Ledger
from braid.core.ledger.tables import ChunkRow, DocumentRow
from braid.core.text.scripts import SEEN_CHARS, text_language
from braid.core.types import Dataset

SAMPLE = 200
"""Documents of a dataset in the sample."""
LEAST_SHARE = 0.05
"""Smallest share of the sample that a language needs to be named."""
FEW = 20
"""Up to this number of datasets each one's sample is as large as `SAMPLE`, and read again after any change of its
collection; of more, samples are smaller, and read again when the dataset's own counts change."""
LEAST_SAMPLE = 10
AGAIN_S = 5.0
"""Minimum seconds between two samples of a dataset that keeps changing, as in a long upload."""
HASH_MODULUS = 2**32
HASH_FACTOR = 2_654_435_761
"""Knuth's multiplicative hash, which spreads consecutive ids."""


@dataclass(frozen=True, slots=True)
class _Seen:
    counts: Counter[str]
    head: int
    size: tuple[int, int]
    at: float


class DatasetLanguages:
    """Languages by dataset, cached until something in the dataset's collection changes."""

    def __init__(self, ledger: Ledger, *, again_s: float = AGAIN_S, few: int = FEW) -> None:
        self._ledger = ledger
        self._again_s, self._few = again_s, few
        self._changes = ChangeLog(ledger.database)
        self._seen: dict[int, _Seen] = {}
        self._lock = threading.Lock()

    def of(self, datasets: Sequence[Dataset]) -> Mapping[int, tuple[str, ...]]:
        """Return dataset id → ISO 639-1 codes, most frequent first; last an empty code, for unrecognized texts."""
        filled = [dataset for dataset in datasets if dataset.chunks]
        if not filled:
            return {}
        heads = self._changes.heads({dataset.collection for dataset in filled})
        return {
            dataset.id: _frequent_languages(self._counts(dataset, heads.get(dataset.collection, 0), beside=len(filled)))
            for dataset in filled
        }

    def passages(self, datasets: Sequence[Dataset]) -> Mapping[str, Mapping[int, float]]:
        """Return language code → dataset id → about how many passages are in it, of the `FEW` largest datasets."""
        filled = sorted((each for each in datasets if each.chunks), key=lambda each: (-each.chunks, each.id))[:FEW]
        heads = self._changes.heads({dataset.collection for dataset in filled}) if filled else {}
        found: dict[str, dict[int, float]] = {}
        for dataset in filled:
            counts = self._counts(dataset, heads.get(dataset.collection, 0), beside=len(filled))
            for code, count in counts.items():
                found.setdefault(code, {})[dataset.id] = dataset.chunks * count / counts.total()
        return found

    def counts(self, dataset: Dataset) -> Counter[str]:
        """Count the sample's documents by language code; an empty code is for unrecognized texts."""
        return self._counts(dataset, self._changes.heads({dataset.collection}).get(dataset.collection, 0))

    def _counts(self, dataset: Dataset, head: int, *, beside: int = 1) -> Counter[str]:
        """Count the languages of one of ``beside`` datasets that are asked for together."""
        now, size = time.monotonic(), (dataset.documents, dataset.chunks)
        with self._lock:
            seen = self._seen.get(dataset.id)
        is_old = seen is not None and seen.head != head and (beside <= self._few or seen.size != size)
        if seen is None or (is_old and now - seen.at >= self._again_s):
            most = SAMPLE if beside <= self._few else max(LEAST_SAMPLE, SAMPLE * self._few // beside)
            seen = _Seen(Counter(map(_language_of, self._sample(dataset, most))), head, size, now)
            with self._lock:
                self._seen[dataset.id] = seen
        return seen.counts

    def _sample(self, dataset: Dataset, most: int) -> list[list[str]]:
        """Read a passage at each quarter of about ``most`` documents: they begin with menus and tables of contents, and
        some are translated in part.

        It costs a walk over a part of one index.
        """
        is_chosen, chunks = _in_sample(dataset.documents, most), DocumentRow.chunks
        quarters = [(chunks * part // 4).label(f"at{part}") for part in (1, 2, 3)]
        columns = DocumentRow.id, *quarters
        chosen = select(*columns).where(DocumentRow.dataset_id == dataset.id, is_chosen).limit(2 * most).subquery()
        is_there = ChunkRow.position.in_([chosen.c[each.name] for each in quarters])
        of_chosen = (ChunkRow.document_id == chosen.c.id) & is_there
        start = func.substr(ChunkRow.text, 1, SEEN_CHARS)
        passages = select(chosen.c.id, start).join(chosen, of_chosen).order_by(chosen.c.id, ChunkRow.position)
        texts: dict[int, list[str]] = {}
        for document_id, text in self._ledger.database.fetch(passages):
            texts.setdefault(document_id, []).append(text)
        return list(texts.values())


def _language_of(texts: Sequence[str]) -> str:
    """Return the language of most of a document's passages; empty where none is recognized."""
    known = Counter(code for text in texts if (code := text_language(text)))
    return known.most_common(1)[0][0] if known else ""


def _in_sample(documents: int, most: int) -> ColumnElement[bool]:
    below = HASH_MODULUS * most // max(documents, most)
    return (cast(DocumentRow.id, BigInteger) * HASH_FACTOR) % HASH_MODULUS < below


def _frequent_languages(counts: Counter[str]) -> tuple[str, ...]:
    least = LEAST_SHARE * counts.total()
    enough = [code for code, count in counts.items() if count >= least]
    return tuple(sorted(enough, key=lambda code: (not code, -counts[code], code)))
