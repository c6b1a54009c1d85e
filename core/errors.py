"""The errors Braid raises on purpose. Every message names the offending value and the remedy, and is safe to show."""

import errno
import re
import traceback
from pathlib import PurePath
from typing import Any, Literal, Self

PART = re.compile(r"%\((\w+)\)s")


class Reason(str):
    """An English sentence that keeps its template and its parts, by which pages translate it.

    The template has ``%(name)s`` for each part; a part may be a reason itself. ``str()`` of a reason, or of an error
    that has one, is the reason; a text that is made of it by formatting or slicing has no parts.

    >>> from braid.core.errors import Reason
    >>> why = Reason("the model %(model)s is busy", model="qwen3:8b")
    >>> why
    'the model qwen3:8b is busy'
    >>> Reason("%(reason)s; feedback is used instead", reason=why).parts["reason"].template
    'the model %(model)s is busy'
    """

    template: str
    parts: dict[str, str]

    def __new__(cls, template: str, /, **parts: object) -> Self:
        """Make the sentence. Raises KeyError without a part that the template names."""
        texts = {name: str(part) for name, part in parts.items()}
        reason = super().__new__(cls, PART.sub(lambda found: texts[found[1]], template))
        reason.template, reason.parts = template, texts
        return reason

    def __str__(self) -> str:
        return self

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        return (self.template,), self.parts


def N_(template: str) -> str:  # the name that Babel extracts
    """Mark a template for translation where it is written apart from the call of `Reason`."""
    return template


def internal(template: str, /, **parts: object) -> Reason:
    """Return a reason in the words of operators and programs; pages have words of their own for its template."""
    return Reason(template, **parts)


class BraidError(Exception):
    """Base of every error that Braid raises on purpose.

    >>> from braid import Filters
    >>> try:
    ...     Filters(date_from=2.0, date_to=1.0)
    ... except BraidError as error:
    ...     print(error)
    date_from 2.0 is after date_to 1.0; swap them
    """

    @property
    def reason(self) -> Reason:
        """What is wrong and what to do, with its template and parts."""
        said = str(self)
        return said if isinstance(said, Reason) else internal("%(said)s", said=said)


class InvalidInputError(BraidError):
    """A value given by the caller is wrong. ``field`` names it.

    >>> try:
    ...     braid.search("pump", user_id=1, k=0)
    ... except InvalidInputError as error:
    ...     print(f"{error.field}: {error}")
    k: k is 0; it must be a whole number from 1 to 1000
    """

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class NotFoundError(BraidError):
    """The named user, dataset, document or chunk does not exist, or is not the caller's.

    >>> try:
    ...     braid.dataset(4711)
    ... except NotFoundError as error:
    ...     print(error)
    there is no dataset 4711
    """


class RegistryError(BraidError):
    """shared_dbs.json is not valid; its last valid version stays in effect. ``entry`` numbers the invalid entry."""

    def __init__(self, message: str, *, entry: int | None = None) -> None:
        super().__init__(message)
        self.entry = entry


class RegistryConflictError(RegistryError):
    """shared_dbs.json was changed by somebody else meanwhile; nothing was written."""


class LedgerDamagedError(BraidError):
    """The ledger has pages that are not what was written; a backup is to be restored."""


class FilesUnavailableError(OSError):
    """The store of uploads and originals does not answer, or refuses; ``reason`` is its own word for it."""

    def __init__(self, reason: str) -> None:
        super().__init__(errno.EIO, reason)


class JobCancelledError(BraidError):
    """The job that would write a document was cancelled, or superseded by a later request; nothing was written."""


UnreadableCode = Literal[
    "empty",
    "no_text",
    "scanned",
    "garbled",
    "encrypted",
    "cut_off",
    "other_format",
    "too_large",
    "not_here",
    "damaged",
    "fault",
]


class UnreadableDocumentError(BraidError):
    """A file cannot be turned into text; ``code`` says why, for programs.

    ``garbled``: its letters have no meaning. ``not_here``: a program or package is missing. ``damaged``: the reader
    cannot go on, whoever is to blame. ``fault``: the reader failed in a way that it does not foresee.
    """

    code: UnreadableCode = "damaged"

    def __init__(self, message: str, *, code: UnreadableCode | None = None) -> None:
        super().__init__(message)
        self.code = code or type(self).code


class ReaderFaultError(UnreadableDocumentError):
    """A reader failed at a file in a way that it does not foresee; ``fault`` says where, without a word of the file."""

    code = "fault"

    def __init__(self, name: str, *, fault: str) -> None:
        told = Reason(
            "%(name)s cannot be read: its form is not one that is known; save it again, or in another format", name=name
        )
        super().__init__(told)
        self.fault = fault

    @classmethod
    def of(cls, name: str, error: Exception) -> Self:
        """Return the error for the file of this name at which a reader raised ``error``."""
        return cls(name, fault=fault_of(error))


