"""``chat``: one turn of a conversation, answered from the selected datasets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from braid.app.cli.common import BraidCommand, choose_user, current_settings, json_option
from braid.app.cli.options import FILTER_OPTIONS, RANKING_OPTIONS, SCOPE_OPTIONS, add_options, query_options
from braid.app.cli.output import complain, complain_degraded, print_json, wants_json
from braid.app.cli.search import NO_DATASET, complain_unknown, refuse_unknown
from braid.app.opening import open_braid
from braid.app.terminal import clean, one_line

if TYPE_CHECKING:
    from braid.core.chat.turns.turn_store import TurnStore
    from braid.core.chat.types import ChatRequest, ChatResult, Event
    from braid.core.types import DatasetIds


@click.command(cls=BraidCommand)
@click.argument("text")
@click.option("--continue", "conversation", type=int, metavar="ID", help="Continue this conversation.")
@add_options(*SCOPE_OPTIONS, *RANKING_OPTIONS, *FILTER_OPTIONS)
@json_option
def chat(text: str, conversation: int | None, user: str | None, datasets: DatasetIds, **asked: Any) -> None:
    """Answer TEXT from the datasets, with citations, and store the turn.

    Without a model (setting summary_model) the answer quotes sentences of the passages.
    """
    from braid.config.models import lookup_limits
    from braid.core.chat.conversation import Conversation
    from braid.core.chat.store import ConversationStore
    from braid.core.chat.turns.turn_store import TurnStore
    from braid.core.chat.types import ChatRequest, ChatResult, event_json
    from braid.core.datasets.scope import resolve_scope

    settings = current_settings()
    query_options(settings, asked)  # what is wrong is refused before anything is opened
    with open_braid(settings) as braid:
        options = query_options(settings, asked, braid.manager.rerankers)
        user_id = choose_user(braid.ledger, user).id
        scope = resolve_scope(braid.ledger, braid.registry, user_id=user_id, dataset_ids=datasets)
        refuse_unknown(scope.unresolved_dataset_ids, datasets)
        store = ConversationStore(braid.ledger, braid.registry)
        history = () if conversation is None else store.history(user_id, conversation)
        request = ChatRequest(
            user_id, text, history=history, dataset_ids=datasets, strategy=asked["strategy"], options=options
        )
        limits = lookup_limits(settings)
        answerer = Conversation(braid, prompt_tokens=settings.answer_prompt_tokens, lookups=limits)
        events = answerer.stream(request)
        conversation = conversation or store.create(user_id).id
        for event in _stored(TurnStore(braid.ledger), conversation, request, events):
            if not wants_json():
                _show(event)
            if isinstance(event, ChatResult) and wants_json():
                print_json({"conversation": conversation, **event_json(event)})
            elif isinstance(event, ChatResult):
                _show_sources(event, conversation)


def _stored(store: TurnStore, conversation: int, request: ChatRequest, events: Iterator[Event]) -> Iterator[Event]:
    """Yield the events of a turn, which is stored while it runs; whoever breaks it off ends it."""
    from braid.core.chat.turns.bell import waited
    from braid.core.chat.turns.running import RunningTurns

    turn = RunningTurns(store).start(request, events, begin=lambda: store.begin(conversation, request))
    try:
        for news in waited(turn.follow()):
            yield from news.events
    finally:
        turn.end("interrupted")
    if turn.error is not None:
        raise turn.error


def _show(event: Event) -> None:
    """Print the answer to stdout as it arrives, and progress to stderr."""
    from braid.core.chat.lookups.lookup import Lookup
    from braid.core.chat.types import AnswerText, AnswerWithdrawn, QueryWritten, Searched

    if isinstance(event, AnswerText):
        click.echo(clean(event.text), nl=False)
    elif isinstance(event, AnswerWithdrawn):
        click.echo()
        complain(f"the answer so far is withdrawn: {event.reason}")
    elif isinstance(event, QueryWritten):
        complain(f"searching for {event.query!r} (by {event.generator})")
    elif isinstance(event, Searched):
        collections = ", ".join(event.result.collections)
        complain(f"{len(event.result.hits)} passages from {collections}" if collections else f"note: {NO_DATASET}")
        complain_unknown(event.result)
        for read in event.result.read_filters:
            complain(f"filter: {read.reason}")
    elif isinstance(event, Lookup):
        complain(f"{event.tool} {event.about or event.asked!r}: {event.problem or f'{event.new} new passages'}")


def _show_sources(result: ChatResult, conversation: int) -> None:
    click.echo("\n")
    for citation in result.citations:
        passage = citation.passage
        click.echo(one_line(f"[{citation.number}] {passage.title} — {passage.source} (dataset {passage.dataset_id})"))
    complain_degraded(result)
    if result.removed_citations:
        complain(f"{result.removed_citations} citations without a passage were removed")
    complain(f"conversation {conversation}; continue with: chat --continue {conversation} …")
