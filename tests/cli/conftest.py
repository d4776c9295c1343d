"""Quick fits, and commands run in this process."""

import importlib
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from skim import ALTBIDetector
from skim.cli import _work
from skim.cli._app import app

STRANGE, EXPENSIVE = 17, 30


def run(*arguments, **options):
    return CliRunner().invoke(app, [str(a) for a in arguments], **options)


def run_process(*arguments, **options):
    command = [sys.executable, "-m", "skim", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False, **options)


def assert_refused(result, *words, code=1):
    """One sentence on standard error, nothing on standard output."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stderr.startswith("skim: ")
    for word in words:
        assert word in result.stderr


def notes(result):
    lines = result.stderr.splitlines()
    return [line for line in lines if line.startswith("Note: ")]


def quick_detector():
    return ALTBIDetector(epochs=6, n_estimators=2)


@pytest.fixture(autouse=True, scope="session")
def quick():
    """Make the fits of commands short."""
    new_model = _work.new_model

    def quick_model(contamination=None, seed=0, has_labels=False, **columns):
        model = new_model(contamination, seed, has_labels, **columns)
        table = model.detector if has_labels else model
        table.set_params(detector=quick_detector())
        return model

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_work, "new_model", quick_model)
        yield


@pytest.fixture
def report():
    """The module of reports, without which a test makes no sense."""
    try:
        return importlib.import_module("skim.report")
    except ImportError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def orders():
    """A table in which one row has a strange country, and one a strange price."""
    rng = np.random.default_rng(0)
    n = 120
    table = pd.DataFrame(
        {
            "name": [f"order {i:03d}" for i in range(n)],
            "price": rng.normal(50, 5, n).round(2),
            "weight": rng.normal(3, 0.2, n).round(3),
            "country": rng.choice(["DE", "FR"], n),
            "label": rng.integers(0, 2, n),
        }
    )
    table.loc[STRANGE, "country"] = "XX"
    table.loc[EXPENSIVE, "price"] = 900.0
    table.loc[3, "weight"] = np.nan
    return table


@pytest.fixture(scope="session")
def folder(orders, tmp_path_factory):
    """A folder with the table, the results and the model."""
    folder = tmp_path_factory.mktemp("cli")
    orders.to_csv(folder / "orders.csv", index=False)
    result = run(
        *("detect", folder / "orders.csv", "--output", folder / "found.csv"),
        *("--drop", "label", "--save", folder / "model.skops"),
    )
    assert result.exit_code == 0, result.stderr
    (folder / "log.txt").write_text(result.stderr)
    return folder
