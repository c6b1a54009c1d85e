"""`python -m braid …`."""

from braid.app.__main__ import main

main("python -m braid")
