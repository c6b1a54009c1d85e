"""The search page. It only reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from flask import Response, render_template
from werkzeug.utils import redirect
from werkzeug.wrappers import Response as Redirect

from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.opening import SAMPLE_NAME
from braid.app.pages.search.answer import build_answer
from braid.app.pages.search.blueprint import (
    address,
    form_of_request,
    search,
    search_with,
    status_of,
    template_values,
)
from braid.app.site import site
from braid.app.user.datasets import readable_datasets
from braid.core.types import Dataset

__all__ = ["search"]

EXAMPLES = (
    ("en", "How large may a file be?"),
    ("ja", "データセットを削除するとどうなりますか"),
    ("ko", "파일을 읽을 수 없을 때는 어떻게 하나요?"),
)


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
    readable = readable_datasets(identity().account)
    answer = None
    if form.text:
        answer = build_answer(search_with(form), form, readable.all, site().braid.analyzer)
    return render_template(
        "braid/search.html",
        answer=answer,
        status=status_of(site(), readable.all),
        examples=list(_examples(readable.all)),
        compare_href=address("braid.search.compare", form.query_arguments()),
        why_not_href=address("braid.search.why_not", form.query_arguments()),
        **template_values(form, readable),
    )


@search.get("/status.json")
@rule("user")
def status() -> Response:
    """Return the indexing status as JSON, for the page's script."""
    found = status_of(site(), readable_datasets(identity().account).all)
    return Response(json.dumps(asdict(found), ensure_ascii=False), mimetype="application/json")


# ---------------------------------------------------------------- what the routes share


def _examples(datasets: list[Dataset]) -> Iterator[tuple[str, str, str]]:
    """Yield questions that the sample answers, each with its language and address."""
    if any(dataset.name == SAMPLE_NAME and dataset.documents for dataset in datasets):
        ids = [dataset.id for dataset in datasets]
        for language, question in EXAMPLES:
            yield language, question, url_for("braid.search.index", q=question, d=ids)
