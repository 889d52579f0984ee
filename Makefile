# Two commands matter: `make demo` and `make test`. Both set up what they need by themselves.
# A stamp file in each environment remembers what was installed; delete .venv* to start afresh.

PYTHON ?= python3
VENV := .venv
OLDEST := .venv-oldest

DEMO_READY := $(VENV)/.demo-installed
EXPERIMENTS_READY := $(VENV)/.experiments-installed
DOCS_READY := $(VENV)/.docs-installed
TEST_READY := $(VENV)/.test-installed
OLDEST_READY := $(OLDEST)/.test-installed

# The numerical libraries' own threads would fight over the cores with pytest's workers: three for two cores, since
# tests wait for clusters and other processes.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(VENV)/bin/python -m pytest -n 3 --dist worksteal
PYTEST_OLDEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(OLDEST)/bin/python -m pytest -n 2 --dist worksteal

# For the Python named first: uv does in seconds what takes pip minutes, which is used where uv cannot be had.
INSTALL := $(VENV)/bin/python tools/install.py

# What is compiled once is kept, also where the environment says otherwise: the tests start many processes.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo reproduce docs test ready lint types layers tests oldest clean

help:
	@echo "make demo    unconstrained and fair models on the Adult data, side by side; a plot in outputs/"
	@echo "make reproduce   the paper's experiments: table, figures, verdict in outputs/experiments (hours;"
	@echo "             resumes when stopped; make reproduce REPRODUCE=--quick takes about a minute)"
	@echo "make docs    the documentation, with its gallery, in outputs/site"
	@echo "make test    everything: lint, types, layers, tests, tests with the oldest versions allowed"
	@echo "make lint | types | layers | tests | oldest    one part of it"
	@echo "make clean   remove the environments, the caches and the outputs"

demo: $(DEMO_READY)
	$(VENV)/bin/python -m equipoise.experiments.demo

# For example REPRODUCE="--seeds 2 --jobs 4"; EQUIPOISE_DATA names the folder with the data.
REPRODUCE ?=
reproduce: $(EXPERIMENTS_READY)
	$(VENV)/bin/python -m equipoise.cli reproduce $(REPRODUCE)

docs: $(DOCS_READY)
	$(VENV)/bin/python -m sphinx -q -W --keep-going docs outputs/site
	@echo "The site is outputs/site/index.html"

test:
	$(MAKE) --jobs=2 ready lint types layers
	$(MAKE) tests oldest

ready: $(TEST_READY) $(OLDEST_READY)

lint: $(TEST_READY)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

types: $(TEST_READY)
	$(VENV)/bin/mypy

layers: $(TEST_READY)
	$(VENV)/bin/lint-imports

tests: $(TEST_READY)
	$(PYTEST) --durations=25

# The rooms whose code meets other libraries; the mathematics and the pages are the same with any version.
OLDEST_TESTS := tests/estimators/test_estimator_checks.py tests/estimators/test_reductions.py tests/files \
	tests/oracles/trainers tests/rows tests/cli/test_fit.py tests/cli/test_predict.py tests/report/test_page.py

oldest: $(OLDEST_READY)
	$(PYTEST_OLDEST) -m 'not simulation and not processes' $(OLDEST_TESTS)

$(VENV)/bin/python:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'equipoise needs Python 3.11 or newer; say which one to use: make PYTHON=python3.11')"
	$(PYTHON) -m venv $(VENV)
	-$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check uv

$(OLDEST)/bin/python: | $(VENV)/bin/python
	$(PYTHON) -m venv $(OLDEST)

$(DEMO_READY): pyproject.toml | $(VENV)/bin/python
	$(INSTALL) $(VENV)/bin/python --editable ".[demo]"
	touch $@

$(EXPERIMENTS_READY): pyproject.toml | $(VENV)/bin/python
	$(INSTALL) $(VENV)/bin/python --editable ".[experiments]"
	touch $@

$(DOCS_READY): pyproject.toml | $(VENV)/bin/python
	$(INSTALL) $(VENV)/bin/python --editable ".[docs]"
	touch $@

$(TEST_READY): pyproject.toml | $(VENV)/bin/python
	$(INSTALL) $(VENV)/bin/python --editable ".[dev]"
	touch $@ $(DEMO_READY) $(DOCS_READY)

$(OLDEST_READY): pyproject.toml tests/oldest.txt | $(OLDEST)/bin/python
	$(INSTALL) $(OLDEST)/bin/python --constraint tests/oldest.txt --editable ".[frames,plot,cli,onnx]" \
		pytest pytest-xdist hypothesis fairlearn lightgbm
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) outputs .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
