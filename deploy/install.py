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
SECTIONS = ("global", "install", ":env:")
"""Where ``pip install`` takes its settings from; later ones count more."""
VARIABLES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "constraint": "UV_CONSTRAINT",
    "cert": "SSL_CERT_FILE",
}
"""uv's variable for each setting of pip."""
HARMLESS = {
    *("cache-dir", "config-file", "default-timeout", "disable-pip-version-check", "no-cache-dir", "no-input"),
    *("progress-bar", "quiet", "retries", "root-user-action", "timeout"),
}
"""Settings of pip that change nothing of what is installed."""

Run = Callable[..., int]


def settings_of_pip(listed: str) -> dict[str, str]:
    """Return the settings that ``pip install`` would use, of what ``pip config list`` says.

    >>> settings_of_pip(":env:.timeout='60'\\nglobal.timeout='15'\\nwheel.timeout='5'")
    {'timeout': '60'}
    """
    lines = [line.partition("=") for line in listed.splitlines()]
    said = {(*place.rpartition(".")[::2],): str(ast.literal_eval(value)).strip() for place, _, value in lines}
    return {
        name: said[section, name]
        for wanted in SECTIONS
        for section, name in said
        if section == wanted and said[section, name]
    }


def variables_of_uv(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that tell uv what these settings tell pip.

    >>> variables_of_uv({"index-url": "https://packages.example/simple", "timeout": "60"})
    {'UV_DEFAULT_INDEX': 'https://packages.example/simple'}
    """
    told = {VARIABLES[name]: value for name, value in settings.items() if name in VARIABLES}
    for variable, between in (("UV_INDEX", " "), ("UV_FIND_LINKS", ","), ("UV_CONSTRAINT", " ")):
        if variable in told:
            told[variable] = between.join(told[variable].split())
    if told.keys() & {"UV_INDEX", "UV_FIND_LINKS"}:
        told["UV_INDEX_STRATEGY"] = "unsafe-best-match"  # pip, too, takes the best version of all places
    return told


def install(arguments: Sequence[str], environment: Mapping[str, str], listed: str, run: Run = subprocess.call) -> int:
    """Install what the arguments of ``pip install`` say, and return the exit status. ``listed`` is what ``pip config
    list`` says.
    """
    settings = settings_of_pip(listed)
    if unknown := sorted(settings.keys() - VARIABLES.keys() - HARMLESS):
        print(f"pip installs, not uv, which does not know what pip is told: {', '.join(unknown)}.", file=sys.stderr)
    elif _by_uv(arguments, {**variables_of_uv(settings), **environment}, run):
        return 0
    return run([*PIP, *PIP_INSTALL, *arguments])


def _by_uv(arguments: Sequence[str], environment: Mapping[str, str], run: Run) -> bool:
    with TemporaryDirectory() as folder:
        command = [Path(folder, "bin", "uv"), "pip", "install", "--quiet", "--no-build", "--python", sys.executable]
        try:
            if run([*PIP, *PIP_INSTALL, "--target", folder, UV], stderr=subprocess.DEVNULL) == 0:
                if run([*command, *arguments], env=environment) == 0:
                    return True
                print("uv could not install; pip tries.", file=sys.stderr)
        except OSError as error:  # a folder in which nothing may be run
            print(f"uv cannot be run ({error.strerror}); pip installs.", file=sys.stderr)
    return False


if __name__ == "__main__":
    pip_settings = subprocess.run([*PIP, "config", "list"], capture_output=True, text=True, check=True).stdout
    sys.exit(install(sys.argv[1:], os.environ, pip_settings))
