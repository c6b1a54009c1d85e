"""Names of models as pages show them: without the name that Braid made for a connected server."""

from __future__ import annotations

from braid.app.site import site
from braid.core.models.model_servers import PROVIDERS


def model_name(name: str) -> str:
    """Return ``qwen3:8b (gpu-box:9000)`` for a model of a server that has only an address; other names as they are."""
    server = site().models.connection_of(name)
    if server is None or server.name in PROVIDERS:
        return name
    return f"{name.partition(':')[2]} ({server.host})"
