"""The page of the raw list of shared datasets, which is validated and compared before it is saved."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from flask import render_template, request
from flask_babel import gettext as _
from werkzeug.wrappers import Response

from braid.app.auth.identity import identity
from braid.app.pages.admin.blueprint import admin
from braid.app.site import site
from braid.app.web.errors import refusing
from braid.core.datasets.registry import validate
from braid.core.errors import RegistryConflictError, RegistryError

CONTEXT_LINES = 3


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of the comparison. ``old`` and ``new`` are line numbers; None if the text on that side lacks the line."""

    kind: Literal["same", "gone", "new", "skipped"]
    old: int | None
    new: int | None
    text: str


@admin.get("/shared/file")
def registry_file() -> str:
    """Show the list's text, valid or not."""
    text, fingerprint = site().braid.registry.text()
    return _page(text or "[]\n", fingerprint)


@admin.post("/shared/file")
def edit_registry_file() -> tuple[str, int] | Response:
    """Validate the text and show the comparison; save the text once the comparison is confirmed."""
    registry = site().braid.registry
    text, fingerprint = _typed_text(), request.form.get("fingerprint", "")
    with refusing(_page, text, fingerprint, on=RegistryError):
        validate(text, retired_ids=site().braid.ledger.retired_shared_ids())
    on_disk, now = registry.text()
    if now != fingerprint:
        return _conflict(text), 409
    if request.form.get("action") != "save":
        return _page(text, fingerprint, diff=list(diff_lines(on_disk, text)), ask=True), 200
    try:
        site().shared_datasets.replace_text(text, expected_fingerprint=fingerprint, by=identity().account.name)
    except RegistryConflictError:  # the list changed after the comparison above
        return _conflict(text), 409
    except RegistryError as error:
        return _page(text, fingerprint, problem=str(error)), 400
    return admin.done(_("List saved. The changes are in effect."), "shared")


def diff_lines(before: str, after: str) -> Iterator[DiffLine]:
    """Yield the lines that differ, with `CONTEXT_LINES` around them. Ignores line endings."""
    old, new = before.splitlines(), after.splitlines()
    groups = difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(CONTEXT_LINES)
    for number, group in enumerate(groups):
        if number:
            yield DiffLine("skipped", None, None, "…")
        for tag, a, b, c, d in group:
            if tag == "equal":
                yield from (DiffLine("same", a + n + 1, c + n + 1, line) for n, line in enumerate(old[a:b]))
            else:
                yield from (DiffLine("gone", a + n + 1, None, line) for n, line in enumerate(old[a:b]))
                yield from (DiffLine("new", None, c + n + 1, line) for n, line in enumerate(new[c:d]))


def _conflict(text: str) -> str:
    """Show the submitted text, compared with the list as somebody else has changed it meanwhile."""
    on_disk, now = site().braid.registry.text()
    problem = _(
        "Someone else has changed the list in the meantime. This is how your text differs from the current list."
    )
    return _page(text, now, problem=problem, diff=list(diff_lines(on_disk, text)), ask=True)


def _page(text: str, fingerprint: str, *, problem: str = "", diff: Sequence[DiffLine] = (), ask: bool = False) -> str:
    registry = site().braid.registry
    return render_template(
        "braid/admin/registry_file.html",
        text=text,
        fingerprint=fingerprint,
        problem=problem,
        diff=diff,
        ask=ask,
        dropped=_names_without_entry(text) if ask else [],
        title=registry.name if registry.is_file else _("List of shared datasets"),
        registry_problem=registry.problem(),
        rows=min(40, max(12, text.count("\n") + 2)),
    )


def _names_without_entry(text: str) -> list[str]:
    """Return the names of current entries that the text no longer has."""
    kept = {entry.id for entry in validate(text)}
    return [entry.name for entry in site().braid.registry.entries() if entry.id not in kept]


def _typed_text() -> str:
    text = request.form.get("text", "").replace("\r\n", "\n")
    return text if text.endswith("\n") else text + "\n"
