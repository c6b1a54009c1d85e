"""The audit log in the language of the page; the log and its downloads keep codes and English."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from flask_babel import gettext as _
from flask_babel import lazy_gettext as _l

from braid.app.words.values import dataset_name, model_name
from braid.core.errors import N_

COMMAND_LINE = "command line"
"""The actor of what commands do, as `braid.app.cli.common.ACTOR`, which is imported without Flask."""
LIST_FILE = "shared_dbs.json"
"""The actor of what somebody changes in the list of shared datasets with an editor."""
ACTIONS: Mapping[str, str] = {
    "administrator.created": _l("Administrator created"),
    "app.connected": _l("App connected"),
    "app.disconnected": _l("App disconnected"),
    "assistant.shared": _l("Assistant shared"),
    "assistant.transferred": _l("Assistant handed over"),
    "assistant.unshared": _l("Assistant no longer shared"),
    "audit.exported": _l("Audit log downloaded"),
    "backup.made": _l("Backup made"),
    "backup.restored": _l("Backup restored"),
    "backup.started": _l("Backup started"),
    "conversation.deleted": _l("Conversation deleted"),
    "conversation.exported": _l("Conversation exported"),
    "conversation.restored": _l("Conversation restored"),
    "conversation.shared": _l("Conversation shared"),
    "conversation.unshared": _l("Link to a conversation taken back"),
    "database.upgraded": _l("Database upgraded"),
    "dataset.access_declined": _l("Request for access declined"),
    "dataset.exported": _l("Dataset exported"),
    "dataset.glossary_changed": _l("Glossary changed"),
    "dataset.reembedded": _l("Dataset re-embedded"),
    "dataset.removed": _l("Dataset deleted"),
    "dataset.restored": _l("Dataset restored"),
    "dataset.shared": _l("Dataset shared"),
    "dataset.transferred": _l("Datasets handed over"),
    "dataset.unshared": _l("Dataset no longer shared"),
    "directory.moved": _l("Data folder moved"),
    "documents.added": _l("Documents added"),
    "documents.erased": _l("Documents permanently deleted"),
    "documents.removed": _l("Documents deleted"),
    "documents.restored": _l("Documents restored"),
    "folder.added": _l("Synced folder added"),
    "folder.removed": _l("Synced folder removed"),
    "group.added": _l("Group added"),
    "group.members": _l("Members changed"),
    "group.removed": _l("Group deleted"),
    "group.renamed": _l("Group renamed"),
    "index.rebuilt": _l("Index rebuilt"),
    "indexes.repaired": _l("Indexes repaired"),
    "key.removed": _l("Own key removed"),
    "key.stored": _l("Own key stored"),
    "models.chosen": _l("Model chosen"),
    "models.connected": _l("Model server connected"),
    "models.disconnected": _l("Model server removed"),
    "models.offered": _l("Offered models changed"),
    "retention.applied": _l("Old data deleted"),
    "scans.queued": _l("Scanned pages queued"),
    "scim.ended": _l("SCIM token revoked"),
    "scim.token": _l("SCIM token created"),
    "search.as_group": _l("Searched as a group"),
    "search.as_user": _l("Searched as someone else"),
    "second_factor.codes": _l("New recovery codes"),
    "second_factor.off": _l("Second factor turned off"),
    "second_factor.on": _l("Second factor turned on"),
    "second_factor.optional": _l("Second factor no longer required"),
    "second_factor.recovery": _l("Recovery code used"),
    "second_factor.required": _l("Second factor required"),
    "second_factor.reset": _l("Second factor reset"),
    "shared_db.added": _l("Shared dataset added"),
    "shared_db.changed": _l("Shared dataset changed"),
    "shared_db.disabled": _l("Shared dataset turned off"),
    "shared_db.enabled": _l("Shared dataset turned on"),
    "shared_db.removed": _l("Shared dataset deleted"),
    "shared_db.restored": _l("Shared dataset put back in the list"),
    "shared_db.unlisted": _l("Shared dataset taken off the list"),
    "shared_dbs.saved": _l("List of shared datasets saved"),
    "sign_up.changed": _l("Sign-up changed"),
    "token.made": _l("API token created"),
    "token.revoked": _l("API token revoked"),
    "user.added": _l("User added"),
    "user.changed": _l("User changed"),
    "user.disabled": _l("Account suspended"),
    "user.enabled": _l("Account reactivated"),
    "user.exported": _l("User's data exported"),
    "user.groups": _l("Groups changed"),
    "user.invited": _l("User invited"),
    "user.made_administrator": _l("Made administrator"),
    "user.no_administrator": _l("Administrator role removed"),
    "user.password": _l("Password changed"),
    "user.rejected": _l("Sign-up rejected"),
    "user.removed": _l("User deleted"),
    "user.sign_in_failed": _l("Sign-in failed"),
    "user.sign_in_refused": _l("Sign-in refused"),
    "user.signed_in": _l("Signed in"),
    "user.signed_out": _l("Signed out"),
    "user.signed_up": _l("Signed up"),
    "users.imported": _l("Users imported"),
}


def action_name(action: str) -> str:
    """Return what an action is called on pages; the code of one that is not known, as of a newer version."""
    return str(ACTIONS.get(action, action))


def actor_name(actor: str) -> str:
    """Return who did something as pages have it: a user's name, the command line, or an edited file."""
    if actor == LIST_FILE:
        return str(_("file on the server"))
    return _("command line") if actor == COMMAND_LINE else actor


