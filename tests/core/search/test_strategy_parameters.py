"""Parameters of strategies: what each one does, its bounds, and the settings that give them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from braid.core.braid import Braid
from braid.core.errors import InvalidInputError
from braid.core.models.chat import ChatModels
from braid.core.search.strategies import BUILT_IN, parameters_of
from braid.core.types import ChunkInput, DocumentInput, SearchResult
from tests.core.search.strategy_worlds import (
    BatchEmbeddings,
    World,
    opened,
)
from tests.worlds import ByHand, catch_up, shown


def feedback(world: World, strategy: str, text: str = "mat", **parameters: float) -> SearchResult:
    """A keyword search, or by meaning for hyde, that feedback serves."""
    mode = "semantic" if strategy == "hyde" else "keyword"
    return world.search(
        text, "animals", "guide", strategy=strategy, generator="feedback", k=20, mode=mode, parameters=parameters
    )


def test_the_number_of_variants_and_the_querys_own_weight_are_parameters(world: World) -> None:
    result = world.search(
        "cat", "animals", strategy="multi_query", k=20, parameters={"variants": 1, "original_weight": 0.8}
    )
    assert result.queries == ("cat", "old cat")
    assert "1 " in world.server.calls[-1].messages[0][1] + world.server.calls[-1].messages[1][1]
    for hit in result.hits:
        shares = {"cat": 0.8, "old cat": 0.2}
        assert hit.score == pytest.approx(sum(0.5 * shares[leg.query] / (60 + leg.rank) for leg in hit.legs))
    assert result.query.parameters == {
        "variants": 1,
        "original_weight": 0.8,
        "feedback_passages": 5,
        "feedback_terms": 10,
        "feedback_weight": 0.3,
    }


def test_the_general_questions_weight_is_a_parameter(world: World) -> None:
    result = world.search("cat", "animals", strategy="step_back", k=20, parameters={"general_weight": 0.9})
    shares = {"cat": 0.1, "background of cat": 0.9}
    for hit in result.hits:
        assert hit.score == pytest.approx(sum(0.5 * shares[leg.query] / (60 + leg.rank) for leg in hit.legs))


@pytest.mark.parametrize("strategy", ["multi_query", "step_back"])
def test_passages_terms_and_weight_of_feedback_are_parameters(world: World, strategy: str) -> None:
    text = "an old cat, a dog and the gate"
    usual, narrow = feedback(world, strategy, text), feedback(world, strategy, text, feedback_terms=1)
    assert len(narrow.queries[1].split()) < len(usual.queries[1].split())
    assert feedback(world, strategy, text, feedback_passages=2).queries != usual.queries
    without = feedback(world, strategy, text, feedback_weight=0)
    shares = {leg.query: leg.share for hit in without.hits for leg in hit.legs}
    assert shares[text] > 0
    assert {share for query, share in shares.items() if query != text} <= {0}


def test_hydes_feedback_moves_the_query_as_far_as_its_weight_says(world: World) -> None:
    def cosines(**parameters: float) -> list[float]:
        return [hit.score for hit in feedback(world, "hyde", **parameters).hits]

    plain = world.search("mat", "animals", "guide", mode="semantic", k=20)
    assert cosines(feedback_weight=0) == pytest.approx([hit.score for hit in plain.hits], abs=1e-6)
    assert cosines(feedback_weight=1) != pytest.approx(cosines(), abs=1e-3)
    assert cosines(feedback_passages=1) != pytest.approx(cosines(), abs=1e-3)


def test_compressions_margin_and_limit_are_parameters(world: World) -> None:
    def texts(**parameters: float) -> SearchResult:
        options = {"strategy": "compression", "generator": "feedback", "k": 20, "parameters": parameters}
        return world.search("cat", "animals", "languages", **options)

    whole = world.search("cat", "animals", "languages", k=20)
    assert shown(texts(margin=2)) == shown(whole) != shown(texts())
    limited = texts(max_sentences=1)
    assert limited.notes == ("only the first 1 passages were compressed; ask for fewer",)


def test_reach_size_and_spare_passages_of_sections_are_parameters(braid: Braid) -> None:
    user = braid.ledger.add_user("ann").id
    dataset = braid.ledger.add_dataset(user, "d").id
    for name, texts in {
        "one": [f"valve valve {n}" + 30 * "." for n in range(4)],
        "two": ["one valve of many others"],
    }.items():
        chunks = tuple(ChunkInput(text, name) for text in texts)
        braid.ledger.put_document(dataset, DocumentInput(f"{name}.md", name, "md", chunks))
    catch_up(braid)

    def sections(**parameters: float) -> list[str]:
        options = {"strategy": "parent_document", "mode": "keyword", "k": 2, "parameters": parameters}
        return shown(braid.search("valve", user_id=user, **options))

    assert [text.count("\n") for text in sections()] == [3, 0]
    assert [text.count("\n") for text in sections(overfetch=1)] == [3]  # both passages are of one section
    assert [text.count("\n") for text in sections(reach=0)] == [0, 0]
    assert sections(max_section_chars=100)[0].count("\n") == 1


@pytest.mark.parametrize(
    ("strategy", "parameters", "says"),
    [
        (
            "multi_query",
            {"varients": 4},
            "parameters.varients is no parameter of the strategy multi_query; it has variants",
        ),
        ("basic", {"variants": 4}, "it has none"),
        ("multi_query", {"variants": 11}, "parameters.variants is 11; it must be a whole number from 1 to 10"),
        ("multi_query", {"variants": 2.5}, "whole number"),
        ("hyde", {"feedback_weight": -0.1}, "it must be a number from 0.0 to 1.0"),
        ("hyde", {"feedback_weight": "much"}, "give a number"),
        ("hyde", {"feedback_weight": float("nan")}, "give a number"),
        ("hyde", {"feedback_passages": True}, "give a number"),
        ("hyde", [1], "give numbers by name"),
    ],
)
def test_a_wrong_parameter_is_named_with_what_it_may_be(
    world: World, strategy: str, parameters: Any, says: str
) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(says)) as caught:
        world.search("cat", strategy=strategy, parameters=parameters)
    assert caught.value.field.startswith("parameters")


def test_settings_give_parameters_and_a_request_goes_before_them(tmp_path: Path) -> None:
    with opened(tmp_path, ChatModels(), strategies={"hyde": {"feedback_passages": 2}}) as (braid, _):
        user = braid.ledger.add_user("ann").id
        assert braid.manager.get_retriever_config("hyde").parameters == {"feedback_passages": 2, "feedback_weight": 0.2}
        shown = {info.name: info for info in braid.manager.strategies()}
        assert shown["hyde"].parameters["feedback_passages"] == 2
        limits = shown["hyde"].limits["feedback_passages"]
        assert (limits.default, limits.lowest, limits.highest) == (3, 1, 50)

        def used(**given: float) -> Mapping[str, float]:
            return braid.search("x", user_id=user, strategy="hyde", parameters=given).query.parameters

        assert used() == {"feedback_passages": 2, "feedback_weight": 0.2}
        assert used(feedback_passages=7, feedback_weight=1.0) == {"feedback_passages": 7, "feedback_weight": 1.0}
        retriever = braid.get_retriever("hyde", user_id=user, parameters={"feedback_passages": 4})
        with pytest.raises(InvalidInputError, match="from 1 to 50"):
            retriever.invoke("x", parameters={"feedback_passages": 51})


@pytest.mark.parametrize(
    ("configured", "says"),
    [
        ({"hide": {"feedback_passages": 2}}, "strategies.hide: there is no such strategy; choose one of basic"),
        ({"hyde": {"passages": 2}}, "strategies.hyde.passages is no parameter of the strategy hyde"),
        (
            {"hyde": {"feedback_passages": 0}},
            "strategies.hyde.feedback_passages is 0; it must be a whole number from 1",
        ),
    ],
)
def test_wrong_parameters_in_the_settings_end_the_start(tmp_path: Path, configured: Any, says: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(says)):
        ByHand(tmp_path, embedding_model=BatchEmbeddings(), strategies=configured)


@pytest.mark.parametrize("strategy", list(BUILT_IN))
@pytest.mark.parametrize("bound", ["lowest", "highest"])
def test_every_parameter_may_have_each_of_its_bounds(world: World, strategy: str, bound: str) -> None:
    parameters = {name: getattr(each, bound) for name, each in parameters_of(strategy).items()}
    for generator in ("llm", "feedback"):
        result = world.search(
            "a cat at the gate", "animals", "guide", strategy=strategy, generator=generator, parameters=parameters
        )
        assert result.hits
        assert result.degraded == ()
