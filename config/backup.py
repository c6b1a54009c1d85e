"""What a backup has beside the ledger: the settings in force, as a file that a restored directory is opened with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from braid.config.settings import Settings, holds_secret
from braid.core.backup.make import Sources
from braid.core.backup.manifest import PROMPTS, SETTINGS, SHARED_DBS, BackupManifest


def sources_of(settings: Settings, *, with_keys: bool = False) -> Sources:
    """Return what is backed up; ``with_keys`` says whether the settings' keys and passwords are."""
    paths = {"data_dir": ".", "shared_dbs": SHARED_DBS, "custom_prompts": ""}
    texts = {}
    if settings.custom_prompts.is_file():
        texts[PROMPTS] = settings.custom_prompts.read_text(encoding="utf-8")
        paths["custom_prompts"] = PROMPTS
    texts[SETTINGS] = settings_file(settings, with_keys=with_keys, paths=paths)
    return Sources(
        data_dir=settings.data_dir,
        shared_dbs=settings.shared_dbs,
        database_url=settings.database_url,
        texts=texts,
        with_keys=with_keys,
        files_url=settings.files_url,
    )


def settings_file(settings: Settings, *, with_keys: bool, paths: Mapping[str, str]) -> str:
    """Return the settings that differ from their defaults, wherever they come from, as TOML.

    ``paths`` are relative paths that take the place of the settings' own; an empty one leaves it out. Without
    ``with_keys``, values with keys and passwords are left out, and a comment says so.
    """
    lines = [f"{name} = {_toml(value)}" for name, value in paths.items() if value]
    defaults = Settings()
    for name in (field.name for field in fields(Settings)):
        value = getattr(settings, name)
        if name in paths or value == getattr(defaults, name):
            continue
        if not with_keys and holds_secret(name, value):
            lines.append(f"# {name}: left out, since it holds a key or a password; set it again")
        else:
            lines.append(f"{name} = {_toml(value)}")
    return "".join(f"{line}\n" for line in lines)


BELONGED = "belonged to the site that was backed up"
_SERVICES = ("database_url", "files_url", "chroma_url", "index_engine", "milvus_url", "otlp_endpoint", "work")
_MODELS = {
    "search_model_base_url": "search_model",
    "summary_model_base_url": "summary_model",
    "reranker_base_url": "reranker",
}
"""The setting with a server's address, and the model that is asked there: without the address, another would be."""
_NOWHERE = "http://belonged-to-the-site-that-was-backed-up.invalid"
_NO_DATABASE = "unset://set-BRAID_DATABASE_URL-to-the-database-that-was-restored"


def as_copy(manifest: BackupManifest, text: str) -> str:
    """Return the settings of a backup for what is restored from it, with no service of the site that it is of.

    They are comments, and what cannot be left out names nothing: the database of a ledger in PostgreSQL, with which
    nothing is opened, and the server of the embedding model, whose vectors the ledger has.
    """
    lines = text.splitlines()
    there = {line.partition(" = ")[0] for line in lines}
    dropped = {*_SERVICES, *_MODELS, *(model for address, model in _MODELS.items() if address in there)}
    done = [f"# {line}  # {BELONGED}" if line.partition(" = ")[0] in dropped else line for line in lines]
    if manifest.database == "postgresql":
        done.append(f"database_url = {_toml(_NO_DATABASE)}")
    done = [f"# {line}  # {BELONGED}" if line.startswith("embedding_base_url = ") else line for line in done]
    if "embedding_base_url" in there:
        done.append(f"embedding_base_url = {_toml(_NOWHERE)}")
    return "".join(f"{line}\n" for line in done)


def _toml(value: Any) -> str:
    """Return a value as TOML has it; its strings are JSON's but for one character."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_toml(name)} = {_toml(each)}' for name, each in value.items())}}}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, Path):
        value = str(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
