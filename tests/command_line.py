"""The command line, run in this process over a data directory of the test's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from braid.app.cli.root import cli


def invoke(folder: Path, *args: object, answer: str | None = None) -> Result:
    """Run a command over ``folder``/data, with the list of shared datasets beside it; ``answer`` is typed in."""
    line = ["--data-dir", str(folder / "data"), *map(str, args)]
    return CliRunner().invoke(cli, line, input=answer, env={"BRAID_SHARED_DBS": str(folder / "shared_dbs.json")})


class CommandLine:
    """Runs commands over one folder, and fails where they do not end with the status that is expected."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data_dir = folder / "data"
        self.env = {"BRAID_SHARED_DBS": str(folder / "shared_dbs.json")}

    def __call__(self, *args: object, status: int = 0, answer: str | None = None) -> Result:
        line = ["--data-dir", str(self.data_dir), *map(str, args)]
        result = CliRunner().invoke(cli, line, input=answer, env=self.env)
        assert result.exit_code == status, f"{result.stdout}\n{result.stderr}"
        return result

    def json(self, *args: object, status: int = 0) -> Any:
        """What the command prints with ``--json``."""
        return json.loads(self(*args, "--json", status=status).stdout)
