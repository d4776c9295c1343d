PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

OLDEST := .venv-oldest

.PHONY: demo test test-oldest lint format docs dist dist-check clean

demo: $(VENV)/demo.stamp
	$(BIN)/skim demo --report demo.html
	$(BIN)/python -m benchmarks demo --picture demo.png

# Threads that wait for others would keep a processor busy, and the tests share few.
test: $(VENV)/test.stamp lint
	OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest

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
	"$$folder/venv/bin/python" -m pip install --quiet -c constraints.txt \
		"$$(echo dist/*.whl)[cli]" && \
	cd "$$folder" && venv/bin/skim demo --report demo.html && test -s demo.html && \
	test -f "$$(venv/bin/python -c 'import skim; print(skim.__path__[0])')/py.typed"

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "skim needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

# Torch first and by itself, so that nothing else decides which one it is.
$(VENV)/torch.stamp: constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet -c constraints.txt torch
	touch $@

$(VENV)/demo.stamp: pyproject.toml $(VENV)/torch.stamp
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[cli,plot,pyod]'
	touch $@

$(VENV)/test.stamp: pyproject.toml $(VENV)/torch.stamp
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[test]'
	touch $@

$(VENV)/docs.stamp: pyproject.toml $(VENV)/torch.stamp
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[docs]'
	touch $@

$(VENV)/dist.stamp: | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet 'build>=1.2' 'twine>=6.1'
	touch $@

$(OLDEST)/test.stamp: pyproject.toml tests/oldest.py
	rm -rf $(OLDEST)
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python tests/oldest.py > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip install --quiet -c $(OLDEST)/constraints.txt \
		-e '.[cli,plot]' hypothesis polars pytest pytest-xdist
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
