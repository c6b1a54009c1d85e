"""Glossaries: short and long forms of names, as editors of a dataset have written them, and as its documents do."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from sqlalchemy import delete, func, insert, select

from braid.core.errors import N_, InvalidInputError, Reason
from braid.core.ledger.database import Database, storable
from braid.core.ledger.quota import one_at_a_time
from braid.core.ledger.tables import TermRow
from braid.core.text.normalization import fold
from braid.core.text.terms import Term

MAX_TERMS = 2_000
"""Terms of one glossary."""
MAX_FORM_CHARS = 100
VARIANTS = 8
"""Long forms of one short form that are compared with each other."""
EMPTY = {
    "short": N_("the short form is empty; give both forms of the name"),
    "long": N_("the long form is empty; give both forms of the name"),
}
MAX_CSV_CHARS = 500_000
COLUMNS = ("short", "long")


class Glossaries:
    """The glossaries of datasets. Callers check who may read and write a dataset."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def terms(self, dataset_id: int) -> list[Term]:
        """Return the terms of the dataset's glossary, by their short forms."""
        rows = self._database.fetch(
            select(TermRow.short, TermRow.long)
            .where(TermRow.dataset_id == dataset_id, TermRow.document_id.is_(None))
            .order_by(func.lower(TermRow.short), TermRow.long)
        )
        return [Term(short, long) for short, long in rows]

    def of_documents(self, dataset_id: int, *, limit: int) -> list[Term]:
        """Return terms that documents of the dataset introduce, those of the most documents first.

        Of long forms that differ in case or by words at their end, the one of the most documents is returned.
        """
        rows = self._database.fetch(
            select(TermRow.short, TermRow.long)
            .where(TermRow.dataset_id == dataset_id, TermRow.document_id.is_not(None))
            .group_by(TermRow.short, TermRow.long)
            .order_by(func.count().desc(), TermRow.short, TermRow.long)
            .limit(VARIANTS * limit)
        )
        kept: list[Term] = []
        of_short: defaultdict[str, list[list[str]]] = defaultdict(list)
        for short, long in rows:
            words, others = fold(long).split(), of_short[fold(short)]
            if not any(all(a == b for a, b in zip(words, other, strict=False)) for other in others[:VARIANTS]):
                others.append(words)
                kept.append(Term(short, long))
        return kept[:limit]

    def put(self, dataset_id: int, terms: Sequence[Term]) -> None:
        """Replace the dataset's glossary. Raises InvalidInputError for a term without two different forms."""
        new = [_checked(term) for term in terms]
        self._change(dataset_id, lambda before: new)

    def add(self, dataset_id: int, terms: Sequence[Term]) -> None:
        """Add terms to the dataset's glossary; those that it has stay. Raises InvalidInputError as `put` does."""
        new = [_checked(term) for term in terms]
        self._change(dataset_id, lambda before: [*before, *new])

    def remove(self, dataset_id: int, term: Term) -> None:
        """Remove a term from the dataset's glossary; nothing happens where there is none."""
        self._change(dataset_id, lambda before: [each for each in before if each != term])

    def _change(self, dataset_id: int, change: Callable[[list[Term]], Sequence[Term]]) -> None:
        """Replace the glossary by what is made of it; nobody else changes it meanwhile."""
        with self._database.write() as connection:
            one_at_a_time(connection, f"glossary {dataset_id}")
            of_glossary = (TermRow.dataset_id == dataset_id, TermRow.document_id.is_(None))
            rows = connection.execute(select(TermRow.short, TermRow.long).where(*of_glossary))
            before = [Term(short, long, of_glossary=True) for short, long in rows]
            kept = list({(term.short, term.long): term for term in change(before)}.values())
            if len(kept) > MAX_TERMS:
                raise InvalidInputError(f"there are {len(kept):,} terms; at most {MAX_TERMS:,} are kept", field="terms")
            connection.execute(delete(TermRow).where(*of_glossary))
            if kept:
                connection.execute(insert(TermRow), [{"dataset_id": dataset_id, **term.row} for term in kept])


def terms_in_csv(text: str) -> list[Term]:
    """Return the terms of a CSV file with the columns ``short`` and ``long``. Raises InvalidInputError."""
    if len(text) > MAX_CSV_CHARS:
        raise InvalidInputError(f"the file has {len(text):,} characters; at most {MAX_CSV_CHARS:,}", field="csv")
    return list(_lines(text.removeprefix("\ufeff")))


def _lines(text: str) -> Iterator[Term]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        columns = [name.strip().lower() for name in reader.fieldnames or ()]
        if sorted(columns) != sorted(COLUMNS):
            raise InvalidInputError(Reason("the first line must name the columns: short,long"), field="csv")
        reader.fieldnames = columns
        for row in reader:
            short, long = ((row[name] or "").strip() for name in COLUMNS)
            if not (short or long):
                continue
            try:
                yield _checked(Term(short, long))
            except InvalidInputError as error:
                raise InvalidInputError(
                    Reason("line %(number)s: %(reason)s", number=reader.line_num, reason=error), field="csv"
                ) from None
    except csv.Error as error:
        raise InvalidInputError(
            Reason("line %(number)s: %(reason)s", number=reader.line_num, reason=error), field="csv"
        ) from None


def csv_of(terms: Sequence[Term]) -> str:
    """Return the terms as a CSV file, which `terms_in_csv` reads."""
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows({"short": term.short, "long": term.long} for term in terms)
    return file.getvalue()


def _checked(term: Term) -> Term:
    """Return the term as it is stored. Raises InvalidInputError."""
    short, long = (" ".join(storable(form).split()) for form in (term.short, term.long))
    for name, form in (("short", short), ("long", long)):
        if not form:
            raise InvalidInputError(Reason(EMPTY[name]), field=name)
        if len(form) > MAX_FORM_CHARS:
            message = f"the {name} form has {len(form)} characters; at most {MAX_FORM_CHARS} are allowed"
            raise InvalidInputError(message, field=name)
    if short.casefold() == long.casefold():
        raise InvalidInputError(
            Reason("both forms are '%(form)s'; give another form of the name", form=short), field="long"
        )
    return Term(short, long)
