"""Chat models by role: loaded at first use, called at temperature 0, with retries within a deadline."""

from __future__ import annotations

import contextvars
import importlib
import itertools
import os
import queue
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from braid.core.admission import let_go
from braid.core.errors import N_, InvalidInputError, ModelBusyError, ModelCutError, ModelError, Reason
from braid.core.extras import MissingExtraError, require
from braid.core.models.failures import MODEL_CALLS, CircuitBreaker
from braid.core.models.pieces import FinishMark, WholeText, whole
from braid.core.models.reasoning import without_reasoning
from braid.core.models.reasons import loggable, safe_reason
from braid.core.models.tool_calls import NoToolsError, Reply, Tool, refuses_tools, reply_of

if TYPE_CHECKING:  # imported with the first model that is loaded
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import Runnable

T = TypeVar("T")
Role = Literal["search", "summary"]
ROLES: tuple[Role, ...] = ("search", "summary")
Message = tuple[str, str]
"""Role (``system``, ``user`` or ``assistant``) and text."""

MAX_ANSWER_CHARS = 200_000
"""Longest answer, whoever asks and however it is sent; a longer one is cut there."""
MAX_WRITTEN_CHARS = 5 * MAX_ANSWER_CHARS
"""The most that a model may write for one answer, with its reasoning and what it takes back."""
MAX_LOAD_S = 60.0
"""Seconds that the package of a model may take to be loaded, before an answer is waited for."""
MAX_ANSWER_S = 1_500.0
"""Seconds that a model may write one answer."""
OPENAI_URL = "https://api.openai.com/v1"
FIRST_PAUSE_S = 0.25
"""Pause before the first retry; doubled before each further one."""
TOO_MANY = 429
BUSY_S = 20
"""Seconds to wait for a server that is busy and does not say how long."""
TRANSIENT_STATUS = frozenset({408, 409, 425, 429})
"""HTTP status codes that are worth a retry, as are all from 500 on."""
UNREACHABLE = ("Connect", "Timeout", "ReadError", "WriteError", "RemoteProtocolError")
"""Substrings of exception names that mean the connection failed."""
PACKAGES: Mapping[str, str] = {
    "azure_openai": "langchain-openai",
    "bedrock": "langchain-aws",
    "bedrock_converse": "langchain-aws",
    "google_genai": "langchain-google-genai",
    "google_vertexai": "langchain-google-vertexai",
}
"""Provider → its package, where that is not named ``langchain-<provider>``."""
KEY_VARIABLES: Mapping[str, str] = {
    "bedrock": "AWS_SECRET_ACCESS_KEY",
    "bedrock_converse": "AWS_SECRET_ACCESS_KEY",
    "google_genai": "GOOGLE_API_KEY",
    "mistralai": "MISTRAL_API_KEY",
}
"""Provider → the variable of its key, where that is not ``<PROVIDER>_API_KEY``."""
_NAME = re.compile(r"[a-z][a-z0-9_]*:(?!//)[^\s]+")


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """A model and its address. ``name`` is ``provider:model``; an empty ``base_url`` means the provider's own.

    Raises InvalidInputError for what is no model's name, such as an address.
    """

    name: str
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    timeout_s: float = 20.0
    """Seconds for one answer, retries included; in a stream, for each piece."""
    retries: int = 2
    pause_s: float = 30.0
    """Seconds for which calls fail at once after a timeout or a lost connection; 0 turns this off."""
    client: str = ""
    """Provider whose package asks the model; empty means the name's own. ``openai`` asks every compatible server."""

    def __post_init__(self) -> None:
        if _NAME.fullmatch(self.name):
            return
        if "://" in self.name:
            raise InvalidInputError(
                f"the model is {self.name[:200]!r}, which is an address; connect the server under Administration, "
                "Models, and write the model as provider:model such as ollama:qwen3",
                field="model",
            )
        raise InvalidInputError(
            f"the model is {self.name[:200]!r}; write provider:model such as openai:gpt-4.1-mini or ollama:qwen3",
            field="model",
        )

    @property
    def provider(self) -> str:
        """The part of the name before the colon."""
        return self.name.partition(":")[0]


