"""Every benchmark, one after another, or those that are named: ``python -m benchmarks quality split``."""

from __future__ import annotations

import subprocess
import sys

NAMES = (
    "quality",
    "diversity",
    "identifiers",
    "milvus",
    "unembedded",
    "split",
    "speed",
    "flame",
    "embedding",
    "memory",
    "many_users",
    "team",
    "crash",
    "strategies",
    "conversation",
    "streams",
    "growing",
    "uploads",
    "taking_in",
    "puts",
    "standalone",
    "folders",
    "mcp_calls",
    "wire",
    "workers",
    "attacks",
    "strain",
    "filters",
    "growth",
    "scale",
    "waking",
    "start",
    "journeys",
    "first_paint",
    "reading",
    "two_hop",
    "one_hop",
    "rerankers",
    "whole_documents",
)


def main() -> int:
    """Run them in processes of their own. Returns how many failed."""
    names = sys.argv[1:] or NAMES
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        print(f"there is no benchmark {unknown[0]!r}; choose from {', '.join(NAMES)}", file=sys.stderr)
        return 2
    failed = 0
    for name in names:
        print(f"== {name}", flush=True)
        failed += subprocess.run([sys.executable, "-m", f"benchmarks.{name}"]).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
