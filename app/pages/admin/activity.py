"""Activity: everybody's jobs, and usage with charts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from math import sqrt
from statistics import median
from typing import Any, cast, get_args

from flask import render_template, request, stream_with_context
from flask_babel import lazy_gettext as _l
from flask_babel import ngettext
from werkzeug.utils import redirect
from werkzeug.wrappers import Response
from werkzeug.wrappers import Response as Redirect

from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.pages.admin.blueprint import BYTE_ORDER_MARK, admin, csv_lines, in_order, page_number
from braid.app.site import site
from braid.app.web.transfers import chosen_ids
from braid.app.words.values import FAULTS, dataset_name
from braid.core.accounts.account_list import account_names
from braid.core.accounts.usage import last_days
from braid.core.chat.conversation import Conversation
from braid.core.chat.turns.tally import LEAST_ASKERS, ModelUse, Tally, Unanswered
from braid.core.chat.types import ChatRequest
from braid.core.errors import InvalidInputError, Reason
from braid.core.jobs.store import Job, JobState, JobStore
from braid.core.options import require_choice
from braid.core.types import MAX_ID

PER_PAGE = 50
MAX_QUESTION_CHARS = 200
ONE_ACT_S = 60.0
MOST_COMMENTS = 50
BUSY = 20
"""Times the middle of the days with any use that a day is so busy that the bars of the others would hardly show."""
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
    def is_rooted(self) -> bool:
        """Whether the heights are square roots: one busy day would flatten most of the others."""
        some = [count for _day, count in self.bars if count]
        return len(some) > 1 and self.most > BUSY * median(some)

    def height(self, count: int) -> float:
        """Return the height of a bar as a share of the highest."""
        share = count / self.most
        return sqrt(share) if self.is_rooted else share

    @property
    def total(self) -> int:
        """Sum over all days."""
        return sum(count for _day, count in self.bars)


@dataclass(frozen=True, slots=True)
class JobGroup:
    """Jobs that one act has queued, the newest first: mostly the files of one upload."""

    jobs: tuple[Job, ...]

    @property
    def states(self) -> dict[JobState, int]:
        """How many of the jobs are in each state; failed ones first."""
        counted = Counter(job.state for job in self.jobs)
        return {
            state: counted[state] for state in ("failed", "running", "queued", "done", "cancelled") if counted[state]
        }


@admin.get("/jobs")
def jobs() -> str:
    """Show everybody's jobs, the newest first."""
    given, page, of_user = request.args.get("state", ""), page_number(), request.args.get("user", "")
    if given:
        require_choice("state", given, get_args(JobState))
    of_one = request.args.get("user", 0, type=int) if of_user else None
    if of_one is not None and not 0 < of_one <= MAX_ID:
        raise InvalidInputError(f"user is {of_user[:20]!r}; give the number in a user page's address", field="user")
    store = JobStore(site().braid.ledger)
    state = cast(JobState, given) if given else None
    found = store.all(state=state, user_id=of_one, limit=PER_PAGE + 1, offset=PER_PAGE * page)
    return render_template(
        "braid/admin/jobs.html",
        groups=_grouped(found[:PER_PAGE]),
        names=account_names(site().braid.ledger.database, {job.user_id for job in found} | {of_one or 0}),
        of_one=of_one,
        datasets={each.id: dataset_name(each.name) for each in site().braid.ledger.all_datasets()},
        counts=store.counts(of_one),
        unreadable=sum(store.unreadable_files().values()) if state == "failed" and not of_one else 0,
        state=given,
        page=page,
        more=len(found) > PER_PAGE,
    )


@admin.post("/jobs/retry")
def retry_jobs() -> Response:
    """Queue failed jobs of a user again."""
    user_id, ids = request.form.get("user_id", 0, type=int), chosen_ids("job", most=PER_PAGE)
    jobs = []
    for job_id in ids if 0 < user_id <= MAX_ID else ():
        with suppress(InvalidInputError):  # it is no failed one any more, or its file was added again
            jobs.append(site().background.retry(user_id, job_id))
    if not jobs:
        raise InvalidInputError(
            Reason("none of these jobs can be tried again; choose a failed one in the list"), field="job"
        )
    return admin.done(ngettext("%(num)s job is tried again.", "%(num)s jobs are tried again.", len(jobs)), "jobs")


@admin.get("/usage")
def usage() -> str:
    """Show usage by day and by user, and what it tells: what nobody could answer, what is cited, which models write."""
    days = _days()
    by_user: dict[int, dict[str, int]] = {}
    for user_id, kind, count in site().usage.by_user(days=days):
        by_user.setdefault(user_id, {})[kind] = count
    tally = Tally(site().braid.ledger, site().braid.analyzer)
    shared = {entry.id: entry.name for entry in site().braid.registry.entries()}
    names = account_names(site().braid.ledger.database, by_user)
    found = sorted({kind for counts in by_user.values() for kind in counts})
    keys = {kind: _count_of(kind) for kind in found} | {"name": lambda row: names.get(row[0], "").casefold()}
    main = "chat" if "chat" in found else "".join(found[:1])
    by_total = sorted(by_user.items(), key=lambda row: -sum(row[1].values()))
    rows, sort = in_order(by_total, keys, otherwise=main and f"-{main}")
    busiest = rows[:MOST_USERS]
    unanswered = tally.unanswered(days=days)
    thumbs = site().answer_thumbs
    said = thumbs.fault_counts(days=days)
    models = [each for each in tally.models(days=days) if each.generator != "extractive"]
    return render_template(
        "braid/admin/usage.html",
        charts=_charts(days),
        sort=sort,
        kinds={kind: str(KINDS.get(kind, kind)) for kind in found},
        users=[(user_id, names.get(user_id, ""), counts) for user_id, counts in busiest],
        most={kind: max(counts.get(kind, 0) for counts in by_user.values()) for kind in found},
        other_users=len(by_user) - len(busiest),
        days=days,
        choices=DAYS,
        thumbs=thumbs.counts(days=days),
        faults=[(str(name), said[fault][0]) for fault, name in FAULTS.items() if fault in said],
        comments=list(islice(thumbs.faults(days=days, commented=True), MOST_COMMENTS)),
        all_comments=sum(comments for _answers, comments in said.values()),
        fault_names=FAULTS,
        unanswered=unanswered,
        again=_asked_again(unanswered),
        cited=[(each, site().braid.ledger.document(each.dataset_id, each.source)) for each in tally.cited(days=days)],
        models=models,
        costs=_costs(models),
        least_askers=LEAST_ASKERS,
        shared=shared,
    )


