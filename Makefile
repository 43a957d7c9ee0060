# Two commands do everything on a machine with git, make and Python 3.11 or newer: make demo, make test.

VENV := .venv
CRYPTO := .venv-crypto
LOCKING := .venv-locking
BIN := $(VENV)/bin
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& { echo $$p; break; }; done)
# pip is quiet and asks nothing; an index of one's own comes through pip's usual settings
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
PYTEST := $(BIN)/python -m pytest
# Three workers for two cores: kills and outages wait more than they compute. PYTEST_ARGS takes anything else, such as -k NAME.
WORKERS ?= 3
PICTURES := build/pictures
SOURCES := agent_core channels gateway swarm_presets

.DEFAULT_GOAL := help
.PHONY: help demo dev test test-slow test-crypto fuzz check format docs pictures lock audit bench bench-backtest bench-capacity bench-console bench-context bench-engine bench-presets soak clean

help:  ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## /  make \1 — /p' $(MAKEFILE_LIST)

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer was not found: install it, or name it: make PYTHON=/path/to/python3" >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "$(PYTHON) cannot make environments: install its venv module (Debian: apt install python3-venv)" >&2; exit 2; }

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	@echo "installing into $(VENV) …"
	@$(PIP) --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	@echo "installing into $(VENV), with the tools of development …"
	@$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/.installed

demo: $(VENV)/.installed  ## start the gateway with the embedded defaults; prints the address of the web chat
	@exec $(BIN)/swarmgate demo

dev: $(VENV)/.installed-dev  ## make the environment of development

test: $(VENV)/.installed-dev  ## all tests but the slow ones
	$(PYTEST) -m "not slow" -n $(WORKERS) --dist loadfile $(PYTEST_ARGS)

test-slow: $(VENV)/.installed-dev  ## kills, races, full property profiles, browser walks
	$(PYTEST) -m slow -n $(WORKERS) --dist worksteal $(PYTEST_ARGS)

fuzz: $(VENV)/.installed-dev  ## all properties with examples that nobody has tried; what fails gets a test of its own
	$(PYTEST) tests/property -n $(WORKERS) --dist worksteal --hypothesis-profile=fuzz $(PYTEST_ARGS)

# ccxt and what it brings would change the other tests' environment, so it has one of its own.
$(CRYPTO)/.installed: pyproject.toml | $(BIN)/python
	@echo "installing into $(CRYPTO), with ccxt …"
	@$(BIN)/python -m venv $(CRYPTO)
	@$(CRYPTO)/bin/python -m pip --disable-pip-version-check install --quiet --editable '.[crypto]' hypothesis pytest pytest-asyncio pytest-timeout
	@touch $@

test-crypto: $(CRYPTO)/.installed  ## the source of coins, with ccxt, in an environment of its own
	$(CRYPTO)/bin/python -m pytest tests/unit/agent_core/test_sources_ccxt.py $(PYTEST_ARGS)

# What the image installs, every file by its hash; for each Python and system that the project supports.
LOCK := $(LOCKING)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	--no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock' $(LOCK_ARGS)
EXTRAS ?= postgres,web,mcp,otel
comma := ,

$(LOCKING)/.installed: | $(BIN)/python
	@echo "installing into $(LOCKING), with uv and pip-audit …"
	@$(BIN)/python -m venv $(LOCKING)
	@$(LOCKING)/bin/python -m pip --disable-pip-version-check install --quiet 'uv>=0.9' 'pip-audit>=2.9'
	@touch $@

lock: $(LOCKING)/.installed  ## pin what production runs, with hashes; EXTRAS=postgres,web names extras, LOCK_ARGS=--upgrade takes newer versions
	$(LOCK) $(addprefix --extra ,$(subst $(comma), ,$(EXTRAS))) pyproject.toml --output-file deploy/requirements.lock
	$(LOCKING)/bin/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['build-system']['requires'], sep='\n')" \
		| $(LOCK) - --output-file deploy/requirements-build.lock

audit: $(LOCKING)/.installed  ## look up known vulnerabilities of what is pinned; needs the network
	$(LOCKING)/bin/pip-audit --strict --disable-pip --require-hashes --progress-spinner off \
		--requirement deploy/requirements.lock --requirement deploy/requirements-build.lock

check: $(VENV)/.installed-dev  ## lint, format, types, layers, wheel
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports
	$(PYTEST) tests/architecture $(PYTEST_ARGS)

format: $(VENV)/.installed-dev  ## format all code
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

bench: $(VENV)/.installed-dev  ## the path of a message, measured
	$(BIN)/python tests/bench/path.py $(BENCH_ARGS)

bench-context: $(VENV)/.installed-dev  ## what each compaction policy costs and keeps; DATA=DIR has transcripts
	@test -n "$(DATA)" || { echo "name a directory of transcripts: make bench-context DATA=DIR" >&2; exit 2; }
	$(BIN)/python -m tests.bench.context --data "$(DATA)" $(BENCH_ARGS)

bench-backtest: $(VENV)/.installed-dev  ## what a backtest of 5 symbols and 13 years costs
	@$(BIN)/python tests/bench/backtest.py $(BENCH_ARGS)

bench-recall: $(VENV)/.installed-dev  ## how well and how fast recall finds what was said; DATA=DIR names the question sets, BENCH_ARGS="--turns 100" times whole turns among a million rows of others
	@test -n "$(DATA)" || { echo "say where the question sets are: make bench-recall DATA=DIR" >&2; exit 2; }
	@$(BIN)/python -m tests.bench.recall --data "$(DATA)" $(BENCH_ARGS)

bench-console: $(VENV)/.installed-dev  ## what open pages of the console cost the event loop, and whether turns are slower beside them
	@$(BIN)/python -m tests.bench.console $(BENCH_ARGS)

bench-capacity: $(VENV)/.installed-dev  ## how many replicas for how many users, simulated
	$(BIN)/python -m tests.bench.capacity $(BENCH_ARGS)

bench-presets: $(VENV)/.installed-dev  ## how long a hundred presets take to be checked, and one edit among them
	$(BIN)/python tests/bench/presets.py $(BENCH_ARGS)

soak: $(VENV)/.installed-dev  ## thousands of chats in bad weather, with kills: what is lost, doubled or leaks
	@$(BIN)/python -m tests.soak $(SOAK_ARGS)

bench-engine: $(VENV)/.installed-dev  ## the engines on PostgreSQL: accept, start of a turn, turns a second with one and two processes
	@$(BIN)/python tests/bench/engines.py $(BENCH_ARGS)

pictures: $(VENV)/.installed-dev  ## take the pictures of the console's pages anew, with Chromium
	rm -rf $(PICTURES) && SWARMGATE_REQUIRE_BROWSER=1 SWARMGATE_PICTURES=$(PICTURES) $(PYTEST) tests/browser/test_console.py -q -k "every_page and admin and not zh or log_in_is"
	@$(BIN)/python -m tests.browser.shrink $(PICTURES) && rm -rf $(PICTURES)

docs: $(VENV)/.installed-dev  ## write the READMEs' tables of tools anew
	@$(BIN)/python -m tests.tool_table

clean:  ## remove the environment and what tools left behind
	rm -rf $(VENV) $(CRYPTO) $(LOCKING) build dist .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find $(SOURCES) tests -name __pycache__ -prune -exec rm -rf {} +
