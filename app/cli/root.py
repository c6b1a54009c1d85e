"""Root of the command line, and the one place that turns errors into a line and an exit status.

Nothing heavy is imported here or at the top of the other modules of `app.cli`: commands import what they need when they
run, so that ``--help`` answers at once.
"""

from __future__ import annotations

import os
import sys
import traceback
from functools import partial
from typing import Any, NoReturn

import click

from braid import __version__
from braid.app.cli import user_life  # noqa: F401 - further commands of `user`
from braid.app.cli.backup import backup, db, restore
from braid.app.cli.chat import chat
from braid.app.cli.common import BraidGroup
from braid.app.cli.conversation import conversation
from braid.app.cli.doctor import chroma_path, doctor
from braid.app.cli.evaluate import eval_command, qrels, tune
from braid.app.cli.ingest import documents, ingest
from braid.app.cli.manage import dataset, shared_db
from braid.app.cli.models import models
from braid.app.cli.move import move
from braid.app.cli.output import complain, print_json
from braid.app.cli.records import audit, retention
from braid.app.cli.scans import scans
from braid.app.cli.search import explain, search
from braid.app.cli.serve import mcp, serve, worker
from braid.app.cli.users import user
from braid.app.cli.watch import watch
from braid.app.terminal import one_line
from braid.core.errors import BraidError

WRONG_USE = 2
UNEXPECTED = 3
INTERRUPTED = 130  # 128 + SIGINT, as in shells
DEBUG_VARIABLE = "BRAID_LOG_LEVEL"


class Cli(BraidGroup):
    """The root command. Every error ends here, as one line on stderr and an exit status."""

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Run a command line and exit with its status, see docs/cli.md.

        What it writes is for the user alone who runs it: the ledger, indexes, exports.
        """
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")  # prints ? for characters that the terminal cannot show
        kwargs.setdefault("prog_name", "python -m app")
        before = os.umask(0o077)
        try:
            sys.exit(self._status(args, kwargs))
        finally:
            os.umask(before)

    def _status(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
        given = kwargs.get("args") or (args[0] if args else None) or sys.argv[1:]
        fail = partial(_fail, as_json="--json" in given)
        try:
            status = super().main(*args, **{**kwargs, "standalone_mode": False})
        except click.ClickException as error:
            return fail(error, _usage_line(error), WRONG_USE)
        except BraidError as error:
            return fail(error, f"error: {error}", WRONG_USE)
        except click.Abort:
            complain("stopped")
            return INTERRUPTED
        except OSError as error:
            place = f": {error.filename}" if error.filename else ""
            return fail(error, f"error: {error.strerror or error}{place}", WRONG_USE)
        except Exception as error:  # the edge: any other error is one line too, with the traceback on request
            from braid.core.ledger.outages import REMEDY, outage_of  # loads SQLAlchemy

            if outage := outage_of(error):
                what, remedy = outage.text.partition(";")[0], REMEDY.get(outage.cause, "")
                return fail(error, f"error: {what} ({outage.reason}){remedy and '; '}{remedy}", WRONG_USE)
            if os.environ.get(DEBUG_VARIABLE, "").upper() == "DEBUG":
                traceback.print_exc()
            message = f"unexpected error: {type(error).__name__}: {error} ({DEBUG_VARIABLE}=DEBUG shows where)"
            return fail(error, message, UNEXPECTED)
        return status if isinstance(status, int) else 0


def _fail(error: Exception, line: str, status: int, *, as_json: bool) -> int:
    """Print the error, also as JSON to stdout for a caller that reads JSON; return the status."""
    complain(line)
    if as_json:
        print_json({"error": {"type": type(error).__name__, "message": line.removeprefix("error: "), "status": status}})
    return status


def _usage_line(error: click.ClickException) -> str:
    """Return ``error: No such option '--dta'. (python -m app search --help)``."""
    message = one_line(error.format_message())
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return f"error: {message}"
    if isinstance(context.command, click.Group) and not context.args and message == "Missing command.":
        message = f"{message} Choose one of {', '.join(context.command.list_commands(context))}."
    return f"error: {message} ({context.command_path} --help)"


@click.group(cls=Cli)
@click.version_option(__version__, message="braid %(version)s")
def cli() -> None:
    """Braid: search your documents by meaning and by keyword."""


for command in (
    serve,
    worker,
    user,
    dataset,
    shared_db,
    ingest,
    watch,
    documents,
    search,
    explain,
    mcp,
    chat,
    conversation,
    eval_command,
    tune,
    qrels,
    chroma_path,
    doctor,
    backup,
    restore,
    move,
    db,
    audit,
    retention,
    scans,
    models,
):
    cli.add_command(command)
