# Needs Python 3.11 or newer, make and git; everything else is installed into .venv.
# Another Python: make clean test PYTHON=python3.13      More arguments: make test ARGS="-k registry"

PYTHON ?=
ARGS ?=
# The tests start some hundred processes, which would each compile Braid again.
unexport PYTHONDONTWRITEBYTECODE
BIN := .venv/bin
RUN := .venv/.run
DEV := .venv/.dev
PEERS := .venv-peers/.made
REFERENCE := .artifacts/reference
# What a program imports.
PUBLIC := braid braid.core.braid braid.core.data_directory braid.core.ledger.ledger braid.core.ingest.ingest braid.core.ingest.readers \
	braid.core.adding.add braid.core.adding.stored braid.core.vector_store braid.core.stock.named \
	braid.core.folders.sync braid.core.folders.loader_sync braid.core.indexes.installed braid.core.datasets.shares braid.core.types braid.core.options braid.core.errors braid.core.retriever_manager braid.core.remote braid.core.langchain \
	braid.core.standalone.retriever braid.core.standalone.searcher braid.core.standalone.scorer braid.core.search.strategies \
	braid.core.models.embeddings braid.core.models.rerank braid.core.models.chat braid.core.chat.conversation \
	braid.core.chat.lookups.lookup braid.core.chat.store braid.core.chat.turn_recorder braid.core.chat.types \
	braid.config.settings braid.config.models braid.app.factory braid.app.site
# pdoc, after the names of the package have been imported, which it imports when they are asked for.
# It does not know where a TypedDict has the fields of another from, and says so.
PDOC := import sys, braid, pdoc.__main__ as pdoc; [getattr(braid, name) for name in braid.__all__]; pdoc.cli(sys.argv[1:])
INSTALL := $(BIN)/python deploy/install.py
# The packages' own tests are left out, and what Braid never loads, which is a third of it all.
COMPILE := $(BIN)/python -m compileall -qq -j 0 -x '/(tests?|kubernetes|sympy|pip)/'
PEERS_INSTALL := .venv-peers/bin/python deploy/install.py

.DEFAULT_GOAL := help
.PHONY: help run quick test long lint fix bench bench-peers installs chaos reference clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

run: $(RUN)  ## start Braid
	$(BIN)/python -m app serve $(ARGS)

quick: $(DEV)  ## run the tests that need no other process, a minute
	$(BIN)/python -m pytest -n 2 --dist worksteal --quick $(ARGS)

test: $(DEV)  ## run the tests but for those that take long, minutes
	$(BIN)/python -m pytest -n 4 --dist worksteal -m "not browser and not long" $(ARGS)

long: $(DEV)  ## run those that take long, and drills in their long form
	$(BIN)/python -m pytest -n 4 --dist worksteal -m "not browser" --long $(ARGS)

lint: $(DEV)  ## check style, types and which room imports which
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/lint-imports

fix: $(DEV)  ## mend what the style checker can mend
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .

bench: $(DEV)  ## run the benchmarks
	$(BIN)/python -m benchmarks $(ARGS)

bench-peers: $(DEV) $(PEERS)  ## measure Braid beside other libraries, hours; try ARGS=--quick
	$(BIN)/python -m benchmarks.peers $(or $(ARGS),--write)

installs: $(DEV)  ## install the package where programs have it, ten minutes; try ARGS=library
	$(BIN)/python -m tests.installs $(or $(ARGS),--write)

chaos: $(DEV)  ## wrong ledgers, copies and clocks; kill the indexing process beside readers; kill and starve a server, three minutes
	$(BIN)/python -m tests.chaos.sites
	$(BIN)/python -m tests.chaos.readers
	$(BIN)/python -m tests.chaos $(ARGS)

reference: $(DEV)  ## build the API reference from the docstrings
	$(BIN)/python -W error::UserWarning -W "ignore:Cannot determine where:UserWarning" -c "$(PDOC)" --no-show-source -o $(REFERENCE) $(PUBLIC)
	@echo "$(REFERENCE)/index.html"

clean:  ## remove what was built or installed; data/ stays
	rm -rf .venv .venv-peers .artifacts .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist *.egg-info
	find . -name __pycache__ -type d -not -path './data/*' -prune -exec rm -rf {} +

# A stamp is newer than the requirements that it stands for.

$(DEV): requirements.txt requirements-scale.txt requirements-dev.txt | .venv/.made
	@echo "Installing Braid and its tools into .venv; this takes a minute …"
	@$(INSTALL) -r requirements-dev.txt
	@$(COMPILE) .venv/lib || true
	@touch $(RUN) $(DEV)

$(RUN): requirements.txt | .venv/.made
	@echo "Installing Braid into .venv; this takes a minute …"
	@$(INSTALL) -r requirements.txt
	@$(COMPILE) .venv/lib || true
	@touch $(RUN)

$(PEERS): benchmarks/peers/requirements.txt benchmarks/peers/requirements-torch.txt | $(DEV)
	@echo "Installing what Braid is measured against into .venv-peers; this takes some minutes …"
	@$(BIN)/python -m venv .venv-peers
	@$(PEERS_INSTALL) -r benchmarks/peers/requirements.txt
	@$(PEERS_INSTALL) -r benchmarks/peers/requirements-torch.txt || echo "txtai is left out: torch cannot be installed."
	@$(COMPILE) .venv-peers/lib || true
	@touch $(PEERS)

.venv/.made:
	@for python in $(or $(PYTHON),python3.11 python3); do \
		if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			$$python -m venv --clear .venv && touch .venv/.made; exit; \
		fi; \
	done; \
	echo "Braid needs Python 3.11 or newer; tried: $(or $(PYTHON),python3.11 python3)." >&2; \
	echo "Install it, or name yours: make $(MAKECMDGOALS) PYTHON=/path/to/python3" >&2; \
	exit 1
