"""The filters that a question may ask for: what its words say of the documents that are meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import Any

from braid.core.json_form import DATE
from braid.core.search.question import phrases
from braid.core.search.question.vocabulary import MAX_VALUE_CHARS, Value, Vocabulary
from braid.core.text.moments import UnclearPeriodError
from braid.core.text.normalization import fold
from braid.core.text.periods import Period, first_day, last_day, period_in
from braid.core.text.relative_periods import relative_periods
from braid.core.text.terms import is_edge, places_of
from braid.core.types import FilterKind, Filters

MAX_QUESTION_CHARS = 500
"""Longest question that is read: in a longer one most words are of a text that was pasted."""
MAX_NAME_CHARS = 80


@dataclass(frozen=True, slots=True)
class Wish:
    """A filter that the words of a question may ask for. With ``sure`` they can hardly mean anything else."""

    kind: FilterKind
    said: str
    value: str
    sure: bool
    key: str = ""
    filters: Filters = field(default_factory=Filters)
    dataset_ids: frozenset[int] = frozenset()
    """Datasets that are meant, for the kind ``dataset``."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question as it is read: folded, with what of it the datasets in scope have."""

    text: str
    names: Mapping[int, str]
    """Names of the datasets in scope by id."""
    vocabulary: Callable[[], Vocabulary]
    """Returns the metadata of the scope; asked only where the question may name some."""
    today: date

    def wishes(self) -> Iterator[Wish]:
        """Yield what the question asks for, one for each kind and key, in the order in which filters are applied."""
        if len(self.text) > MAX_QUESTION_CHARS:
            return
        yield from self._datasets()
        yield from self._file_types()
        yield from self._metadata()
        yield from self._dates()

    # ------------------------------------------------------------ datasets

    def _datasets(self) -> Iterator[Wish]:
        """Yield one wish for all datasets that are named as places to look in, if any is surely, else for each."""
        by_name: dict[str, set[int]] = {}
        for dataset_id, name in self.names.items():
            if 2 <= len(folded := fold(name)) <= MAX_NAME_CHARS:
                by_name.setdefault(folded, set()).add(dataset_id)
        taken: list[tuple[int, int]] = []
        found: list[tuple[str, set[int], bool]] = []
        for name in sorted(by_name, key=len, reverse=True):
            for start, end in places_of(self.text, name):
                if any(start < e and s < end for s, e in taken):
                    continue
                taken.append((start, end))
                if (sure := self._is_dataset(name, start, end)) is not None:
                    found.append((name, by_name[name], sure))
                    break
        certain = [each for each in found if each[2]]
        for group in [certain] if certain else [[each] for each in found]:
            ids = frozenset().union(*(ids for _, ids, _ in group))
            names = ", ".join(dict.fromkeys(self.names[each] for each in sorted(ids)))
            yield Wish("dataset", ", ".join(name for name, _, _ in group), names, bool(certain), dataset_ids=ids)

    def _is_dataset(self, name: str, start: int, end: int) -> bool | None:
        """Return whether a name is surely said of a dataset; None where nothing speaks for it."""
        before, after = self.text[:start], self.text[end:]
        if phrases.BEFORE_DATASET.search(before) or phrases.AFTER_DATASET.match(after):
            return True
        if phrases.BEFORE_NAME_OF_DATASET.search(before) and phrases.AFTER_NAME_OF_DATASET.match(after):
            return True
        place, place_after = phrases.BEFORE_PLACE.search(before), phrases.AFTER_PLACE.match(after)
        if place is None and place_after is None:
            return None
        is_quoted = bool((place and place["quote"].strip()) or (place_after and place_after["quote"]))
        return is_quoted or phrases.LIKE_DOCUMENTS.search(name) is not None

    # ------------------------------------------------------------ kinds of files

    def _file_types(self) -> Iterator[Wish]:
        names: dict[str, str] = {}
        for match in phrases.IN_FILES.finditer(self.text):
            for group, text in match.groupdict().items():
                if text is not None:
                    names.setdefault(group.split("_")[1], match[0].strip())
        if not names:
            return
        said = ", ".join(dict.fromkeys(names.values()))
        rest = self.text
        for each in names.values():
            rest = rest.replace(each, " ")
        types = frozenset().union(*(phrases.TYPES[name][0] for name in names))
        sure = phrases.OPERATION.search(rest) is None
        yield Wish("file_type", said, ", ".join(sorted(types)), sure, filters=Filters(file_types=types))

    # ------------------------------------------------------------ metadata

    def _metadata(self) -> Iterator[Wish]:
        if phrases.MAY_NAME_VALUES.search(self.text) is None:
            return
        known = self.vocabulary()
        yielded: set[str] = set()
        end = -1
        for start, stop, values in _named_values(self.text, known.values):
            if start < end:
                continue
            read = self._meant(start, stop, values)
            if read is None or read[0].key in yielded:
                continue
            end = stop
            (value, sure), said = read, self.text[start:stop]
            yielded.add(value.key)
            where: Any = value.text if value.kind == "text" else {"$contains": value.text}
            yield Wish("metadata", said, value.text, sure, value.key, Filters(metadata={value.key: where}))

    def _meant(self, start: int, end: int, values: tuple[Value, ...]) -> tuple[Value, bool] | None:
        """Return the value that is meant, and whether surely; None where nothing says that it selects documents."""
        before, after = self.text[:start], self.text[end:]
        of_key = [value for value in values if _names_key(fold(value.key).replace("_", " "), before, after)]
        of_person = [value for value in values if fold(value.key).replace("_", " ") in phrases.PERSON_KEYS]
        linked = bool(phrases.DOCUMENT_BEFORE_VALUE.search(before) or phrases.DOCUMENT_AFTER_VALUE.match(after))
        if len(of_key) == 1:
            explicit = re.search(r"[:=] ?[\"“]?$", before) is not None
            return of_key[0], explicit or phrases.DOCUMENT.search(before + " " + after) is not None
        if len(of_person) == 1 and (sure := _by_person(before, after)) is not None:
            named = not of_person[0].text[0].islower()
            return of_person[0], sure and named and phrases.CREATIVE.search(self.text) is None
        if linked and len({value.key for value in values}) == 1:
            return values[0], True
        return None

    # ------------------------------------------------------------ times

    def _dates(self) -> Iterator[Wish]:
        read = self._period()
        if read is None:
            return
        period, said, sure = read
        keys = self.vocabulary().keys
        dates = [key for key, kinds in keys.items() if kinds == ("date",)]
        first, last = first_day(period), last_day(period)
        if year_key := _year_key(keys, period):
            yield Wish("metadata", said, first[:4], True, year_key, Filters(metadata={year_key: int(first[:4])}))
        elif len(dates) == 1:
            ends = {"$gte": first, "$lte": last}
            where = {operator: {DATE: day} for operator, day in ends.items() if day}
            yield Wish("date", said, _shown(period), sure, dates[0], Filters(metadata={dates[0]: where}))
        else:
            filters = Filters(date_from=_seconds(first, time.min), date_to=_seconds(last, time.max))
            yield Wish("date", said, _shown(period), sure and not dates, filters=filters)

    def _period(self) -> tuple[Period, str, bool] | None:
        """Return the only period of the question that says which documents are meant, with its words, and whether it
        surely does. A time that documents tell of, as a report does, is not surely the one that they are of.
        """
        if phrases.DOCUMENT.search(self.text) is None:
            return None
        text, period = self.text, None
        if periods := relative_periods(text, self.today):
            period = periods[0] if len(periods) == 1 else None
        else:
            text, period = _absolute_period(text)
        if period is None:
            return None
        said, end = text[period.start : period.end].strip(), period.end
        begun = text[: period.start].rstrip() + " "
        link = phrases.BEFORE_TIME.search(begun) or phrases.AFTER_TIME.match(text[end:].lstrip("のに中"))
        if link is None:
            return None
        noun = next(noun for noun in link.groupdict().values() if noun)
        return period, said, phrases.DAILY_NOUN.fullmatch(noun) is not None


