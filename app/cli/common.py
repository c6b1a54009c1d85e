"""What the commands share: ``--data-dir``, ``--json``, opening the data directory, and the user."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from braid.app.cli.output import one_line
from braid.core.errors import NotFoundError

if TYPE_CHECKING:
    from braid.config.settings import Settings
    from braid.core.braid import Braid
    from braid.core.data_directory import DataDirectory
    from braid.core.ledger.ledger import Ledger, User
    from braid.core.models.rerank import Rerankers

Command = Callable[..., Any]

DATA_DIR = "braid.data_dir"  # key in click's meta, which all nested contexts share
LOCAL_USER = "local"


# ---------------------------------------------------------------- commands


def _keep_data_dir(context: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        context.meta[DATA_DIR] = value


def _data_dir_option() -> click.Option:
    return click.Option(
        ["--data-dir"],
        metavar="FOLDER",
        expose_value=False,
        callback=_keep_data_dir,
        help="Folder of the ledger and the indexes (default: the setting data_dir, ./data).",
    )


class BraidCommand(click.Command):
    """A command that takes ``--data-dir`` after its name."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.append(_data_dir_option())


class BraidGroup(click.Group):
    """A group of commands that takes ``--data-dir`` too, before the name of the command."""

    command_class = BraidCommand
    group_class = type

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"no_args_is_help": False, **kwargs})
        self.params.append(_data_dir_option())


def json_option(command: Command) -> Command:
    """Give a command ``--json`` (parameter ``as_json``)."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout, all else on stderr.")(command)


# ---------------------------------------------------------------- opening


def current_settings(**overrides: Any) -> Settings:
    """The settings, with the ``--data-dir`` of this command line and the overrides that are not None."""
    from braid.config.settings import load_settings

    return load_settings(data_dir=click.get_current_context().meta.get(DATA_DIR), **overrides)


def open_data_directory(settings: Settings) -> DataDirectory:
    """Open the ledger, the registry and the models, beside the process that owns the indexes or without one."""
    from braid.core.data_directory import DataDirectory

    log_briefly(debug=settings.log_level == "DEBUG")
    return DataDirectory(settings.data_dir, **_directory_values(settings))


def open_braid(settings: Settings) -> Braid:
    """Open the data directory with its indexes. Raises NotOwnerError when another process owns them."""
    from braid.config.models import models_of, prompts_of
    from braid.core.braid import Braid, IndexOptions

    log_briefly(debug=settings.log_level == "DEBUG")
    return Braid(
        settings.data_dir,
        **_directory_values(settings),
        index_options=IndexOptions(
            languages=settings.languages,
            leg_timeout_s=settings.leg_timeout_s,
            max_open_collections=settings.max_open_collections,
            chroma_url=settings.chroma_url,
        ),
        rerankers=rerankers_of(settings),
        models=models_of(settings),
        prompts=prompts_of(settings),
    )


def _directory_values(settings: Settings) -> dict[str, Any]:
    return {
        "database_url": settings.database_url,
        "shared_dbs": settings.shared_dbs,
        "embedding_model": settings.embedding_model,
        "embedding_threads": settings.embedding_threads,
    }


def rerankers_of(settings: Settings) -> Rerankers:
    """The rerankers as they are set; none is loaded yet."""
    from braid.core.models.rerank import Rerankers

    return Rerankers(
        base_url=settings.reranker_base_url,
        api_key=settings.reranker_api_key,
        timeout_s=settings.reranker_timeout_s,
    )


class _Brief(logging.Formatter):
    """A log record as one line without its traceback."""

    def formatException(self, ei: object) -> str:
        """Nothing."""
        return ""

    def format(self, record: logging.LogRecord) -> str:
        """``warning: message``."""
        return one_line(f"{record.levelname.lower()}: {super().format(record)}")


class _Once(logging.Filter):
    """Lets each kind of warning through once: a model that cannot be loaded fails for every passage."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: set[object] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record's message, before its values are put in, is new."""
        is_new = record.msg not in self._seen
        self._seen.add(record.msg)
        return is_new


def log_briefly(*, debug: bool) -> None:
    """Log warnings to stderr as one line each; with ``debug`` everything, tracebacks included."""
    handler = logging.StreamHandler()
    if not debug:
        handler.addFilter(_Once())
        handler.setFormatter(_Brief())
        logging.getLogger("braid.core.ingest.readers").setLevel(logging.ERROR)  # a file that fails is reported anyway
    logging.basicConfig(level=logging.DEBUG if debug else logging.WARNING, handlers=[handler])


def find_user(ledger: Ledger, given: str) -> User:
    """The user with this name or id. Raises NotFoundError."""
    user = ledger.user_named(given)
    if user is None and given.isascii() and given.isdecimal():
        user = ledger.user(int(given))
    if user is None:
        names = ", ".join(user.name for user in ledger.users()) or "nobody"
        raise NotFoundError(f"there is no user {given!r}; there is: {names}")
    return user


def choose_user(ledger: Ledger, given: str | None) -> User:
    """The user who is meant: the given one, else the only one; where there is none, ``local`` is made."""
    if given is not None:
        return find_user(ledger, given)
    users = ledger.users()
    if len(users) > 1:
        names = ", ".join(user.name for user in users)
        raise click.UsageError(f"There are several users ({names}); name one with --user.")
    return users[0] if users else ledger.add_user(LOCAL_USER)
