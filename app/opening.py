"""Opens the data directory with the settings, for the server and the command line.

Braid is imported in the functions: loading it takes a second, which ``braid --help`` need not wait for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from braid.app.terminal import log_briefly
from braid.core.errors import InvalidInputError

if TYPE_CHECKING:
    from braid.config.settings import Settings
    from braid.core.braid import Braid
    from braid.core.data_directory import DataDirectory
    from braid.core.indexes.milvus.options import MilvusOptions
    from braid.core.models.embeddings import EmbeddingModel, EmbeddingOptions
    from braid.core.models.rerank import Rerankers

LOCAL_USER = "local"
"""Name of the user that a data directory without users gets."""
FIRST_DATASET = "My documents"
"""Name of the personal dataset that a user without one gets."""
NEW_SITE = "braid.new_site"
"""Key in click's meta, which all nested contexts share: the option ``--new-site``."""
MAKES_SITE = "braid.makes_site"
"""Key in click's meta: whether the command makes a site where there is none."""
DATA_DIR = "braid.data_dir"
"""Key in click's meta: the option ``--data-dir``."""
SAMPLE_NAME = "Braid guide"
"""Name of the shared dataset with the sample, see `braid.app.first_start`."""
SAMPLE_DESCRIPTION = "What Braid is and how to use it, in English, Japanese and Korean"


def open_data_directory(settings: Settings) -> DataDirectory:
    """Open the ledger, the registry and the models, without the indexes; another process may own those."""
    from braid.core.data_directory import DataDirectory

    log_briefly(debug=settings.log_level == "DEBUG")
    _require_site(settings)
    return DataDirectory(settings.data_dir, migrate=False, **_directory_values(settings))


def open_braid(settings: Settings, *, must_own: bool = False, migrate: bool = False) -> Braid:
    """Open the data directory to search it: with its indexes, or through the process that has them open.

    With ``must_own``, raises NotOwnerError when another process has. A ledger of an earlier version is refused, or with
    ``migrate`` copied and upgraded, as an app does that is started.
    """
    from braid.config.models import SiteModels, models_of, prompts_of
    from braid.core import spans
    from braid.core.braid import Braid, IndexOptions

    log_briefly(debug=settings.log_level == "DEBUG")
    _require_secret(settings)
    _require_site(settings)
    if settings.otlp_endpoint and not spans.on():
        spans.begin(spans.collector(settings.otlp_endpoint))
    braid = Braid(
        settings.data_dir,
        **_directory_values(settings),
        index_options=IndexOptions(
            languages=settings.languages,
            leg_timeout_s=settings.leg_timeout_s,
            max_open_collections=settings.max_open_collections,
            chroma_copy=settings.chroma_copy,
            chroma_url=settings.chroma_url,
            milvus=milvus_of(settings),
            engine=settings.index_engine,
        ),
        rerankers=rerankers_of(settings),
        models=models_of(settings),
        prompts=prompts_of(settings),
        strategies=settings.strategies,
        must_own=must_own,
        work=settings.work,
        migrate=migrate,
    )
    connected = SiteModels(settings, braid.ledger, _secret_of(settings, braid))
    connected.serve(braid.manager)
    braid.on_close(spans.flush)
    return braid


def _secret_of(settings: Settings, braid: Braid) -> bytes:
    from braid.core.accounts.secret_key import site_secret

    try:
        return site_secret(braid.data_dir, braid.ledger, settings.secret_key)
    except BaseException:
        braid.close()
        raise


def _require_site(settings: Settings) -> None:
    """Raise InvalidInputError where a command that only reads or changes a site would make one."""
    context = click.get_current_context(silent=True)
    if context is None or context.meta.get(MAKES_SITE, True) or _is_new_site():
        return
    from braid.config.settings import origin_of
    from braid.core.ledger.owners.site import has_ledger, require_known_ledger
    from braid.core.ledger.permissions import require_permission

    folder, given = settings.data_dir.absolute(), context.meta.get(DATA_DIR)
    require_permission(folder)
    url = settings.database_url or f"sqlite:///{folder / 'ledger.db'}"
    if has_ledger(url) or (folder.exists() and not folder.is_dir()):
        return
    require_known_ledger(url, folder, takes=False)  # says more where something is left beside a ledger that is lost
    name = "database_url" if settings.database_url else "data_dir"
    origin = "--data-dir" if name == "data_dir" and given is not None else origin_of(name)
    wanted = (
        "no tables of Braid in the database" if settings.database_url else f"no data directory of Braid at {folder}"
    )
    raise InvalidInputError(
        f"there is {wanted} (setting {name}, {origin}), and this command makes none; name the site's own with "
        "--data-dir, BRAID_DATA_DIR or BRAID_CONFIG, or make a site with `python -m app serve` or `user add`",
        field=name,
    )


def _require_secret(settings: Settings) -> None:
    """Raise InvalidInputError where several processes have no folder in common for their secret."""
    in_postgresql = settings.database_url.startswith("postgresql")
    if settings.files_url and settings.milvus_url and in_postgresql and not settings.secret_key:
        raise InvalidInputError(
            "secret_key is empty, and with files_url the processes of a fleet share no folder that has it: set it to "
            "the same in all of them, such as `openssl rand -hex 32` prints, for example with BRAID_SECRET_KEY",
            field="secret_key",
        )


def milvus_of(settings: Settings) -> MilvusOptions | None:
    """Return where the indexes are in Milvus; None where they are in the data directory."""
    from braid.core.indexes.milvus.options import MilvusOptions

    if not settings.milvus_url:
        return None
    return MilvusOptions(
        settings.milvus_url, settings.milvus_token, settings.milvus_database, apart=settings.milvus_apart
    )


def _directory_values(settings: Settings) -> dict[str, Any]:
    return {
        "database_url": settings.database_url,
        "database_connections": settings.database_connections,
        "shared_dbs": settings.shared_dbs,
        "files_url": settings.files_url,
        "embedding_model": settings.embedding_model,
        "embedding_threads": settings.embedding_threads,
        "embedding_options": embedding_options_of(settings),
        "new_site": _is_new_site(),
    }


def _is_new_site() -> bool:
    """Return whether the command line says so; a program without one never does."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(NEW_SITE))


def embedding_options_of(settings: Settings) -> EmbeddingOptions:
    """Return where and how the settings' embedding model is asked."""
    from braid.core.models.embeddings import EmbeddingOptions

    return EmbeddingOptions(
        base_url=settings.embedding_base_url,
        api_key=settings.embedding_api_key,
        batch_size=settings.embedding_batch_size,
        reembed=settings.reembed,
    )


def embedding_model_of(settings: Settings) -> EmbeddingModel:
    """Return the settings' embedding model, which is not loaded yet. Raises InvalidInputError."""
    from braid.core.data_directory import default_model

    return default_model(settings.embedding_model, settings.embedding_threads, embedding_options_of(settings))


def rerankers_of(settings: Settings) -> Rerankers:
    """Return the rerankers of the settings; none is loaded yet."""
    from braid.core.models.rerank import Rerankers

    return Rerankers(
        base_url=settings.reranker_base_url,
        api_key=settings.reranker_api_key,
        timeout_s=settings.reranker_timeout_s,
    )
