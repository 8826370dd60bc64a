# Everything a clone needs: `make run` shows the library at work, `make test` checks all of it.
# Both make .venv on first use and are cheap to repeat.
# On Windows it takes a shell with `rm` and `touch` (Git's).
ifeq ($(OS),Windows_NT)
PYTHON ?= python
SCRIPTS := Scripts
else
PYTHON ?= python3
SCRIPTS := bin
endif
VENV   := .venv
BIN    := $(VENV)/$(SCRIPTS)
# Other CPUs on this one: what numba compiles for, which kernels OpenBLAS picks, what NumPy may use.
V3 := NUMBA_CPU_NAME=x86-64-v3 NUMBA_CPU_FEATURES= OPENBLAS_CORETYPE=Haswell \
      NPY_DISABLE_CPU_FEATURES="X86_V4 AVX512_ICL AVX512_SPR"
V2 := NUMBA_CPU_NAME=x86-64-v2 NUMBA_CPU_FEATURES= OPENBLAS_CORETYPE=Nehalem \
      NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4 AVX512_ICL AVX512_SPR"

# The processes of the tests share the bytecode of what they import.
unexport PYTHONDONTWRITEBYTECODE
# Where processes run side by side, threads of BLAS and OpenMP that have nothing to do sleep at once, and each process
# compiles for itself what is not in the cache.
test check modes bounds: export OPENBLAS_THREAD_TIMEOUT := 4
test check modes bounds: export OMP_WAIT_POLICY := passive
test check modes bounds: export TERCET_COMPILERS := 1
# Of tests/groups.py, the longest first.
GROUPS := others running conformance learning command doctests
INSTALL := -m pip install --quiet --disable-pip-version-check

.PHONY: help run check test $(GROUPS:%=test-%) lint types unit pytest modes bounds plain test-deep test-cpus test-peers fuzz bench catalog names kernel-runs docs draft pictures warm wheels check-wheels format clean
.DEFAULT_GOAL := help

help:
	@echo "make run        install into .venv and compare the methods on embedded data (offline)"
	@echo "make check      lint, types and the tests of what changed; BASE=REV: since that commit"
	@echo "make test       lint, types, all tests and a draft of the documentation"
	@echo "make test-deep  all tests again with bounds checks, as plain Python and as on other CPUs (slow)"
	@echo "make test-peers scikit-learn's own tests on our classes"
	@echo "make fuzz       draw cases against every estimator; TIME=600 seconds, ROWS='KMeans SVC' for some, FILE=fuzz.jsonl to resume"
	@echo "make bench      the benchmark; ROWS='lasso maxent' for some rows, SIZE=smoke for a quick look"
	@echo "make docs       build the documentation into docs/_build/html and check its links"
	@echo "make catalog    write the catalogue file anew from the cards"
	@echo "make names      write anew the table of scikit-learn's names and the stubs for type checkers"
	@echo "make kernel-runs  write anew which kernels each estimator needs (core/kernel_runs.json)"
	@echo "make pictures   make the README's pictures anew (needs a Chromium)"
	@echo "make wheels     the wheels of a release in dist: tercet, and tercet-kernels with the compiled kernels"
	@echo "make check-wheels  install them into an empty environment; time first results; LIMIT=6 seconds at most"
	@echo "make format     let ruff format and fix"
	@echo "make clean      remove .venv and caches"

$(VENV)/pyvenv.cfg:
	@echo "==> making $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python $(INSTALL) --upgrade "pip>=25"

# pip would compile every module of every package, on one core: most are never imported.
$(VENV)/.run: pyproject.toml | $(VENV)/pyvenv.cfg
	@echo "==> installing tercet into $(VENV)"
	@$(BIN)/python $(INSTALL) --no-compile -e ".[cli]"
	@touch $@

$(VENV)/.test: pyproject.toml | $(VENV)/pyvenv.cfg
	@echo "==> installing tercet with what tests and documentation need into $(VENV)"
	@$(BIN)/python $(INSTALL) --no-compile -e ".[test,cli,docs,plot]"
	@touch $@ $(VENV)/.run

run: $(VENV)/.run
	@echo "==> tercet compare --report report.html"
	@$(BIN)/tercet compare --report report.html
	@echo "The report is report.html in this folder: open it in a browser."

# What a contributor runs before each commit.
check: lint types
	@echo "==> tests of what changed"
	@$(BIN)/python -m tests.changed $(if $(BASE),--base $(BASE)) -n 2 --dist worksteal

