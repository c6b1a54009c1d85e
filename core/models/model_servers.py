"""Servers of chat models that are reached over OpenAI's interface: the providers, addresses, and lists of models."""

from __future__ import annotations

import ipaddress
import json
import re
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx

from braid.core.errors import InvalidInputError, ModelError
from braid.core.outgoing.model_http import model_http
from braid.core.outgoing.network import AddressRefusedError, has_secrets


@dataclass(frozen=True, slots=True)
class Provider:
    """A kind of server. An empty ``base_url`` means that it has no address of its own."""

    label: str
    base_url: str = ""
    has_fixed_address: bool = False
    """Whether the address cannot be changed; such a provider needs a key."""


PROVIDERS: Mapping[str, Provider] = {
    "compatible": Provider("OpenAI-compatible"),
    "ollama": Provider("Ollama", "http://127.0.0.1:11434/v1"),
    "openai": Provider("OpenAI", "https://api.openai.com/v1", has_fixed_address=True),
    "anthropic": Provider("Anthropic", "https://api.anthropic.com/v1", has_fixed_address=True),
    "google_genai": Provider(
        "Google", "https://generativelanguage.googleapis.com/v1beta/openai", has_fixed_address=True
    ),
    "mistralai": Provider("Mistral", "https://api.mistral.ai/v1", has_fixed_address=True),
}
"""The kinds that can be connected. All of them understand OpenAI's interface, so one client asks them all."""


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A program that usually listens on this port of the computer. ``name`` begins its models' names."""

    name: str
    label: str
    port: int
    provider: str = "compatible"

    @property
    def base_url(self) -> str:
        """The address of its interface."""
        return f"http://127.0.0.1:{self.port}/v1"


LOCAL_SERVERS = (
    LocalServer("ollama", "Ollama", 11434, "ollama"),
    LocalServer("lm_studio", "LM Studio", 1234),
    LocalServer("llama_cpp", "llama.cpp", 8080),
    LocalServer("vllm", "vLLM", 8001),
)
PROBE_S = 0.6
"""Time limit for the look at this computer's ports."""
FETCH_S = 10.0
MAX_URL_CHARS = 300
MAX_LIST_BYTES = 2_000_000
MAX_MODELS = 500
MAX_MODEL_CHARS = 200

_NO_CHAT = re.compile(
    r"embed|rerank|whisper|(^|[-_/])tts([-_]|$)|dall-e|moderation|transcribe|realtime|audio|[-_]image|imagen|sora|"
    r"veo-|babbage|davinci|(^|/)(bge|e5|gte|nomic|clip)[-_]",
    re.IGNORECASE,
)
"""Names of models that do not chat: embeddings, speech, pictures."""


# ---------------------------------------------------------------- addresses


def checked_url(provider: str, address: str) -> str:
    """Return the address of a provider's interface, completed: ``localhost:11434`` is ``http://localhost:11434/v1``.

    Raises InvalidInputError for an unknown provider, and for an address that cannot be one.
    """
    known = PROVIDERS.get(provider)
    if known is None:
        raise InvalidInputError(
            f"the provider is {provider[:60]!r}; choose one of {', '.join(PROVIDERS)}", field="provider"
        )
    address = address.strip()
    if known.has_fixed_address or not address:
        if not known.base_url:
            raise InvalidInputError("the address is empty; write it as http://localhost:8080/v1", field="base_url")
        return known.base_url
    address = checked_address(address)
    return address if urlsplit(address).path.strip("/") else f"{address}/v1"


def checked_address(address: str) -> str:
    """Return the address of a server with its scheme: ``localhost:8080`` is ``http://localhost:8080``.

    Raises InvalidInputError for what cannot be one.
    """
    if "://" not in address:
        address = f"{'http' if _is_near(urlsplit(f'//{address}').hostname or '') else 'https'}://{address}"
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host, parts = "", urlsplit("")
    refusal = ""
    if parts.scheme not in ("http", "https") or not host or len(address) > MAX_URL_CHARS or not address.isprintable():
        refusal = "write it as http://localhost:8080/v1, without blanks"
    elif parts.username is not None or parts.query or parts.fragment or " " in address:
        refusal = "leave out names, passwords, blanks and what follows ? or #; a key has its own field"
    elif _tells_secrets(host):
        refusal = "it leads to this machine's own secrets in a cloud; give the address of a model server"
    if refusal:
        raise InvalidInputError(f"the address is {_without_password(address)!r}: {refusal}", field="base_url")
    return address.rstrip("/")


def _without_password(address: str) -> str:
    return re.sub(r"//[^/@]*@", "//***@", address[:MAX_URL_CHARS])


