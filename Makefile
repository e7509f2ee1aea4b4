# Everything in a fresh clone: `make run` starts the program, `make test` checks it.
# A virtual environment is made with the system's python3 (3.11 to 3.13), and made
# again when what it is made of has changed.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
FOLDERS := app core gpu widgets resources
RECIPE := $(shell cat pyproject.toml setup.py constraints.txt 2>/dev/null | cksum | cut -d' ' -f1)
APP := $(VENV)/.app-$(RECIPE)
DEV := $(VENV)/.dev-$(RECIPE)
PIP := $(PY) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

# Tests draw with one thread, so that drawing does not take the cores of what is tested.
export LP_NUM_THREADS ?= 1
JOBS ?= 2

.PHONY: help run demo test unit lint types referees soak bench fuzz clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /|/' | column -t -s '|'

$(PY):
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v <= (3, 13) else \
	  f"isoscope needs CPython 3.11 to 3.13, {sys.executable} is {v[0]}.{v[1]}; run: make PYTHON=python3.12 $(MAKECMDGOALS)")'
	@$(PYTHON) -m venv $(VENV) || { echo "making .venv failed; on Debian: apt-get install python3-venv" >&2; rm -rf $(VENV); exit 1; }

$(APP): | $(PY)
	@echo "installing isoscope into $(VENV) ..."
	@$(PIP) --editable '.[app]'
	@rm -f $(VENV)/.app-* && touch $@

$(DEV): $(APP)
	@echo "installing what the tests need ..."
	@$(PIP) --editable '.[app,dev]'
	@mkdir -p .links/isoscope && for folder in $(FOLDERS); do ln -sfn ../../$$folder .links/isoscope/$$folder; done
	@rm -f $(VENV)/.dev-* && touch $@

run: $(APP) ## start the program on the recording that it ships with
	@$(VENV)/bin/isoscope

demo: $(APP) ## watch eight environments that share a scene, and put faults in
	@$(VENV)/bin/isoscope demo

test: lint types unit ## lint, types and tests; at most 12 minutes on 2 cores

unit: $(DEV) ## the tests alone
	@env -u PYTHONDONTWRITEBYTECODE $(PY) -m pytest -n $(JOBS) --dist loadfile -m 'not slow and not referee' $(ARGS)

lint: $(DEV) ## ruff, and the arrows between the folders
	@$(VENV)/bin/ruff check --quiet .
	@$(VENV)/bin/ruff format --check --quiet . || { echo "run: $(VENV)/bin/ruff format ." >&2; exit 1; }
	@$(VENV)/bin/lint-imports --no-cache

types: $(DEV) ## mypy, strict
	@$(VENV)/bin/mypy --no-error-summary

referees: $(DEV) ## what needs other environments: the real engine on python3.12; at most 20 minutes
	@$(PY) -m pytest -m referee --timeout 900 $(ARGS)

soak: $(DEV) ## the tests that take long
	@$(PY) -m pytest -m 'slow and not referee' --timeout 3600 $(ARGS)

bench: $(DEV) ## every benchmark, as ratios
	@for name in open seek attribute audit collect fidelity simulate timeline record live replay export; do $(PY) -m tests.display $(VENV)/bin/isoscope bench $$name; done

fuzz: $(DEV) ## 2,000 damaged recordings and 1,000 damaged datasets through the readers
	@$(PY) -m tests.fuzz.recordings --count $${COUNT:-2000} --seed $${SEED:-1}
	@$(PY) -m tests.fuzz.datasets --count $${COUNT:-1000} --seed $${SEED:-1}

clean: ## remove what was made here
	@rm -rf $(VENV) .links build dist *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
