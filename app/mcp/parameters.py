"""Tools as they are described to the model: the methods of a class, and the parameters that several share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import Parameter, getdoc, signature
from typing import Annotated, Any, Literal, TypeVar, cast

import anyio.to_thread
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import ToolAnnotations
from pydantic import Field

from braid.app.mcp.calls import Result, report_errors
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
WithText = Annotated[bool, Field(description="Whether results carry the passages' text")]
DatasetId = Annotated[int, Field(description="The dataset, from list_datasets; shared ones have negative ids")]
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

M = TypeVar("M", bound=Callable[..., Result])
Context_ = Context[Any, Any]


@dataclass(frozen=True, slots=True)
class Tool:
    """A method as a tool: its parameters are the method's, and its docstring is what the model is told."""

    method: Callable[..., Result]
    title: str
    annotations: ToolAnnotations
    answer: type
    """The schema of what it returns."""
    name: str = ""
    """The method's, if left empty."""

    def add_to(self, server: MCPServer[Any], run: Callable[[Context_, Callable[[Any], Result]], Result]) -> None:
        """Add the tool to a server. ``run`` calls the method with the tools of the user who sent the request.

        It is run in a thread, so that waiting for the database and the indexes does not block the event loop.
        """
        method = self.method.__name__

        async def called(ctx: Context_, **given: Any) -> Any:
            chosen = {each: value for each, value in given.items() if value is not None or each not in TOOL_OPTIONS}
            arguments = {("first" if each == "from" else each): value for each, value in chosen.items()}
            return await anyio.to_thread.run_sync(run, ctx, lambda tools: getattr(tools, method)(**arguments))

        called.__name__ = self.name or method
        called.__signature__ = self._signature()  # type: ignore[attr-defined]
        server.add_tool(called, title=self.title, description=getdoc(self.method), annotations=self.annotations)

    def _signature(self) -> Any:
        """Return that of the method, with the context in place of ``self`` and `TOOL_OPTIONS` in place of ``**``."""
        own = signature(self.method, eval_str=True)
        _, *given = own.parameters.values()
        taken = [each for each in given if each.kind is not Parameter.VAR_KEYWORD]
        if len(taken) < len(given):
            taken += [
                Parameter(
                    name,
                    Parameter.KEYWORD_ONLY,
                    default=None,
                    annotation=Annotated[type_of_option(name) | None, Field(description=ABOUT[name].help)],
                )
                for name in TOOL_OPTIONS
            ]
        context = Parameter("ctx", Parameter.POSITIONAL_OR_KEYWORD, annotation=Context_)
        return own.replace(parameters=[context, *taken], return_annotation=self.answer)


def tool(
    title: str, annotations: ToolAnnotations, answer: type, *, outage: str, store: str = "ChromaDBError"
) -> Callable[[M], M]:
    """Make a method a tool, which answers errors as `report_errors` does; `tools_of_class` finds it."""

    def wrap(method: M) -> M:
        made: Any = report_errors(outage, store=store)(method)
        made.braid_tool = Tool(made, title, annotations, answer)
        return cast(M, made)

    return wrap


def tools_of_class(methods: type) -> Iterator[Tool]:
    """Yield the tools among the methods of a class, in their order."""
    for method in vars(methods).values():
        found = getattr(method, "braid_tool", None)
        if isinstance(found, Tool):
            yield found
