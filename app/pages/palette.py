"""The palette of every page: documents, datasets, conversations, pages, settings and acts by a part of their name.

Documents and datasets are those that the user may read; administrators find users and groups, too.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

from flask import Response, request
from flask_babel import gettext as _
from flask_babel import ngettext

from braid.app.auth.access import Routes
from braid.app.auth.identity import identity
from braid.app.mounted import url_for
from braid.app.opening import FIRST_DATASET
from braid.app.pages.admin.blueprint import admin_places, known_groups, people_places
from braid.app.pages.chat.about import beside
from braid.app.pages.chat.choices import recent_datasets
from braid.app.pages.chat.sidebar import time_of
from braid.app.site import site
from braid.app.user.datasets import caller_datasets
from braid.app.user.preferences import LANGUAGES, THEMES
from braid.app.web.header import places
from braid.app.web.transfers import titled
from braid.app.words.values import dataset_name
from braid.core.accounts.account_list import find_accounts
from braid.core.datasets.listing import documents_named
from braid.core.errors import DegradedError, IndexUnavailableError, InvalidInputError
from braid.core.types import Dataset, Document

MOST = 7
"""Entries of a kind."""
LEAST = 2
"""Entries of a kind that one of another kind leaves a place."""
FEW = 4
"""Entries of a kind where other kinds have what was typed, too."""
MAX_TYPED_CHARS = 200
LEAST_SEARCHED_CHARS = 2
"""From how many letters on documents are found by their text, too."""
CALLED = {
    "new": "chat ask question チャット 質問 채팅 질문",
    "add": "upload file import アップロード ファイル 업로드 파일",
    "shelf": "archive delete history 履歴 アーカイブ 削除 기록 보관 삭제",
    "theme": "theme mode appearance night day color テーマ モード 外観 夜 昼 테마 모드 화면 배경 야간 주간",
    "dark": "dark black ダーク 暗い 다크 검정 어두운",
    "light": "light white bright ライト 明るい 라이트 밝은",
    "auto": "auto system automatic 自動 システム 자동 시스템",
    "language": "language 言語 언어",
    "en": "english 英語 영어",
    "ja": "japanese 日本語 일본어",
    "ko": "korean 韓国語 한국어",
    "out": "sign out log out logout exit quit ログアウト サインアウト 로그아웃",
    "shortcuts": "shortcuts hotkeys keys help ショートカット キー ヘルプ 단축키 도움말",
    "settings": "settings preferences options 環境設定 オプション 환경설정 옵션",
    "account": "profile password two-factor 2fa token パスワード プロフィール トークン 비밀번호 프로필 토큰",
}
"""Other words for acts and pages, in every language of the pages: people type what other programs have taught them."""

palette = Routes("palette", __name__, "user")


class Entry(NamedTuple):
    """Something to go to. ``about`` is what tells it from others; ``icon`` is a name of the sprite."""

    title: str
    about: str
    href: str
    icon: str
    key: str = ""
    """How a question names it, as `braid.app.pages.chat.about.Named` says; empty for what it cannot name."""
    beside: str = ""
    """What a question that names it says beside the name."""
    called: str = ""
    """Other words by which it is found."""

    def shown(self) -> dict[str, str]:
        """Return what the page's script is told."""
        return {name: value for name, value in self._asdict().items() if name != "called"}


@palette.get("/palette.json")
def entries() -> Response:
    """Return what the typed text may mean, as JSON; without a text what was used last, and all places.

    With ``to=ask`` these are only what a question can name, documents and datasets, and with ``to=add`` the datasets
    that files may be added to.
    """
    typed = request.args.get("q", "")[:MAX_TYPED_CHARS].strip()
    words = _fold(typed).split()
    if request.args.get("to") == "add":
        return _answer([(_("Datasets"), _writable())])
    is_asked = request.args.get("to") == "ask"
    missing: list[str] = []
    documents_of = _documents(typed, missing, with_text=not is_asked)
    named = ((_("Datasets"), _datasets(words)), (_("Documents"), documents_of))
    if is_asked:
        datasets, documents = (list(islice(found, MOST)) for _name, found in named)
        near = partial(_distance, _fold(typed))
        further = sorted([*documents[LEAST:], *datasets[LEAST:]], key=near)
        both = [*documents[:LEAST], *datasets[:LEAST], *further][:MOST]
        return _answer([(_("Documents and datasets to ask about"), sorted(both, key=near))])
    acts = (_("Commands"), _matching(words, (*_acts(), *_switches()) if words else _acts()))
    groups = (
        *named,
        (_("Conversations"), _conversations(typed)),
        (_("Groups"), _groups(words)),
        (_("Users"), _users(typed)),
        (_("Pages"), _matching(words, _pages())),
        (_("Settings"), _matching(words, _settings()) if words else ()),
    )
    return _answer((acts, *groups), typed=_fold(typed), missing=missing) if words else _answer((*groups, acts))