@admin.get("/usage/faults.csv")
def faults() -> Response:
    """Download what users said of answers that they rated down, as a CSV file; never who, nor what was asked."""
    heads = ("fault", "comment", "answered_by")
    said = site().answer_thumbs.faults(days=_days())
    lines = (csv_lines([(each.fault, each.comment, each.generator)]) for each in said)
    headers = {"Content-Disposition": "attachment; filename=ratings.csv"}
    text = stream_with_context(chain([BYTE_ORDER_MARK + csv_lines([heads])], lines))
    return Response(text, mimetype="text/csv", headers=headers)


def _days() -> int:
    """Return over how many days the request asks for the use. Raises InvalidInputError."""
    given = request.args.get("days", "30")
    require_choice("days", given, [*map(str, DAYS)])
    return int(given)


def _count_of(kind: str) -> Callable[[tuple[int, dict[str, int]]], Any]:
    return lambda row: row[1].get(kind, 0)


@admin.get("/usage/answer")
def write_answer() -> Redirect:
    """Lead to the form for a text in a shared dataset, with the question as its title."""
    title, dataset_id = request.args.get("title", "")[:MAX_QUESTION_CHARS], request.args.get("dataset", 0, type=int)
    if dataset_id not in {entry.id for entry in site().braid.registry.entries()}:
        why = Reason("there is no shared dataset %(id)s; choose one of the list", id=dataset_id)
        raise InvalidInputError(why, field="dataset")
    here = url_for("braid.datasets.dataset", dataset_id=dataset_id, title=title, asked=title, _anchor="paste")
    return redirect(here)


@dataclass(frozen=True, slots=True)
class AskedAgain:
    """What came of asking the wordings of a question again: how many find something, and where the first one does."""

    question: str
    found: int
    wordings: int
    title: str
    unread: int
    """Files of shared datasets that are still to be read."""


def _asked_again(unanswered: Sequence[Unanswered]) -> AskedAgain | None:
    """Ask the question that the request names, in all of its wordings, in the shared datasets; None without one."""
    wanted = request.args.get("again", "")
    one = next((each for each in unanswered if each.question[:MAX_QUESTION_CHARS] == wanted), None)
    if not wanted or one is None:
        return None
    here, shared = site(), [entry.id for entry in site().braid.registry.entries() if entry.enabled]
    asked = (ChatRequest(identity().account.id, text, dataset_ids=shared) for text in one.wordings)
    found = [result for each in asked if (result := Conversation(here.braid).ask(each)).found] if shared else []
    cited = found[0].citations if found else ()
    title = (cited[0].passage.title or cited[0].passage.source) if cited else ""
    unread = here.background.store.unread(shared)
    return AskedAgain(one.question, len(found), len(one.wordings), title, unread)


def _costs(models: Sequence[ModelUse]) -> dict[str, float]:
    """Return generator → what its tokens cost by the prices of the settings, for models that have one."""
    prices = dict(each.split("=", 1) for each in site().settings.model_prices)
    costs = {}
    for use in models:
        if price := prices.get(use.generator):
            of_prompts, _, of_answers = price.partition("/")
            tokens = use.prompt_tokens * float(of_prompts) + use.answer_tokens * float(of_answers or of_prompts)
            costs[use.generator] = tokens / 1e6
    return costs


def _grouped(jobs: Sequence[Job]) -> list[JobGroup]:
    """Put consecutive jobs of one kind, user and dataset together that were queued within a minute of each other."""
    groups: list[list[Job]] = []
    for job in jobs:
        last = groups[-1][-1] if groups else None
        if last and _same_act(last, job):
            groups[-1].append(job)
        else:
            groups.append([job])
    return [JobGroup(tuple(group)) for group in groups]


def _same_act(one: Job, other: Job) -> bool:
    is_near = abs(one.created_at - other.created_at) <= ONE_ACT_S
    return is_near and (one.kind, one.user_id, one.dataset_id) == (other.kind, other.user_id, other.dataset_id)


def _charts(days: int) -> list[Chart]:
    counts: dict[str, dict[str, int]] = {}
    for day, kind, count in site().usage.daily(days=days):
        counts.setdefault(kind, {})[day] = count
    axis = last_days(days)
    return [
        Chart(str(KINDS.get(kind, kind)), tuple((day, by_day.get(day, 0)) for day in axis))
        for kind, by_day in sorted(counts.items())
    ]
