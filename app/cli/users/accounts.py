"""``user``: who there is and who may sign in. The other commands of the group are in `access` and `life`."""

from __future__ import annotations

import sys

import click

from braid.app.cli.common import BraidGroup, current_settings, find_user, json_option, record
from braid.app.cli.output import plural, print_list, print_result
from braid.app.opening import open_data_directory

PASSWORD_OPTION = click.option("--password-stdin", is_flag=True, help="Read the password for the app from stdin.")


@click.group(cls=BraidGroup)
def user() -> None:
    """Add, change, import, export and remove users; see and end their access."""


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
        record(directory.ledger, "user.added", account.name, "administrator" if admin else "")
    print_result(added, f"Added user {added.id}, {added.name}.", as_json=as_json)


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
def reset_second_factor(name: str, as_json: bool) -> None:
    """Forget the second factor of the user NAME, who has lost the phone, and sign them out everywhere."""
    from braid.core.accounts.second_factor import SecondFactors

    with open_data_directory(current_settings()) as directory:
        found = find_user(directory.ledger, name)
        if not SecondFactors(directory.ledger, b"").reset(found.id):
            raise click.UsageError(f"User {found.id}, {found.name}, has no second factor.")
        record(directory.ledger, "second_factor.reset", found.name)
    told = f"User {found.id}, {found.name}, signs in without a second factor until they set up another one."
    print_result(found, told, as_json=as_json)


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
    rows = [(user.id, user.name, ", ".join(sorted(user.groups))) for user in users]
    print_list(users, ("id", "name", "groups"), rows, right=("id",), as_json=as_json)