def _answer(groups: Iterable[tuple[str, Iterable[Entry]]], *, typed: str = "", missing: Sequence[str] = ()) -> Response:
    """Return the entries as they come; for what was typed, first the groups and entries with it as words.

    ``missing``, what could not be searched, is known once the entries are taken.
    """
    near = partial(_nearness, typed)
    found = [(name, sorted(islice(entries_of, MOST), key=near)) for name, entries_of in groups]
    found = sorted((each for each in found if each[1]), key=lambda each: near(each[1][0]))
    if typed and len(found) > 1:
        found = [(name, entries[:FEW]) for name, entries in found]
    shown = [{"name": name, "entries": [entry.shown() for entry in entries]} for name, entries in found]
    told = {"groups": shown, "missing": _("Some documents' texts cannot be searched right now.") if missing else ""}
    return Response(json.dumps(told, ensure_ascii=False), mimetype="application/json")


def _datasets(words: Sequence[str]) -> Iterable[Entry]:
    readable = caller_datasets(include_closed=True).readable()
    if not words:
        recent = [readable.by_id[one] for one in recent_datasets(identity().account) if one in readable.by_id]
        return map(_dataset, recent or [dataset for dataset in readable.personal if dataset.documents])
    found = [_dataset(dataset) for dataset in readable.all if all(word in _named(dataset) for word in words)]
    return sorted(found, key=partial(_distance, " ".join(words)))


def _distance(typed: str, entry: Entry) -> int:
    """Return how far an entry's own name is from what was typed: 0 if it is that, 4 if it does not even contain it."""
    name = _fold(entry.title)
    if name == typed or not typed:
        return 0
    if name.startswith(typed):
        return 1
    return 4 if typed not in name else 2 if re.search(rf"\b{re.escape(typed)}", name) else 3


def _nearness(typed: str, entry: Entry) -> int:
    """Return 0 for a name that has what was typed as whole words, 1 where its words begin with it, else 2."""
    found = re.search(rf"\b{re.escape(typed)}(\b)?", _fold(entry.title))
    return 2 if found is None else int(found[1] is None)


def _writable() -> Iterator[Entry]:
    """Yield the datasets that the user may add to, those that were chosen last first.

    Who has none is offered the one that they get with the first file.
    """
    mine, recent = caller_datasets(), recent_datasets(identity().account)
    readable = mine.readable()
    if not readable.personal:
        yield Entry(dataset_name(FIRST_DATASET), "", url_for("braid.datasets.mine"), "datasets")
    found = [dataset for dataset in readable.all if mine.may_write(dataset)]
    yield from map(_dataset, sorted(found, key=lambda one: recent.index(one.id) if one.id in recent else len(recent)))


def _named(dataset: Dataset) -> str:
    return _fold(dataset_name(dataset.name))


def _dataset(dataset: Dataset) -> Entry:
    count = ngettext("%(num)s document", "%(num)s documents", dataset.documents)
    href = url_for("braid.datasets.dataset", dataset_id=dataset.id)
    owner = beside(dataset)
    about = f"{owner} · {count}" if owner else count
    return Entry(dataset_name(dataset.name), about, href, "datasets", f"dataset:{dataset.id}", owner)


def _documents(typed: str, missing: list[str], *, with_text: bool) -> Iterator[Entry]:
    """Yield documents whose title or source has the text, those that are called so first; ``with_text`` those, too,
    that have a passage with all its words.
    """
    by_id = caller_datasets(include_closed=True).readable().by_id
    named = documents_named(site().braid.ledger.database, by_id.keys(), typed, limit=MOST)
    if with_text and len(typed) >= LEAST_SEARCHED_CHARS and len(named) < MOST:
        known = {each.id for each in named}
        named += [each for each in _documents_with(typed, missing) if each.id not in known]
    places = [beside(by_id[each.dataset_id], each) for each in named]
    alike = Counter(zip((each.title for each in named), places, strict=True))
    for found, place in zip(named, places, strict=True):
        href = url_for("braid.datasets.document", dataset_id=found.dataset_id, document_id=found.id)
        about = place if alike[found.title, place] == 1 else found.source
        yield Entry(found.title or found.source, about, href, "file", f"document:{found.id}", about)


def _documents_with(typed: str, missing: list[str]) -> Iterator[Document]:
    """Yield the documents whose closest passage by keyword has every word that was typed, or one beginning with it;
    ``missing`` gets what could not be searched.
    """
    here, readable = site().braid, caller_datasets().readable().by_id
    words = set(here.analyzer.tokens(typed))
    try:
        result = here.manager.search(
            typed,
            user_id=identity().account.id,
            dataset_ids=[*readable],
            mode="keyword",
            group_by="document",
            k=MOST,
        )
    except InvalidInputError:  # there is nothing to search
        return
    except (DegradedError, IndexUnavailableError) as error:  # the names are found all the same
        missing.append(str(error))
        return
    missing += (part.reason for part in result.degraded)
    for hit in result.hits:
        passage = hit.passage
        terms = set(here.analyzer.tokens(f"{passage.title} {passage.heading_path} {passage.text}"))
        if not all(any(term.startswith(word) for term in terms) for word in words):
            continue
        if document := here.ledger.document_with_id(passage.document_id, readable.keys()):
            yield document


