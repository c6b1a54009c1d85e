"""``dataset`` and ``shared-db``: what can be searched."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from braid.app.cli.common import (
    ACTOR,
    BraidGroup,
    choose_user,
    current_settings,
    find_user,
    json_option,
    record,
    with_runner,
)
from braid.app.cli.output import complain, plural, print_list, print_result
from braid.app.opening import open_data_directory
from braid.core.errors import RegistryError

if TYPE_CHECKING:
    from braid.core.data_directory import DataDirectory
    from braid.core.datasets.shared_changes import SharedDatasets
    from braid.core.datasets.shares import Kind, Shares

NEGATIVE_IDS = {"ignore_unknown_options": True}  # so that -1 is an id and not an option
YES_OPTION = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")


# ---------------------------------------------------------------- datasets


@click.group(cls=BraidGroup)
def dataset() -> None:
    """Add, list and remove datasets."""


@dataset.command("add", makes_site=True)
@click.argument("name")
@click.option("--user", "owner", metavar="NAME|ID", help="Owner of the dataset; optional if there is only one user.")
@json_option
def add_dataset(name: str, owner: str | None) -> None:
    """Add the personal dataset NAME."""
    with open_data_directory(current_settings()) as directory:
        added = directory.ledger.add_dataset(choose_user(directory.ledger, owner).id, name)
    print_result(added, f"Added dataset {added.id}, {added.name}.")


@dataset.command("list")
@click.option("--user", "owner", metavar="NAME|ID", help="Only what this user may search.")
@json_option
def list_datasets(owner: str | None) -> None:
    """List personal and shared datasets with their sizes."""
    from braid.app.user.datasets import UserDatasets, stored_datasets

    with open_data_directory(current_settings()) as directory:
        names = {user.id: user.name for user in directory.ledger.users()}
        if owner is None:
            personal = [
                found for found in directory.ledger.all_datasets() if not found.shared and not found.conversation_id
            ]
            shared = stored_datasets(directory, directory.registry.entries())
        else:
            personal, shared = UserDatasets(directory, find_user(directory.ledger, owner).id).readable()
        datasets = [*personal, *shared]
    rows = [
        (found.id, found.name, names.get(found.user_id or 0, "(shared)"), found.documents, found.chunks)
        for found in datasets
    ]
    print_list(datasets, ("id", "name", "owner", "documents", "passages"), rows, right=("id", "documents", "passages"))


@dataset.command("remove", context_settings=NEGATIVE_IDS)
@click.argument("dataset_id", metavar="ID", type=int)
@click.option("--permanently", is_flag=True, help="So that it cannot be restored.")
@YES_OPTION
@json_option
def remove_dataset(dataset_id: int, permanently: bool, yes: bool) -> None:
    """Remove a personal dataset with all its documents; it can be restored for some days."""
    from braid.core.ledger.deleted import DeletedDatasets

    settings = current_settings()
    with open_data_directory(settings) as directory:
        found = directory.dataset(dataset_id)
        if found.shared:
            raise click.UsageError(f"Dataset {dataset_id} is shared; remove it with: shared-db remove {dataset_id}")
        what = f"dataset {found.id}, {found.name}, {'permanently ' if permanently else ''}"
        confirm(f"Remove {what}with {plural(found.documents, 'document')}?", yes)
        if permanently:
            directory.remove_dataset(dataset_id)
        else:
            DeletedDatasets(directory.ledger).discard(dataset_id)
            directory.wake()
        record(directory.ledger, "dataset.removed", f"{found.id} {found.name}", plural(found.documents, "document"))
    days = plural(settings.deleted_days, "day")
    until = "" if permanently else f" It can be restored for {days}: dataset restore {found.id}"
    told = f"Removed dataset {found.id}, {found.name}, with {plural(found.documents, 'document')}.{until}"
    print_result(found, told)


@dataset.command("restore")
@click.argument("dataset_id", metavar="ID", type=int)
@click.option("--user", metavar="NAME|ID", help="Owner of the dataset; optional if there is only one user.")
@json_option
def restore_dataset(dataset_id: int, user: str | None) -> None:
    """Restore a removed dataset with its documents. It is shared with nobody."""
    from braid.core.ledger.deleted import DeletedDatasets

    settings = current_settings()
    with open_data_directory(settings) as directory:
        owner, most = choose_user(directory.ledger, user).id, settings.max_user_datasets
        DeletedDatasets(directory.ledger).restore(owner, dataset_id, most=most)
        directory.wake()
        found = directory.dataset(dataset_id)
        record(directory.ledger, "dataset.restored", f"{found.id} {found.name}", plural(found.documents, "document"))
    told = f"Restored dataset {found.id}, {found.name}, with {plural(found.documents, 'document')}."
    print_result(found, told)


@dataset.command("transfer")
@click.argument("dataset_id", metavar="ID", type=int)
@click.argument("new_owner", metavar="NAME|ID")
@json_option
def transfer_dataset(dataset_id: int, new_owner: str) -> None:
    """Give a personal dataset with all its documents to another user."""
    from braid.core.accounts.transfer import transfer_datasets

    with open_data_directory(current_settings()) as directory:
        found, owner = directory.dataset(dataset_id), find_user(directory.ledger, new_owner)
        if found.shared or found.user_id is None:
            raise click.UsageError(f"Dataset {dataset_id} is shared; it has no owner.")
        with directory.ledger.database.write():
            transfer_datasets(directory.ledger, found.user_id, owner.id, [dataset_id])
            record(directory.ledger, "dataset.transferred", owner.name, f"{found.id} {found.name}")
        moved = directory.dataset(dataset_id)
    print_result(moved, f"Dataset {found.id}, {found.name}, is now of user {owner.id}, {owner.name}.")


@dataset.command("share", context_settings=NEGATIVE_IDS)
@click.argument("dataset_id", metavar="ID", type=int)
@click.option("--user", "user_name", metavar="NAME", help="User who may read it.")
@click.option("--group", metavar="NAME", help="Group whose members may read it.")
@click.option("--write", is_flag=True, help="They may also add and remove documents.")
@json_option
def share_dataset(dataset_id: int, user_name: str | None, group: str | None, write: bool) -> None:
    """Share a personal dataset, or give a shared one an editor (with --write); without a name list who has it."""
    from braid.core.datasets.shares import Share

    with open_data_directory(current_settings()) as directory:
        shares, found = _shares(directory), directory.dataset(dataset_id)
        if user_name is not None or group is not None:
            kind, name = _one_of(user_name, group)
            shares.put(found, Share(kind, name, write), by=ACTOR)
        elif write:
            raise click.UsageError("--write needs --user or --group.")
        listed = shares.of(found)
    rows = [(each.kind, each.name, "reads and changes" if each.may_write else "reads") for each in listed]
    print_list(listed, ("kind", "name", "may"), rows)


@dataset.command("unshare", context_settings=NEGATIVE_IDS)
@click.argument("dataset_id", metavar="ID", type=int)
@click.option("--user", "user_name", metavar="NAME", help="User who may no longer read it.")
@click.option("--group", metavar="NAME", help="Group whose members may no longer read it.")
def unshare_dataset(dataset_id: int, user_name: str | None, group: str | None) -> None:
    """Take back what was shared with a user or a group."""
    kind, name = _one_of(user_name, group)
    with open_data_directory(current_settings()) as directory:
        found = directory.dataset(dataset_id)
        _shares(directory).remove(found, kind, name, by=ACTOR)
    click.echo(f"Dataset {found.id}, {found.name}, is no longer shared with the {kind} {name}.")


def _shares(directory: DataDirectory) -> Shares:
    from braid.core.accounts.audit import AuditLog
    from braid.core.datasets.shares import Shares

    def audit(actor: str, action: str, target: str, detail: str) -> None:
        AuditLog(directory.ledger).add(actor, action, target, with_runner(detail))

    directory.mirror_registry()
    return Shares(directory.ledger, directory.registry, audit)


def _one_of(user_name: str | None, group: str | None) -> tuple[Kind, str]:
    if (user_name is None) == (group is None):
        raise click.UsageError("Name one: --user NAME or --group NAME.")
    return ("user", user_name) if user_name is not None else ("group", group or "")


def confirm(question: str, yes: bool, *, kept: str = "Nothing was removed") -> None:
    """Ask for confirmation on stderr unless ``yes`` was given; exit with status 1 if it is denied.

    Raises UsageError without a terminal to ask on.
    """
    if yes:
        return
    try:
        agreed = click.confirm(question, err=True)
    except click.Abort:
        raise click.UsageError(f"{kept}: there was no answer; pass --yes.") from None
    if not agreed:
        click.echo(f"{kept}.", err=True)
        click.get_current_context().exit(1)


# ---------------------------------------------------------------- shared datasets


def _shared_datasets(directory: DataDirectory) -> SharedDatasets:
    from braid.core.accounts.app_settings import AppSettings
    from braid.core.accounts.audit import AuditLog
    from braid.core.datasets.shared_changes import SharedDatasets

    return SharedDatasets(directory, AuditLog(directory.ledger).add, AppSettings(directory.ledger))


@click.group("shared-db", cls=BraidGroup)
def shared_db() -> None:
    """Add, list and remove shared datasets, and edit the list of them."""


@shared_db.command("add", makes_site=True)
@click.argument("name")
@click.option("--collection", required=True, metavar="shared_X", help="Collection of its passages.")
@click.option("--description", default="", help="One line for the picker.")
@click.option("--group", "groups", multiple=True, help="Group that may read it; repeatable. Without any, everyone may.")
@json_option
def add_shared(name: str, collection: str, description: str, groups: tuple[str, ...]) -> None:
    """Add the shared dataset NAME."""
    with open_data_directory(current_settings()) as directory:
        shared = _shared_datasets(directory)
        added = shared.add(name, collection, description=description, allowed_groups=groups, by=ACTOR)
    print_result(added, f"Added shared dataset {added.id}, {added.name}, in {added.collection_name}.")


@shared_db.command("list")
@json_option
def list_shared() -> None:
    """List the shared datasets; problems of the file are reported on stderr."""
    with open_data_directory(current_settings()) as directory:
        entries, problem = directory.registry.entries(), directory.registry.problem()
    if problem:
        complain(problem)
    rows = [
        (
            entry.id,
            entry.name,
            entry.collection_name,
            ", ".join(entry.allowed_groups) or "everyone",
            "yes" if entry.enabled else "no",
            entry.description,
        )
        for entry in entries
    ]
    print_list(entries, ("id", "name", "collection", "open to", "enabled", "description"), rows, right=("id",))
    if problem:
        click.get_current_context().exit(1)


@shared_db.command("export")
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path, allow_dash=True))
def export_shared(file: Path) -> None:
    """Write the list of shared datasets into the new FILE, as it is stored; - is the standard output."""
    with open_data_directory(current_settings()) as directory:
        text, _ = directory.registry.text()
    text = text or "[]\n"
    if str(file) == "-":
        click.echo(text, nl=False)
        return
    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(text)
    except FileExistsError:
        raise click.UsageError(f"{file} exists already; name another file, nothing is overwritten.") from None
    click.echo(f"Wrote the list of shared datasets into {file}.")


@shared_db.command("import", makes_site=True)
@click.argument("file", metavar="FILE", type=click.File("rb"))
@YES_OPTION
def import_shared(file: IO[bytes], yes: bool) -> None:
    """Put FILE in place of the list of shared datasets, once it is checked; - is the standard input.

    The lines that change are shown first. The documents of datasets that leave the list stay; nobody can read them.
    """
    from difflib import unified_diff

    from braid.core.datasets.entry import decode, validate

    with open_data_directory(current_settings()) as directory:
        try:
            text = decode(file.read())
            validate(text, retired_ids=directory.ledger.retired_shared_ids())
        except RegistryError as error:
            raise click.UsageError(f"{file.name}: {error}") from error
        before, fingerprint = directory.registry.text()
        changed = list(unified_diff(before.splitlines(), text.splitlines(), "now", file.name, lineterm="", n=1))
        for line in changed:
            click.echo(line, err=True)
        if not changed:
            click.echo("The list of shared datasets is this one already.")
            return
        confirm("Replace the current list?", yes, kept="Nothing was changed")
        _shared_datasets(directory).replace_text(text, expected_fingerprint=fingerprint, by=ACTOR)
    click.echo("The list of shared datasets is changed.")


@shared_db.command("remove", context_settings=NEGATIVE_IDS)
@click.argument("dataset_id", metavar="ID", type=int)
@YES_OPTION
@json_option
def remove_shared(dataset_id: int, yes: bool) -> None:
    """Remove a shared dataset with all its documents."""
    with open_data_directory(current_settings()) as directory:
        found = directory.ledger.dataset(dataset_id)  # also one whose entry is gone from the file
        if not found.shared:
            raise click.UsageError(f"Dataset {dataset_id} is personal; remove it with: dataset remove {dataset_id}")
        confirm(
            f"Remove shared dataset {found.id}, {found.name}, with {plural(found.documents, 'document')}?",
            yes,
        )
        _shared_datasets(directory).remove(dataset_id, by=ACTOR)
    print_result(found, f"Removed shared dataset {found.id}, {found.name}.")
