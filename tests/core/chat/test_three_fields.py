"""Questions in three fields."""

from __future__ import annotations

import pytest

from braid.core.braid import Braid
from braid.core.chat.comparison import ThreeFields
from braid.core.chat.conversation import Conversation
from braid.core.chat.texts import say
from braid.core.chat.types import (
    ChatRequest,
    ChatResult,
)
from braid.core.errors import InvalidInputError
from tests.core.chat.scripted import ScriptedModel, kinds, models

FIELDS = ThreeFields("treat sickle cell disease", "transplant", "heat to 353.15 kelvin for 60 mins")


def test_three_fields_are_compared_without_a_model(braid: Braid, user_id: int) -> None:
    events = list(Conversation(braid).stream(ChatRequest(user_id, fields=FIELDS)))
    assert "compare" in kinds(events)
    result = events[-1]
    assert isinstance(result, ChatResult)
    assert "353.15 K for 60 min" in result.query
    assert result.text.startswith(say("compared_without_model", "en"))
    first = result.text.split("### ")[1].splitlines()
    assert first[0] == "[1] Cells"
    assert first[1] == "- **Purpose** — agrees: treat, sickle, cell, disease [1]. differs: nothing."
    methods = next(line for line in first if "Methods" in line)
    assert "agrees: 353.15 K [1]" in methods
    assert "2 h instead of 60 min; not mentioned: heat [1]" in methods
    assert [citation.number for citation in result.citations] == [1, 2, 3]
    assert f"### {say('summary', 'en')}" in result.text


def test_three_fields_are_compared_by_the_models(braid: Braid, user_id: int) -> None:
    search = ScriptedModel(
        "fake:search", "Purpose: sickle cell anaemia therapy\n**Methods**: heating at 80 °C", "q sickle"
    )
    summary = ScriptedModel("fake:summary", "Agrees [1], differs [8].")
    result = Conversation(braid, models=models(search, summary)).ask(ChatRequest(user_id, fields=FIELDS))
    assert result.question == "sickle cell anaemia therapy\ntransplant\nheating at 80 °C"
    assert result.query == "q sickle"
    assert (result.text, result.removed_citations) == ("Agrees [1], differs.", 1)
    assert "Compare" in summary.sent[0][0][1]
    assert "Materials: transplant" in summary.sent[0][1][1]


@pytest.mark.parametrize("answer", ["", "No idea.", "purpose: " + "word " * 2_400])
def test_fields_that_a_model_rewrites_badly_stay_and_it_is_named(braid: Braid, user_id: int, answer: str) -> None:
    search = ScriptedModel("fake:search", answer)
    fields = ThreeFields("heat to 353.15 kelvin " + "and more " * 650, "cats " * 800)
    result = Conversation(braid, models=models(search)).ask(ChatRequest(user_id, fields=fields))
    assert (result.query_generator, len(search.sent)) == ("feedback", 1)
    assert [(part.leg, "fake:search" in part.reason) for part in result.degraded] == [("model", True)]


def test_fields_that_units_would_make_too_long_stay_as_they_are() -> None:
    fields = ThreeFields("80℃ " * 2_499)
    assert fields.with_unified_units() == fields


def test_a_long_instruction_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="the instruction has 2001 characters; at most 2000") as caught:
        ThreeFields("cats", instruction="x" * 2_001)
    assert caught.value.field == "instruction"


def test_three_empty_fields_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="all empty"):
        ThreeFields(instruction="only this")