def _conversations(typed: str) -> Iterator[Entry]:
    store, user_id = site().conversations, identity().account.id
    if typed:
        found = [(each.conversation, each.excerpt) for each in store.find(user_id, typed, limit=MOST)]
    else:
        found = [(each, "") for each in store.conversations(user_id, begun=True, limit=MOST)]
    for one, excerpt in zip(
        titled([one for one, _excerpt in found]), [excerpt for _one, excerpt in found], strict=True
    ):
        href = url_for("braid.chat.conversation", conversation_id=one.id)
        about = " · ".join(filter(None, (time_of(one), excerpt)))
        yield Entry(one.title, about, href, "chat")


def _pages() -> Iterator[Entry]:
    """Yield the places that the caller may open, those of administrators last."""
    for endpoint, name in places():
        kind = endpoint.split(".")[1]
        yield Entry(name, "", url_for(endpoint), kind, called=CALLED.get(kind, ""))
    yield Entry(_("Assistants"), "", url_for("braid.assistants.index"), "chat")
    yield Entry(_("Account"), "", url_for("braid.account.mine"), "user", called=CALLED["account"])
    if identity().is_admin:
        for view, name, icon in admin_places():
            yield Entry(name, _("Administration"), url_for(f"braid.admin.{view}"), icon)
        for view, name in list(people_places())[1:]:
            yield Entry(name, _("Users and groups"), url_for(f"braid.admin.{view}"), "people")


def _groups(words: Sequence[str]) -> Iterator[Entry]:
    """Yield the groups that are named so, for administrators alone."""
    if words and identity().is_admin:
        found = (Entry(name, "", url_for("braid.admin.group", name=name), "people") for name in known_groups())
        yield from _matching(words, found)


def _users(typed: str) -> Iterator[Entry]:
    """Yield the users whose name or group has the text, for administrators alone: nobody else learns of them here."""
    if typed and identity().is_admin:
        for account in find_accounts(site().braid.ledger.database, text=typed, limit=MOST)[0]:
            about, href = _(", ").join(sorted(account.groups)), url_for("braid.admin.user", user_id=account.id)
            yield Entry(account.name, about, href, "user")


def _settings() -> Iterator[Entry]:
    """Yield the parts of the settings page."""
    names = {
        "models": _("Models"),
        "search": _("Search"),
        "expert": _("Expert"),
        "look": _("Language and appearance"),
        "keys": _("Keys"),
        "apps": _("Other apps"),
    }
    for anchor, name in names.items():
        yield Entry(name, _("Settings"), url_for("braid.settings.page", _anchor=anchor), "settings")


def _acts() -> Iterator[Entry]:
    """Yield what may be begun from every page."""
    yield Entry(_("New conversation"), "", url_for("braid.chat.page"), "plus", called=CALLED["new"])
    own = caller_datasets(include_closed=True).readable().personal
    view, to = ("dataset", {"dataset_id": own[0].id}) if own else ("index", {})
    add = url_for(f"braid.datasets.{view}", _anchor="add-title", **to)
    yield Entry(
        _("Add documents"), dataset_name(own[0].name if own else FIRST_DATASET), add, "upload", called=CALLED["add"]
    )
    yield Entry(_("New dataset"), "", url_for("braid.datasets.index", _anchor="new-name"), "datasets")
    yield Entry(_("Manage conversations"), "", url_for("braid.chat.shelf"), "list", called=CALLED["shelf"])
    if identity().is_admin:
        yield Entry(_("Connect a model server"), "", url_for("braid.admin.models", _anchor="connect-title"), "model")
        if site().standalone:
            yield Entry(_("Add user"), "", url_for("braid.admin.joining"), "user")
    yield Entry(_("Keyboard shortcuts"), "?", "#shortcuts", "key", called=CALLED["shortcuts"])


def _switches() -> Iterator[Entry]:
    """Yield what the page's script does in place, by addresses that are its own: themes, languages, signing out."""
    for theme, name in zip(THEMES, (_("Same as system"), _("Light"), _("Dark")), strict=True):
        called = f"{CALLED['theme']} {CALLED[theme]}"
        yield Entry(name, _("Theme"), f"#theme-{theme}", "settings", called=called)
    for code, name in LANGUAGES.items():
        yield Entry(name, _("Language"), f"#language-{code}", "settings", called=f"{CALLED['language']} {CALLED[code]}")
    if (site().standalone and not identity().by_proxy) or (identity().by_proxy and site().settings.sign_out_url):
        yield Entry(_("Sign out"), identity().account.name, "#sign-out", "out", called=CALLED["out"])


def _matching(words: Sequence[str], offered: Iterable[Entry]) -> Iterator[Entry]:
    return (
        entry
        for entry in offered
        if all(word in _fold(f"{entry.title} {entry.about} {entry.called}") for word in words)
    )


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
