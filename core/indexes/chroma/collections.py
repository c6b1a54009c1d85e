"""Braid's Chroma collections: created with one configuration, and recognized by it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from braid.core.errors import IndexUnavailableError
from braid.core.indexes.chroma.errors import translate_errors
from braid.core.indexes.chroma.stores import Session

if TYPE_CHECKING:
    import chromadb
    from chromadb.api.collection_configuration import CreateCollectionConfiguration
    from langchain_chroma import Chroma

DIMENSION = "dimension"
# ef_search 400: recall@10 0.999 at 100,000 passages, 3.5 ms. sync_threshold 1000: an index is saved, which a kill can
# tear, once in 1,000 vectors, and as many at most are indexed again when the collection is opened. max_neighbors and
# ef_construction are above Chroma's 16 and 100: with 16, passages of one language or kind are cut off from the graph by
# those of others that come after them (1,145 Japanese ones, then 17,940: recall@10 of the first 0.78). A passage whose
# nearest neighbour is that of many is linked from it alone, and from none once its list (twice max_neighbors) is full:
# with 32, one vector in 600 of a Japanese manual was found by nothing, with 64 one in 5,000. With 128 no list is full
# in 19,000 vectors of seven sets in one collection (the longest has 251), for a quarter more disk and no more time.
_CONFIGURATION: CreateCollectionConfiguration = {
    "hnsw": {"space": "cosine", "ef_search": 400, "max_neighbors": 128, "ef_construction": 200, "sync_threshold": 1000},
}


def subject(collection: str) -> str:
    """Return the name of a collection's index for messages."""
    return f"the dense index of {collection}"


class Collections:
    """Opens collections by name in the current session, and notices when one has vanished."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def get(self, session: Session, name: str) -> chromadb.Collection | None:
        """Return the collection; None when it does not exist.

        Raises IndexUnavailableError when its files are damaged, when it was not made by Braid, and when it existed
        before and is gone.
        """
        if name in session.handles:
            return session.handles[name]
        segment = session.segments.get(name)
        fault = segment.fault() if segment else ""
        if fault:
            raise IndexUnavailableError(f"{subject(name)} is damaged: {fault}")
        from chromadb.errors import NotFoundError
        from langchain_chroma import Chroma

        with translate_errors(subject(name)):
            try:
                wrapper = Chroma(
                    name,
                    client=session.client,
                    client_settings=session.settings,
                    create_collection_if_not_exists=False,
                )
            except NotFoundError:
                session.loaded.discard(name)
                if name in self._seen:
                    raise IndexUnavailableError(f"{subject(name)} is gone from the store") from None
                return None
        return self._remember(session, name, wrapper)

    def get_or_create(self, session: Session, name: str, dimension: int) -> chromadb.Collection:
        """Return the collection; create it for vectors of this dimension when it does not exist."""
        found = self.get(session, name)
        if found is not None:
            return found
        from langchain_chroma import Chroma

        with translate_errors(subject(name)):
            wrapper = Chroma(
                name,
                client=session.client,
                client_settings=session.settings,
                collection_configuration=_CONFIGURATION,
                collection_metadata={DIMENSION: dimension},
            )
        session.loaded.add(name)
        return self._remember(session, name, wrapper)

    def delete(self, session: Session, name: str) -> None:
        """Delete the collection, whatever its state. No other thread may have the session."""
        from chromadb.errors import NotFoundError

        with translate_errors(subject(name)), suppress(NotFoundError):
            session.client.delete_collection(name)
        self._seen.discard(name)
        session.segments.pop(name, None)
        session.handles.pop(name, None)
        if name in session.loaded:
            session.loaded.remove(name)
            session.dropped += 1

    def forget_all(self) -> None:
        """Forget which collections existed: the store was replaced by an empty one."""
        self._seen.clear()

    def _remember(self, session: Session, name: str, wrapper: Chroma) -> chromadb.Collection:
        # The wrapper would embed texts itself; Braid has vectors, which go to the collection below it.
        handle = wrapper._collection
        hnsw = handle.configuration_json.get("hnsw") or {}
        if hnsw.get("space") != "cosine" or DIMENSION not in (handle.metadata or {}):
            raise IndexUnavailableError(f"{subject(name)} was not made by Braid: its space is {hnsw.get('space')!r}")
        session.handles[name] = handle
        self._seen.add(name)
        return handle