DETAILS: Mapping[str, str] = (
    {
        "of user %(id)s": "",
        "dataset %(id)s": "",
        "dataset %(id)s of user %(other_id)s": "",
    }
    | {
        text: text
        for text in (
            N_("run by %(name)s"),
            N_("administrator"),
            N_("made administrator"),
            N_("everyone"),
            N_("none"),
            N_("nothing"),
            N_("with keys"),
            N_("with a code"),
            N_("with a recovery code"),
            N_("by invitation"),
            N_("by the user"),
            N_("one browser"),
            N_("all browsers"),
            N_("by the app"),
            N_("by the provider"),
            N_("by the provider that signs in"),
            N_("by the proxy that signs in"),
            N_("removed by the provider"),
            N_("was %(name)s"),
            N_("from %(name)s"),
            N_("of %(name)s"),
            N_("the state of %(name)s"),
            N_("user %(name)s may read"),
            N_("user %(name)s may read and change"),
            N_("user %(name)s may use"),
            N_("user %(name)s may use and change"),
            N_("group %(name)s may read"),
            N_("group %(name)s may read and change"),
            N_("group %(name)s may use"),
            N_("group %(name)s may use and change"),
            N_("user %(name)s"),
            N_("group %(name)s"),
            N_("%(count)s datasets of %(name)s"),
            N_("%(count)s dataset given to %(name)s"),
            N_("%(count)s datasets given to %(name)s"),
            N_("%(count)s document"),
            N_("%(count)s documents"),
            N_("%(count)s dataset"),
            N_("%(count)s datasets"),
            N_("%(count)s passages"),
            N_("%(count)s members"),
            N_("%(count)s terms"),
            N_("%(count)s findings"),
            N_("%(count)s token revoked"),
            N_("%(count)s tokens revoked"),
            N_("%(count)s added"),
            N_("%(count)s removed"),
            N_("%(count)s changed"),
            N_("%(count)s unchanged"),
            N_("%(count)s conversations"),
            N_("prefix %(name)s"),
            N_("without %(name)s"),
            N_("at %(name)s"),
            N_("name: %(old)s → %(new)s"),
            N_("description: %(old)s → %(new)s"),
        )
    }
    | {
        "%(count)s audit": N_("%(count)s entries of the audit log"),
        "%(count)s usage": N_("%(count)s counts of usage"),
        "%(count)s deleted": N_("%(count)s deletions"),
        "%(count)s expired_tokens": N_("%(count)s expired API tokens"),
        "allowed_groups: %(old)s → %(new)s": N_("groups: %(old)s → %(new)s"),
        "collection_name: %(old)s → %(new)s": N_("collection: %(old)s → %(new)s"),
        "enabled: True → False": N_("turned off"),
        "enabled: False → True": N_("turned on"),
        "all": N_("everything"),
        "settings": N_("as in the settings"),
        "open": N_("open"),
        "approval": N_("with approval"),
        "closed": N_("closed"),
        "search": N_("Query model"),
        "summary": N_("Answer model"),
        "read": N_("may read"),
        "write": N_("may change"),
        "read write": N_("may read and change"),
        "admin read write": N_("everything"),
        "own": N_("by the user"),
    }
)
"""A part of what is recorded, and the text that pages show for it; nothing where it is an id alone."""
_GIVEN = ("search.as_user", "search.as_group", "group.renamed", "documents.")
"""Beginnings of actions whose detail is a name, a question or the source of a document, or a number of documents."""
_OWN_WORDS = ("sign_up.", "second_factor.", "models.", "audit.", "scans.", "indexes.", "retention.", "users.")
"""Beginnings of actions whose target is no name."""
_NUMBERED = re.compile(r"-?\d+ (?P<name>.+)", re.DOTALL)
_NUMBERS = {"count": re.compile(r"[\d,]+"), "id": re.compile(r"-?\d+"), "other_id": re.compile(r"\d+")}
_NAMED_PART = re.compile(r"%\((\w+)\)s")
_SEPARATOR = re.compile(r"(, |; )")
_FIELDS = re.compile(r"(; |, (?=run by ))")