# The type checker and the tests that need no kernels run beside the compiler, which keeps few cores busy. Then come
# groups of tests (tests/groups.py), the longest first, each in a process of its own that collects and imports
# only its share. A group's output appears when it ends.
test: lint
	@$(MAKE) --no-print-directory -j2 warm types plain
	@$(MAKE) --no-print-directory -j3 -k --output-sync=target test-peers draft $(GROUPS:%=test-%) bounds

lint: $(VENV)/.test
	@echo "==> ruff"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(VENV)/.test
	@echo "==> mypy"
	@$(BIN)/mypy

warm: $(VENV)/.test
	@echo "==> compiling the kernels"
	@$(BIN)/tercet warm

# The workers share one kernel cache, filled before they start.
unit: warm
	@$(MAKE) --no-print-directory pytest

$(GROUPS:%=test-%): $(VENV)/.test
	@echo "==> tests: $(@:test-%=%)"
	@$(BIN)/python -m tests.groups $(@:test-%=%)

pytest: $(VENV)/.test
	@echo "==> tests"
	@$(BIN)/python -m pytest -n 3 --dist worksteal -q

# The texts' examples with bounds checks on (hardly optimised: compiling is what takes long; not optimised at all, some
# kernels cannot be cached), and as plain Python, where an index out of bounds is an error: so are the models whose
# attributes were changed.
# A chapter stays with one worker, which compiles for it.
modes: bounds plain

bounds: $(VENV)/.test
	@echo "==> the texts' examples with bounds checks"
	@NUMBA_BOUNDSCHECK=1 NUMBA_OPT=1 $(BIN)/python -m pytest -n 2 --dist loadgroup -q tests/texts

plain: $(VENV)/.test
	@echo "==> the texts' examples and forged models as plain Python"
	@TERCET_JIT=0 nice $(BIN)/python -m pytest -n 2 -q tests/texts tests/conformance/test_forged_models.py

test-deep: $(VENV)/.test test-cpus
	@echo "==> all tests with bounds checks"
	@NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest -n 2 -q tests
	@echo "==> all tests as plain Python"
	@TERCET_JIT=0 $(BIN)/python -m pytest -n 2 -q tests

test-peers: $(VENV)/.test
	@echo "==> scikit-learn's own tests on our classes"
	@$(BIN)/python -m tests.peers

fuzz: $(VENV)/.test
	@$(BIN)/python -m tests.fuzz $(ROWS) --seconds $(or $(TIME),600) $(if $(FILE),--resume $(FILE)) $(FUZZ)

test-cpus: $(VENV)/.test
	@echo "==> all tests as on a CPU with AVX2 (x86-64-v3)"
	@$(V3) $(BIN)/tercet warm -q && $(V3) $(BIN)/python -m pytest -n 3 --dist worksteal -q
	@echo "==> all tests as on a CPU without AVX (x86-64-v2)"
	@$(V2) $(BIN)/tercet warm -q && $(V2) $(BIN)/python -m pytest -n 3 --dist worksteal -q

bench: $(VENV)/.test
	@$(BIN)/python $(INSTALL) -e ".[test,bench]"
	@$(BIN)/python -m benchmarks $(ROWS) $(if $(SIZE),--size $(SIZE))

catalog: $(VENV)/.run
	@$(BIN)/python -m tercet.core.catalog

names: $(VENV)/.run
	@$(BIN)/python -m tests.scikit_learn_names

# All code is executed and all links are checked; fewer pixels, no colours, no search.
draft: $(VENV)/.test
	@echo "==> documentation, as a draft"
	@$(BIN)/python -m docs --draft

docs: $(VENV)/.test
	@echo "==> documentation"
	@$(BIN)/python -m docs

kernel-runs: warm
	@$(BIN)/python -m tests.kernel_runs

pictures: $(VENV)/.test
	@$(BIN)/python -m docs.pictures

# Kernels are compiled by the tercet of this clone: the wheel holds the same sources.
wheels: $(VENV)/.run
	@rm -rf dist && $(BIN)/tercet warm --pack kernels/tercet_kernels
	@$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist . ./kernels
	@ls -l dist

check-wheels:
	@rm -rf build/empty && $(PYTHON) -m venv build/empty
	@build/empty/$(SCRIPTS)/python $(INSTALL) --no-compile dist/*.whl
	@build/empty/$(SCRIPTS)/python kernels/first_result.py $(if $(LIMIT),--limit $(LIMIT))

format: $(VENV)/.test
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .hypothesis build dist docs/_build docs/_cache
