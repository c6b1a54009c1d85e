"""LangChain's ChatOpenAI."""

from __future__ import annotations

from typing import Any

from langchain_openai import ChatOpenAI
from line import given, serve

address, key, model = given()
chat = ChatOpenAI(base_url=address, api_key=key, model=model, max_retries=0)


def ask(messages: list[Any]) -> dict[str, Any]:
    """The answer as a stream."""
    return {"text": "".join(str(chunk.content) for chunk in chat.stream(messages))}


def whole(messages: list[Any]) -> dict[str, Any]:
    """The answer in one piece, by OpenAI's newer interface, with the links of its citations."""
    said = chat.model_copy(update={"use_responses_api": True}).invoke(messages)
    links = [each["url"] for part in said.content for each in part.get("annotations", ())]
    return {"text": said.text, "links": links}


def stop(messages: list[Any]) -> dict[str, Any]:
    """The first words of an answer that is not wanted any more."""
    chunks = chat.stream(messages)
    said = next(text for chunk in chunks if (text := str(chunk.content)))
    chunks.close()
    return {"text": said}


serve(ask=ask, whole=whole, stop=stop)
