"""The chat and the dataset picker for a frame in another app's page: without the head that leads to other pages."""

from __future__ import annotations

from flask import abort, render_template, request

from braid.app.auth.access import Routes
from braid.app.auth.identity import identity
from braid.app.pages.chat.blueprint import in_templates
from braid.app.pages.chat.conversations import page as chat_page
from braid.app.site import site
from braid.app.user.dataset_picker import make_picker
from braid.app.user.datasets import readable_datasets
from braid.app.words.languages import language_names
from braid.core.options import ALL, Datasets

embed = Routes("embed", __name__, "user", url_prefix="/embed")
embed.context_processor(in_templates)


@embed.get("/chat")
def chat() -> str:
    """Show a new conversation."""
    _require_origins()
    return chat_page()


@embed.get("/picker")
def picker() -> str:
    """Show the datasets with checkboxes; the page around it is told which are ticked."""
    _require_origins()
    readable = readable_datasets(identity().account)
    given = request.args.getlist("d")
    chosen = Datasets.of(dataset.id for dataset in readable.all if str(dataset.id) in given)
    if not given or ALL in given:
        chosen = Datasets.everything()
    picked = make_picker(readable, chosen, language_names(readable.all))
    return render_template("braid/embed_picker.html", picker=picked)


def _require_origins() -> None:
    """Refuse where no other page may show these: without the setting the addresses do not exist."""
    if not site().settings.frame_ancestors:
        abort(404)