class ChatModel:
    """One role's model. Safe to use from several threads.

    A model that hangs, or cannot be reached, costs the deadline once: then calls fail at once for ``pause_s`` seconds,
    after which one call is a trial. ``counts`` says whether its failures are the site's, for metrics, log and overview:
    not those of a user's own key. ``given`` is the model itself, where a program has it as an object; of the settings,
    its name and limits then count.

    A call belongs to the run of LangChain that it is made in: its callbacks, traces and counts of tokens hear of it.
    """

    def __init__(
        self,
        settings: ModelSettings,
        *,
        counts: bool = True,
        clock: Callable[[], float] = time.monotonic,
        given: Runnable[Any, Any] | None = None,
    ) -> None:
        self.name = settings.name
        self._settings = settings
        self._counts = counts
        self._clock = clock
        self._circuit = CircuitBreaker(settings.pause_s, clock)
        self._lock = threading.Lock()
        self._model: Runnable[Any, Any] | None = given
        self._temperature: float | None = 0 if given is None else None

    def complete(self, messages: Sequence[Message], *, timeout_s: float | None = None) -> str:
        """Return the answer, without reasoning, within the deadline. Raises ModelError."""
        seconds = self._settings.timeout_s if timeout_s is None else min(timeout_s, self._settings.timeout_s)
        self._admit()
        deadline = time.monotonic() + seconds
        answer = _in_background(lambda: self._with_retries(lambda: self._ask(messages), deadline))
        text = self._next(answer, deadline, seconds) or ""
        self._note_answer()
        return without_reasoning(text[:MAX_WRITTEN_CHARS])[:MAX_ANSWER_CHARS]

    def call(self, messages: Sequence[Any], tools: Sequence[Tool], *, timeout_s: float) -> Reply:
        """Return the reply to messages, of which some may be earlier replies and answers of tools, within the deadline.

        Raises NoToolsError for a model that takes no tools, and ModelError.
        """
        seconds = min(timeout_s, self._settings.timeout_s)
        self._admit()
        deadline = time.monotonic() + seconds
        replies: list[Reply] = []

        def ask() -> str:
            replies.append(reply_of(self._with_retries(lambda: self._ask_with_tools(messages, tools), deadline)))
            return ""

        self._next(_in_background(ask), deadline, seconds)
        self._note_answer()
        return replies[0]

    def _ask_with_tools(self, messages: Sequence[Any], tools: Sequence[Tool]) -> Any:
        try:
            return self._get_model().bind_tools(tools).invoke(list(messages))  # type: ignore[attr-defined]
        except Exception as error:  # the edge to a provider: any of them raises its own family
            if refuses_tools(error):
                raise NoToolsError(f"the model {self.name} takes no tools") from error
            raise

    def stream(self, messages: Sequence[Message]) -> Iterator[str]:
        """Yield the answer as it is written, reasoning included, each piece within the deadline.

        Raises ModelError, possibly after some pieces; ModelCutError after the last one if the model did not finish, or
        was ended because it has written for too long.
        """
        seconds = self._settings.timeout_s
        self._admit()
        deadline = time.monotonic() + seconds
        until, left = self._clock() + MAX_ANSWER_S, MAX_WRITTEN_CHARS
        stopped, is_heard = threading.Event(), False
        pieces: queue.Queue[_Outcome] = queue.Queue()
        _start(lambda: self._stream_into(pieces, messages, deadline, stopped))
        try:
            while (piece := self._next(pieces, deadline, seconds)) is not None:
                is_heard = True
                yield piece
                left -= len(piece)
                if left <= 0 or self._clock() > until:
                    raise ModelCutError(_limit_reached(left))
                deadline = time.monotonic() + seconds
            is_heard = True
        except ModelError as error:
            is_heard = isinstance(error, ModelCutError)
            raise
        finally:
            stopped.set()
            if is_heard:  # also by a caller who has heard enough
                self._note_answer()

    def _stream_into(
        self, pieces: queue.Queue[_Outcome], messages: Sequence[Message], deadline: float, stopped: threading.Event
    ) -> None:
        try:
            chunks = self._with_retries(lambda: _await_first(self._get_model().stream(list(messages))), deadline)
            mark, whole_text = FinishMark(self._get_model()), WholeText()
            for chunk in chunks:
                if stopped.is_set():
                    return
                mark.watch(chunk.response_metadata)
                if text := whole_text.feed(str(chunk.text)):
                    pieces.put(_Outcome(text))
            if text := whole_text.flush():
                pieces.put(_Outcome(text))
            cut = mark.problem(self.name)
            pieces.put(_Outcome(None, ModelCutError(cut) if cut else None))
        except Exception as error:  # the edge to a provider: any of them raises its own family
            pieces.put(_Outcome(None, error))

    def _ask(self, messages: Sequence[Message]) -> str:
        return whole(str(self._get_model().invoke(list(messages)).text))

    def _admit(self) -> None:
        if refusal := self._circuit.admit():
            raise ModelError(refusal)
        if self._model is None:  # before the deadline begins: to load a package takes seconds, not the model's
            loading = _in_background(self._loaded)
            outcome = self._wait(loading, time.monotonic() + MAX_LOAD_S, MAX_LOAD_S)
            if isinstance(outcome.error, ModelError):
                raise self._failed(outcome.error)

    def _loaded(self) -> str:
        self._get_model()
        return ""

    def _wait(self, outcomes: queue.Queue[_Outcome], deadline: float, seconds: float) -> _Outcome:
        let_go()
        try:
            return outcomes.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            reason = Reason(
                "the model %(model)s took longer than %(seconds)s s; ask again, or choose a faster one",
                model=self.name,
                seconds=format(seconds, "g"),
            )
            if self._model is not None and seconds >= self._settings.timeout_s:  # not while its package is loaded
                self._circuit.record_slow(reason)
            raise self._failed(ModelError(reason)) from None

    def _next(self, outcomes: queue.Queue[_Outcome], deadline: float, seconds: float) -> str | None:
        outcome = self._wait(outcomes, deadline, seconds)
        if isinstance(outcome.error, ModelCutError):
            self._circuit.record_answer()
            raise outcome.error
        if isinstance(outcome.error, NoToolsError):
            self._circuit.record_answer()
            raise outcome.error
        if isinstance(outcome.error, ModelError):
            raise self._failed(outcome.error)
        if outcome.error is None:
            self._circuit.record_answer()
            return outcome.text
        reason = _failure(self.name, outcome.error, self._safe(outcome.error))
        if _is_slow(outcome.error):
            self._circuit.record_slow(reason)
        elif _is_unreachable(outcome.error):
            self._circuit.record_outage(reason)
        else:
            self._circuit.record_answer()
        raise self._failed(_model_error(self.name, reason, outcome.error), outcome.error) from outcome.error

    def _failed(self, error: ModelError, cause: Exception | None = None) -> ModelError:
        if self._counts:
            error.__cause__ = cause or error.__cause__
            MODEL_CALLS.failed("chat", self.name, loggable(error))
        return error

    def _note_answer(self) -> None:
        if self._counts:
            MODEL_CALLS.answered("chat", self.name)

    def _with_retries(self, ask: Callable[[], T], deadline: float) -> T:
        pause, retries = FIRST_PAUSE_S, self._settings.retries
        while True:
            try:
                return ask()
            except ModelError:
                raise
            except Exception as error:  # the edge to a provider: any of them raises its own family
                if self._leave_out_temperature(error):
                    continue
                if not retries or not _is_transient(error) or time.monotonic() + pause >= deadline:
                    raise
            time.sleep(pause)
            pause, retries = pause * 2, retries - 1

    def _leave_out_temperature(self, error: Exception) -> bool:
        """Load the model without a temperature if it refuses ours, as reasoning models do; return whether it did."""
        with self._lock:
            if self._temperature is None or getattr(error, "status_code", 0) != 400 or "temperature" not in str(error):
                return False
            self._temperature, self._model = None, None
            return True

    def _safe(self, error: BaseException) -> str:
        """Return the error in one line, without the key, which some providers repeat."""
        return safe_reason(error, (self._settings.api_key, os.environ.get(key_variable(self._settings.provider))))

    def _get_model(self) -> Runnable[Any, Any]:
        with self._lock:
            if self._model is None:
                self._model = self._load()
            return self._model

    def _load(self) -> BaseChatModel:
        try:
            require("chat", f"the model {self.name!r}", "langchain")
        except MissingExtraError as error:
            raise ModelError(str(error)) from error
        from langchain.chat_models import init_chat_model
        from langchain_core.language_models import BaseChatModel

        client = self._settings.client or self._settings.provider
        options = (
            self._options() if self._temperature is None else {**self._options(), "temperature": self._temperature}
        )
        try:
            model = init_chat_model(self.name.partition(":")[2], model_provider=client, **options)
        except ImportError as error:
            importlib.invalidate_caches()  # once the package is installed, the next call finds it
            raise ModelError(
                Reason(
                    "the model %(model)s needs a package: python -m pip install %(package)s in Braid's own "
                    "environment; no restart is needed",
                    model=repr(self.name),
                    package=package_of(client),
                )
            ) from error
        except Exception as error:  # the edge to a provider: each checks its options in its own way
            raise ModelError(
                Reason(
                    "the model %(model)s cannot be loaded: %(error)s", model=repr(self.name), error=self._safe(error)
                )
            ) from error
        if not isinstance(model, BaseChatModel):
            raise ModelError(f"the model {self.name!r} is not a chat model")
        from braid.core.outgoing.model_http import follow_no_redirects

        follow_no_redirects(model)
        return model

    def _options(self) -> dict[str, Any]:
        settings = self._settings
        options: dict[str, Any] = {"base_url": settings.base_url} if settings.base_url else {}
        client = settings.client or settings.provider
        if client == "ollama":
            return {**options, "client_kwargs": {"timeout": settings.timeout_s, "follow_redirects": False}}
        if client == "openai":
            options |= openai_http(settings.base_url) | ({} if settings.base_url else {"stream_usage": True})
        if settings.api_key:
            options["api_key"] = settings.api_key
        elif client == "openai" and settings.base_url:
            options["api_key"] = "none"  # self-hosted servers often need no key, but the client does
        return {**options, "timeout": settings.timeout_s, "max_retries": 0}


