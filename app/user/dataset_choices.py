"""Choices of datasets that other programs name by one word: all, some by their ids, or one that the user has saved."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from braid.app.auth.identity import identity
from braid.app.site import site
from braid.app.user.datasets import readable_datasets
from braid.app.user.preferences import MAX_DATASETS, preferences_of
from braid.core.accounts.accounts import Account
from braid.core.errors import InvalidInputError, NotFoundError
from braid.core.options import ALL, Datasets

SAVED = "choice:"
"""How the names of the preferences begin that hold saved choices, one each."""
MAX_SAVED = 100
MAX_CHOICE_NAME_CHARS = 60
IDS = re.compile(r"-?\d{1,18}(,-?\d{1,18})*")
"""Ids with commas, as in ``-1,3``."""
_NAME = re.compile(r"[^\s,:/\\\x00-\x1f\x7f](?:[^,:/\\\x00-\x1f\x7f]*[^\s,:/\\\x00-\x1f\x7f])?")


def choice_named(account: Account, name: str) -> Datasets:
    """Return the choice with this name: ``all``, ids such as ``-1,3``, or a saved one.

    The empty name means the datasets selected in the settings: all of them, unless the user selected some, and for a
    token that is limited to some datasets those.
    Raises NotFoundError for an id that is not one of the user's to read, and for an unknown name.
    """
    readable = readable_datasets(account)
    if IDS.fullmatch(name):
        return Datasets.of(_require_readable(list(dict.fromkeys(map(int, name.split(",")))), readable.by_id))
    if name == ALL or (not name and identity().dataset_ids is not None):
        return Datasets.everything()
    saved = saved_choices(account)
    wanted = preferences_of(account).datasets if not name else Datasets.of(saved[name]) if name in saved else None
    if wanted is None:
        known = ", ".join([ALL, *saved])
        raise NotFoundError(
            f"there is no choice of datasets {name[:MAX_CHOICE_NAME_CHARS]!r}; give ids such as -1,3, or one of {known}"
        )
    if not wanted.is_everything and not readable.by_id.keys() & set(wanted.ids):
        raise NotFoundError("none of the datasets of this choice exists any more or is yours to read; choose others")
    return wanted


def _require_readable(wanted: list[int], readable: Mapping[int, object]) -> list[int]:
    missing = [str(dataset_id) for dataset_id in wanted if dataset_id not in readable]
    if missing:
        raise NotFoundError(f"there is no dataset {', '.join(missing)[:200]} that you may read")
    return wanted


# ---------------------------------------------------------------- saved choices


def saved_choices(account: Account) -> dict[str, tuple[int, ...]]:
    """Return the user's saved choices by name, sorted. The user may have lost access to some of the datasets."""
    stored = {key.removeprefix(SAVED): ids for key, ids in account.preferences.items() if key.startswith(SAVED)}
    return {name: tuple(stored[name]) for name in sorted(stored)}


def save_choice(account: Account, name: str, dataset_ids: Sequence[int]) -> None:
    """Save a choice, in place of one of this name.

    Raises InvalidInputError for a name that cannot be told from ids, for no or too many datasets, and for one choice
    too many; NotFoundError for a dataset that the user may not read.
    """
    if not _NAME.fullmatch(name) or len(name) > MAX_CHOICE_NAME_CHARS or name == ALL or IDS.fullmatch(name):
        raise InvalidInputError(
            f"the name is {name[:MAX_CHOICE_NAME_CHARS]!r}; it needs 1 to {MAX_CHOICE_NAME_CHARS} characters without "
            f"comma, colon and slash, and is neither a number nor {ALL!r}",
            field="name",
        )
    wanted = list(dict.fromkeys(dataset_ids))
    if not 1 <= len(wanted) <= MAX_DATASETS:
        raise InvalidInputError(f"choose 1 to {MAX_DATASETS:,} datasets, not {len(wanted)}", field="dataset_ids")
    _require_readable(wanted, readable_datasets(account).by_id)
    site().accounts.set_preferences(account.id, {SAVED + name: wanted}, check=_require_few)


def _require_few(preferences: Mapping[str, object]) -> None:
    if sum(key.startswith(SAVED) for key in preferences) > MAX_SAVED:
        raise InvalidInputError(f"you have {MAX_SAVED} saved choices, which is the limit; delete one", field="name")


def remove_choice(account: Account, name: str) -> None:
    """Delete a saved choice. Raises NotFoundError."""
    if name not in saved_choices(account):
        raise NotFoundError(f"there is no saved choice {name[:MAX_CHOICE_NAME_CHARS]!r}")
    site().accounts.set_preferences(account.id, {SAVED + name: None})
