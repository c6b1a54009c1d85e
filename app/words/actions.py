"""Names of what the audit log records, for people; the log and its downloads keep the codes."""

from __future__ import annotations

from collections.abc import Mapping

from flask_babel import gettext as _
from flask_babel import lazy_gettext as _l

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