def host_of(base_url: str) -> str:
    """Return the host and the port of an address.

    >>> host_of("http://127.0.0.1:11434/v1")
    '127.0.0.1:11434'
    """
    return urlsplit(base_url).netloc.rpartition("@")[2]


def server_name(provider: str, base_url: str) -> str:
    """Return the name that begins the names of a server's models: the provider, or what the address says.

    >>> server_name("compatible", "https://gpu-box.example:9000/v1")
    'gpu_box_example_9000'
    """
    if provider != "compatible":
        return provider
    for known in LOCAL_SERVERS:
        if known.provider == provider and urlsplit(base_url).port == known.port and is_loopback(base_url):
            return known.name
    name = re.sub(r"[^a-z0-9]+", "_", host_of(base_url).lower()).strip("_")
    return name if name[:1].isalpha() and name not in PROVIDERS else f"server_{name}"


def is_loopback(base_url: str) -> bool:
    """Return whether an address is on this computer."""
    host = urlsplit(base_url).hostname or ""
    return host == "localhost" or _is(host, "is_loopback")


def _is_near(host: str) -> bool:
    return host == "localhost" or "." not in host or _is(host, "is_private")


def _tells_secrets(host: str) -> bool:
    host = host.rstrip(".").lower()
    try:
        return has_secrets(host)
    except ValueError:
        return host == "metadata.google.internal"


def _is(host: str, kind: str) -> bool:
    try:
        return bool(getattr(ipaddress.ip_address(host), kind))
    except ValueError:
        return False


# ---------------------------------------------------------------- lists of models


def fetch_models(provider: str, base_url: str, key: str = "", *, timeout_s: float = FETCH_S) -> tuple[str, ...]:
    """Return the names of a server's chat models, in the server's order.

    The key is sent to this address only: redirects are not followed. Raises ModelError, which does not repeat the key.
    """
    host = host_of(base_url)
    headers = {"Accept": "application/json"}
    if provider == "anthropic":
        headers |= {"x-api-key": key, "anthropic-version": "2023-06-01"}
    elif key:
        headers["Authorization"] = f"Bearer {key}"
    try:
        status, content = _read(f"{base_url}/models", headers, timeout_s)
    except AddressRefusedError as error:
        raise ModelError(f"{error}; give the address of a model server") from error
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise ModelError(
            f"no model server answers at {host} ({type(error).__name__}); start it, or correct the address"
        ) from error
    if status in (401, 403):
        raise ModelError(f"{host} refuses the key ({status}); copy the key again")
    if status != 200:
        raise ModelError(f"{host} has no list of models ({status}); most addresses end with /v1")
    return _names(host, content)


def _read(url: str, headers: Mapping[str, str], timeout_s: float) -> tuple[int, bytes]:
    content = b""
    client = model_http(url)
    deadline = time.monotonic() + timeout_s  # making the client takes a while on a busy machine
    with client.stream("GET", url, headers=headers, timeout=timeout_s) as answer:
        for piece in answer.iter_bytes():
            content += piece
            if len(content) > MAX_LIST_BYTES or time.monotonic() > deadline:
                raise httpx.ReadTimeout("the list of models is too long or too slow")
        return answer.status_code, content


def _names(host: str, content: bytes) -> tuple[str, ...]:
    try:
        listed = json.loads(content)["data"]
        names = [str(one["id"]).removeprefix("models/") for one in listed]
    except (ValueError, LookupError, TypeError) as error:
        raise ModelError(f"{host} answers, but not with a list of models; is it a model server?") from error
    good = [name for name in names if 0 < len(name) <= MAX_MODEL_CHARS and name.isprintable() and " " not in name]
    chats = [name for name in good if not _NO_CHAT.search(name)]
    return tuple(dict.fromkeys(chats or good))[:MAX_MODELS]


def find_local_servers(*, but_not: int = 0, timeout_s: float = PROBE_S) -> list[tuple[LocalServer, tuple[str, ...]]]:
    """Return the model servers that answer on this computer's usual ports, each with its models.

    ``but_not`` is a port that is not asked: our own.
    """
    asked = [server for server in LOCAL_SERVERS if server.port != but_not]
    with ThreadPoolExecutor(len(asked), "braid-probe") as threads:
        found = threads.map(lambda server: (server, _probe(server, timeout_s)), asked)
        return [(server, models) for server, models in found if models]


def _probe(server: LocalServer, timeout_s: float) -> tuple[str, ...]:
    try:
        return fetch_models(server.provider, server.base_url, timeout_s=timeout_s)
    except ModelError:
        return ()