@dataclass(frozen=True, slots=True, init=False)
class ChatModels:
    """The model of each role; None where none is configured. LangChain's chat models are taken as they are.

    Raises InvalidInputError for what is none.
    """

    search: ChatModel | None
    summary: ChatModel | None

    def __init__(
        self,
        search: ChatModel | Runnable[Any, Any] | None = None,
        summary: ChatModel | Runnable[Any, Any] | None = None,
    ) -> None:
        for role, given in (("search", search), ("summary", summary)):
            known = given is None or isinstance(given, ChatModel) or hasattr(given, "complete")
            object.__setattr__(self, role, given if known else given_model(given, role))


def given_model(given: object, role: str = "model") -> ChatModel:
    """Return one of LangChain's chat models, or a Runnable over one, as Braid asks it. Raises InvalidInputError."""
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import Runnable

    if not isinstance(given, Runnable):
        raise InvalidInputError(
            f"the {role} model is of the type {type(given).__name__}; give one of LangChain's chat models, or"
            " chat_models(ModelSettings('provider:model')) for one by its name",
            field=role,
        )
    about: Mapping[str, Any] = given._get_ls_params() if isinstance(given, BaseChatModel) else {}
    provider = re.sub(r"[^a-z0-9]+", "_", str(about.get("ls_provider") or "langchain").lower()).strip("_")
    name = "-".join(str(about.get("ls_model_name") or type(given).__name__).split())
    return ChatModel(ModelSettings(f"{provider}:{name}"), given=given)


