"""Language of a page, and names of languages in that language."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import urlencode

from flask import Response, request
from flask_babel import get_locale
from flask_babel import gettext as _

from braid.app.auth.identity import signed_in
from braid.app.mounted import blueprints_here, cookie_path
from braid.app.site import site
from braid.app.user.preferences import LANGUAGES, THEMES
from braid.core.types import Dataset

LANGUAGE_COOKIE = "braid_language"
LANGUAGE_COOKIE_DAYS = 365


def select_language() -> str:
    """Return the language in the address, else the user's setting, else the cookie's, else the browser's."""
    found = signed_in()
    preferred = found.account.preferences.get("language") if found else None
    for given in (request.args.get("lang"), preferred, request.cookies.get(LANGUAGE_COOKIE)):
        if given in LANGUAGES:
            return given
    accepted = (tag.partition("-")[0].lower() for tag, quality in request.accept_languages if quality > 0)
    return next((code for code in accepted if code in LANGUAGES), "en")


def current_language() -> str:
    """Return the language code of this request; ``en`` in a host app whose language Braid lacks."""
    code = str(get_locale()).partition("_")[0]
    return code if code in LANGUAGES else "en"


def keep_language(response: Response) -> None:
    """Remember a language chosen in the address: in the user's setting if there is one, else in a cookie."""
    language, is_fault = request.args.get("lang"), response.status_code >= 500  # then the database may not answer
    if language in LANGUAGES and not is_fault and (found := signed_in()) and found.account.preferences.get("language"):
        site().accounts.set_preferences(found.account.id, {"language": language})
    elif language in LANGUAGES:
        response.set_cookie(
            LANGUAGE_COOKIE,
            language,
            max_age=LANGUAGE_COOKIE_DAYS * 86_400,
            path=cookie_path(),
            httponly=True,
            samesite="Lax",
        )


def language_links() -> Iterator[tuple[str, str, str]]:
    """Yield (code, own name, address) per language; the address is this page's in that language."""
    for code, name in LANGUAGES.items():
        arguments = [(key, value) for key, value in request.args.items(multi=True) if key != "lang"]
        yield code, name, "?" + urlencode([*arguments, ("lang", code)])


def theme() -> str:
    """Return the user's theme, else the host app's; ``auto`` follows the system."""
    found = signed_in()
    chosen = found.account.preferences.get("theme") if found else None
    if "braid.embed" in blueprints_here() and request.args.get("theme") in THEMES:
        return str(request.args["theme"])
    if chosen in THEMES:
        return str(chosen)
    host = site().host
    return host.brand.theme if host and host.brand else "auto"


def language_name(code: str) -> str:
    """Return the name of an ISO 639-1 code in the page's language; an empty code gives "other"."""
    locale = get_locale()
    return str(locale.languages.get(code, code)) if code and locale else str(_("other"))


def language_names(datasets: Sequence[Dataset]) -> dict[int, str]:
    """Return dataset id → names of its languages, the most frequent first; empty datasets have none."""
    found = site().dataset_languages.of(datasets)
    return {dataset_id: _(", ").join(map(language_name, codes)) for dataset_id, codes in found.items()}
