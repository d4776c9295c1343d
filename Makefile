PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo weights test lint format docs clean

demo: $(VENV)/demo.stamp
	$(BIN)/skim demo --report demo.html
	$(BIN)/python -m benchmarks demo --picture demo.png

weights: $(VENV)/demo.stamp
	$(BIN)/python -m benchmarks weights $(NAMES)

# Threads that wait for others would keep a processor busy, and the tests share few.
test: $(VENV)/test.stamp lint
	OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/test.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/docs.stamp
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "skim needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

# Torch first and by itself, so that nothing else decides which one it is.
$(VENV)/torch.stamp: constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet -c constraints.txt torch
	touch $@

$(VENV)/demo.stamp: pyproject.toml $(VENV)/torch.stamp
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[bench]'
	touch $@

$(VENV)/test.stamp: pyproject.toml $(VENV)/torch.stamp
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[test]'
	touch $@

$(VENV)/docs.stamp: pyproject.toml $(VENV)/torch.stamp
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
