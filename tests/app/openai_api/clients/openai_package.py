"""OpenAI's own package."""

from __future__ import annotations

from typing import Any

import openai
from line import given, serve

address, key, model = given()
client = openai.OpenAI(base_url=address, api_key=key, max_retries=0)


def ask(messages: list[Any]) -> dict[str, Any]:
    """The answer as a stream, with the links of its citations."""
    text, links = "", []
    for chunk in client.chat.completions.create(model=model, messages=messages, stream=True):
        delta = chunk.choices[0].delta
        text += delta.content or ""
        links += [each["url_citation"]["url"] for each in getattr(delta, "annotations", None) or ()]
    return {"text": text, "links": links}


def whole(messages: list[Any]) -> dict[str, Any]:
    """The answer in one piece."""
    message = client.chat.completions.create(model=model, messages=messages).choices[0].message
    return {"text": message.content, "links": [each.url_citation.url for each in message.annotations or ()]}


def stop(messages: list[Any]) -> dict[str, Any]:
    """The first words of an answer that is not wanted any more."""
    with client.chat.completions.create(model=model, messages=messages, stream=True) as chunks:
        return {"text": next(text for chunk in chunks if (text := chunk.choices[0].delta.content))}


serve(ask=ask, whole=whole, stop=stop)
