"""The ledger's tables. SQL is the truth; both indexes are derived from them."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import (
    JSON,
    BigInteger,
    Double,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    Text,
    UniqueConstraint,
    false,
    true,
)
from sqlalchemy import (
    text as sql_text,
)
from sqlalchemy.orm import DeclarativeBase, InstrumentedAttribute, Mapped, mapped_column

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
NEVER_REUSE_IDS = {"sqlite_autoincrement": True}
IS_RUNNING = "state = 'running'"


class Base(DeclarativeBase):
    """All tables share one MetaData."""

    metadata = MetaData(naming_convention=NAMES)
    type_annotation_map: ClassVar = {
        str: Text,
        float: Double,
        dict[str, Any]: JSON,
        list[int]: JSON,
        list[str]: JSON,
    }


def columns_of(row: type[Base], value: type[DataclassInstance]) -> tuple[InstrumentedAttribute[Any], ...]:
    """Return the columns of a table that have the names of a value's fields, in their order."""
    return tuple(getattr(row, field.name) for field in fields(value))


class UserRow(Base):
    """A user, who owns datasets."""

    __tablename__ = "users"
    __table_args__ = (NEVER_REUSE_IDS,)

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    created_at: Mapped[float]
    password_hash: Mapped[str] = mapped_column(default="", server_default="")
    """Argon2; empty means that nobody can sign in as this user."""
    is_admin: Mapped[bool] = mapped_column(default=False, server_default=false())
    disabled: Mapped[bool] = mapped_column(default=False, server_default=false())
    waiting: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Signed up and not approved yet; disabled until then."""
    signed_in_at: Mapped[float | None]
    """When a browser was last signed in as this user; None if that never was."""
    invited_at: Mapped[float | None]
    """When the newest invitation was made; None without one."""
    preferences: Mapped[dict[str, Any]] = mapped_column(default=dict, server_default="{}")


class UserGroupRow(Base):
    """Membership of a user in a group; shared datasets may be limited to groups."""

    __tablename__ = "user_groups"

    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    group_name: Mapped[str] = mapped_column(primary_key=True)


class UserIdentityRow(Base):
    """Who a user is to a provider that signs them in."""

    __tablename__ = "user_identities"

    subject: Mapped[str] = mapped_column(primary_key=True)
    """The issuer and its id of the user, which never changes."""
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)


class SecondFactorRow(Base):
    """What a user shows beside the password: codes of an authenticator app."""

    __tablename__ = "second_factors"

    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    secret: Mapped[str]
    """The key of the authenticator app, encrypted with the data directory's secret."""
    confirmed: Mapped[bool]
    """Whether the user has shown a code; until then it is not asked for."""
    used_step: Mapped[int]
    """The time step of the last code that was accepted; that code and earlier ones are worthless."""
    recovery_hash: Mapped[list[str]]
    """Hashes of the recovery codes that are left."""


class ProvisionedUserRow(Base):
    """A user whom an identity provider keeps by SCIM."""

    __tablename__ = "provisioned_users"

    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    external_id: Mapped[str]
    """The provider's id of the user; empty for none."""
    removed: Mapped[bool]
    """Whether the provider has removed the user: the account is suspended, and the provider does not see it."""


class ProvisionedGroupRow(Base):
    """A group that an identity provider keeps by SCIM; it may be without members."""

    __tablename__ = "provisioned_groups"
    __table_args__ = (NEVER_REUSE_IDS,)

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    external_id: Mapped[str]
    """The provider's id of the group; empty for none."""


class DatasetRow(Base):
    """A personal dataset (id > 0), or the mirror of a shared one (id < 0) whose truth is shared_dbs.json.

    A removed dataset keeps its row, so that its id is never used again.
    """

    __tablename__ = "datasets"
    __table_args__ = (NEVER_REUSE_IDS,)

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id"), index=True)
    name: Mapped[str]
    collection: Mapped[str] = mapped_column(index=True)
    documents: Mapped[int] = mapped_column(default=0)
    chunks: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[float]
    removed_at: Mapped[float | None]
    conversation_id: Mapped[int | None] = mapped_column(index=True)
    """The conversation whose files these are; None for a dataset of its own. Not a foreign key: who deletes the
    conversation deletes the dataset first, which the indexes have to hear of.
    """
    documents_of: Mapped[int | None] = mapped_column(index=True)
    """Of which dataset these are documents that were deleted together and can be restored; None for a dataset of its
    own. Such a row is removed from the beginning, and goes with its last document.
    """


