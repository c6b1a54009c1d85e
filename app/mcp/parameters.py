"""Tools and the parameters that several share, as they are described to the model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from inspect import Parameter, getdoc, signature
from typing import Annotated, Any, Literal, TypeVar

from mcp.server import MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

from braid.app.user.option_fields import TOOL_OPTIONS, type_of_option
from braid.core.options import ABOUT

Query = Annotated[str, Field(description="Question or keywords, up to 10,000 characters")]
Path = Annotated[str, Field(description="The document's path or URL, as results give it in `filepath`")]
FileType = Annotated[
    str | None,
    Field(description="Only this format (pdf, md, txt, docx, html, py …), or this label that put_document was given"),
]
Where = Annotated[
    dict[str, Any] | None,
    Field(
        description='Only documents with this metadata: {"tenant": "x", "year": {"$gte": 2024}, "tags": {"$contains": '
        '"a"}}; operators $eq, $ne, $gt, $gte, $lt, $lte, $in, $nin, $contains, $exists, $and, $or, $not; a date is '
        '{"$date": "2026-01-31"}; list_datasets has the keys'
    ),
]
DatasetIds = Annotated[
    list[int] | Literal["all"] | None,
    Field(
        description="Datasets to search, from list_datasets; negative ids are shared. 'all': everything that the user "
        "may read. None: all of the user's own"
    ),
]
Dataset = Annotated[int, Field(description="The dataset, from list_datasets; shared ones have negative ids")]
Ids = Annotated[
    list[str] | None,
    Field(
        description="Documents by the `filepath` or `id` of a result, or by the id of a passage, `metadata.id`; up to "
        "1000"
    ),
]
Source = Annotated[
    str | None, Field(description="A source with its parts, and the documents that have it in their metadata")
]
First = Annotated[int, Field(alias="from", description="Number of the first passage; passages count from 1")]

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
DELETES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Awaitable[Any]])


def tool_of(server: MCPServer[Any], title: str, annotations: ToolAnnotations) -> Callable[[F], F]:
    """Add a tool to the server. Its docstring is what the model is told, without the indentation of the source."""

    def add(tool: F) -> F:
        server.add_tool(tool, title=title, description=getdoc(tool), annotations=annotations)
        return tool

    return add


def takes_from(tool: Callable[..., Awaitable[T]]) -> Callable[..., Awaitable[T]]:
    """Give a tool its parameter ``first`` under the name ``from``, which Python keeps for itself."""

    @wraps(tool)
    async def called(**given: Any) -> T:
        return await tool(**{("first" if name == "from" else name): value for name, value in given.items()})

    return called


def takes_options(tool: Callable[..., Awaitable[T]]) -> Callable[..., Awaitable[T]]:
    """Give a tool the parameters `TOOL_OPTIONS` beside its own, and call it with those that were given."""
    own = signature(tool, eval_str=True)
    more = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[type_of_option(name) | None, Field(description=ABOUT[name].help)],
        )
        for name in TOOL_OPTIONS
    ]

    @wraps(tool)
    async def called(**given: Any) -> T:
        left_out = {name for name in TOOL_OPTIONS if given.get(name) is None}
        return await tool(**{name: value for name, value in given.items() if name not in left_out})

    kept = [each for each in own.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
    called.__signature__ = own.replace(parameters=[*kept, *more])  # type: ignore[attr-defined]
    return called
