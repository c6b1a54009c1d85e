"""Activity: everybody's jobs, usage with charts, and the audit log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast, get_args

from flask import render_template, request
from flask_babel import lazy_gettext as _l

from braid.app.auth.access import rule
from braid.app.pages.admin.blueprint import admin, page_number
from braid.app.site import site
from braid.core.accounts.account_list import account_names
from braid.core.accounts.usage import last_days
from braid.core.errors import InvalidInputError
from braid.core.jobs.store import JobState, JobStore

PER_PAGE = 50
MOST_USERS = 100
"""Users whose use is listed, those with the most first; the others are counted."""
DAYS = (7, 30, 90)
KINDS: Mapping[str, str] = {
    "search": _l("Searches"),
    "chat": _l("Chat answers"),
    "upload": _l("Uploads"),
    "api": _l("API calls"),
}


@dataclass(frozen=True, slots=True)
class Chart:
    """Counts per day of one kind of use. ``bars`` are (day, count), the oldest first."""

    name: str
    bars: tuple[tuple[str, int], ...]

    @property
    def most(self) -> int:
        """Height of the highest bar; at least 1."""
        return max(1, *(count for _day, count in self.bars))

    @property
    def total(self) -> int:
        """Sum over all days."""
        return sum(count for _day, count in self.bars)


@admin.get("/jobs")
@rule("admin")
def jobs() -> str:
    """Show everybody's jobs, the newest first."""
    given, page = request.args.get("state", ""), page_number()
    if given and given not in get_args(JobState):
        raise InvalidInputError(
            f"state is {given[:20]!r}; choose one of {', '.join(get_args(JobState))}", field="state"
        )
    store = JobStore(site().braid.ledger)
    state = cast(JobState, given) if given else None
    found = store.all(state=state, limit=PER_PAGE + 1, offset=PER_PAGE * page)
    return render_template(
        "braid/admin/jobs.html",
        jobs=found[:PER_PAGE],
        names=account_names(site().braid.ledger.database, {job.user_id for job in found}),
        counts=store.counts(),
        state=given,
        page=page,
        more=len(found) > PER_PAGE,
    )


@admin.get("/usage")
@rule("admin")
def usage() -> str:
    """Show usage by day and by user."""
    days = request.args.get("days", 30, type=int)
    if days not in DAYS:
        raise InvalidInputError(f"days is {days}; choose one of {', '.join(map(str, DAYS))}", field="days")
    by_user: dict[int, dict[str, int]] = {}
    for user_id, kind, count in site().usage.by_user(days=days):
        by_user.setdefault(user_id, {})[kind] = count
    charts, busiest = _charts(days), sorted(by_user.items(), key=lambda row: -sum(row[1].values()))[:MOST_USERS]
    names = account_names(site().braid.ledger.database, [user_id for user_id, _counts in busiest])
    return render_template(
        "braid/admin/usage.html",
        charts=charts,
        kinds={chart: str(KINDS.get(chart, chart)) for chart in sorted({k for m in by_user.values() for k in m})},
        users=[(names.get(user_id, str(user_id)), counts) for user_id, counts in busiest],
        other_users=len(by_user) - len(busiest),
        days=days,
        choices=DAYS,
        thumbs=site().answer_thumbs.counts(days=days),
    )


@admin.get("/audit")
@rule("admin")
def audit_log() -> str:
    """Show actions of administrators, the newest first."""
    page = page_number()
    found = site().audit.entries(limit=PER_PAGE + 1, offset=PER_PAGE * page)
    return render_template("braid/admin/audit.html", entries=found[:PER_PAGE], page=page, more=len(found) > PER_PAGE)


def _charts(days: int) -> list[Chart]:
    counts: dict[str, dict[str, int]] = {}
    for day, kind, count in site().usage.daily(days=days):
        counts.setdefault(kind, {})[day] = count
    axis = last_days(days)
    return [
        Chart(str(KINDS.get(kind, kind)), tuple((day, by_day.get(day, 0)) for day in axis))
        for kind, by_day in sorted(counts.items())
    ]
