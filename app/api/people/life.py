"""``/users/…``: sessions, the export of everything of a user, datasets for another user, and the import of a list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from flask import Response
from pydantic import Field

from braid.app.api.framework.operations import Answered, Resource
from braid.app.api.framework.requests import WHOLE, Given
from braid.app.api.people.users import require_own_accounts
from braid.app.api.schemas import Moment, Page, PageQuery, Shown, page_of, slice_rows
from braid.app.auth.identity import identity
from braid.app.auth.invitations import invitation_url
from braid.app.site import site
from braid.app.user.archive import archive, archive_name
from braid.app.user.sharing import hand_over_all
from braid.core.accounts.user_import import Change, import_users
from braid.core.types import MAX_ID

ZIP = "application/zip"
MAX_CSV_CHARS = 1_000_000

resource = Resource("life of users", "Sessions, exports, transfers and imports; administrators manage them.", "admin")

PersonalId = Annotated[int, Field(ge=1, le=MAX_ID), WHOLE]


class SessionShown(Shown):
    """A browser that is signed in."""

    id: int
    user_agent: str
    created_at: Moment
    seen_at: Moment = Field(description="The last use, to the minute")


class Invitation(Shown):
    """An invitation; whoever has its address can choose the user's password."""

    url: str


class TransferGiven(Given):
    """The datasets to hand over, and the user who gets them."""

    to_user_id: PersonalId
    dataset_ids: list[PersonalId] | None = Field(None, max_length=1000, description="Without it, all of the user's")


class Transferred(Shown):
    """The datasets that have another owner now."""

    dataset_ids: list[int]


class CsvGiven(Given):
    """A list of users."""

    csv: str = Field(
        max_length=MAX_CSV_CHARS,
        description="The first line names the columns: name, and of password, groups (separated by ;), admin and"
        " disabled (yes or no) those to set",
        examples=["name,groups,admin\nmika,lab;staff,no\n"],
    )
    dry_run: bool = Field(False, description="Say what would change, and change nothing")


class ImportedShown(Shown):
    """What an import does with one line."""

    line: int
    name: str
    change: Literal["added", "changed", "unchanged"]
    fields: list[str] = Field(description="What is set or changes")


class Imported(Shown):
    """The lines of an import."""

    users: list[ImportedShown]


@resource.get("/users/<int:user_id>/sessions", Page[SessionShown])
def list_sessions_of_user(user_id: int, query: PageQuery) -> Answered:
    """List the browsers in which a user is signed in, the last used first."""
    sessions = site().sessions.of_user(site().accounts.get(user_id).id)
    return page_of(Page[SessionShown], query, slice_rows(sessions), SessionShown.model_validate)


@resource.delete("/users/<int:user_id>/sessions")
def end_sessions_of_user(user_id: int) -> None:
    """Sign a user out of all browsers, as when a telephone is lost. API tokens stay."""
    require_own_accounts()
    account = site().accounts.get(user_id)
    site().sessions.end_all(account.id)
    _record("user.signed_out", account.name)


@resource.delete("/users/<int:user_id>/tokens")
def revoke_tokens_of_user(user_id: int) -> None:
    """Revoke all API tokens of a user, and disconnect all apps that the user has connected."""
    account = site().accounts.get(user_id)
    site().tokens.revoke_all(account.id)
    _record("token.revoked", account.name, "all")


@resource.post("/users/<int:user_id>/invitation", Invitation, status=201, repeatable=False)
def invite(user_id: int) -> Invitation:
    """Make a link with which a user chooses a password, once, within a week."""
    require_own_accounts()
    account = site().accounts.get(user_id)
    address = invitation_url(account)
    _record("user.invited", account.name)
    return Invitation(url=address)


@resource.get("/users/<int:user_id>/export", None, media_types=(ZIP,))
def export_user(user_id: int) -> Response:
    """Download everything that is stored of a user as one zip archive, as for a request of access.

    It has the account, conversations with what they cite, feedback, usage, jobs, all personal datasets with passages
    and the files that are kept, and the lines of the audit log with the user's name; no password, key or token.
    """
    account = site().accounts.get(user_id)
    pieces = archive(site().braid, user_id)
    _record("user.exported", account.name)
    headers = {"Content-Disposition": f"attachment; filename={archive_name(user_id)}"}
    return Response(pieces, mimetype=ZIP, headers=headers)


@resource.post("/users/<int:user_id>/transfer", Transferred)
def transfer(user_id: int, body: TransferGiven) -> Transferred:
    """Give datasets of a user to another. Nothing is embedded again; the indexes follow."""
    return Transferred(dataset_ids=hand_over_all(user_id, body.to_user_id, body.dataset_ids))


@resource.post("/users/import", Imported)
def import_list(body: CsvGiven) -> Imported:
    """Add the users of a CSV list and make those that there are like their lines, all or none.

    Users who are not in the list stay as they are. A password is for a new user only.
    """
    require_own_accounts()
    done = import_users(site().accounts, body.csv, dry_run=body.dry_run, then=_record_import)
    return Imported(users=[ImportedShown.model_validate(each) for each in done])


def _record_import(counts: Mapping[Change, int]) -> None:
    _record("users.imported", f"{counts['added']} added, {counts['changed']} changed")


def _record(action: str, target: str, detail: str = "") -> None:
    site().audit.add(identity().account.name, action, target, detail)
