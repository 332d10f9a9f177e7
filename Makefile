# `make tune` and `make test` each work alone and first: both set up .venv from the lock file.
# PIP_FLAGS goes to pip install: for a CPU-only torch, --extra-index-url with the CPU index that pytorch.org names.

PYTHON ?= python3
PIP_FLAGS ?=
PARTS ?=
CONFIG ?= configs/hybrid.yaml

.PHONY: tune test lint reproduce bench

tune: .venv/installed
	.venv/bin/python -m harness tune $(CONFIG)

test: .venv/installed .venv/engines
	.venv/bin/python -m pytest

# The committed study, from its stored candidates and from scratch.
reproduce: .venv/installed
	.venv/bin/python -m harness reproduce reference
	.venv/bin/python -m harness reproduce reference --from-scratch

# What everything costs beside what else there is: tables, and benchmarks/results/latest.json. PARTS="keyword vectors" for some.
bench: .venv/installed .venv/benchmarks
	.venv/bin/python -m benchmarks.suite $(PARTS)

lint: .venv/installed
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

.venv/installed: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet --disable-pip-version-check $(PIP_FLAGS) -r requirements.lock
	.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@

# What the tests alone run: the engines' own libraries beside the program's rules, a browser's driver, Optuna's dashboard.
.venv/engines: requirements-engines.lock .venv/installed
	.venv/bin/python -m pip install --quiet --disable-pip-version-check $(PIP_FLAGS) -c requirements.lock -r requirements-engines.lock
	touch $@

# What the benchmarks alone run: the programs that ours is compared with.
.venv/benchmarks: requirements-bench.lock .venv/installed
	.venv/bin/python -m pip install --quiet --disable-pip-version-check $(PIP_FLAGS) -c requirements.lock -r requirements-bench.lock
	touch $@
