"""Parts that the commands share: ``--data-dir``, ``--json``, the settings and the user."""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from braid.app.cli.output import AS_JSON
from braid.app.opening import DATA_DIR, LOCAL_USER, MAKES_SITE, NEW_SITE
from braid.core.errors import NotFoundError

if TYPE_CHECKING:
    from braid.config.settings import Settings
    from braid.core.ledger.ledger import Ledger, User

Command = Callable[..., Any]

ACTOR = "command line"
"""Name of the command line in the audit log."""
SHOWN_NAMES = 20


# ---------------------------------------------------------------- commands


def _keep_data_dir(context: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        context.meta[DATA_DIR] = value


def _data_dir_option() -> click.Option:
    return click.Option(
        ["--data-dir"],
        metavar="FOLDER",
        expose_value=False,
        callback=_keep_data_dir,
        help="Folder of the ledger and the indexes (default: the setting data_dir, ./data).",
    )


def _keep_new_site(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.meta[NEW_SITE] = value or context.meta.get(NEW_SITE, False)


def _new_site_option(*, hidden: bool) -> click.Option:
    return click.Option(
        ["--new-site"],
        is_flag=True,
        hidden=hidden,
        expose_value=False,
        callback=_keep_new_site,
        help="Make one site of this ledger, data directory, bucket and Milvus, whosever they were before.",
    )


class BraidCommand(click.Command):
    """A command that takes ``--data-dir`` after its name, and ``--new-site``, which ``serve`` alone shows.

    Only one that ``makes_site`` runs where there is no site yet.
    """

    def __init__(self, *args: Any, makes_site: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.makes_site = makes_site
        self.params += [_data_dir_option(), _new_site_option(hidden=self.name not in ("serve", "worker"))]

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, see `braid.app.opening.open_braid`."""
        ctx.meta[MAKES_SITE] = self.makes_site and not (ctx.params.get("read_only") or ctx.params.get("dry_run"))
        return super().invoke(ctx)


class BraidGroup(click.Group):
    """A group of commands that takes ``--data-dir`` too, before the name of the command."""

    command_class = BraidCommand
    group_class = type

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"no_args_is_help": False, **kwargs})
        self.params.append(_data_dir_option())


def json_option(command: Command) -> Command:
    """Give a command ``--json``, see `wants_json`."""
    return click.option(
        "--json",
        "as_json",
        is_flag=True,
        expose_value=False,
        callback=lambda context, _option, given: context.meta.update({AS_JSON: given}),
        help="Print JSON to stdout, all else to stderr.",
    )(command)


# ---------------------------------------------------------------- settings and user


def current_settings(**overrides: Any) -> Settings:
    """Return the settings, with ``--data-dir`` from the command line and the overrides that are not None."""
    from braid.config.settings import load_settings

    return load_settings(data_dir=click.get_current_context().meta.get(DATA_DIR), **overrides)


def record(ledger: Ledger, action: str, target: str, detail: str = "") -> None:
    """Add what a command did to the audit log, with the system's name of who ran it."""
    from braid.core.accounts.audit import AuditLog

    AuditLog(ledger).add(ACTOR, action, target, with_runner(detail))


def with_runner(detail: str) -> str:
    """Return the detail of an entry in the audit log, with the system's name of who runs the command."""
    return ", ".join(filter(None, (detail, f"run by {_system_user()}")))


def _system_user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # an id without a name
        return str(os.getuid())


def find_user(ledger: Ledger, given: str) -> User:
    """Return the user with this name or id. Raises NotFoundError."""
    user = ledger.user_named(given)
    if user is None and given.isascii() and given.isdecimal():
        user = ledger.user(int(given))
    if user is None:
        known = [user.name for user in ledger.users()]
        names = ", ".join(known[:SHOWN_NAMES]) + (" …" if len(known) > SHOWN_NAMES else "")
        raise NotFoundError(f"there is no user {given!r}; known users: {names or 'none'}")
    return user


def choose_user(ledger: Ledger, given: str | None) -> User:
    """Return the given user, else the only one. Adds ``local`` if there are no users."""
    if given is not None:
        return find_user(ledger, given)
    users = ledger.users()
    if len(users) > 1:
        names = ", ".join(user.name for user in users)
        raise click.UsageError(f"There are several users ({names}); name one with --user.")
    return users[0] if users else ledger.add_user(LOCAL_USER)