def target_text(target: str, action: str) -> str:
    """Return what an act was done to: a dataset or an assistant by its name, without its id; ids alone are left out."""
    if action.startswith(_OWN_WORDS):
        return _parts(target)
    if action.startswith("conversation."):
        return str(_("a conversation"))
    if action.startswith("dataset") and target.lstrip("-").isdecimal():
        return ""
    if action.startswith(("dataset.", "documents.", "shared_db.", "assistant.")):
        return _named(target) if _NUMBERED.fullmatch(target) else _parts(target)
    return target


def detail_text(detail: str, action: str) -> str:
    """Return an entry's detail, part by part, without ids. Parts that are names or unknown stay as they are."""
    told, comma, runner = detail.rpartition(", run by ")
    is_given = action.startswith((*_GIVEN, "user.groups"))
    if comma and is_given and (not action.startswith("documents.") or told[:1].isdecimal()):
        return f"{detail_text(told, action)}{_(', ')}{_part(f'run by {runner}')}"
    if action.startswith(_GIVEN):
        return _part(detail) if detail[:1].isdecimal() and action not in _GIVEN else detail
    if action == "user.changed" and detail.startswith("was "):  # a name may have commas
        return f"{_part(told)}{_(', ')}{_part(f'run by {runner}')}" if comma else _part(detail)
    if action == "user.groups":  # names, which may be words of `DETAILS` by chance
        return detail if ", " in detail else _part(detail)
    if action == "dataset.transferred" or action.startswith(("assistant.transferred", "folder.")):
        detail = _named(detail) if _NUMBERED.fullmatch(detail) and " datasets of " not in detail else detail
    if action.startswith("token."):
        detail = re.sub(r"^\d+ ?", "", detail)
    if action.startswith("shared_db."):  # names of groups have commas between them
        return _parts(re.sub(r"^shared_[\w.\-]+; ", "", detail), _FIELDS)
    return _parts(detail)


def _parts(text: str, separator: re.Pattern[str] = _SEPARATOR) -> str:
    pieces = separator.split(text)
    shown: list[str] = []
    for at in range(0, len(pieces), 2):
        if said := _part(pieces[at]):
            between = _(", ") if at and pieces[at - 1] == ", " else pieces[at - 1]
            shown += [between, said] if shown else [said]
    return "".join(shown)


def _part(text: str) -> str:
    for template, shown in DETAILS.items():
        if found := _pattern(template).fullmatch(text):
            parts = found.groupdict()
            if all(name not in _NUMBERS or _NUMBERS[name].fullmatch(part) for name, part in parts.items()):
                is_text = template.startswith(("name: ", "description: "))
                words = () if is_text else ("old", "new")
                values = {name: _part(part) if name in words else part for name, part in parts.items()}
                return str(_(shown, **values)) if shown else ""
            break
    return model_name(text) if ":" in text and " " not in text and "//" not in text else text


@cache
def _pattern(template: str) -> re.Pattern[str]:
    """Return the expression of the texts that a template makes, with a group for each of its parts."""
    fixed = [re.escape(piece) for piece in _NAMED_PART.split(template)[::2]]
    named = [f"(?P<{name}>.+?)" for name in _NAMED_PART.findall(template)]
    return re.compile("".join(a + b for a, b in zip(fixed, [*named, ""], strict=True)), re.DOTALL)


def _named(text: str) -> str:
    found = _NUMBERED.fullmatch(text)
    return str(dataset_name(found["name"])) if found else text
