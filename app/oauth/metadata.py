"""What clients read to find the authorization server: of the server (RFC 8414) and of each resource (RFC 9728)."""

from __future__ import annotations

import re
from typing import Any

from braid.app.auth.challenge import RESOURCES

SCOPES = ("read", "write")
"""What an app may ask for. It is given ``write`` only where the user ticks it."""
AUTH_METHODS = ("none", "client_secret_post", "client_secret_basic")
GRANT_TYPES = ("authorization_code", "refresh_token")
RESPONSE_TYPES = ("code",)


def server_metadata(issuer: str) -> dict[str, Any]:
    """Return what is at ``/.well-known/oauth-authorization-server``."""
    return {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/oauth/authorize",
        "token_endpoint": f"{issuer}/oauth/token",
        "registration_endpoint": f"{issuer}/oauth/register",
        "revocation_endpoint": f"{issuer}/oauth/revoke",
        "scopes_supported": list(SCOPES),
        "response_types_supported": list(RESPONSE_TYPES),
        "response_modes_supported": ["query"],
        "grant_types_supported": list(GRANT_TYPES),
        "token_endpoint_auth_methods_supported": list(AUTH_METHODS),
        "revocation_endpoint_auth_methods_supported": list(AUTH_METHODS),
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
    }


def openid_metadata(issuer: str) -> dict[str, Any]:
    """Return what is at ``/.well-known/openid-configuration``, where clients look for the server below a path.

    Some of them accept it only with what OpenID Connect demands, though they sign nobody in by it: there are no ID
    tokens, so no keys and no signatures.
    """
    return server_metadata(issuer) | {
        "jwks_uri": f"{issuer}/oauth/keys",
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": [],
    }


def resource_metadata(issuer: str, path: str) -> dict[str, Any]:
    """Return what is at ``/.well-known/oauth-protected-resource`` of a resource at this path below the issuer."""
    return {
        "resource": issuer + path,
        "authorization_servers": [issuer],
        "scopes_supported": list(SCOPES),
        "bearer_methods_supported": ["header"],
        "resource_name": "Braid",
    }


def is_ours(resource: str, issuer: str) -> bool:
    """Return whether an address that a client names is one of this server's resources."""
    return _folded(resource) in {_folded(issuer + each) for each in ("", *RESOURCES)}


def _folded(address: str) -> str:
    """Return the form in which addresses are equal that differ in the capitals of the host, or a slash at the end."""
    origin = re.match(r"[^:/]*://[^/]*", address)
    end = origin.end() if origin else 0
    return address[:end].lower() + address[end:].rstrip("/")