def chat_models(search: ModelSettings | None = None, summary: ModelSettings | None = None) -> ChatModels:
    """Return the models of both roles. Loads nothing yet."""
    return ChatModels(ChatModel(search) if search else None, ChatModel(summary) if summary else None)


@dataclass(frozen=True, slots=True)
class _Outcome:
    text: str | None
    error: Exception | None = None


def _limit_reached(left: int) -> str:
    if left <= 0:
        return Reason(
            "the model was stopped after %(most)s characters, reasoning included, which is the limit",
            most=format(MAX_WRITTEN_CHARS, ","),
        )
    return Reason(
        "the answer was cut after %(count)s minutes, which is the limit", count=format(MAX_ANSWER_S / 60, ".0f")
    )


def _in_background(ask: Callable[[], str]) -> queue.Queue[_Outcome]:
    """Run in a daemon thread, so that a server that never answers holds neither the caller nor the exit."""
    outcomes: queue.Queue[_Outcome] = queue.Queue()

    def run() -> None:
        try:
            outcomes.put(_Outcome(ask()))
        except Exception as error:  # handed to the waiting thread
            outcomes.put(_Outcome(None, error))

    _start(run)
    return outcomes


def _start(act: Callable[[], object]) -> None:
    """Call in a daemon thread, within the caller's run of LangChain."""
    run = contextvars.copy_context().run
    threading.Thread(target=run, args=(act,), name="braid-model", daemon=True).start()


