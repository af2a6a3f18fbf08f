# Every target sets up .venv itself. `make` alone lists the targets.

VENV := .venv
PEERS := .venv-bench
BIN := $(VENV)/bin
PIP = $(BIN)/python -m pip install -qq --disable-pip-version-check
# The first interpreter that runs and is recent enough; override with `make PYTHON=...`.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null && { echo $$p; break; }; done)
TORCH := torch==2.13.0
ARGS ?=
# Processes that share the tests; 0 for none but one.
WORKERS ?= $(shell n=$$(getconf _NPROCESSORS_ONLN); [ "$$n" -lt 4 ] && echo "$$n" || echo 4)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test check docs bench bench-solve bench-whirl bench-explicit bench-statistical bench-batch bench-reach format train-setup ray-setup clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.stamp-dev ## Set up .venv with everything the tests and checks need

demo: $(VENV)/.stamp-plain ## Install the plain package and watch it refute, prove, map, shield and close a loop
	@$(BIN)/surefoot demo

# Hundreds of tests start the command: where bytecode may not be kept, each would compile 700 files again.
test: $(VENV)/.stamp-dev ## Run the tests; more pytest arguments in ARGS="-k name"
	@PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
		$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile $(ARGS)

check: $(VENV)/.stamp-dev ## Check format, lint, types, import contracts and the tree
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tests/tree.py
	$(BIN)/python tests/names.py

docs: $(VENV)/.stamp-dev ## Build the pages of docs/ into build/site, with every link checked
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet && echo build/site/index.html

bench: bench-solve bench-whirl bench-explicit bench-statistical bench-batch bench-reach ## Run the benchmarks; their arguments in ARGS

bench-solve: $(VENV)/.stamp-dev $(PEERS)/.stamp ## Compare the native solver with others; ARGS="--quick", …
	@$(BIN)/python -m benchmarks.solve --python $(PEERS)/bin/python $(ARGS)

bench-whirl: $(VENV)/.stamp-dev $(PEERS)/.stamp ## Ask the k-step queries of whiRL's case studies to several engines; ARGS="--cap 20", …
	@$(BIN)/python -m benchmarks.whirl --python $(PEERS)/bin/python $(ARGS)

bench-explicit: $(VENV)/.stamp-dev $(PEERS)/.stamp ## Compare building explicit states with stormpy and momba; ARGS="--rows 'racetrack*'"
	@$(BIN)/python -m benchmarks.explicit --python $(PEERS)/bin/python $(ARGS)

bench-statistical: $(VENV)/.stamp-dev $(PEERS)/.stamp ## Compare simulation with momba, stormpy and Python; ARGS="--seconds 20", …
	@OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.statistical --python $(PEERS)/bin/python $(ARGS)

bench-batch: $(VENV)/.stamp-dev ## Compare steps in columns with Gymnasium and the interpreter; ARGS="--rounds 5", …
	@for n in 1 2; do OMP_NUM_THREADS=$$n OPENBLAS_NUM_THREADS=$$n \
		$(BIN)/python -m benchmarks.batch_simulation --threads $$n $(ARGS); done

bench-reach: $(VENV)/.stamp-dev ## Ask about networks in closed loop with their plants; ARGS="--rows 'acc*' --cap 60", …
	@$(BIN)/python -m benchmarks.reach $(ARGS)

format: $(VENV)/.stamp-dev ## Format the code and apply safe lint fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

train-setup: $(VENV)/.stamp-train ## Add torch and stable-baselines3, so that no training test is skipped

ray-setup: $(VENV)/.stamp-ray ## Add Ray, so that no test of a cluster is skipped

clean: ## Remove .venv, caches and build products
	rm -rf $(VENV) $(PEERS) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.stamp-venv:
	@test -n "$(PYTHON)" || { echo "surefoot needs Python 3.11, 3.12 or 3.13; fix: make PYTHON=/path/to/python"; exit 1; }
	@echo "creating $(VENV) with $(PYTHON)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.stamp-plain: pyproject.toml | $(VENV)/.stamp-venv
	@echo "installing surefoot into $(VENV)"
	@$(PIP) -e .
	@touch $@

$(VENV)/.stamp-dev: pyproject.toml | $(VENV)/.stamp-venv
	@echo "installing surefoot and its development tools into $(VENV)"
	@$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/.stamp-plain

# torch first and pinned: stable-baselines3 alone would pull whichever is newest.
$(VENV)/.stamp-train: pyproject.toml | $(VENV)/.stamp-dev
	@echo "installing $(TORCH) and stable-baselines3 into $(VENV)"
	@$(PIP) $(TORCH)
	@$(PIP) -e '.[dev,train]'
	@touch $@

# Apart from the rest: a quarter of a gigabyte for a few tests.
$(VENV)/.stamp-ray: pyproject.toml | $(VENV)/.stamp-dev
	@echo "installing Ray into $(VENV)"
	@$(PIP) -e '.[dev,ray]'
	@touch $@

# One by one: an engine that cannot be installed here is left out of the comparison.
$(PEERS)/.stamp: benchmarks/requirements.txt
	@echo "installing other engines into $(PEERS)"
	@$(PYTHON) -m venv $(PEERS)
	@grep -v '^#' $< | while read -r line; do \
		$(PEERS)/bin/python -m pip install -qq --disable-pip-version-check "$$line" || echo "left out: $$line"; done
	@touch $@
