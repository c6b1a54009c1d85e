"""``user tokens``, ``revoke``, ``sessions``, ``sign-out``: what a user is let in by, and how that ends."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from braid.app.cli.common import current_settings, find_user, json_option, record
from braid.app.cli.manage import YES_OPTION, confirm
from braid.app.cli.output import format_date, plural, print_list
from braid.app.cli.users.accounts import user
from braid.app.opening import open_data_directory


@user.command("sessions")
@click.argument("name", metavar="NAME|ID")
@json_option
def list_sessions(name: str, as_json: bool) -> None:
    """List the browsers in which the user NAME is signed in."""
    from braid.core.accounts.credentials import WebSessions

    with open_data_directory(current_settings()) as directory:
        sessions = WebSessions(directory.ledger).of_user(find_user(directory.ledger, name).id)
    rows = [(each.id, format_date(each.created_at), format_date(each.seen_at), each.user_agent) for each in sessions]
    print_list(sessions, ("id", "signed in", "last seen", "browser"), rows, right=("id",), as_json=as_json)


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
def list_tokens(name: str, as_json: bool) -> None:
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
    print_list(tokens, ("id", "name", "scopes", "made", "expires", "last used"), rows, right=("id",), as_json=as_json)


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
