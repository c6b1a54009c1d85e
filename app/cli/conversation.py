"""``conversation``: the stored conversations of a user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from braid.app.cli.common import BraidGroup, choose_user, current_settings, json_option, record
from braid.app.cli.manage import YES_OPTION, confirm
from braid.app.cli.output import format_date, plural, print_list, print_result, wants_json
from braid.app.opening import open_data_directory
from braid.app.terminal import clean

if TYPE_CHECKING:
    from braid.core.chat.store import ConversationStore, StoredConversation
    from braid.core.data_directory import DataDirectory

USER_OPTION = click.option(
    "--user", metavar="NAME|ID", help="Owner of the conversations; optional if there is only one user."
)
ID_ARGUMENT = click.argument("conversation_id", metavar="ID", type=int)


@click.group(cls=BraidGroup)
def conversation() -> None:
    """List, show, rename, delete, restore and export conversations."""


@conversation.command("list")
@USER_OPTION
@click.option("--deleted", is_flag=True, help="Those that were deleted and can be restored.")
@json_option
def list_conversations(user: str | None, deleted: bool) -> None:
    """List the user's conversations, most recently used first."""
    with open_data_directory(current_settings()) as directory:
        store, owner = _store(directory), choose_user(directory.ledger, user)
        found = store.deleted(owner.id) if deleted else store.conversations(owner.id)
    rows = [(each.id, each.title, format_date(each.created_at), format_date(each.updated_at)) for each in found]
    print_list(found, ("id", "title", "created", "last used"), rows, right=("id",))


@conversation.command("show")
@ID_ARGUMENT
@USER_OPTION
@json_option
def show(conversation_id: int, user: str | None) -> None:
    """Print the conversation ID with the passages as they were when cited."""
    with _written(conversation_id, user, "json" if wants_json() else "md") as (_found, pieces, _count):
        for piece in pieces:
            click.echo(piece if wants_json() else clean(piece), nl=False)


@conversation.command("rename")
@ID_ARGUMENT
@click.argument("title")
@USER_OPTION
@json_option
def rename(conversation_id: int, title: str, user: str | None) -> None:
    """Rename the conversation ID to TITLE."""
    with open_data_directory(current_settings()) as directory:
        renamed = _store(directory).rename(choose_user(directory.ledger, user).id, conversation_id, title)
    print_result(renamed, clean(f"Conversation {renamed.id} is called {renamed.title}."))


@conversation.command("delete")
@ID_ARGUMENT
@USER_OPTION
@click.option("--permanently", is_flag=True, help="So that it cannot be restored; also one deleted before.")
@YES_OPTION
@json_option
def delete(conversation_id: int, user: str | None, permanently: bool, yes: bool) -> None:
    """Delete the conversation ID with its messages and files; it can be restored for some days."""
    settings = current_settings()
    with open_data_directory(settings) as directory:
        store, owner = _store(directory), choose_user(directory.ledger, user)
        found = store.conversation(owner.id, conversation_id, also_deleted=permanently)
        how = "permanently " if permanently else ""
        confirm(clean(f"Delete conversation {found.id}, {found.title}, {how}with all of its messages and files?"), yes)
        if permanently:
            store.delete(owner.id, conversation_id)
        else:
            store.discard(owner.id, conversation_id)
        record(directory.ledger, "conversation.deleted", str(found.id), f"of {owner.name}")
    days = plural(settings.deleted_days, "day")
    until = "" if permanently else f" It can be restored for {days}: conversation restore {found.id}"
    print_result(found, clean(f"Deleted conversation {found.id}, {found.title}.{until}"))


@conversation.command("restore")
@ID_ARGUMENT
@USER_OPTION
@json_option
def restore(conversation_id: int, user: str | None) -> None:
    """Restore the deleted conversation ID with its messages and files, without its link."""
    with open_data_directory(current_settings()) as directory:
        store, owner = _store(directory), choose_user(directory.ledger, user)
        store.restore(owner.id, [conversation_id])
        found = store.conversation(owner.id, conversation_id)
        record(directory.ledger, "conversation.restored", str(found.id), f"of {owner.name}")
    print_result(found, clean(f"Restored conversation {found.id}, {found.title}."))


@conversation.command("export")
@ID_ARGUMENT
@USER_OPTION
@click.option("--format", "form", type=click.Choice(("md", "json")), default="md", help="Markdown (default) or JSON.")
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="New file to write; stdout if left out.",
)
@json_option
def export(conversation_id: int, user: str | None, form: Literal["md", "json"], out: Path | None) -> None:
    """Write the conversation ID as Markdown for people (md) or as JSON for programs (json)."""
    form = "json" if wants_json() and out is None else form
    with _written(conversation_id, user, form, exported=True) as (found, pieces, count):
        if out is None:
            for piece in pieces:
                click.echo(piece, nl=False)
            return
        with out.open("x", encoding="utf-8") as file:
            file.writelines(pieces)
    print_result(
        {"conversation": found.id, "messages": count, "format": form, "file": str(out)},
        f"Wrote {plural(count, 'message')} to {out}.",
    )


def _store(directory: DataDirectory) -> ConversationStore:
    from braid.core.chat.store import ConversationStore

    return ConversationStore(directory.ledger, directory.registry)


@contextmanager
def _written(
    conversation_id: int, user: str | None, form: Literal["md", "json"], *, exported: bool = False
) -> Iterator[tuple[StoredConversation, Iterator[str], int]]:
    """Yield the conversation, its text, a message in memory at a time, and the number of its chosen messages.

    An export is in the audit log.
    """
    from braid.core.chat.export import as_json, as_markdown

    with open_data_directory(current_settings()) as directory:
        directory.mirror_registry()
        store, owner = _store(directory), choose_user(directory.ledger, user)
        found, (path, others) = store.conversation(owner.id, conversation_id), store.ids(owner.id, conversation_id)
        if exported:
            record(directory.ledger, "conversation.exported", str(found.id), f"of {owner.name}")
        chosen, rest = (store.each(owner.id, conversation_id, ids) for ids in (path, others))
        yield found, as_json(found, chosen, rest) if form == "json" else as_markdown(found, chosen), len(path)
