"""Install packages into the environment of this Python: by uv, in a fifth of pip's time, or by pip where uv cannot.

What pip is told by its files and variables, such as an index, is told to uv. Where pip is told something that uv does
not know, or uv fails, pip installs.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

UV = "uv==0.13.9"
PIP = (sys.executable, "-m", "pip")
PIP_INSTALL = ("install", "-qq", "--disable-pip-version-check", "--prefer-binary", "--no-compile")
TOLD = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "constraint": ("UV_CONSTRAINT", " "),
    "cert": ("SSL_CERT_FILE", ""),
}
"""uv's variable for each setting of pip, and what stands between its values."""
OTHERWISE = {"disable-pip-version-check", "default-timeout", "timeout", "retries", "quiet", "no-input", "progress-bar"}
"""Settings of pip that change nothing of what is installed."""

Run = Callable[..., int]


def settings_for_uv(listed: str) -> dict[str, str] | None:
    """Return what ``pip config list`` says as variables of uv; None where pip is told something that uv does not know.

    >>> settings_for_uv("global.index-url='https://packages.example/simple'")
    {'UV_DEFAULT_INDEX': 'https://packages.example/simple'}
    """
    told: dict[str, str] = {}
    for line in listed.splitlines():
        place, _, value = line.partition("=")
        name = place.rpartition(".")[2]
        if name in TOLD:
            variable, between = TOLD[name]
            told[variable] = between.join(str(ast.literal_eval(value)).split())
        elif name not in OTHERWISE:
            return None
    if told.keys() & {"UV_INDEX", "UV_FIND_LINKS"}:
        told["UV_INDEX_STRATEGY"] = "unsafe-best-match"  # pip, too, takes the best version of all places
    return told


def install(arguments: Sequence[str], environment: Mapping[str, str], listed: str, run: Run = subprocess.call) -> int:
    """Install what the arguments of ``pip install`` say, and return the exit status. ``listed`` is what ``pip config
    list`` says.
    """
    told = settings_for_uv(listed)
    with TemporaryDirectory() as folder:
        uv = Path(folder, "bin", "uv")
        if told is not None and run([*PIP, *PIP_INSTALL, "--target", folder, UV], stderr=subprocess.DEVNULL) == 0:
            command = [uv, "pip", "install", "--quiet", "--python", sys.executable, *arguments]
            if run(command, env={**told, **environment}) == 0:
                return 0
            print("uv could not install; pip tries.", file=sys.stderr)
    return run([*PIP, *PIP_INSTALL, *arguments])


if __name__ == "__main__":
    pip_settings = subprocess.run([*PIP, "config", "list"], capture_output=True, text=True, check=True).stdout
    sys.exit(install(sys.argv[1:], os.environ, pip_settings))
