"""The ``user`` commands from the first day to the last: import, groups, rights, export, removal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from braid.app.cli.common import current_settings, find_user, json_option, record
from braid.app.cli.manage import YES_OPTION, confirm
from braid.app.cli.output import plural, print_json, print_result, print_table, wants_json
from braid.app.cli.users import user
from braid.app.opening import open_data_directory

if TYPE_CHECKING:
    from braid.core.accounts.user_import import Change

NAME = click.argument("name", metavar="NAME|ID")


@user.command("groups")
@NAME
@click.option("--add", "added", multiple=True, metavar="G", help="Put into this group; repeatable.")
@click.option("--remove", "removed", multiple=True, metavar="G", help="Take out of this group; repeatable.")
@json_option
def groups(name: str, added: tuple[str, ...], removed: tuple[str, ...]) -> None:
    """Show the groups of the user NAME, or change them."""
    from braid.core.accounts.accounts import Accounts

    with open_data_directory(current_settings()) as directory:
        accounts, found = Accounts(directory.ledger), find_user(directory.ledger, name)
        if missing := set(removed) - found.groups:
            raise click.UsageError(f"{found.name} is not in the group {', '.join(sorted(missing))}.")
        if added or removed:
            with directory.ledger.database.write():
                after = accounts.change_groups(found.id, add=added, remove=removed)
                record(directory.ledger, "user.groups", found.name, ", ".join(sorted(after)) or "none")
        now = sorted(accounts.get(found.id).groups)
    print_result(
        {"id": found.id, "name": found.name, "groups": now},
        f"User {found.id}, {found.name}: {', '.join(now) or 'no groups'}.",
    )


@user.command("admin")
@NAME
@click.option("--off", is_flag=True, help="Take the right away.")
def set_admin(name: str, off: bool) -> None:
    """Make the user NAME an administrator, or no longer one."""
    from braid.core.accounts.accounts import Accounts

    with open_data_directory(current_settings()) as directory:
        found = find_user(directory.ledger, name)
        with directory.ledger.database.write():
            Accounts(directory.ledger).set_admin(found.id, not off)
            record(directory.ledger, "user.no_administrator" if off else "user.made_administrator", found.name)
    click.echo(f"User {found.id}, {found.name}, is {'no longer' if off else 'now'} an administrator.")


@user.command("disable")
@NAME
@json_option
def disable(name: str) -> None:
    """Lock the user NAME out at once: browsers and API tokens."""
    _set_disabled(name, True)


@user.command("enable")
@NAME
@json_option
def enable(name: str) -> None:
    """Let the user NAME in again, or who signed up and waits for approval."""
    _set_disabled(name, False)


def _set_disabled(name: str, disabled: bool) -> None:
    from braid.core.accounts.accounts import Accounts

    with open_data_directory(current_settings()) as directory:
        found = find_user(directory.ledger, name)
        Accounts(directory.ledger).set_disabled(found.id, disabled)
        record(directory.ledger, "user.disabled" if disabled else "user.enabled", found.name)
    print_result(
        {"id": found.id, "name": found.name, "disabled": disabled},
        f"User {found.id}, {found.name}, {'is locked out' if disabled else 'can sign in'}.",
    )


@user.command("remove")
@NAME
@click.option("--transfer-to", metavar="NAME|ID", help="First give their datasets to this user.")
@YES_OPTION
@json_option
def remove(name: str, transfer_to: str | None, yes: bool) -> None:
    """Remove the user NAME with datasets, conversations, tokens and everything else of theirs."""
    from braid.core.accounts.accounts import Accounts
    from braid.core.accounts.transfer import transfer_datasets

    with open_data_directory(current_settings()) as directory:
        ledger, accounts = directory.ledger, Accounts(directory.ledger)
        found, heir = find_user(ledger, name), find_user(ledger, transfer_to) if transfer_to else None
        owned = ledger.datasets(found.id)
        fate = f"{plural(len(owned), 'dataset')} given to {heir.name}" if heir else plural(len(owned), "dataset")
        confirm(f"Remove user {found.id}, {found.name}, with {fate}, conversations and tokens?", yes)
        accounts.require_removable(found.id)
        if heir is not None:
            transfer_datasets(ledger, found.id, heir.id)
        accounts.remove(found.id)
        record(ledger, "user.removed", found.name, fate)
    print_result(
        {"id": found.id, "name": found.name, "datasets": len(owned), "given_to": heir.id if heir else None},
        f"Removed user {found.id}, {found.name}, with {fate}.",
    )


@user.command("export")
@NAME
@click.option("--out", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="A new file.")
@json_option
def export(name: str, out: Path | None) -> None:
    """Write everything that is stored of the user NAME as one zip archive, such as for a request of access."""
    from braid.app.user.archive import archive, archive_name

    with open_data_directory(current_settings()) as directory:
        found = find_user(directory.ledger, name)
        path = out or Path(archive_name(found.id))
        pieces = archive(directory, found.id)
        with path.open("xb") as file:
            try:
                for piece in pieces:
                    file.write(piece)
            except BaseException:
                path.unlink()
                raise
        record(directory.ledger, "user.exported", found.name)
    print_result(
        {"id": found.id, "name": found.name, "file": str(path), "size_bytes": path.stat().st_size},
        f"Wrote what is stored of user {found.id}, {found.name}, to {path}.",
    )


@user.command("import", makes_site=True)
@click.argument("file", metavar="FILE.csv", type=click.File("r", encoding="utf-8-sig"))
@click.option("--dry-run", is_flag=True, help="Print what would change, and change nothing.")
@json_option
def import_csv(file: IO[str], dry_run: bool) -> None:
    """Add and change the users of a CSV file with the columns name, password, groups (a;b), admin, disabled."""
    from braid.core.accounts.accounts import Accounts
    from braid.core.accounts.user_import import import_users

    try:
        text = file.read()
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{file.name} is not UTF-8 ({error.reason}); save it as CSV in UTF-8.") from None
    with open_data_directory(current_settings()) as directory:
        done = import_users(
            Accounts(directory.ledger),
            text,
            dry_run=dry_run,
            then=lambda counts: record(directory.ledger, "users.imported", _import_told(counts)),
        )
    if wants_json():
        print_json(done)
        return
    if dry_run:
        rows = [(each.line, each.change, each.name, ", ".join(each.fields)) for each in done]
        print_table(("line", "change", "name", "fields"), rows, right=("line",))
    told = _import_told(Counter(each.change for each in done))
    click.echo(f"{'Would be: ' if dry_run else ''}{told}.")


def _import_told(counts: Mapping[Change, int]) -> str:
    return ", ".join(f"{counts[change]:,} {change}" for change in ("added", "changed", "unchanged"))
