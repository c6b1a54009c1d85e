"""An OpenID Connect provider on this computer, for tests: signs in whom it is told, and fails as it is told."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

CLIENT, SECRET = "braid", "the client's secret"


class OidcServer:
    """The provider. ``claims`` are those of whoever signs in next; ``change`` has the last word on an ID token's."""

    def __init__(self) -> None:
        self.claims: dict[str, Any] = {"sub": "1001", "preferred_username": "ann"}
        self.change: Callable[[dict[str, Any]], object] = bool
        self.issuer_said = ""
        self.signed_with: RSAKey | None = None
        self.algorithm = "RS256"
        self.asked: list[str] = []
        self.keys = [RSAKey.generate_key(2048, {"kid": "one"})]
        self._codes: dict[str, dict[str, str]] = {}
        self.issuer = ""

    def new_key(self) -> None:
        """Sign with another key from now on; the old one is gone."""
        self.keys = [RSAKey.generate_key(2048, {"kid": secrets.token_hex(4)})]

    def authorize(self, url: str) -> str:
        """Sign in as a browser does, and return where it is led back to."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert asked["client_id"] == CLIENT
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_hex(8)
        self._codes[code] = asked
        return asked["redirect_uri"] + "?" + urlencode({"code": code, "state": asked["state"]})

    def document(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer_said or self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
        }

    def token(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        asked = self._codes.pop(form.get("code", ""), None)  # a code counts once
        if base64.b64decode(authorization.partition(" ")[2]).decode() != f"{CLIENT}:{quote(SECRET)}":
            return 401, {"error": "invalid_client", "error_description": "the client's secret is wrong"}
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if asked is None or challenge != asked["code_challenge"] or form["redirect_uri"] != asked["redirect_uri"]:
            return 400, {"error": "invalid_grant", "error_description": "the code is unknown"}
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": asked["nonce"]}
        claims |= self.claims
        self.change(claims)
        key = self.signed_with or self.keys[0]
        header = {"alg": self.algorithm, "kid": self.keys[0].kid}
        signed = jwt.encode(header, claims, key, algorithms=[self.algorithm])
        return 200, {"access_token": "unused", "token_type": "Bearer", "id_token": signed}


@contextmanager
def oidc_server() -> Iterator[OidcServer]:
    """Serve a provider on a free port of this computer."""
    provider = OidcServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            provider.asked.append(self.path)
            if self.path == "/keys":
                self._send(200, KeySet(provider.keys).as_dict(private=False))
            elif self.path == "/.well-known/openid-configuration":
                self._send(200, provider.document())
            else:
                self._send(404, {})

        def do_POST(self) -> None:
            provider.asked.append(self.path)
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            self._send(*provider.token(form, self.headers.get("Authorization", "")))

        def _send(self, status: int, content: Any) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.issuer = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
