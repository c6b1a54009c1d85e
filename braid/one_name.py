"""One name for every module: in a checkout, ``core.…`` is the same module as ``braid.core.…``, not a second copy."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType

PACKAGE = "braid"


class OneName(MetaPathFinder, InspectLoader):
    """Finds the modules below a room under its short name, and gives those of the package."""

    def __init__(self, room: str) -> None:
        self._below = f"{room}."

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return how a module of the room is loaded; None for any other module, and where there is none."""
        if not name.startswith(self._below) or (own := importlib.util.find_spec(f"{PACKAGE}.{name}")) is None:
            return None
        spec = ModuleSpec(name, self, origin=own.origin)
        spec.submodule_search_locations = own.submodule_search_locations
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module of the package."""
        module = importlib.import_module(f"{PACKAGE}.{spec.name}")
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Leave the module as it is; it has run under its own name."""
        if module.__spec__ is not None:
            module.__spec__ = module.__spec__.loader_state

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the module's code, for ``python -m``."""
        own = importlib.util.find_spec(f"{PACKAGE}.{fullname}")
        return own.loader.get_code(own.name) if own and isinstance(own.loader, InspectLoader) else None

    def get_source(self, fullname: str) -> str | None:
        """Return the module's text, for tracebacks."""
        own = importlib.util.find_spec(f"{PACKAGE}.{fullname}")
        return own.loader.get_source(own.name) if own and isinstance(own.loader, InspectLoader) else None


def under_one_name(room: str) -> None:
    """Make ``room`` and all below it the same modules as the package's."""
    sys.meta_path.insert(0, OneName(room))
    sys.modules[room] = importlib.import_module(f"{PACKAGE}.{room}")
