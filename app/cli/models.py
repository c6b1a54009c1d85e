"""``models``: tests the embedding model and the reranker of the settings by known passages."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import click

from braid.app.cli.common import BraidCommand, current_settings, json_option
from braid.app.cli.output import complain, print_json, print_table
from braid.app.opening import embedding_model_of, rerankers_of
from braid.core.errors import EmbeddingError, ModelError

if TYPE_CHECKING:
    from braid.config.settings import Settings
    from braid.core.models.known_pairs import Told

COLUMNS = ("role", "model", "language", "first", "right", "wrong", "ms")


@click.command(cls=BraidCommand)
@click.option("--reranker", metavar="NAME", help="The one to test (default: that of the settings).")
@json_option
@click.pass_context
def models(context: click.Context, reranker: str | None, as_json: bool) -> None:
    """Let the embedding model and the reranker tell right passages from wrong ones in three languages.

    Needs no data directory, and keeps nothing. Ends with 1 when a model fails or puts a wrong passage first.
    """
    from braid.core.models.known_pairs import mistaken, told_by_scores

    settings = current_settings()
    named = settings.reranker if reranker is None else reranker
    tests: list[tuple[str, str, Callable[[], list[Told]]]] = [
        ("embedding", settings.embedding_model, lambda: _told_by_vectors(settings))
    ]
    rerankers = rerankers_of(settings)
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
    rerankers.close()
    if as_json:
        print_json([{"role": role, "model": model, **each._asdict()} for role, model, each in found])
    elif found:
        rows = [
            (role, model, each.language, _first(each), *(f"{score:.3f}" for score in (each.right, each.wrong, each.ms)))
            for role, model, each in found
        ]
        print_table(COLUMNS, rows, right=("right", "wrong", "ms"))
    context.exit(1 if failed else 0)


def _first(told: Told) -> str:
    return "right" if told.is_right else "wrong"


def _told_by_vectors(settings: Settings) -> list[Told]:
    from braid.core.models.embeddings import embed_passages, embed_queries
    from braid.core.models.known_pairs import told_by_vectors

    model = embedding_model_of(settings)
    return told_by_vectors(partial(embed_queries, model), partial(embed_passages, model))[0]
