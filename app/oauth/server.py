"""The authorization server: Authlib's, over the ledger's connected apps.

OAuth 2.1: the code flow with PKCE by S256 for every client, refresh tokens that are used once, and the server that a
token is for (RFC 8707). Who allows what is asked on a page, `braid.app.pages.account.apps`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749 import (
    InvalidClientError,
    InvalidGrantError,
    InvalidRequestError,
    grants,
    list_to_scope,
    scope_to_list,
)
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc9207 import IssuerParameter

from braid.app.auth.challenge import base_address
from braid.app.oauth.metadata import AUTH_METHODS, GRANT_TYPES, RESPONSE_TYPES, SCOPES, is_ours
from braid.app.oauth.redirects import destination, is_same
from braid.app.oauth.registration import Registration
from braid.app.site import site
from braid.core.accounts.accounts import Account
from braid.core.accounts.connected_apps import (
    ACCESS_S,
    ConnectedApps,
    Consent,
    Grant,
    IssuedTokens,
    RegisteredApp,
    ReusedError,
)
from braid.core.errors import NotFoundError

_ONCE = ("code_challenge", "code_challenge_method", "resource")
"""Parameters that Authlib does not look at twice itself."""
_IN_ERRORS = ("client_id", "redirect_uri", "response_type", "grant_type", "scope")
"""Parameters that errors repeat, in which RFC 6749 (section 5.2) allows these characters alone."""
_PLAIN = re.compile(r"[ !#-\[\]-~]*")


class InvalidTargetError(OAuth2Error):  # type: ignore[misc]  # Authlib has no types
    """The resource is none of this server's, or not the one that was granted (RFC 8707, section 2)."""

    error = "invalid_target"


@dataclass(frozen=True, slots=True)
class Decision:
    """What a user allows an app, as the page of the consent read it."""

    account: Account
    scopes: Collection[str]
    dataset_ids: Collection[int]


@dataclass(frozen=True, slots=True)
class Client:
    """A registered app as Authlib's client."""

    app: RegisteredApp

    def get_client_id(self) -> str:
        """Return the id."""
        return self.app.id

    def get_default_redirect_uri(self) -> str | None:
        """Return the only address; None where there are several."""
        return self.app.redirect_uris[0] if len(self.app.redirect_uris) == 1 else None

    def get_allowed_scope(self, scope: str | None) -> str:
        """Return the scopes of those that are asked for; ``read`` where none are."""
        asked = scope_to_list(scope or "") or SCOPES[:1]
        return str(list_to_scope([each for each in SCOPES if each in asked]))

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        """Return whether the app has registered this address."""
        return any(is_same(registered, redirect_uri) for registered in self.app.redirect_uris)

    def check_client_secret(self, client_secret: str) -> bool:
        """Return whether the secret is the app's."""
        return self.app.has_secret(client_secret)

    def check_endpoint_auth_method(self, method: str, _endpoint: str) -> bool:
        """Return whether the app has registered to authenticate so."""
        return self.app.auth_method == method

    def check_response_type(self, response_type: str) -> bool:
        """Return whether the app may ask for it."""
        return response_type in RESPONSE_TYPES

    def check_grant_type(self, grant_type: str) -> bool:
        """Return whether the app may ask for it."""
        return grant_type in GRANT_TYPES


@dataclass(frozen=True, slots=True)
class Credential:
    """A code or refresh token with its grant, as Authlib's: also its "user", for whom tokens are generated."""

    grant: Grant
    give: Callable[[Collection[str]], IssuedTokens]
    """Exchanges the credential for tokens with these scopes, once."""

    code_challenge_method = "S256"

    @property
    def code_challenge(self) -> str:
        """What the verifier's hash must be."""
        return self.grant.challenge

    def get_redirect_uri(self) -> str:
        """Return the address that the code was sent to."""
        return self.grant.redirect_uri

    def get_scope(self) -> str:
        """Return all scopes of the grant."""
        return str(list_to_scope(sorted(self.grant.scopes)))

    def check_client(self, client: Client) -> bool:
        """Return whether the code or token was given to this client."""
        return self.grant.app_id == client.app.id


