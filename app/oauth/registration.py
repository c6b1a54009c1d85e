"""Registration of apps by themselves (RFC 7591): little of what they say is kept, and nothing is fetched."""

from __future__ import annotations

from typing import Any, ClassVar

from authlib.oauth2.rfc7591 import (
    ClientMetadataClaims,
    ClientRegistrationEndpoint,
    InvalidClientMetadataError,
    InvalidRedirectURIError,
)
from werkzeug.exceptions import BadRequest, UnsupportedMediaType

from braid.app.oauth.metadata import AUTH_METHODS, GRANT_TYPES, RESPONSE_TYPES, SCOPES
from braid.app.oauth.redirects import SCHEMES, is_allowed
from braid.app.site import site
from braid.core.accounts.connected_apps import RegisteredApp

MAX_REDIRECTS = 10
MAX_NAME_CHARS = 100
UNNAMED = "?"


class AppMetadata(ClientMetadataClaims):  # type: ignore[misc]  # Authlib has no types
    """What an app says of itself. Only what is used here is kept, as section 2 of the RFC lets a server."""

    REGISTERED_CLAIMS: ClassVar = [
        "client_name",
        "redirect_uris",
        "token_endpoint_auth_method",
        "grant_types",
        "response_types",
        "scope",
    ]

    def validate(self, now: object = None, leeway: int = 0) -> None:
        """Check what is given, and set what is not. Raises OAuth2Error."""
        uris = self._texts("redirect_uris", [])
        if not 1 <= len(uris) <= MAX_REDIRECTS:
            raise InvalidRedirectURIError(f"give 1 to {MAX_REDIRECTS} redirect_uris")
        if not all(map(is_allowed, uris)):
            known = ", ".join(SCHEMES)
            raise InvalidRedirectURIError(
                "redirect_uris must be https, without a fragment or a user name; or http to 127.0.0.1, [::1] or "
                f"localhost; or have one of the schemes {known}"
            )
        method = self.get("token_endpoint_auth_method") or "client_secret_basic"
        if method not in AUTH_METHODS:
            raise InvalidClientMetadataError(f"token_endpoint_auth_method must be one of {', '.join(AUTH_METHODS)}")
        self._require_some("grant_types", GRANT_TYPES[:1])
        self._require_some("response_types", RESPONSE_TYPES)
        named = {"token_endpoint_auth_method": method, "client_name": _shown_name(self.get("client_name"))}
        self.update(named, grant_types=list(GRANT_TYPES), response_types=list(RESPONSE_TYPES), scope=" ".join(SCOPES))

    def _texts(self, name: str, default: list[str]) -> list[str]:
        given = self.get(name) or default
        if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
            raise InvalidClientMetadataError(f"{name} must be a list of texts")
        return given

    def _require_some(self, name: str, needed: tuple[str, ...]) -> None:
        """Refuse an app that does not use what there is; what else it names is replaced."""
        if not set(needed) <= set(self._texts(name, list(needed))):
            raise InvalidClientMetadataError(f"{name} must have {', '.join(needed)}")


class Registration(ClientRegistrationEndpoint):  # type: ignore[misc]
    """Registers whoever asks: it is worth nothing until a user consents."""

    def __init__(self, server: object = None) -> None:
        super().__init__(server, [AppMetadata])

    def authenticate_token(self, _request: object) -> bool:
        """Let everybody register."""
        return True

    def get_server_metadata(self) -> dict[str, Any]:
        """Return nothing: `AppMetadata` knows what the server has."""
        return {}

    def extract_client_metadata(self, request: Any) -> dict[str, Any]:
        """Return what is kept. Raises OAuth2Error."""
        try:
            given = request.payload.data
        except (BadRequest, RecursionError, UnsupportedMediaType):
            given = None
        if not isinstance(given, dict) or not given:
            raise InvalidClientMetadataError("the body must be a JSON object")
        found: dict[str, Any] = super().extract_client_metadata(request)
        return found

    def generate_client_info(self, request: Any) -> dict[str, Any]:
        """Return no more than what `generate_client_registration_info` does not add."""
        return {}

    def save_client(self, _info: object, metadata: dict[str, Any], _request: object) -> tuple[RegisteredApp, str]:
        """Store the app; return it with its secret."""
        method, uris = metadata["token_endpoint_auth_method"], metadata["redirect_uris"]
        return site().connected_apps.register(metadata["client_name"], uris, method)

    def generate_client_registration_info(self, client: tuple[RegisteredApp, str], _request: object) -> dict[str, Any]:
        """Return the app's id and secret, which does not expire."""
        app, secret = client
        return {"client_id": app.id} | ({"client_secret": secret, "client_secret_expires_at": 0} if secret else {})


def _shown_name(given: object) -> str:
    """Return a name that can be shown in a line; nobody has checked whose it is."""
    name = "".join(each for each in str(given) if each.isprintable()) if isinstance(given, str) else ""
    return " ".join(name.split())[:MAX_NAME_CHARS] or UNNAMED
