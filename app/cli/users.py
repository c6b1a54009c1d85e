"""``user``: who there is, what each is let in by, and how that ends. More commands of the group are in `user_life`."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import click

from braid.app.cli.common import BraidGroup, current_settings, find_user, json_option, record
from braid.app.cli.manage import YES_OPTION, confirm
from braid.app.cli.output import format_date, plural, print_list, print_result
from braid.app.opening import open_data_directory

PASSWORD_OPTION = click.option("--password-stdin", is_flag=True, help="Read the password for the app from stdin.")


@click.group(cls=BraidGroup)
def user() -> None:
    """Add, change, import, export and remove users; see and end their access."""


@user.command("add", makes_site=True)
@click.argument("name")
@click.option("--group", "groups", multiple=True, help="A group that shared datasets are opened to; repeatable.")
@click.option("--admin", is_flag=True, help="Make an administrator of the app.")
@PASSWORD_OPTION
@json_option
def add_user(name: str, groups: tuple[str, ...], admin: bool, password_stdin: bool) -> None:
    """Add the user NAME. Without a password nobody can sign in to the app as them."""
    from braid.core.accounts.accounts import Accounts
    from braid.core.ledger.ledger import User

    password = _password() if password_stdin else ""
    with open_data_directory(current_settings()) as directory:
        account = Accounts(directory.ledger).add(name, password, is_admin=admin, groups=groups)
        added = User(account.id, account.name, account.groups)
        record(directory.ledger, "user.added", account.name, "administrator" if admin else "")
    print_result(added, f"Added user {added.id}, {added.name}.")


@user.command("password")
@click.argument("name", metavar="NAME|ID")
@PASSWORD_OPTION
@click.option("--admin", is_flag=True, help="Make an administrator, too, for a site that has lost its own.")
def set_password(name: str, password_stdin: bool, admin: bool) -> None:
    """Give the user NAME a new password for the app, sign them out everywhere, and revoke their API tokens."""
    from braid.core.accounts.accounts import Accounts

    if not password_stdin:
        raise click.UsageError("Say --password-stdin and give the password on stdin; it does not belong in a command.")
    password = _password()
    with open_data_directory(current_settings()) as directory:
        accounts, found = Accounts(directory.ledger), find_user(directory.ledger, name)
        hashed = accounts.hash_password(password)
        with directory.ledger.database.write():
            revoked = accounts.store_password(found.id, hashed)
            if admin:
                accounts.set_admin(found.id, True)
                accounts.set_disabled(found.id, False)
            detail = f"{plural(revoked, 'token')} revoked" + (", made administrator" if admin else "")
            record(directory.ledger, "user.password", found.name, detail)
    click.echo(f"User {found.id}, {found.name}, has a new password; {plural(revoked, 'API token')} revoked.")


@user.command("reset-second-factor")
@click.argument("name", metavar="NAME|ID")
@json_option
def reset_second_factor(name: str) -> None:
    """Forget the second factor of the user NAME, who has lost the phone, and sign them out everywhere."""
    from braid.core.accounts.second_factor import SecondFactors

    with open_data_directory(current_settings()) as directory:
        found = find_user(directory.ledger, name)
        if not SecondFactors(directory.ledger, b"").reset(found.id):
            raise click.UsageError(f"User {found.id}, {found.name}, has no second factor.")
        record(directory.ledger, "second_factor.reset", found.name)
    told = f"User {found.id}, {found.name}, signs in without a second factor until they set up another one."
    print_result(found, told)


def _password() -> str:
    """The first line of stdin. On a terminal it is asked for twice and not shown."""
    stdin = sys.stdin
    if stdin.isatty():
        return str(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    password = stdin.readline().rstrip("\r\n")
    if not password:
        raise click.UsageError("There is no password on stdin.")
    return password


@user.command("list")
@json_option
def list_users() -> None:
    """List users with their groups."""
    with open_data_directory(current_settings()) as directory:
        users = directory.ledger.users()
    rows = [(user.id, user.name, ", ".join(sorted(user.groups))) for user in users]
    print_list(users, ("id", "name", "groups"), rows, right=("id",))


@user.command("sessions")
@click.argument("name", metavar="NAME|ID")
@json_option
def list_sessions(name: str) -> None:
    """List the browsers in which the user NAME is signed in."""
    from braid.core.accounts.credentials import WebSessions

    with open_data_directory(current_settings()) as directory:
        sessions = WebSessions(directory.ledger).of_user(find_user(directory.ledger, name).id)
    rows = [(each.id, format_date(each.created_at), format_date(each.seen_at), each.user_agent) for each in sessions]
    print_list(sessions, ("id", "signed in", "last seen", "browser"), rows, right=("id",))


@user.command("sign-out")
@click.argument("name", metavar="NAME|ID")
@click.option("--tokens", is_flag=True, help="Revoke their API tokens and disconnect their apps, too.")
def sign_out(name: str, tokens: bool) -> None:
    """Sign the user NAME out of all browsers, as when a telephone is lost."""
    from braid.core.accounts.credentials import ApiTokens, WebSessions

    with open_data_directory(current_settings()) as directory:
        found, sessions = find_user(directory.ledger, name), WebSessions(directory.ledger)
        ended = len(sessions.of_user(found.id))
        sessions.end_all(found.id)
        revoked = ApiTokens(directory.ledger).revoke_all(found.id) if tokens else 0
        record(directory.ledger, "user.signed_out", found.name, f"{plural(revoked, 'token')} revoked" if tokens else "")
    more = f" {plural(revoked, 'API token')} revoked." if tokens else ""
    click.echo(f"User {found.id}, {found.name}, is signed out of {plural(ended, 'browser')}.{more}")


@user.command("tokens")
@click.argument("name", metavar="NAME|ID")
@json_option
def list_tokens(name: str) -> None:
    """List the API tokens of the user NAME, without their keys."""
    from braid.core.accounts.credentials import ApiTokens

    with open_data_directory(current_settings()) as directory:
        tokens = ApiTokens(directory.ledger).of_user(find_user(directory.ledger, name).id)
    rows = [
        (
            token.id,
            token.name,
            " ".join(sorted(token.scopes)),
            *map(_day, (token.created_at, token.expires_at, token.used_at)),
        )
        for token in tokens
    ]
    print_list(tokens, ("id", "name", "scopes", "made", "expires", "last used"), rows, right=("id",))


@user.command("revoke")
@click.argument("name", metavar="NAME|ID")
@click.argument("token_id", metavar="[TOKEN_ID]", type=int, required=False)
@YES_OPTION
def revoke_tokens(name: str, token_id: int | None, yes: bool) -> None:
    """Revoke an API token of the user NAME, or all of them."""
    from braid.core.accounts.credentials import ApiTokens

    with open_data_directory(current_settings()) as directory:
        found, tokens = find_user(directory.ledger, name), ApiTokens(directory.ledger)
        if token_id is None:
            confirm(f"Revoke all API tokens of user {found.id}, {found.name}?", yes)
            revoked = tokens.revoke_all(found.id)
        else:
            tokens.revoke(found.id, token_id)
            revoked = 1
        record(directory.ledger, "token.revoked", found.name, "all" if token_id is None else str(token_id))
    click.echo(f"Revoked {plural(revoked, 'API token')} of user {found.id}, {found.name}.")


def _day(seconds: float | None) -> str:
    return "never" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"
