"""Options of a search that are one choice or one number, as pydantic checks and describes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from braid.core.options import ABOUT, MAX_DEPTH, TYPES

API_OPTIONS = tuple(name for name, told in ABOUT.items() if told.in_api)
"""Options that the API takes under the same name and with the same meaning."""
TOOL_OPTIONS = tuple(name for name, told in ABOUT.items() if told.in_tools)
"""Options that MCP's search takes."""
_NUMBERS: Mapping[str, Any] = {
    "weight": Annotated[float, Field(ge=0.0, le=1.0)],
    "depth": Annotated[int, Field(ge=0, le=MAX_DEPTH)],
}


def type_of_option(name: str) -> Any:
    """Return the option's type, with its bounds."""
    return _NUMBERS.get(ABOUT[name].kind, TYPES[name])
