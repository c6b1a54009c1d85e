"""Browsers and programs in words: what a user agent says of itself, short enough to recognize one's own."""

from __future__ import annotations

from flask_babel import gettext as _

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
