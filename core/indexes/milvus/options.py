"""Where a Milvus server is, and how it is used. Imports nothing of Milvus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from braid.core.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class MilvusOptions:
    """Names a Milvus server for both legs' indexes.

    >>> MilvusOptions("http://braid:secret@milvus:19530", apart=["hr_*"]).where
    'milvus:19530'
    """

    url: str
    token: str = ""
    """A key, or ``user:password``."""
    database: str = ""
    """Milvus's database; empty means its default one."""
    apart: Sequence[str] = ()
    """Collections of Braid's, names or patterns such as ``hr_*``, whose words decide nothing in searches of others."""

    def __post_init__(self) -> None:
        if "://" not in self.url:
            message = f"milvus url is {self.url!r}; write it with its scheme, such as http://localhost:19530"
            raise InvalidInputError(message, field="milvus_url")
        if isinstance(self.apart, str):
            message = f"apart is {self.apart!r}; write a list of one: [{self.apart!r}]"
            raise InvalidInputError(message, field="milvus_apart")
        object.__setattr__(self, "apart", tuple(self.apart))

    @property
    def where(self) -> str:
        """The server and the database, without what is secret."""
        address = self.url.partition("://")[2].rpartition("@")[2]
        return f"{address}/{self.database}" if self.database else address
