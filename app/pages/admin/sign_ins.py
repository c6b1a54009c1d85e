"""How people come in: whether visitors may sign up, a second factor for everyone, users from an identity provider."""

from __future__ import annotations

from collections.abc import Mapping

from flask import render_template, request
from flask_babel import gettext as _
from flask_babel import lazy_gettext as _l
from werkzeug.wrappers import Response

from braid.app.auth.challenge import base_address
from braid.app.auth.identity import identity
from braid.app.pages.admin.blueprint import admin, audit, require_own_accounts
from braid.app.scim.token import make_token, take_token_back, token_made_at
from braid.app.site import SECOND_FACTOR, site
from braid.core.options import require_choice

SIGN_UP_TEXTS: Mapping[str, str] = {
    "open": _l("Visitors can create accounts."),
    "approval": _l("Visitors can create accounts, which an administrator has to approve."),
    "closed": _l("Only administrators can add users."),
}


@admin.get("/sign-in")
def sign_ins() -> str:
    """Show whether visitors may sign up, whether a second factor is required, and the identity provider."""
    require_own_accounts()
    return _page()


@admin.post("/users/sign-up")
def set_sign_up() -> Response:
    """Allow visitors to create accounts, with or without approval, or forbid it."""
    require_own_accounts()
    state = request.form.get("sign_up", "")
    require_choice("sign_up", state, SIGN_UP_TEXTS)
    site().app_settings.set("sign_up", state)
    audit("sign_up.changed", state)
    return admin.done(str(SIGN_UP_TEXTS[state]), "sign_ins")


@admin.post("/users/second-factor")
def require_second_factor() -> tuple[str, int] | Response:
    """Require a second factor of all who sign in with a password, or no longer. Who has none is signed out."""
    require_own_accounts()
    wanted, me = request.form.get("required") == "1", identity().account
    if wanted and me.has_password and not site().second_factors.is_on(me.id):
        return _page(problem=_("Set up your own second factor first, on your account page.")), 400
    with site().whole():
        site().app_settings.set(SECOND_FACTOR, wanted or None)
        if wanted:
            site().second_factors.sign_out_those_without()
        audit("second_factor.required" if wanted else "second_factor.optional", "everyone")
    if wanted:
        return admin.done(_("Everyone who signs in with a password now shows a code, too."), "sign_ins")
    return admin.done(_("A second factor is no longer required."), "sign_ins")


@admin.post("/users/scim")
def make_scim_token() -> tuple[str, int]:
    """Make a token for an identity provider in place of the present one, and show it, once."""
    require_own_accounts()
    token = make_token(identity().account.name)
    audit("scim.token", "SCIM")
    return _page(scim_token=token), 201


@admin.post("/users/scim/end")
def end_scim() -> Response:
    """Take the identity provider's token back."""
    require_own_accounts()
    take_token_back()
    audit("scim.ended", "SCIM")
    return admin.done(_("The identity provider can no longer change users and groups."), "sign_ins")


def _page(*, problem: str = "", scim_token: str = "") -> str:
    return render_template(
        "braid/admin/sign_ins.html",
        sign_up=site().sign_up,
        sign_up_texts=SIGN_UP_TEXTS,
        second_factor_required=site().second_factor_required,
        scim_token=scim_token,
        scim_made_at=token_made_at(),
        scim_address=f"{base_address()}/scim/v2",
        problem=problem,
    )