def _await_first(pieces: Iterator[T]) -> Iterator[T]:
    """Wait for the first piece, then return all. A failure after it is not retried."""
    first = list(itertools.islice(pieces, 1))
    return itertools.chain(first, pieces)


def openai_http(base_url: str) -> dict[str, Any]:
    """Return the options with which OpenAI's package asks by Braid's own client; none behind the package's proxy."""
    if os.environ.get("OPENAI_PROXY"):
        return {}
    from braid.core.outgoing.model_http import model_http  # loads httpx

    return {"http_client": model_http(base_url or OPENAI_URL)}


def package_of(provider: str) -> str:
    """Return the package that asks a provider's models.

    >>> package_of("google_genai")
    'langchain-google-genai'
    """
    return PACKAGES.get(provider, f"langchain-{provider.replace('_', '-')}")


def key_variable(provider: str) -> str:
    """Return the variable in which the provider's package looks for a key that was not given."""
    return KEY_VARIABLES.get(provider, f"{provider.upper()}_API_KEY")


def _is_transient(error: Exception) -> bool:
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return status in TRANSIENT_STATUS or status >= 500
    return _is_unreachable(error)


def _model_error(name: str, reason: str, error: Exception) -> ModelError:
    """Return the failure; a server's rate limit with its own seconds, or `BUSY_S`, without its words, which may say
    whose key it is.
    """
    if getattr(error, "status_code", None) != TOO_MANY:
        return ModelError(reason)
    said = str(getattr(getattr(error, "response", None), "headers", {}).get("retry-after", ""))
    seconds = int(said) if said.isascii() and said.isdecimal() and len(said) < 6 else BUSY_S
    wait_s = max(1, seconds)
    return ModelBusyError(
        Reason("the model %(model)s is busy; try again in %(seconds)s s", model=name, seconds=wait_s), retry_s=wait_s
    )


def _failure(model: str, error: Exception, said: str) -> Reason:
    """Return what is wrong with a model, and what to do where that is known, before its provider's words."""
    status = getattr(error, "status_code", None)
    if status in (401, 403):
        template = N_("the model %(model)s failed: its server refuses the key; enter another one: %(error)s")
    elif status == 404:
        template = N_("the model %(model)s failed: its server does not have it; choose another one: %(error)s")
    elif isinstance(status, int) and status >= 500:
        template = N_("the model %(model)s failed: its server has an error of its own; try again later: %(error)s")
    elif _is_slow(error):
        template = N_(
            "the model %(model)s failed: it did not answer in time; ask again, or choose a faster one: %(error)s"
        )
    elif _is_unreachable(error):
        template = N_(
            "the model %(model)s failed: its server cannot be reached; start it, or check its address: %(error)s"
        )
    elif isinstance(error, ValueError) or "Decod" in type(error).__name__ or "Validation" in type(error).__name__:
        template = N_(
            "the model %(model)s failed: its answer cannot be read; check that the address is that of a model server: "
            "%(error)s"
        )
    else:
        template = N_("the model %(model)s failed: %(error)s")
    return Reason(template, model=model, error=said)


def _is_slow(error: Exception) -> bool:
    """Return whether there was a connection and no answer in time."""
    return not isinstance(getattr(error, "status_code", None), int) and (
        isinstance(error, TimeoutError) or ("Timeout" in type(error).__name__ and "Connect" not in type(error).__name__)
    )


def _is_unreachable(error: Exception) -> bool:
    """Return whether the connection failed, so that there is not even an HTTP status."""
    if isinstance(getattr(error, "status_code", None), int):
        return False
    return isinstance(error, OSError) or any(word in type(error).__name__ for word in UNREACHABLE)