# ---------------------------------------------------------------- names and values in a text


def _named_values(text: str, values: Mapping[str, tuple[Value, ...]]) -> Iterator[tuple[int, int, tuple[Value, ...]]]:
    """Yield where values stand in a text, at each place the longest one first."""
    edges = [at for at in range(len(text) + 1) if is_edge(text, at)]
    for number, start in enumerate(edges):
        ends = [end for end in edges[number + 1 : number + 2 + MAX_VALUE_CHARS] if end - start <= MAX_VALUE_CHARS]
        for end in reversed(ends):
            if found := values.get(text[start:end]):
                yield start, end, found


def _names_key(key: str, before: str, after: str) -> bool:
    """Return whether a value stands beside the name of its key: *department Sales*, *author: Sato*, 部署が営業."""
    name = re.escape(key)
    edge = r"\b" if key.isascii() else ""
    if re.search(rf"{edge}{name}(?: ?[:=] ?| is | of |[がはも] ?|[이가은는] | )[\"“「]?$", before):
        return True
    return re.match(rf"[\"”」]? {edge}{name}{edge}", after) is not None


def _by_person(before: str, after: str) -> bool | None:
    """Return whether a name is surely that of who wrote the documents; None where nothing speaks for it."""
    if phrases.WRITTEN_BY.search(before) or phrases.WROTE.match(after):
        return True
    if phrases.DOCUMENT_AFTER_VALUE.match(after):
        return True
    by = phrases.BY.search(before)
    if by is None:
        return None
    return by["word"] is not None and phrases.NO_NOUN.search(by["word"]) is None


# ---------------------------------------------------------------- periods


def _absolute_period(text: str) -> tuple[str, Period | None]:
    """Return the period that a text names, with the text that its places are of. What documents are *from* they are of,
    although alone it might be since then.
    """
    for each in (text, text.replace(" from ", " of ")):
        with suppress(UnclearPeriodError):
            found = period_in(each, ())
            return each, None if found is None or found.month else found
    return text, None


def _shown(period: Period) -> str:
    return period.first if period.first == period.last else f"{period.first}/{period.last}"


def _seconds(day: str, at: time) -> float | None:
    """Return the moment on an ISO day, in the server's time zone, as files are dated; None for an open end."""
    return datetime.combine(date.fromisoformat(day), at).timestamp() if day else None


def _year_key(keys: Mapping[str, tuple[str, ...]], period: Period) -> str:
    """Return the key whose values are years such as the period is, where there is only one; else nothing."""
    whole, fiscal = len(period.first) == 4, period.first[5:] == "04" and period.last[5:] == "03"
    if not period.prefix and not (fiscal and int(period.last[:4]) == int(period.first[:4]) + 1):
        return ""
    names = phrases.YEAR_KEYS if whole else phrases.FISCAL_YEAR_KEYS if fiscal else frozenset[str]()
    found = [key for key, kinds in keys.items() if fold(key) in names and "number" in kinds]
    return found[0] if len(found) == 1 else ""
