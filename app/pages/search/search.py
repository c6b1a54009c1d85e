"""The search page. It only reads."""

from __future__ import annotations

import json
from dataclasses import asdict

from flask import Response, render_template
from werkzeug.utils import redirect
from werkzeug.wrappers import Response as Redirect

from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.pages.search.answer import build_answer
from braid.app.pages.search.blueprint import (
    address,
    examples,
    form_of_request,
    search,
    search_with,
    status_of,
    template_values,
)
from braid.app.site import site
from braid.app.user.datasets import readable_datasets

__all__ = ["search"]


@search.get("/")
@rule("user")
def home() -> Redirect:
    """Redirect to the chat, the page that most people want."""
    return redirect(url_for("braid.chat.page"))


@search.get("/search")
@rule("user")
def index() -> str:
    """Show the search page, with the answer if there is a query."""
    form = form_of_request()
    return render_template(
        "braid/search.html",
        answer=build_answer(search_with(form), form) if form.text else None,
        status=status_of(site(), form.readable.all),
        examples=[] if form.text else examples("braid.search.index", form.readable),
        compare_href=address("braid.search.compare", form.query_arguments()),
        why_not_href=address("braid.search.why_not", form.query_arguments()),
        **template_values(form),
    )


@search.get("/status.json")
@rule("user")
def status() -> Response:
    """Return the indexing status as JSON, for the page's script."""
    found = status_of(site(), readable_datasets(identity().account).all)
    return Response(json.dumps(asdict(found), ensure_ascii=False), mimetype="application/json")
