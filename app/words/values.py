"""Values as pages show them: points in time, sizes, browsers, and names of datasets and models."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta

from flask_babel import format_date, format_decimal, format_timedelta, pgettext
from flask_babel import gettext as _
from flask_babel import lazy_gettext as _l
from markupsafe import Markup

from braid.app.opening import FIRST_DATASET, SAMPLE_DESCRIPTION, SAMPLE_NAME
from braid.app.site import site
from braid.core.chat.files import FILES_NAME
from braid.core.models.model_servers import PROVIDERS

_AGO = Markup('<time class="ago" datetime="{exact}" title="{title}">{shown}</time>')
_TIME = Markup('<time datetime="{exact}">{shown}</time>')


FAULTS = {
    "wrong": _l("It is wrong"),
    "off_topic": _l("It is not what I asked"),
    "unsupported": _l("The source does not say so"),
    "incomplete": _l("It is incomplete"),
}
"""What is wrong with an answer, see `braid.core.chat.feedback.Fault`."""


def sentences(texts: Iterable[object]) -> str:
    """Return sentences one after the other, with no blank after a Japanese full stop or colon; Markup where one is."""
    given = [each if isinstance(each, Markup) else str(each) for each in texts if each]
    shown = Markup() if any(isinstance(each, Markup) for each in given) else ""
    for each in given:
        shown = spaced(shown) + each
    return shown


def spaced(text: str) -> str:
    """Return a text with the blank that the next one has before it: none after a Japanese full stop or colon."""
    return text + " " if text and not text.endswith(("。", "：")) else text


def moment(seconds: float) -> Markup:
    """Return seconds since the epoch as a time element; empty if the date is out of range (years 1 to 9999)."""
    exact = point_in_time(seconds, "T", "seconds")
    return _TIME.format(exact=exact.replace(" UTC", "Z"), shown=point_in_time(seconds)) if exact else Markup("")


def ago(seconds: float) -> Markup:
    """Return seconds since the epoch as a time element that says how long ago it was, in the page's language."""
    exact = point_in_time(seconds, "T", "seconds")
    if not exact:
        return Markup("")
    shown = format_timedelta(timedelta(seconds=seconds - time.time()), add_direction=True)
    return _AGO.format(exact=exact.replace(" UTC", "Z"), title=point_in_time(seconds), shown=shown)


def day(date_of_day: str) -> str:
    """Return a day such as ``2026-10-29`` as dates are written in the page's language."""
    return str(format_date(date.fromisoformat(date_of_day)))


def point_in_time(seconds: float, between: str = " ", precision: str = "minutes") -> str:
    """Return seconds since the epoch as ``2026-11-26 23:41 UTC``; empty if the date is out of range."""
    try:
        at = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
    except (ValueError, OverflowError, OSError):
        return ""
    return f"{at.isoformat(between, precision)} UTC"


KIBI = 1024
UNITS = ("B", "KB", "MB", "GB", "TB")


def size(size_bytes: int) -> str:
    """Return a size in a readable unit, in the page's language."""
    value, unit = float(size_bytes), UNITS[0]
    for unit in UNITS:
        if value < KIBI or unit == UNITS[-1]:
            break
        value /= KIBI
    return f"{format_decimal(value, format='#,##0' if unit == 'B' or value >= 10 else '#,##0.#')} {unit}"


def money(amount: float) -> str:
    """Return an amount of a currency that is not named, with two decimals, in the page's language."""
    return str(format_decimal(amount, format="#,##0.00"))


MARKS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Vivaldi/", "Vivaldi"),
    ("YaBrowser/", "Yandex"),
    ("Whale/", "Whale"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("FxiOS/", "Firefox"),
    ("Firefox/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chromium/", "Chromium"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
    ("Wget/", "Wget"),
    ("python", "Python"),
    ("Python", "Python"),
)
"""Part of a user agent → browser; the first one counts, as most browsers name those that they are like."""
SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Macintosh", "Mac"),
    ("Mac OS X", "Mac"),
    ("Linux", "Linux"),
)


def device(user_agent: str) -> str:
    """Return ``Firefox on Windows`` in the language of the page; what is not known is called so."""
    browser = next((name for mark, name in MARKS if mark in user_agent), "")
    system = next((name for mark, name in SYSTEMS if mark in user_agent), "")
    if browser and system:
        return str(_("%(browser)s on %(system)s", browser=browser, system=system))
    if browser or system:
        return browser or str(_("Browser on %(system)s", system=system))
    return str(_("Unknown browser"))


GIVEN = {
    FIRST_DATASET: _l("My documents"),
    FILES_NAME: _l("Files of a conversation"),
    SAMPLE_NAME: _l("Braid guide"),
    SAMPLE_DESCRIPTION: _l("What Braid is and how to use it, in English, Japanese and Korean"),
}


def dataset_name(name: str) -> str:
    """Return the name, or the description, of a dataset as it is shown; the ledger keeps the English one."""
    return str(GIVEN.get(name, name))


def person(name: str) -> str:
    """Return the name of a user as part of a sentence, with what Japanese and Korean say after it."""
    return str(pgettext("person", "%(name)s", name=name))


def called(name: str, kind: str | None) -> str:
    """Return the name of a user, or of a group, as part of a sentence."""
    return str(_("the group “%(name)s”", name=name)) if kind == "group" else person(name)


def provider_name(label: str) -> str:
    """Return the name of a kind of model server; that of no company is in the page's language."""
    return str(_("OpenAI-compatible")) if label == PROVIDERS["compatible"].label else label


def model_name(name: str) -> str:
    """Return ``qwen3:8b (gpu-box:9000)`` for a model of a server that has only an address; other names as they are."""
    server = site().models.connection_of(name)
    if server is None or server.name in PROVIDERS:
        return name
    return f"{name.partition(':')[2]} ({server.host})"
