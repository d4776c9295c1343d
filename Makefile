PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint format clean

demo: $(VENV)/demo.stamp
	$(BIN)/python -m benchmarks demo --picture demo.png

test: $(VENV)/test.stamp lint
	$(BIN)/python -m pytest

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/test.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "skim needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

# Torch first and by itself: a pip that resolves it later may pick another build.
$(VENV)/torch.stamp: constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet -c constraints.txt torch
	touch $@

$(VENV)/demo.stamp: pyproject.toml $(VENV)/torch.stamp
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[pyod,plot,cli]'
	touch $@

$(VENV)/test.stamp: pyproject.toml $(VENV)/torch.stamp
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[test]'
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
