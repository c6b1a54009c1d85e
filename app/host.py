"""The app that Braid is built into: its users, its sign-in, and how it is called."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal, get_args
from urllib.parse import urlencode, urlsplit

from flask import Flask

from braid.app.mounted import mounts
from braid.core.errors import BraidError, InvalidInputError

Theme = Literal["auto", "light", "dark"]

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class HostUser:
    """A user of the app that Braid is built into. ``name`` must be stable: it identifies the user to Braid.

    Raises InvalidInputError for a name that is no text or empty, and for groups that are one text.

    >>> HostUser("ann", groups=frozenset({"engineers"})).is_admin
    False
    """

    name: str
    groups: Collection[str] = frozenset()
    is_admin: bool = False
    fresh: bool = False
    """Whether the user has lately shown who they are, by a password or a second factor: only then API tokens, which
    outlive the session, can be made.
    """

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise InvalidInputError(
                f"HostUser's name is {self.name!r}; it must be a text that stays the same for this user", field="name"
            )
        if isinstance(self.groups, str) or not all(isinstance(group, str) for group in self.groups):
            raise InvalidInputError(f"HostUser's groups are {self.groups!r}; give a set of texts", field="groups")
        object.__setattr__(self, "groups", frozenset(self.groups))


@dataclass(frozen=True, slots=True)
class Brand:
    """How the host app is called in the head of Braid's pages. ``logo_url`` is an address of the host's own.

    ``theme`` is that of users who have chosen none. Raises InvalidInputError.

    >>> Brand("The shop", logo_url="/static/shop.svg").theme
    'auto'
    """

    name: str
    logo_url: str = ""
    theme: Theme = "auto"

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InvalidInputError("the brand's name is empty; give the name of your app", field="brand")
        if self.logo_url and not _is_path(self.logo_url):
            raise InvalidInputError(
                f"the brand's logo_url is {self.logo_url!r}; pages show pictures of this server alone: "
                "give a path such as '/static/logo.svg'",
                field="brand",
            )
        if self.theme not in get_args(Theme):
            raise InvalidInputError(
                f"the brand's theme is {self.theme!r}; choose {', '.join(get_args(Theme))}", field="brand"
            )


@dataclass(frozen=True, slots=True)
class Host:
    """What the host app has said of itself. Raises InvalidInputError for addresses that cannot be links."""

    current_user: Callable[[], HostUser | None]
    login_url: str = ""
    home_url: str = ""
    brand: Brand | None = None

    def __post_init__(self) -> None:
        if not callable(self.current_user):
            raise InvalidInputError(
                f"current_user is {self.current_user!r}; give a function that returns a HostUser or None",
                field="current_user",
            )
        for field in ("login_url", "home_url"):
            given = getattr(self, field)
            if given and not _is_link(given):
                raise InvalidInputError(
                    f"{field} is {given!r}; give a path that begins with one slash, or an http(s) address", field=field
                )

    def user(self) -> HostUser | None:
        """Return who sends the request. Raises BraidError for anything but a `HostUser` or None."""
        found: object = self.current_user()
        if found is not None and not isinstance(found, HostUser):
            raise BraidError(
                f"the app's current_user returned a {type(found).__name__}; it must return "
                "braid.HostUser(name) for who is signed in, and None for nobody"
            )
        return found

    def sign_in_url(self, page: str) -> str:
        """Return the address of the host's sign-in that leads back to the page; empty when there is none.

        ``page`` is a path of this server with its query; whatever it is, what is returned as ``next`` is one.
        """
        if not self.login_url:
            return ""
        back = "/" + re.sub(r"[\x00-\x20]", "", page).lstrip("/\\")
        return self.login_url + ("&" if "?" in self.login_url else "?") + urlencode({"next": back})


def require_free(app: Flask, name: str, url_prefix: str) -> None:
    """Raise InvalidInputError when Braid cannot be mounted under this name and prefix."""
    if not NAME.fullmatch(name):
        raise InvalidInputError(f"name is {name!r}; use letters, digits, _ and -, as in 'braid_docs'", field="name")
    if name in mounts(app):
        raise InvalidInputError(
            f"Braid is mounted as {name!r} already; to mount it twice, give this one a name and an address of its own: "
            f"register_braid(…, name='{name}_2', url_prefix='/{name}-2')",
            field="name",
        )
    if name in app.blueprints or name in app.extensions:
        raise InvalidInputError(
            f"the app has a blueprint or extension {name!r} already; give Braid another name: "
            f"register_braid(…, name='{name}_search')",
            field="name",
        )
    if url_prefix and (not _is_path(url_prefix) or url_prefix.endswith("/")):
        raise InvalidInputError(
            f"url_prefix is {url_prefix!r}; begin it with a slash, and end it without one: "
            f"'/{url_prefix.strip('/') or 'braid'}'",
            field="url_prefix",
        )
    endpoints = {f"{one}.static" for one in mounts(app)}
    statics = {rule.rule for rule in app.url_map.iter_rules() if rule.endpoint in endpoints}
    if f"{url_prefix}/static/<path:filename>" in statics:
        raise InvalidInputError(
            f"Braid is mounted below {url_prefix or '/'!r} already; give this one another url_prefix",
            field="url_prefix",
        )


def _is_path(address: str) -> bool:
    return address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()


def _is_link(address: str) -> bool:
    parts = urlsplit(address)
    return _is_path(address) or (parts.scheme in ("http", "https") and bool(parts.netloc))
