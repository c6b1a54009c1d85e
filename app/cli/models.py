"""``models``: tests the embedding model and the reranker by known passages."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import click

from braid.app.cli.common import BraidCommand, current_settings, json_option
from braid.app.cli.output import complain, print_json, print_table, wants_json
from braid.app.opening import embedding_model_of, open_data_directory, rerankers_of
from braid.core.errors import BraidError, EmbeddingError, ModelError

if TYPE_CHECKING:
    from braid.config.settings import Settings
    from braid.core.models.known_pairs import Told
    from braid.core.models.rerank_http import RerankServer

COLUMNS = ("role", "model", "language", "first", "right", "wrong", "ms")


@click.command(cls=BraidCommand)
@click.option("--reranker", metavar="NAME", help="The one to test (default: the one in force).")
@json_option
@click.pass_context
def models(context: click.Context, reranker: str | None) -> None:
    """Let the embedding model and the reranker tell right passages from wrong ones in three languages.

    Needs no data directory; where there is one, the reranker that administrators chose on the pages is tested. Keeps
    nothing. Ends with 1 when a model fails or puts a wrong passage first.
    """
    from braid.core.models.known_pairs import mistaken, tied, told_by_scores

    settings = current_settings()
    rerankers = rerankers_of(settings)
    if reranker is None and (chosen := _chosen(settings)):
        rerankers.use(lambda: chosen)
        complain(f"the reranker in force is {chosen.name} at {chosen.address}, chosen under Administration, Models")
    named = rerankers.in_force(settings.reranker) if reranker is None else reranker
    tests: list[tuple[str, str, Callable[[], list[Told]]]] = [
        ("embedding", settings.embedding_model, lambda: _told_by_vectors(settings))
    ]
    if named:
        rerankers.named(named)  # a name of another form is refused before a model is loaded
        tests.append(
            ("reranker", named, lambda: told_by_scores(lambda query, texts: rerankers.scores_of(named, query, texts)))
        )
    failed = False
    found: list[tuple[str, str, Told]] = []
    for role, model, tell in tests:
        try:
            told = tell()
        except (EmbeddingError, ModelError) as error:
            complain(str(error))
            failed = True
            continue
        found += [(role, model, each) for each in told]
        if languages := mistaken(told):
            complain(
                f"{role} {model}: a wrong passage is first in {', '.join(languages)}; choose a model that knows them"
            )
            failed = True
        if languages := tied(told):
            complain(f"{role} {model}: the right passage and a wrong one have the same score in {', '.join(languages)}")
    rerankers.close()
    if wants_json():
        print_json([{"role": role, "model": model, **each._asdict()} for role, model, each in found])
    elif found:
        rows = [
            (role, model, each.language, _first(each), *(f"{score:.3f}" for score in (each.right, each.wrong, each.ms)))
            for role, model, each in found
        ]
        print_table(COLUMNS, rows, right=("right", "wrong", "ms"))
    context.exit(1 if failed else 0)


def _first(told: Told) -> str:
    return "neither" if told.is_tie else "right" if told.is_right else "wrong"


def _chosen(settings: Settings) -> RerankServer | None:
    """Return the server of the reranker that administrators chose; None without a data directory."""
    if not (settings.database_url or (settings.data_dir / "ledger.db").exists()):
        return None
    from braid.core.accounts.model_connections import ModelConnections
    from braid.core.accounts.secret_key import secret_key

    try:
        with open_data_directory(settings) as directory:
            secret = secret_key(directory.data_dir, settings.secret_key)
            return ModelConnections(directory.ledger, secret).reranker()
    except BraidError as error:
        complain(f"whether a reranker was chosen under Administration cannot be read: {error}")
        return None


def _told_by_vectors(settings: Settings) -> list[Told]:
    from braid.core.models.embeddings import embed_passages, embed_queries
    from braid.core.models.known_pairs import told_by_vectors

    model = embedding_model_of(settings)
    return told_by_vectors(partial(embed_queries, model), partial(embed_passages, model))[0]
