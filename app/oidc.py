"""Sign-in by an OpenID Connect provider: Keycloak, Authentik, Authelia, Google, Entra, and others.

The code flow with PKCE, by Authlib. Specifications: OpenID Connect Core 1.0 and Discovery 1.0, RFC 7636.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

import httpx

from braid.config.settings import Settings
from braid.core.errors import BraidError
from braid.core.outgoing.model_http import guarded_transport

if TYPE_CHECKING:  # sites without a provider need not load them
    from joserfc.jwk import KeySet
    from joserfc.jwt import Token

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Signatures by a key of the provider's own; not those by the client's secret, and never none."""
KEPT_S = 3600.0
"""How long the provider's addresses and keys are believed without asking again."""
AGAIN_S = 60.0
"""Pause between two questions for keys, when tokens come that were signed by unknown ones."""
TIMEOUT_S = 10.0
MAX_BYTES = 1_000_000
"""Longest document of a provider that is read."""
LEEWAY_S = 60
"""How far the provider's clock may be from this one."""
MAX_GROUPS = 500


class ProviderError(BraidError):
    """The provider cannot be asked, or what it said is not believed; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Started:
    """A sign-in that was begun: where the browser goes, and what it keeps until it comes back."""

    url: str
    kept: dict[str, str]


@dataclass(frozen=True, slots=True)
class ProvidedUser:
    """Who the provider says has signed in. ``subject`` is theirs for ever; the name may change."""

    subject: str
    name: str
    groups: frozenset[str] | None
    """None where the settings name no claim for groups."""


class Provider:
    """The provider of the settings. Safe to use from several threads."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._document: dict[str, Any] = {}
        self._keys: KeySet | None = None
        self._until = self._keys_from = 0.0

    def start(self, redirect_uri: str, *, state: str, nonce: str, verifier: str) -> Started:
        """Return where the browser signs in. Raises ProviderError."""
        from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
        from authlib.oauth2.rfc7636 import create_s256_code_challenge

        url = prepare_grant_uri(
            self._address("authorization_endpoint"),
            client_id=self._settings.oidc_client_id,
            response_type="code",
            redirect_uri=redirect_uri,
            scope=" ".join(("openid", "profile", "email", *self._settings.oidc_scopes)),
            state=state,
            nonce=nonce,
            code_challenge=create_s256_code_challenge(verifier),
            code_challenge_method="S256",
        )
        return Started(url, {"state": state, "nonce": nonce, "verifier": verifier})

    def finish(self, code: str, kept: Mapping[str, str], redirect_uri: str) -> ProvidedUser:
        """Return who signed in, for the code with which the browser came back. Raises ProviderError."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": kept["verifier"],
        }
        return self._user(self._claims(self._token(form), kept["nonce"]))

    # ------------------------------------------------------------ what the provider says

    def _token(self, form: dict[str, str]) -> dict[str, Any]:
        """Return what the provider gives for a code, as whom the settings say Braid is to it."""
        name, secret, how = self._settings.oidc_client_id, self._settings.oidc_client_secret, self._authentication()
        basic = httpx.BasicAuth(quote(name, safe=""), quote(secret, safe="")) if how == "client_secret_basic" else None
        if basic is None:
            form |= {"client_id": name} | ({"client_secret": secret} if secret else {})
        status, found = _asked(self._address("token_endpoint"), form, basic)
        if status >= 400:
            said = found.get("error_description") or found.get("error") or f"status {status}"
            raise ProviderError(f"the sign-in provider refused: {_shown(said)}; sign in again")
        return found

    def _authentication(self) -> str:
        if not self._settings.oidc_client_secret:
            return "none"
        offered = self._said().get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        return "client_secret_basic" if "client_secret_basic" in offered else "client_secret_post"

    def _claims(self, token: Any, nonce: str) -> Mapping[str, Any]:
        """Return the claims of the ID token, after its signature and all that it must say have been checked."""
        from authlib.common.errors import AuthlibBaseError
        from authlib.oidc.core import CodeIDToken
        from joserfc.errors import JoseError

        given = token.get("id_token") if isinstance(token, Mapping) else None
        if not isinstance(given, str):
            raise ProviderError("the sign-in provider sent no ID token; allow the scope openid for this client")
        try:
            found = self._decoded(given)
            claims = CodeIDToken(
                found.claims,
                found.header,
                {
                    "iss": {"essential": True, "value": self._said()["issuer"]},
                    "aud": {"essential": True, "value": self._settings.oidc_client_id},
                },
                {"nonce": nonce, "client_id": self._settings.oidc_client_id, "access_token": token.get("access_token")},
            )
            claims.validate(int(time.time()), LEEWAY_S)
        except (JoseError, AuthlibBaseError, ValueError, TypeError, KeyError) as error:
            raise ProviderError(
                f"what the sign-in provider says is not believed ({_shown(error)}); sign in again, and if that does "
                "not help, check oidc_issuer, oidc_client_id and the clock of this computer"
            ) from error
        return dict(claims)

    def _decoded(self, token: str) -> Token:
        from joserfc import jwt
        from joserfc.errors import JoseError

        keys = self._key_set()
        try:
            return jwt.decode(token, keys, algorithms=ALGORITHMS)
        except (JoseError, ValueError):
            if (newer := self._key_set(again=True)) is keys:
                raise
            return jwt.decode(token, newer, algorithms=ALGORITHMS)

    def _user(self, claims: Mapping[str, Any]) -> ProvidedUser:
        settings = self._settings
        name = claims.get(settings.oidc_name_claim)
        if not isinstance(name, str) or not name.strip():
            raise ProviderError(
                f"the sign-in provider gives no {settings.oidc_name_claim!r}; have it give that claim, or choose "
                "another one in oidc_name_claim"
            )
        if settings.oidc_name_claim == "email" and claims.get("email_verified") is False:
            raise ProviderError("the provider has not verified this e-mail address; verify it there, and sign in again")
        groups = _groups(claims.get(settings.oidc_groups_claim)) if settings.oidc_groups_claim else None
        return ProvidedUser(f"{claims['iss']} {claims['sub']}", name.strip(), groups)

    # ------------------------------------------------------------ its addresses and keys

    def _address(self, name: str) -> str:
        found = self._said().get(name)
        if not isinstance(found, str) or not found.startswith(("https://", "http://")):
            raise ProviderError(f"the sign-in provider names no {name}; check oidc_issuer")
        return found

    def _said(self) -> dict[str, Any]:
        """Return the provider's document about itself, asked for once an hour."""
        with self._lock:
            if time.monotonic() >= self._until:
                issuer = self._settings.oidc_issuer
                document = _fetched(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
                if str(document.get("issuer", "")).rstrip("/") != issuer.rstrip("/"):
                    raise ProviderError(
                        f"oidc_issuer is {issuer!r}, but the provider there calls itself "
                        f"{_shown(document.get('issuer'))!r}; use that, letter by letter"
                    )
                self._document, self._until, self._keys = document, time.monotonic() + KEPT_S, None
            return self._document

    def _key_set(self, *, again: bool = False) -> KeySet:
        """Return the provider's keys; ``again`` asks it, though not more often than every `AGAIN_S` seconds."""
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        address = self._address("jwks_uri")
        with self._lock:
            now = time.monotonic()
            if self._keys is None or (again and now - self._keys_from >= AGAIN_S):
                try:
                    self._keys, self._keys_from = KeySet.import_key_set(cast(Any, _fetched(address))), now
                except (JoseError, ValueError, KeyError, TypeError) as error:
                    raise ProviderError(f"the sign-in provider's keys cannot be read: {_shown(error)}") from error
            return self._keys


def _fetched(url: str) -> dict[str, Any]:
    """Return the JSON object at an address. Raises ProviderError."""
    status, found = _asked(url)
    if status != 200:
        raise ProviderError(f"{url} answers with status {status}; check oidc_issuer")
    return found


def _asked(
    url: str, form: Mapping[str, str] | None = None, auth: httpx.Auth | None = None
) -> tuple[int, dict[str, Any]]:
    """Return the status and the JSON object that a request is answered with. Raises ProviderError."""
    method, headers, content = "GET" if form is None else "POST", {"Accept": "application/json"}, b""
    try:
        with (
            httpx.Client(transport=guarded_transport(url), follow_redirects=False, timeout=TIMEOUT_S) as client,
            client.stream(method, url, data=form, auth=auth, headers=headers) as response,
        ):
            for piece in response.iter_bytes():
                content += piece
                if len(content) > MAX_BYTES:
                    raise ProviderError(f"what {url} answers is longer than {MAX_BYTES:,} bytes; check oidc_issuer")
            found = json.loads(content)
    except (httpx.HTTPError, OSError, ValueError, RecursionError) as error:
        raise _unreachable(error) from error
    if not isinstance(found, dict):
        raise ProviderError(f"what {url} answers is no JSON object; check oidc_issuer")
    return response.status_code, found


def _unreachable(error: Exception) -> ProviderError:
    return ProviderError(f"the sign-in provider cannot be asked ({_shown(error) or type(error).__name__}); try again")


def _groups(claim: object) -> frozenset[str]:
    """Return the groups of a claim: a list of names, or one name."""
    given = [claim] if isinstance(claim, str) else claim if isinstance(claim, list) else []
    found = frozenset(each.strip() for each in given if isinstance(each, str) and each.strip())
    if len(found) > MAX_GROUPS:
        raise ProviderError(f"the provider names more than {MAX_GROUPS} groups; have it give those that Braid needs")
    return found


def _shown(said: object) -> str:
    """Return what somebody else's server said, short and in one line."""
    return " ".join(str(said).split())[:200]