class _Server(AuthorizationServer):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__(query_client=_client, save_token=_stored_already)
        self.scopes_supported = SCOPES
        self.register_token_generator("default", _generate)
        self.register_grant(_CodeGrant, [_Pkce(required=True), _for_this_server])
        self.register_grant(_RefreshGrant)
        self.register_endpoint(_Revocation)
        self.register_endpoint(Registration)
        self.register_extension(_Issuer())

    def create_oauth2_request(self, request: object) -> Any:
        """Return the request; whatever else is wrong with it, its errors can be written. Raises OAuth2Error."""
        made = super().create_oauth2_request(request)
        for name in _IN_ERRORS:
            if not _PLAIN.fullmatch(made.payload.data.get(name, "")):
                raise InvalidRequestError(f"{name} has characters that it cannot have")
        for name in _ONCE:
            if len(made.payload.datalist.get(name, ())) > 1:
                raise InvalidRequestError(f"{name} is given more than once")
        return made

    def authenticate_client(self, request: Any, methods: Collection[str], endpoint: str = "token") -> Client:
        """Return the client that sends a request. Raises InvalidClientError."""
        try:
            found: Client = super().authenticate_client(request, methods, endpoint)
        except UnicodeDecodeError:  # of a header that is no text
            raise InvalidClientError(status_code=401, description="the Authorization header cannot be read") from None
        except InvalidClientError as error:
            error.status_code = 401 if "Authorization" in request.headers else 400  # RFC 6749, section 5.2
            raise
        return found


class _CodeGrant(grants.AuthorizationCodeGrant):  # type: ignore[misc]
    TOKEN_ENDPOINT_AUTH_METHODS = AUTH_METHODS

    def generate_authorization_code(self) -> str:
        """Store what the user allows, and return its code."""
        asked, decision = self.request, self.request.user
        data = asked.payload.data
        consent = Consent(
            user_id=decision.account.id,
            app_id=asked.client.app.id,
            redirect_uri=asked.payload.redirect_uri or asked.client.get_default_redirect_uri(),
            resource=data.get("resource") or base_address(),
            challenge=data["code_challenge"],
            scopes=decision.scopes,
            dataset_ids=decision.dataset_ids,
        )
        code = _apps().consent(consent)
        name, to = decision.account.name, destination(consent.redirect_uri) or "this computer"
        told = (
            f"{asked.client.app.name[:60]!r} at {to}, {' '.join(consent.scopes)}, {len(consent.dataset_ids)} datasets"
        )
        site().audit.add(name, "app.connected", name, told)
        return code

    def save_authorization_code(self, code: str, request: Any) -> None:
        """Do nothing: it is stored."""

    def query_authorization_code(self, code: str, client: Client) -> Credential | None:
        """Return what can be redeemed for tokens, if it is this client's."""
        grant = _unless_reused(_apps().grant_of_code, code)
        if grant is None or grant.app_id != client.app.id:
            return None
        return Credential(grant, lambda scopes: _apps().redeem(grant, code, scopes))

    def authenticate_user(self, authorization_code: Credential) -> Credential | None:
        """Return the credential, unless its user is locked out."""
        return _while_let_in(authorization_code)

    def delete_authorization_code(self, authorization_code: Credential) -> None:
        """Do nothing: it is worthless."""


class _RefreshGrant(grants.RefreshTokenGrant):  # type: ignore[misc]
    TOKEN_ENDPOINT_AUTH_METHODS = AUTH_METHODS
    INCLUDE_NEW_REFRESH_TOKEN = True

    def validate_token_request(self) -> None:
        """Check the request, its resource, too. Raises OAuth2Error."""
        super().validate_token_request()
        _require_resource(self.request, self.request.refresh_token)

    def authenticate_refresh_token(self, refresh_token: str) -> Credential | None:
        """Return what can be exchanged for new tokens; None, which is answered as the RFC wants, for a locked user."""
        grant = _unless_reused(_apps().grant_of_refresh_token, refresh_token)
        if grant is None:
            return None
        return _while_let_in(Credential(grant, lambda scopes: _apps().refresh(grant, refresh_token, scopes)))

    def authenticate_user(self, refresh_token: Credential) -> Credential:
        """Return the credential, for whose user the tokens are."""
        return refresh_token

    def revoke_old_credential(self, refresh_token: Credential) -> None:
        """Do nothing: it is worthless."""


