"""``POST /check``: compares each sentence of a text with the passages that it cites, whoever wrote it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from braid.app.api.framework.operations import Resource
from braid.app.api.framework.requests import SAYS_SOMETHING, Given
from braid.app.api.schemas import Shown
from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.site import site
from braid.core.chat.support.check import MAX_PASSAGES, MAX_TEXT_CHARS, check_given
from braid.core.chat.support.findings import Kind, Verdict

resource = Resource("check", "Compares the sentences of a text with what they cite, without asking a model.", "user")


class FindingShown(Shown):
    """Words of a sentence that a passage says otherwise, or that are in none of those that it cites."""

    kind: Kind
    start: int = Field(description="Where the words begin, in characters of the text")
    end: int
    said: str
    passage: int = Field(
        description="Number of the passage that says otherwise, or has it (`source`); 0 where none does"
    )
    there_start: int = Field(description="Where the passage's words begin, in characters of its text")
    there_end: int
    there: str


class SourceShown(Shown):
    """The sentence of a passage that supports one of the text."""

    passage: int
    start: int
    end: int


class SupportShown(Shown):
    """A sentence, and how it agrees with what it cites."""

    start: int = Field(description="Where the sentence begins, in characters of the text")
    end: int
    verdict: Verdict = Field(
        description="`differs`: a passage says otherwise; `elsewhere`: another passage says it, not those it cites; "
        "`not_found`: a number, date or quotation is not in them; `uncited`: it cites nothing; `stands`: nearly in the "
        "passage's words; `open`: nothing against it was found"
    )
    cited: list[int] = Field(description="Numbers of the passages that it cites")
    sources: list[SourceShown]
    findings: list[FindingShown]


class CheckGiven(Given):
    """A text that cites passages by number: ``[1]`` is the first."""

    text: str = Field(
        min_length=1,
        max_length=MAX_TEXT_CHARS,
        pattern=SAYS_SOMETHING,
        examples=["The warranty of the pump is 35 days [1]."],
    )
    passages: list[Annotated[str, Field(max_length=MAX_TEXT_CHARS)]] = Field(
        min_length=1,
        max_length=MAX_PASSAGES,
        description="What the text cites, in the order of its numbers; 100,000 characters together",
        examples=[["The pump has a warranty of 30 days."]],
    )


class CheckShown(Shown):
    """The text with its citations as ``[1]``, and its sentences."""

    text: str = Field(description="The text that characters are counted in: citations written in other ways are `[1]`")
    sentences: list[SupportShown]
    removed_citations: int = Field(
        description="Number of citations removed from the text because their passage was not given"
    )


@resource.post("/check", CheckShown, repeatable=False)
@rule("user", "read", limited=True)
def check_text(body: CheckGiven) -> CheckShown:
    """Compare each sentence of a text with the passages that it cites.

    Nothing is searched, stored, or asked of a model. `open` is no proof: a free paraphrase is left open.
    """
    here = site()
    here.usage.count(identity().account.id, "api")
    return CheckShown.model_validate(check_given(body.text, body.passages, here.braid.analyzer))
