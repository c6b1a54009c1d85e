"""Which folders of the server may be kept in sync: below the roots of the setting, and none with keys in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from braid.core.errors import InvalidInputError, Reason, internal

SYSTEM_FOLDERS = tuple(map(Path, ("/proc", "/sys", "/dev")))
"""Their files are the kernel's: memory, environments and devices of processes."""
CONFIG_NAME = "braid.toml"


@dataclass(frozen=True, slots=True)
class FolderRules:
    """The rules for folders that are added over the web. All paths are compared with links resolved.

    ``roots`` None allows every folder that is not private; an empty one allows none.
    """

    data_dir: Path
    config_file: Path | None = None
    """The settings file in use; it holds keys."""
    roots: tuple[Path, ...] | None = None

    def require_root(self, folder: str) -> None:
        """Raise InvalidInputError unless the folder is one of the roots, or below one."""
        if self.roots is None or _is_below(Path(folder), self.roots):
            return
        if not self.roots:
            message = (
                "the setting folder_roots is empty, so that no folder can be added over the web; name the folders in "
                "it below which this may be done, or use the command watch"
            )
        else:
            roots = ", ".join(map(repr, map(str, self.roots)))
            message = Reason(
                "%(folder)s is not below %(roots)s (setting folder_roots); choose a folder there",
                folder=repr(folder),
                roots=roots,
            )
        raise InvalidInputError(message, field="folder")

    def require_public(self, folder: str) -> None:
        """Raise InvalidInputError for a folder that holds keys, or the kernel's files.

        Checked before each sync, too: the folder may have become a link, which may not lead out of the roots either.
        """
        real = Path(folder).resolve()
        if real.is_relative_to(self.data_dir):
            message = internal(
                "%(folder)s is in the data directory, which holds keys and the documents of all; choose another",
                folder=repr(folder),
            )
            raise InvalidInputError(message, field="folder")
        if self.data_dir.is_relative_to(real):  # each sync job would write there, which would start the next one
            message = internal(
                "the data directory %(data)s is in %(folder)s; choose a folder beside it",
                data=repr(str(self.data_dir)),
                folder=repr(folder),
            )
            raise InvalidInputError(message, field="folder")
        if _is_below(real, SYSTEM_FOLDERS):
            raise InvalidInputError(
                Reason("%(folder)s holds files of the system itself; choose another", folder=repr(folder)),
                field="folder",
            )
        config = self.config_file.resolve() if self.config_file else None
        if (config and config.is_relative_to(real)) or (real / CONFIG_NAME).exists():
            raise InvalidInputError(
                Reason("%(folder)s holds a settings file with its keys; choose another", folder=repr(folder)),
                field="folder",
            )
        roots = self.roots or ()
        # A folder that was added by a way through a root, whatever links are on it, must still end in one.
        if any(_is_below(part, roots) for part in Path(folder).parents) and not _is_below(real, roots):
            raise InvalidInputError(
                Reason("%(folder)s is a link out of the folders of folder_roots", folder=repr(folder)), field="folder"
            )


def _is_below(folder: Path, roots: tuple[Path, ...]) -> bool:
    real = folder.resolve()
    return any(real.is_relative_to(root.resolve()) for root in roots)