class AssistantRow(Base):
    """Datasets, instructions and ways to search under a name, which a user has made."""

    __tablename__ = "assistants"
    __table_args__ = (NEVER_REUSE_IDS,)

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    name: Mapped[str]
    description: Mapped[str]
    sign: Mapped[str]
    """An emoji or a letter, its picture."""
    color: Mapped[str]
    instruction: Mapped[str]
    shows_instruction: Mapped[bool]
    """Whether who uses it may read the instruction."""
    dataset_ids: Mapped[list[int]]
    """Ids of datasets, without foreign keys: some may be deleted, and shared ones are in shared_dbs.json."""
    strategy: Mapped[str]
    options: Mapped[dict[str, Any]]
    model: Mapped[str]
    """``provider:model`` that answers; empty for the one of who uses it."""
    questions: Mapped[list[str]]
    created_at: Mapped[float]


class ShareRow(Base):
    """A user, or the members of a group, who may read a dataset besides its owner, or change a shared one; or who may
    use an assistant.
    """

    __tablename__ = "shares"
    __table_args__ = (NEVER_REUSE_IDS,)

    id: Mapped[int] = mapped_column(primary_key=True)
    dataset_id: Mapped[int | None] = mapped_column(ForeignKey("datasets.id"), index=True)
    assistant_id: Mapped[int | None] = mapped_column(ForeignKey("assistants.id", ondelete="CASCADE"), index=True)
    """Either ``dataset_id`` or ``assistant_id`` is set."""
    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    group_name: Mapped[str | None] = mapped_column(index=True)
    """Either ``user_id`` or ``group_name`` is set."""
    may_write: Mapped[bool]
    """May also add and remove documents, or change the assistant."""
    created_at: Mapped[float]


class AccessRequestRow(Base):
    """A user asks to read a dataset. The row goes with the answer; of one that is declined it stays."""

    __tablename__ = "access_requests"

    dataset_id: Mapped[int] = mapped_column(ForeignKey("datasets.id"), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True)
    declined: Mapped[bool] = mapped_column(default=False, server_default=false())
    created_at: Mapped[float]


class DocumentRow(Base):
    """One source in one dataset, readable or failed."""

    __tablename__ = "documents"
    __table_args__ = (UniqueConstraint("dataset_id", "source"), NEVER_REUSE_IDS)

    id: Mapped[int] = mapped_column(primary_key=True)
    dataset_id: Mapped[int] = mapped_column(ForeignKey("datasets.id"))
    source: Mapped[str]
    title: Mapped[str]
    file_type: Mapped[str]
    state: Mapped[str]
    error: Mapped[str]
    chunks: Mapped[int]
    size_bytes: Mapped[int]
    content_hash: Mapped[str]
    date: Mapped[float | None]
    meta: Mapped[dict[str, Any]]
    created_at: Mapped[float]
    updated_at: Mapped[float]
    changed_seq: Mapped[int] = mapped_column(default=0, server_default="0")
    """An index that has applied the change log up to here has all of the document's passages."""


ORDERED_TEXT = Text().with_variant(Text(collation="C"), "postgresql")
"""A text in the order of its characters' numbers, on every database."""


