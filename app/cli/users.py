"""``user``: who there is, who may sign in, and with which API tokens."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import click

from braid.app.cli.common import BraidGroup, current_settings, find_user, json_option
from braid.app.cli.manage import YES_OPTION, confirm
from braid.app.cli.output import plural, print_json, print_table
from braid.app.opening import open_data_directory

PASSWORD_OPTION = click.option("--password-stdin", is_flag=True, help="Read the password for the app from stdin.")


@click.group(cls=BraidGroup)
def user() -> None:
    """Add and list users; give passwords, revoke API tokens."""


@user.command("add")
@click.argument("name")
@click.option("--group", "groups", multiple=True, help="A group that shared datasets are opened to; repeatable.")
@click.option("--admin", is_flag=True, help="Make an administrator of the app.")
@PASSWORD_OPTION
@json_option
def add_user(name: str, groups: tuple[str, ...], admin: bool, password_stdin: bool, as_json: bool) -> None:
    """Add the user NAME. Without a password nobody can sign in to the app as them."""
    from braid.core.accounts.accounts import Accounts
    from braid.core.ledger.ledger import User

    password = _password() if password_stdin else ""
    with open_data_directory(current_settings()) as directory:
        account = Accounts(directory.ledger).add(name, password, is_admin=admin, groups=groups)
        added = User(account.id, account.name, account.groups)
    if as_json:
        print_json(added)
    else:
        click.echo(f"Added user {added.id}, {added.name}.")


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
        revoked = accounts.set_password(found.id, password)
        if admin:
            accounts.set_admin(found.id, True)
            accounts.set_disabled(found.id, False)
    click.echo(f"User {found.id}, {found.name}, has a new password; {plural(revoked, 'API token')} revoked.")


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
def list_users(as_json: bool) -> None:
    """List users with their groups."""
    with open_data_directory(current_settings()) as directory:
        users = directory.ledger.users()
    if as_json:
        print_json(users)
    else:
        rows = [(user.id, user.name, ", ".join(sorted(user.groups))) for user in users]
        print_table(("id", "name", "groups"), rows, right=("id",))


@user.command("tokens")
@click.argument("name", metavar="NAME|ID")
@json_option
def list_tokens(name: str, as_json: bool) -> None:
    """List the API tokens of the user NAME, without their keys."""
    from braid.core.accounts.credentials import ApiTokens

    with open_data_directory(current_settings()) as directory:
        tokens = ApiTokens(directory.ledger).of_user(find_user(directory.ledger, name).id)
    if as_json:
        print_json(tokens)
        return
    rows = [
        (
            token.id,
            token.name,
            " ".join(sorted(token.scopes)),
            *map(_day, (token.created_at, token.expires_at, token.used_at)),
        )
        for token in tokens
    ]
    print_table(("id", "name", "scopes", "made", "expires", "last used"), rows, right=("id",))


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
    click.echo(f"Revoked {plural(revoked, 'API token')} of user {found.id}, {found.name}.")


def _day(seconds: float | None) -> str:
    return "never" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"