def traced(error: Exception) -> str:
    """Return, for the log, the kind of an error and where it was raised, without its message, which may quote a
    document.
    """
    frames = traceback.extract_tb(error.__traceback__)[-4:]
    at = " < ".join(f"{frame.filename}:{frame.lineno}" for frame in reversed(frames))
    return f"type={type(error).__name__} at={at}"


def fault_of(error: Exception) -> str:
    """Return the kind of an error and where it was raised: ``TypeError at pdf.py:60``."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {PurePath(place.filename).name}:{place.lineno}"


class ReadingInterruptedError(UnreadableDocumentError):
    """What read the document was killed, or took too long: it may be read later."""


class ScannedDocumentError(UnreadableDocumentError):
    """All text of a file is on scanned pages, and no machine is there to read them."""

    code = "scanned"

    def __init__(self, message: str, *, pages: int, code: UnreadableCode | None = None) -> None:
        super().__init__(message, code=code)
        self.pages = pages


class EmbeddingError(BraidError):
    """The embedding model cannot be loaded or gave something that is not a vector."""


class TooManyError(BraidError):
    """The user, or everybody together, has as much running as is allowed at once; later there is room."""


class ModelError(BraidError):
    """A chat model or reranker failed, is slow, or cannot be loaded."""


class ModelBusyError(ModelError):
    """A chat model's server has too many requests now; ``retry_s`` is the number of seconds to wait, as it says."""

    def __init__(self, message: str, *, retry_s: int) -> None:
        super().__init__(message)
        self.retry_s = retry_s


class ModelCutError(ModelError):
    """A chat model ended its answer before it was complete."""


class IndexUnavailableError(BraidError):
    """An index cannot answer now: it is broken, being rebuilt, or its store cannot be reached.

    ``inner`` are the words of the program that has the index, which the log tells and no user is told.
    """

    def __init__(self, message: str, *, inner: str = "") -> None:
        super().__init__(message)
        self.inner = inner


class DegradedError(BraidError):
    """A search through a retriever could not search everything, or nothing at all. ``missing`` lists what, and why.

    >>> retriever = braid.get_retriever(user_id=1, dataset_ids=[1], on_degraded="raise")
    >>> try:
    ...     found = retriever.invoke("warranty", reranker="cohere:rerank-v3.5")
    ... except DegradedError as error:
    ...     print(error.missing[0].partition(":")[0])
    rerank
    """

    def __init__(self, message: str, *, missing: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.missing = missing


class ClosedError(BraidError):
    """This Braid was closed before the call.

    >>> from braid import Braid
    >>> with Braid(data_dir, embedding_model=model) as closed:
    ...     ann = closed.ledger.add_user("ann")
    >>> try:
    ...     closed.search("pump", user_id=ann.id)
    ... except ClosedError as error:
    ...     print(error)
    this Braid is closed; use it inside its with block, or before close()
    """


class NotOwnerError(BraidError):
    """Another process owns the data directory, and this one must. ``owner`` says which it is, if known.

    >>> from braid import Braid
    >>> try:
    ...     Braid(braid.data_dir, embedding_model=model, must_own=True)
    ... except NotOwnerError:
    ...     print("open it without must_own, to read beside the owner")
    open it without must_own, to read beside the owner
    """

    def __init__(self, message: str, *, owner: str = "") -> None:
        super().__init__(message)
        self.owner = owner


class StoreUnreachableError(IndexUnavailableError):
    """The server or process that has an index does not answer; its data may well be sound."""


class OtherSiteError(BraidError):
    """The ledger, the data directory and the services are not of one site; nothing was opened, and nothing deleted.

    The message names both, and what makes them one: `Braid` with ``new_site=True``, or ``--new-site``.

    >>> from braid import Braid
    >>> elsewhere = f"sqlite:///{data_dir}-other.db"
    >>> try:
    ...     Braid(braid.data_dir, database_url=elsewhere, embedding_model=model)
    ... except OtherSiteError:
    ...     print("this directory has another ledger")
    this directory has another ledger
    """


class ValidationError(InvalidInputError):
    """A value given to a standalone retriever or searcher is wrong."""


class HybridRetrieverError(BraidError):
    """A standalone retriever could not search.

    >>> from braid import HybridRetriever, HybridRetrieverError
    >>> try:
    ...     HybridRetriever("papers")
    ... except HybridRetrieverError as error:
    ...     print(str(error).partition(";")[0])
    the store is a str, not an open Chroma collection
    """


class ChromaDBError(HybridRetrieverError):
    """A standalone retriever could not read its Chroma collection."""