class DocumentMetadataRow(Base):
    """A value of a document's metadata, or one text of a list, for filters; the values as given are in `documents`.

    ``dataset_id`` repeats the document's, so that a filter reads the values of the selected datasets alone.
    """

    __tablename__ = "document_metadata"
    __table_args__ = (
        Index("ix_document_metadata_values", "dataset_id", "key", "kind", "number", "text"),
        {"sqlite_with_rowid": False},
    )

    document_id: Mapped[int] = mapped_column(ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    """0, or the place in a list."""
    dataset_id: Mapped[int]
    kind: Mapped[str]
    """``text``, ``number``, ``flag``, ``date`` (seconds since the epoch), or ``item`` of a list."""
    text: Mapped[str | None] = mapped_column(ORDERED_TEXT)
    """At most 501 characters; of a longer text its beginning."""
    number: Mapped[float | None]


class TermRow(Base):
    """A short form and its long form: as a document introduces them, or from the glossary of a dataset."""

    __tablename__ = "terms"
    __table_args__ = (
        Index("ix_terms_short", "dataset_id", "short_head"),
        Index("ix_terms_long", "dataset_id", "long_head"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    dataset_id: Mapped[int] = mapped_column(ForeignKey("datasets.id", ondelete="CASCADE"))
    document_id: Mapped[int | None] = mapped_column(ForeignKey("documents.id", ondelete="CASCADE"), index=True)
    """The document that introduces it; None for one of the glossary."""
    short: Mapped[str]
    long: Mapped[str]
    short_head: Mapped[str]
    """Beginning of the folded short form, by which a query finds the term: see `braid.core.text.terms.head_of`."""
    long_head: Mapped[str]


class OriginalRow(Base):
    """The file that a document was read from is kept. A file with this hash may be of several documents."""

    __tablename__ = "originals"

    document_id: Mapped[int] = mapped_column(ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True)
    content_hash: Mapped[str] = mapped_column(index=True)
    size_bytes: Mapped[int]


class ScanRow(Base):
    """What a machine read on a page of a document, whose bytes had this hash then."""

    __tablename__ = "scans"

    document_id: Mapped[int] = mapped_column(ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True)
    page: Mapped[int] = mapped_column(primary_key=True)
    content_hash: Mapped[str]
    reading: Mapped[bytes] = mapped_column(LargeBinary)
    """`braid.core.ingest.scans.reading.PageReading` as JSON, packed by zlib."""


class ChunkRow(Base):
    """A passage of a document. ``dataset_id`` repeats the document's, for the scope check of every hit."""

    __tablename__ = "chunks"
    __table_args__ = (Index(None, "document_id", "position"), Index("ix_chunks_id_text_hash", "id", "text_hash"))

    id: Mapped[str] = mapped_column(primary_key=True)
    document_id: Mapped[int] = mapped_column(ForeignKey("documents.id", ondelete="CASCADE"))
    dataset_id: Mapped[int] = mapped_column(index=True)
    position: Mapped[int]
    text: Mapped[str]
    text_hash: Mapped[int] = mapped_column(BigInteger, server_default="0")
    """See `braid.core.ledger.document_batch.text_hash`."""
    heading_path: Mapped[str]
    page: Mapped[int | None]
    page_end: Mapped[int | None]
    line: Mapped[int | None]
    line_end: Mapped[int | None]
    chunk_kind: Mapped[str] = mapped_column(default="", server_default="")
    """``function``, ``class``, ``method`` or ``module``, of source code; else empty."""
    confidence: Mapped[float | None]
    """How sure the machine is that read it on a scanned page, 0–1; None for text that the file has itself."""


class EmbeddingRow(Base):
    """A chunk's vector under one model: float32, little endian, unit length."""

    __tablename__ = "embeddings"

    chunk_id: Mapped[str] = mapped_column(ForeignKey("chunks.id", ondelete="CASCADE"), primary_key=True)
    model: Mapped[str] = mapped_column(primary_key=True)
    vector: Mapped[bytes] = mapped_column(LargeBinary)


class ChangeRow(Base):
    """Chunk ``chunk_id`` of ``collection`` came, went or moved; the chunk itself is in `chunks`."""

    __tablename__ = "changes"
    __table_args__ = (Index(None, "collection", "seq"), NEVER_REUSE_IDS)

    seq: Mapped[int] = mapped_column(primary_key=True)
    collection: Mapped[str]
    chunk_id: Mapped[str]


class IndexStateRow(Base):
    """State of one leg's index of one collection: the last change of the log that it has applied."""

    __tablename__ = "index_state"

    leg: Mapped[str] = mapped_column(primary_key=True)
    collection: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[str]
    """Analyzer version or model fingerprint the index was built with."""
    applied_seq: Mapped[int]
    state: Mapped[str]
    """``ready``, ``writing`` (a batch is being applied; at the start it means a crash) or ``rebuilding``."""
    wanted: Mapped[str] = mapped_column(default="", server_default="")
    """What a process asks of the one that follows the index: ``inspect``, ``rebuild`` or nothing."""
    report: Mapped[str] = mapped_column(default="", server_default="")
    """What that process last said of the index, as JSON; empty where there is nothing to say."""


class ProcessRow(Base):
    """A living process of a fleet. The row of one that is not seen for a while is deleted by the others."""

    __tablename__ = "processes"

    name: Mapped[str] = mapped_column(primary_key=True)
    host: Mapped[str]
    works: Mapped[bool]
    """Whether the process indexes and runs jobs, or only serves."""
    started_at: Mapped[float]
    seen_at: Mapped[float]
    """Its last heartbeat, by the database's clock."""


class ClaimRow(Base):
    """What one process of a fleet alone does: it is free again when the process's row is gone."""

    __tablename__ = "claims"

    what: Mapped[str] = mapped_column(primary_key=True)
    process: Mapped[str] = mapped_column(ForeignKey("processes.name", ondelete="CASCADE"), index=True)


class ConversationRow(Base):
    """A user's conversation."""

    __tablename__ = "conversations"
    __table_args__ = (Index(None, "user_id", "pinned", "updated_at"), NEVER_REUSE_IDS)

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    title: Mapped[str]
    created_at: Mapped[float]
    updated_at: Mapped[float]
    pinned: Mapped[bool] = mapped_column(default=False, server_default=false())
    archived: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Out of the list until it is asked for, or goes on."""
    label: Mapped[str] = mapped_column(default="", server_default="")
    """The user's word for what it belongs to; empty for none."""
    deleted_at: Mapped[float | None]
    """When its user deleted it; None while it is there. It can be restored until it is deleted for good."""


class ConversationLinkRow(Base):
    """A conversation that people who have its link may read, up to one of its messages."""

    __tablename__ = "conversation_links"

    conversation_id: Mapped[int] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True)
    token: Mapped[str] = mapped_column(unique=True)
    message_id: Mapped[int]
    """The last message that is shown; those that lead to it are shown, too."""
    created_at: Mapped[float]


class MessageRow(Base):
    """A question or an answer. ``settings`` are the options of the question, or how the answer was made.

    The messages of a conversation are a tree: those with the same parent are variants, of which one is chosen.
    """

    __tablename__ = "messages"
    __table_args__ = (
        UniqueConstraint("conversation_id", "position"),
        # in PostgreSQL, too, by its migration: to say so here would load all its drivers, also where it is not used
        Index(None, "state", sqlite_where=sql_text(IS_RUNNING)),
        NEVER_REUSE_IDS,
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    conversation_id: Mapped[int] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"))
    position: Mapped[int]
    role: Mapped[str]
    text: Mapped[str]
    settings: Mapped[dict[str, Any]]
    created_at: Mapped[float]
    thumb: Mapped[str] = mapped_column(default="", server_default="")
    """The user's thumb for an answer as a whole: ``up``, ``down`` or nothing."""
    fault: Mapped[str] = mapped_column(default="", server_default="")
    """What is wrong with an answer that was rated down, a `braid.core.chat.feedback.Fault`, or nothing."""
    comment: Mapped[str] = mapped_column(default="", server_default="")
    """The user's own words for it."""
    parent_id: Mapped[int | None]
    """The question of an answer, or the answer that a question follows; None for a first question."""
    chosen: Mapped[bool] = mapped_column(default=True, server_default=true())
    state: Mapped[str] = mapped_column(default="complete", server_default="complete")
    """``complete``, ``running``, ``stopped`` (by the user), ``interrupted``, ``cut`` (by the model) or ``failed``."""


class MessageTextRow(Base):
    """A message's text in the form in which it is searched, apart from the wide rows of `messages`."""

    __tablename__ = "message_texts"

    message_id: Mapped[int] = mapped_column(ForeignKey("messages.id", ondelete="CASCADE"), primary_key=True)
    conversation_id: Mapped[int] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"), index=True)
    folded: Mapped[str]


class CitationRow(Base):
    """A passage as a message cited it. Not a foreign key: the citation stays when the passage is deleted."""

    __tablename__ = "citations"

    message_id: Mapped[int] = mapped_column(ForeignKey("messages.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    chunk_id: Mapped[str]
    dataset_id: Mapped[int]
    document_id: Mapped[int]
    source: Mapped[str]
    title: Mapped[str]
    heading_path: Mapped[str]
    page: Mapped[int | None]
    line: Mapped[int | None]
    text: Mapped[str]


class FeedbackRow(Base):
    """A user's feedback on one passage of one search: a thumb, or a click on its citation.

    The passage is not a foreign key: the feedback stays when it is deleted.
    """

    __tablename__ = "feedback"
    __table_args__ = (NEVER_REUSE_IDS,)

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str]
    """``up``, ``down``, ``none`` (a thumb taken back) or ``click``."""
    chunk_id: Mapped[str]
    query: Mapped[str]
    scope: Mapped[list[int]]
    """Ids of the datasets that were searched."""
    ranking: Mapped[list[str]]
    """Chunk ids in the order in which they were shown."""
    created_at: Mapped[float]


class WebSessionRow(Base):
    """A browser that is signed in. Only the hash of its token is kept."""

    __tablename__ = "web_sessions"
    __table_args__ = (NEVER_REUSE_IDS,)

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    token_hash: Mapped[str] = mapped_column(unique=True)
    user_agent: Mapped[str]
    created_at: Mapped[float]
    seen_at: Mapped[float]


class ApiTokenRow(Base):
    """A program's key to the API. Only its hash is kept."""

    __tablename__ = "api_tokens"
    __table_args__ = (NEVER_REUSE_IDS,)

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    name: Mapped[str]
    token_hash: Mapped[str] = mapped_column(unique=True)
    scopes: Mapped[list[str]]
    created_at: Mapped[float]
    expires_at: Mapped[float | None]
    used_at: Mapped[float | None]
    grant_id: Mapped[int | None] = mapped_column(index=True)
    """The grant that it belongs to, without which it is worthless; None for a token that its user has made. Not a
    foreign key, which SQLite does not add to a table.
    """
    dataset_ids: Mapped[list[int] | None] = mapped_column(JSON(none_as_null=True))
    """The only datasets that it reads; None for all that its user may read."""


class OAuthClientRow(Base):
    """A program that has registered itself, to ask users for access. Only the hash of its secret is kept."""

    __tablename__ = "oauth_clients"

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    redirect_uris: Mapped[list[str]]
    auth_method: Mapped[str]
    secret_hash: Mapped[str]
    """Empty for a program that has no secret."""
    created_at: Mapped[float]


class OAuthGrantRow(Base):
    """Access of a registered program to some datasets of a user. Only hashes of its code and refresh token are kept."""

    __tablename__ = "oauth_grants"
    __table_args__ = (NEVER_REUSE_IDS,)

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    client_id: Mapped[str] = mapped_column(ForeignKey("oauth_clients.id", ondelete="CASCADE"), index=True)
    redirect_uri: Mapped[str]
    resource: Mapped[str]
    challenge: Mapped[str]
    """The challenge of the code, RFC 7636."""
    scopes: Mapped[list[str]]
    dataset_ids: Mapped[list[int]]
    created_at: Mapped[float]
    used_at: Mapped[float | None]
    expires_at: Mapped[float]
    """When the code expires; once the code is redeemed, when the newest refresh token does."""
    code_hash: Mapped[str] = mapped_column(unique=True)
    family_hash: Mapped[str | None] = mapped_column(unique=True)
    """Hash of the beginning that all refresh tokens of the grant share; None until the code is redeemed."""
    refresh_hash: Mapped[str | None]
    """Hash of the newest refresh token."""


class AuditRow(Base):
    """An administrative act. The names stay when the user or the thing is gone."""

    __tablename__ = "audit_log"
    __table_args__ = (NEVER_REUSE_IDS,)

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[float]
    actor: Mapped[str]
    action: Mapped[str]
    target: Mapped[str]
    detail: Mapped[str]


class UsageRow(Base):
    """Count of one kind of act of a user on a day (UTC, ``YYYY-MM-DD``)."""

    __tablename__ = "usage_counts"

    day: Mapped[str] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    count: Mapped[int]


class AppSettingRow(Base):
    """A setting that an administrator made on the pages; it overrides the file and the environment."""

    __tablename__ = "app_settings"

    name: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[str]


class SharedListRow(Base):
    """The text of the list of shared datasets, where no file has it: one row."""

    __tablename__ = "shared_list"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    text: Mapped[str]
    version: Mapped[int]
    """Grows with each change."""


class AttemptWindowRow(Base):
    """Attempts in a moving window, which several processes count."""

    __tablename__ = "attempt_windows"

    key: Mapped[str] = mapped_column(primary_key=True)
    """SHA-256 of what is counted."""
    attempts: Mapped[bytes] = mapped_column(LargeBinary)
    """Times in seconds since the epoch, the oldest first; float64, little-endian."""
    ends_at: Mapped[float]


class SharedWorkRow(Base):
    """Work that one process does for all, such as a backup, and how far it is."""

    __tablename__ = "shared_work"

    name: Mapped[str] = mapped_column(primary_key=True)
    worker: Mapped[str]
    """The name of the worker that does the work now; empty when nobody does."""
    state: Mapped[dict[str, Any]]
    seen_at: Mapped[float]
    """When the worker was last known to live."""


class ProviderKeyRow(Base):
    """A user's key for a provider of models, encrypted."""

    __tablename__ = "provider_keys"

    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    provider: Mapped[str] = mapped_column(primary_key=True)
    secret: Mapped[str]


class IdempotencyRow(Base):
    """The answer to a write with an idempotency key, repeated when the write is sent again."""

    __tablename__ = "idempotency_keys"

    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    request_hash: Mapped[str]
    status: Mapped[int]
    body: Mapped[str]
    """Empty while the first request is running."""
    created_at: Mapped[float]


class SyncedFolderRow(Base):
    """A folder on the server that a dataset mirrors. ``user_id`` is the administrator who set it up."""

    __tablename__ = "synced_folders"
    __table_args__ = (UniqueConstraint("dataset_id", "folder"), NEVER_REUSE_IDS)

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    dataset_id: Mapped[int] = mapped_column(ForeignKey("datasets.id"))
    folder: Mapped[str]
    ignore: Mapped[list[str]]
    """gitignore patterns."""
    id_prefix: Mapped[str]
    created_at: Mapped[float]


class JobRow(Base):
    """Background work: one file, page or task. The dataset may be gone when it is done."""

    __tablename__ = "jobs"
    __table_args__ = (Index(None, "state", "user_id", "id"), Index(None, "user_id", "id"), NEVER_REUSE_IDS)

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    kind: Mapped[str]
    dataset_id: Mapped[int]
    title: Mapped[str]
    payload: Mapped[dict[str, Any]]
    state: Mapped[str]
    """``queued``, ``running``, ``done``, ``failed`` or ``cancelled``."""
    error: Mapped[str]
    result: Mapped[dict[str, Any]]
    done: Mapped[int]
    total: Mapped[int]
    attempts: Mapped[int]
    """Number of times the job was started."""
    created_at: Mapped[float]
    started_at: Mapped[float | None]
    finished_at: Mapped[float | None]
    process: Mapped[str] = mapped_column(default="", server_default="")
    """The process of a fleet that started it last."""


OF_PROCESSES = tuple(each.__tablename__ for each in (ClaimRow, ProcessRow, SharedWorkRow, AttemptWindowRow))
"""Tables of what processes do just now, with which a ledger that is restored or moved has nothing to do: it begins with
none of it. In an order in which they may be emptied."""
