"""``serve``, ``worker`` and ``mcp``: runs the app, a fleet's indexing and jobs alone, or an MCP server on stdio."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from braid.app.cli.common import BraidCommand, choose_user, current_settings
from braid.app.opening import open_braid, open_data_directory
from braid.core.errors import NotFoundError, NotOwnerError
from braid.core.extras import require
from braid.core.ledger.owners.owner import owner_url

if TYPE_CHECKING:
    from braid.config.settings import Settings
    from braid.core.accounts.credentials import Permission
    from braid.core.ledger.ledger import Ledger


@click.command(cls=BraidCommand, makes_site=True)
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


@click.command(cls=BraidCommand, makes_site=True)
@click.option(
    "--port", type=click.IntRange(1, 65535), help="Port for /healthz, /readyz and /metrics; none if left out."
)
def worker(port: int | None) -> None:
    """Index and run the jobs of a fleet until Ctrl-C, without pages."""
    from braid.app.server import leave
    from braid.app.worker import work

    work(current_settings(), port=port)
    leave()


@click.command(cls=BraidCommand, makes_site=True)
@click.option("--user", "user_name", metavar="NAME", help="Owner of the documents (default: the only user).")
@click.option("--read-only", is_flag=True, help="Hide the tools that write.")
def mcp(user_name: str | None, read_only: bool) -> None:
    """Serve an MCP client on stdin and stdout.

    Beside a running app, requests are passed to the app; otherwise this process opens the data directory, or searches
    through the process that has it open.
    """
    require("mcp", "the MCP server", "mcp")
    settings = current_settings()
    try:
        _serve(settings, user_name, read_only, must_own=True)
    except NotOwnerError:
        if url := owner_url(settings.data_dir):
            _pass_on(settings, user_name, read_only, url)
        else:
            _serve(settings, user_name, read_only)


def _serve(settings: Settings, user_name: str | None, read_only: bool, *, must_own: bool = False) -> None:
    from braid.app.mcp.calls import Meter
    from braid.app.mcp.server import make_server
    from braid.app.mcp.tools import Tools
    from braid.core.accounts.accounts import Accounts
    from braid.core.accounts.usage import Usage
    from braid.core.ingest.parse_now import ParseNow
    from braid.core.ingest.parse_pool import ParsePool
    from braid.core.ingest.spool import Spool

    pool = ParsePool(memory_mb=settings.parse_memory_mb, timeout_s=settings.parse_timeout_s)
    with open_braid(settings, must_own=must_own) as braid, closing(pool):
        account = Accounts(braid.ledger).get(choose_user(braid.ledger, user_name).id)
        usage = Usage(braid.ledger)
        parse = ParseNow(pool, Spool.of(braid)).of_user(account.id)
        meter = Meter(usage, account.id)
        tools = Tools(braid, account, settings, meter, is_admin=account.is_admin, parse=parse)
        try:
            make_server(lambda _context: tools, read_only=read_only).run()
        finally:
            usage.write()


def _pass_on(settings: Settings, user_name: str | None, read_only: bool, url: str) -> None:
    import anyio

    with open_data_directory(settings) as directory:
        user_id = choose_user(directory.ledger, user_name).id
        permissions = ("read",) if read_only else ("read", "write", "admin")
        with _short_lived_key(directory.ledger, user_id, *permissions) as key:
            anyio.run(_bridge, f"{url}mcp", key)


async def _bridge(url: str, key: str) -> None:
    """Pass messages, unchanged, between stdin and stdout and MCP over HTTP at ``url`` until stdin ends."""
    import anyio
    from mcp import stdio_server
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    async def pass_each(source: Any, target: Any) -> None:
        async for message in source:
            if not isinstance(message, Exception):  # not a valid message, so the client expects no answer
                await target.send(message)

    async with (
        create_mcp_http_client(headers={"Authorization": f"Bearer {key}"}) as http,
        streamable_http_client(url, http_client=http) as (from_app, to_app),
        stdio_server() as (from_client, to_client),
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(pass_each, from_app, to_client)
        await pass_each(from_client, to_app)
        tasks.cancel_scope.cancel()


@contextmanager
def _short_lived_key(ledger: Ledger, user_id: int, *permissions: Permission) -> Iterator[str]:
    """Yield a token of this user that is revoked when the block ends.

    No password is needed: a process that can write to the ledger can act as any user anyway.
    """
    from braid.core.accounts.credentials import ApiTokens

    tokens = ApiTokens(ledger)
    token, key = tokens.add(user_id, "command line", permissions, days=1)
    try:
        yield key
    finally:
        with suppress(NotFoundError):  # an administrator may have revoked it
            tokens.revoke(user_id, token.id)
