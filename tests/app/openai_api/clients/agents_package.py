"""openai-agents, with OpenAI's newer interface, which is its default, and with tools of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agents import Agent, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from line import given, serve
from openai import AsyncOpenAI

address, key, model = given()
set_tracing_disabled(True)


@function_tool
def clock() -> str:
    """The time of day."""
    return "12:30"


@asynccontextmanager
async def agent() -> AsyncIterator[Agent[None]]:
    async with AsyncOpenAI(base_url=address, api_key=key, max_retries=0) as client:
        asked = OpenAIResponsesModel(model, client)
        yield Agent("clerk", instructions="Answer briefly.", model=asked, tools=[clock])


def items(messages: list[Any]) -> list[Any]:
    """The messages in the newer form."""
    return [{**message, "content": parts(message["content"])} for message in messages]


def parts(content: Any) -> Any:
    if isinstance(content, str):
        return content
    return [
        {"type": "input_image", "image_url": part["image_url"]["url"], "detail": "auto"}
        if part["type"] == "image_url"
        else {"type": "input_text", "text": part["text"]}
        for part in content
    ]


def whole(messages: list[Any]) -> dict[str, Any]:
    """The answer in one piece, with the links of its citations."""

    async def run() -> Any:
        async with agent() as clerk:
            return await Runner.run(clerk, items(messages))

    result = asyncio.run(run())
    links = [
        each.url
        for item in result.new_items
        for part in getattr(item.raw_item, "content", ())
        for each in getattr(part, "annotations", ())
    ]
    return {"text": result.final_output, "links": links}


def ask(messages: list[Any]) -> dict[str, Any]:
    """The answer as a stream."""

    async def run() -> str:
        async with agent() as clerk:
            streamed = Runner.run_streamed(clerk, items(messages))
            deltas = [
                event.data.delta
                async for event in streamed.stream_events()
                if event.type == "raw_response_event" and event.data.type == "response.output_text.delta"
            ]
        assert "".join(deltas) == streamed.final_output
        return "".join(deltas)

    return {"text": asyncio.run(run())}


def stop(messages: list[Any]) -> dict[str, Any]:
    """The first words of an answer that is not wanted any more."""

    async def run() -> str:
        async with agent() as clerk:
            streamed = Runner.run_streamed(clerk, items(messages))
            async for event in streamed.stream_events():
                if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                    streamed.cancel()
                    return str(event.data.delta)
        return ""

    return {"text": asyncio.run(run())}


serve(ask=ask, whole=whole, stop=stop)
