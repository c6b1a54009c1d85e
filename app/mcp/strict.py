"""A server of tools that refuses arguments which a tool does not have, and says so in the tools' schemas."""

from __future__ import annotations

from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, InputRequiredResult, Tool

from braid.core.errors import InvalidInputError
from braid.core.version import version


class StrictServer(MCPServer[Any]):
    """Names itself as this version of Braid. The package's own class ignores arguments that it does not know."""

    def __init__(self, *, instructions: str) -> None:
        super().__init__("braid", title="Braid", version=version(), instructions=instructions)

    async def list_tools(self) -> list[Tool]:
        """Return the tools, whose schemas allow no other arguments than theirs."""
        tools = await super().list_tools()
        closed = {"additionalProperties": False}
        return [tool.model_copy(update={"input_schema": tool.input_schema | closed}) for tool in tools]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool by name. Raises ToolError where there is none, and for an argument that it does not have."""
        known = {tool.name: tool.input_schema.get("properties", {}) for tool in await super().list_tools()}
        unknown = sorted(arguments.keys() - known[name].keys()) if name in known else []
        if unknown:
            takes = f"takes {', '.join(known[name])}" if known[name] else "takes none"
            error = InvalidInputError(f"{name} has no argument {unknown[0]!r}; it {takes}", field=unknown[0])
            raise ToolError(f"ValidationError: {error}") from error
        return await super().call_tool(name, arguments, context)
