"""The site that a ledger is of: an id that is made once, and is written to the data directory and to every service.

A ledger that is missing, empty or another one is thereby told from a new site, before anything is tidied.
"""

from __future__ import annotations

import contextlib
import json
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import make_url

from braid.core.errors import OtherSiteError
from braid.core.files.claim import Claim
from braid.core.ledger import prepared
from braid.core.ledger.database import Database, execute, make_engine
from braid.core.ledger.durable import replace_whole, write_first
from braid.core.ledger.schema import current_revision

SETTING = "site"
"""Name of the app setting that has the id."""
OWNER = "owner"
"""Name of the app setting of `braid.core.ledger.owners.ownership`."""
FILE = "site.json"
"""The id in a data directory, with another one of the directory's own."""
_KEPT = {"originals": re.compile(r"[0-9a-f]{64}"), "uploads": re.compile(r"[0-9a-f]{32}")}


@dataclass(frozen=True, slots=True)
class Noted:
    """The identity of a data directory: the id of its site, and its own among several directories of that site."""

    site: str
    directory: str


def noted_in(data_dir: Path) -> Noted | None:
    """Return what a data directory says of itself; None where it says nothing."""
    try:
        form = json.loads((data_dir / FILE).read_text(encoding="utf-8"))
        return Noted(str(form["site"]), str(form["directory"]))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):  # cut by a power cut: written again
        return None


def claim_of(database: Database) -> Claim:
    """Return what the ledger says of its site."""
    rows = database.rows(prepared.APP_SETTING, name=SETTING)
    form: dict[str, str] = json.loads(rows[0][0]) if rows else {}
    [(is_used,)] = database.rows(prepared.IS_USED)
    shown = _shown(database.engine.url.render_as_string(hide_password=True))
    return Claim(shown, form.get("id", ""), form.get("copy_of", ""), not is_used)


def has_ledger(url: str) -> bool:
    """Return whether a database has tables of Braid, or is a file that is not empty; nothing is made."""
    if make_url(url).get_backend_name() == "sqlite":
        return not _is_missing(url)
    engine = make_engine(url)
    try:
        with engine.connect() as connection:
            return current_revision(connection) is not None
    finally:
        engine.dispose()


def require_known_ledger(url: str, data_dir: Path, *, takes: bool) -> None:
    """Raise OtherSiteError where a ledger in SQLite would be made in the directory of a site, before it is made."""
    claim = Claim(_shown(url), is_new=True, takes=takes)
    try:
        _check_folder(claim, data_dir)
    except OtherSiteError:
        if _is_missing(url):  # now, when somebody else may have made both
            raise


def open_site(database: Database, data_dir: Path, *, takes: bool = False) -> Claim:
    """Return the site of the ledger and the data directory, which get an id if they have none.

    Raises OtherSiteError when they are of two, or when the ledger is new and the directory is not; with ``takes`` the
    directory is the ledger's from now on.
    """
    claim = replace(claim_of(database), takes=takes)
    try:
        _check_folder(claim, data_dir)
    except OtherSiteError:
        if claim.site or not claim_of(database).site:  # else another process has made both meanwhile
            raise
    noted = noted_in(data_dir)
    if not claim.site:  # a ledger of an earlier version gets the id that its directory has
        _make(database, noted.site if noted and not claim.is_new else secrets.token_hex(16))
        claim = replace(claim, site=claim_of(database).site)
    if noted is None or noted.site != claim.site:
        _write(data_dir, Noted(claim.site, noted.directory if noted else secrets.token_hex(16)), over=noted)
        _check_folder(claim, data_dir)
    return claim


def require_same(database: Database, data_dir: Path) -> None:
    """Raise OtherSiteError when ledger and data directory are not of one site any more."""
    claim = claim_of(database)
    _check_folder(replace(claim, is_new=claim.is_new or not claim.site), data_dir)


def newest_activity(database: Database) -> float:
    """Return when something was last written or done in the ledger, in seconds since the epoch; 0 for a new one."""
    [found] = database.rows(prepared.ACTIVITY)
    return max((at for at in found if at is not None), default=0.0)


def as_copy(run: Callable[..., list[Any]]) -> str:
    """Give a restored ledger an id of its own, and return it: it may be opened beside the one that it is a copy of.

    ``run`` takes a statement and its values by name, and returns the rows.
    """
    rows = run("SELECT value FROM app_settings WHERE name = :name", name=SETTING)
    before: dict[str, str] = json.loads(rows[0][0]) if rows else {}
    site = secrets.token_hex(16)
    for name in (SETTING, OWNER):
        run("DELETE FROM app_settings WHERE name = :name", name=name)
    value = json.dumps({"id": site, "copy_of": before.get("id", "")})
    run("INSERT INTO app_settings (name, value) VALUES (:name, :value)", name=SETTING, value=value)
    return site


def write_note(data_dir: Path, site: str) -> None:
    """Note in a new data directory whose it is."""
    _write(data_dir, Noted(site, secrets.token_hex(16)), over=None)


def _shown(url: str) -> str:
    """Return the file of a ledger in SQLite, and the address of another without its password."""
    parsed = make_url(url)
    is_file = parsed.get_backend_name() == "sqlite" and parsed.database
    return str(parsed.database) if is_file else parsed.render_as_string(hide_password=True)


def _is_missing(url: str) -> bool:
    parsed = make_url(url)
    file = parsed.database or ""
    if parsed.get_backend_name() != "sqlite" or not file or ":memory:" in file or file.startswith("file:"):
        return False
    with contextlib.suppress(OSError):
        return Path(file).stat().st_size == 0
    return True


def _make(database: Database, site: str) -> None:
    """Give the ledger an id, unless another process was first."""
    with database.write() as connection:
        execute(connection, prepared.ADD_APP_SETTING, name=SETTING, value=json.dumps({"id": site, "copy_of": ""}))


def _check_folder(claim: Claim, data_dir: Path) -> None:
    noted = noted_in(data_dir)
    if noted and not claim.site and not claim.is_new:
        return  # a ledger of an earlier version, brought back into its directory
    found = noted.site if noted else ""
    claim.check(f"the data directory {str(data_dir)!r}", found, has=_contents(data_dir) if claim.is_new else "")


def _contents(data_dir: Path) -> str:
    """Say what a data directory has that is of a site; empty for a new one."""
    files = {name: _count(data_dir / name, form) for name, form in _KEPT.items()}
    indexes = any((data_dir / "indexes" / "bm25").glob("*/*")) or any((data_dir / "indexes" / "dense").glob("store-*"))
    said = [f"{name} ({count:,})" for name, count in files.items() if count]
    return " and ".join([*said, *(["indexes"] if indexes else [])])


def _count(folder: Path, name: re.Pattern[str]) -> int:
    return sum(1 for path in folder.rglob("*") if name.fullmatch(path.name)) if folder.is_dir() else 0


def _write(data_dir: Path, noted: Noted, *, over: Noted | None) -> None:
    """Write the file whole; without ``over`` only where there is none: another process may have been first."""
    path, content = data_dir / FILE, json.dumps({"site": noted.site, "directory": noted.directory}).encode()
    if over is not None:
        replace_whole(path, content)
    elif noted_in(data_dir) is None:
        path.unlink(missing_ok=True)  # what is there is cut
        write_first(path, content)
