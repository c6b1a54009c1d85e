"""``mcp``: Braid as an MCP server on stdio."""

from __future__ import annotations

import click

from app.cli_common import BraidCommand, choose_user, current_settings, open_braid


@click.command(cls=BraidCommand)
@click.option("--user", "user_name", metavar="NAME", help="Whose documents (default: the only user).")
@click.option("--read-only", is_flag=True, help="Hide the tools that write.")
def mcp(user_name: str | None, read_only: bool) -> None:
    """Serve an MCP client on stdin and stdout."""
    from app.mcp.server import make_server
    from app.mcp.tools import Tools
    from core.accounts import Accounts

    with open_braid(current_settings(), indexes="own") as braid:
        account = Accounts(braid.ledger).get(choose_user(braid.ledger, user_name).id)
        tools = Tools(braid, account)
        make_server(lambda _context: tools, read_only=read_only).run()
