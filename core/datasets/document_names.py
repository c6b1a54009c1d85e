"""Finding documents by a part of their name, for people who know what they look for."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import func, or_

from braid.core.ledger.database import Database, storable
from braid.core.ledger.queries import select_documents
from braid.core.ledger.tables import DocumentRow
from braid.core.types import Document


def documents_named(database: Database, dataset_ids: Collection[int], part: str, *, limit: int = 20) -> list[Document]:
    """Documents of the datasets whose title or source contains the part, those that begin with it first.

    Upper and lower case are equal as far as the database knows: SQLite does for a to z alone.
    """
    part = storable(part).strip()
    if not part or not dataset_ids:
        return []
    names = (DocumentRow.title, DocumentRow.source)
    contains = or_(*(name.icontains(part, autoescape=True) for name in names))
    begins = or_(*(name.istartswith(part, autoescape=True) for name in names))
    statement = (
        select_documents()
        .where(DocumentRow.dataset_id.in_(dataset_ids), contains)
        .order_by(begins.desc(), func.length(DocumentRow.source), DocumentRow.source)
        .limit(limit)
    )
    with database.read() as connection:
        return [Document(**row._mapping) for row in connection.execute(statement)]
