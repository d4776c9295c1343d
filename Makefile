PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

OLDEST := .venv-oldest
# Releases to install; make test CONSTRAINTS=/dev/null tests with the newest ones.
CONSTRAINTS ?= constraints.txt
# Most modules are never imported, so compile those that are, and then.
INSTALL := -m pip install --quiet --no-compile

.PHONY: demo test test-browser test-oldest lint format docs dist dist-check clean

demo: $(VENV)/demo.stamp
	$(BIN)/skim demo --report demo.html
	$(BIN)/python -m benchmarks demo --picture demo.png

# Threads that wait for others would keep a processor busy, and the tests share few.
test: $(VENV)/test.stamp lint
	OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest

# The HTML report in Chrome or Chromium, which has to be installed.
test-browser: $(VENV)/test.stamp
	$(BIN)/python -m pytest -n 0 tests/report/test_browser.py

# The core of the suite, with the lowest versions that pyproject.toml allows. Old
# releases use what newer ones of their own dependencies deprecate.
test-oldest: $(OLDEST)/test.stamp
	OMP_WAIT_POLICY=PASSIVE $(OLDEST)/bin/python -m pytest \
		-W ignore::DeprecationWarning tests/detectors tests/training tests/nets \
		tests/metrics tests/model_selection tests/inspection tests/tables

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/test.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/docs.stamp
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

dist: $(VENV)/dist.stamp
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*

# The wheel in an environment of its own, away from the checkout.
dist-check: dist
	folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	$(PYTHON) -m venv "$$folder/venv" && \
	"$$folder/venv/bin/python" $(INSTALL) -c $(CONSTRAINTS) \
		"$$(echo dist/*.whl)[cli]" && \
	cd "$$folder" && venv/bin/skim demo --report demo.html && test -s demo.html && \
	test -f "$$(venv/bin/python -c 'import skim; print(skim.__path__[0])')/py.typed"

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "skim needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

# Torch first and by itself, so that nothing else decides which one it is.
$(VENV)/torch.stamp: constraints.txt | $(VENV)/bin/python
	$(BIN)/python $(INSTALL) -c $(CONSTRAINTS) torch
	touch $@

$(VENV)/demo.stamp: pyproject.toml $(VENV)/torch.stamp
	$(BIN)/python $(INSTALL) -c $(CONSTRAINTS) -e '.[cli,plot,pyod]'
	touch $@

$(VENV)/test.stamp: pyproject.toml $(VENV)/torch.stamp
	$(BIN)/python $(INSTALL) -c $(CONSTRAINTS) -e '.[test]'
	touch $@

$(VENV)/docs.stamp: pyproject.toml $(VENV)/torch.stamp
	$(BIN)/python $(INSTALL) -c $(CONSTRAINTS) -e '.[docs]'
	touch $@

$(VENV)/dist.stamp: | $(VENV)/bin/python
	$(BIN)/python $(INSTALL) 'build>=1.2' 'twine>=6.1'
	touch $@

$(OLDEST)/test.stamp: pyproject.toml tests/oldest.py
	rm -rf $(OLDEST)
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python tests/oldest.py > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python $(INSTALL) -c $(OLDEST)/constraints.txt \
		-e '.[cli,plot,pyod]' hypothesis polars pytest pytest-xdist
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
