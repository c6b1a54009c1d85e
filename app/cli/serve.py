"""``serve`` and ``worker``: runs the app, or a fleet's indexing and jobs alone."""

from __future__ import annotations

import gc

import click

from braid.app.cli.common import BraidCommand, current_settings


@click.command(cls=BraidCommand)
@click.option("--host", help="Address to listen on (setting host).")
@click.option("--port", type=click.IntRange(1, 65535), help="Port to listen on (setting port).")
@click.option("--workers", type=click.IntRange(1, 64), help="Processes that serve the port (setting workers).")
@click.option("--no-work", is_flag=True, help="Leave indexing and jobs to the fleet's other processes (setting work).")
def serve(host: str | None, port: int | None, workers: int | None, no_work: bool) -> None:
    """Run the app on one port until Ctrl-C."""
    # Loading makes only objects that stay, so collecting them wastes 0.2 s; `server._run` turns the collector on again.
    gc.disable()

    from braid.app import server

    server.serve(current_settings(host=host, port=port, workers=workers, work=False if no_work else None))
    server.leave()


@click.command(cls=BraidCommand)
@click.option(
    "--port", type=click.IntRange(1, 65535), help="Port for /healthz, /readyz and /metrics; none if left out."
)
def worker(port: int | None) -> None:
    """Index and run the jobs of a fleet until Ctrl-C, without pages."""
    from braid.app.server import leave
    from braid.app.worker import work

    work(current_settings(), port=port)
    leave()