class _Pkce(CodeChallenge):  # type: ignore[misc]
    """Wants S256 of every client (OAuth 2.1, section 4.1.1)."""

    SUPPORTED_CODE_CHALLENGE_METHOD = ("S256",)

    def validate_code_challenge(self, grant: Any, redirect_uri: str) -> None:
        """Check the request for a code. Raises InvalidRequestError."""
        data = grant.request.payload.data
        if not data.get("code_challenge") or data.get("code_challenge_method") != "S256":
            raise InvalidRequestError("code_challenge is missing, or code_challenge_method is not S256")
        super().validate_code_challenge(grant, redirect_uri)


def _for_this_server(grant: Any) -> None:
    """Refuse requests for tokens of another server."""

    def asked(grant: Any, _redirect_uri: str) -> None:
        resource = grant.request.payload.data.get("resource")
        if resource is not None and not is_ours(resource, base_address()):
            raise InvalidTargetError("resource is none of this server; take it from its metadata")

    def redeemed(grant: Any, _result: object) -> None:
        _require_resource(grant.request, grant.request.authorization_code)

    grant.register_hook("after_validate_authorization_request_payload", asked)
    grant.register_hook("after_validate_token_request", redeemed)


class _Revocation(RevocationEndpoint):  # type: ignore[misc]
    CLIENT_AUTH_METHODS = AUTH_METHODS

    def check_params(self, request: Any, client: Client) -> None:
        """Check that there is a token; hints, which are not needed, may say anything (RFC 7009, section 2.1)."""
        if not request.form.get("token"):
            raise InvalidRequestError("token is missing")

    def query_token(self, token_string: str, token_type_hint: str | None) -> Credential | None:
        """Return the grant of an access token, or of a refresh token."""
        grant = _apps().grant_of_token(token_string)
        return None if grant is None else Credential(grant, lambda _scopes: _never())

    def revoke_token(self, token: Credential, request: Any) -> None:
        """End the grant with all its tokens."""
        try:
            _apps().disconnect(token.grant.user_id, token.grant.id)
        except NotFoundError:  # another request was quicker
            return
        note(token.grant, "app.disconnected", "by the app")


class _Issuer(IssuerParameter):  # type: ignore[misc]
    def get_issuer(self) -> str:
        """Return who sends the user back to the client."""
        return base_address()


def server() -> AuthorizationServer:
    """Return the authorization server of the app that serves this request."""
    return _SERVER


def refusal(error: OAuth2Error) -> Any:
    """Return the answer that sends a user back to the client with an error, where that is safe; else None."""
    if not error.redirect_uri:
        return None
    response = server().handle_error_response(None, error)
    _Issuer().add_issuer_parameter(server(), response)
    return response


def note(grant: Grant, action: str, detail: str) -> None:
    """Write what became of a grant to the audit log."""
    name = site().accounts.get(grant.user_id).name
    site().audit.add(name, action, name, f"{grant.app[:60]!r}, {detail}")


def _apps() -> ConnectedApps:
    return site().connected_apps


def _client(client_id: str) -> Client | None:
    found = _apps().app(client_id)
    return None if found is None else Client(found)


def _stored_already(_token: dict[str, Any], _request: Any) -> None:
    """Do nothing: what `_generate` gives out is stored."""


def _generate(*, user: Credential, scope: str, **_given: object) -> dict[str, Any]:
    """Exchange a credential for tokens, in the form of RFC 6749, section 5.1. Raises InvalidGrantError."""
    scopes = scope_to_list(scope)
    issued = _unless_reused(user.give, scopes)
    return {
        "token_type": "Bearer",
        "access_token": issued.access_token,
        "expires_in": ACCESS_S,
        "refresh_token": issued.refresh_token,
        "scope": scope,
    }


def _unless_reused(use: Callable[[Any], Any], credential: object) -> Any:
    """Use a credential. Raises InvalidGrantError for one that was used before, whose grant has ended now."""
    try:
        return use(credential)
    except ReusedError as error:
        note(error.grant, "app.disconnected", "its key was used twice")
        raise InvalidGrantError("it was used before; the user has to connect the app again") from None


def _while_let_in(credential: Credential) -> Credential | None:
    try:
        account = site().accounts.get(credential.grant.user_id)
    except NotFoundError:
        return None
    return None if account.disabled else credential


def _require_resource(request: Any, credential: Credential) -> None:
    resource = request.form.get("resource")
    if resource and resource.rstrip("/") != credential.grant.resource.rstrip("/"):
        raise InvalidTargetError("resource is not the one that was granted")


def _never() -> IssuedTokens:
    raise InvalidGrantError


_SERVER = _Server()
