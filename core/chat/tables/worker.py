"""The process in which tables are asked: one question, limited in memory and time, without files and settings."""

from __future__ import annotations

import os
import sys
from typing import Any

from braid.core.chat.tables.database import QueryError
from braid.core.chat.tables.work import LookupOnly, TableWork
from braid.core.processes.frames import receive, send
from braid.core.processes.limits import limit

MEMORY_BYTES = 1024 * 2**20
CPU_SECONDS = 10


def main() -> None:
    """Answer one question: by the grammar, else with the tables' form, and then a statement."""
    answers = os.fdopen(os.dup(1), "wb")
    limit(nice=5, memory_bytes=MEMORY_BYTES, cpu_s=CPU_SECONDS, may_write=False)
    work: TableWork | None = None
    while request := receive(sys.stdin.buffer):
        try:
            if "documents" in request:
                work = TableWork(request["documents"])
                answer: dict[str, Any] = {"answer": work.by_grammar(request["question"])}
                if answer["answer"] is None:
                    answer["schema"] = work.schema()
                    answer["not_understood"], answer["empty"] = work.not_understood, work.empty
            else:
                assert work is not None, "documents come first"
                answer = {"answer": work.by_statement(request["sql"], request["where"])}
        except LookupOnly:
            answer = {"answer": None}
        except QueryError as error:
            answer = {"refused": str(error)}
        except MemoryError:
            answer = {"refused": "the tables take too much memory"}
        send(answers, answer)
