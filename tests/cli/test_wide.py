"""Tables with many more columns than rows."""

import time

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from skim.cli._app import app


def seconds_of_detection(folder, n_columns):
    """Find one absurd cell; return the processor time of that, report included."""
    table = np.random.default_rng(0).normal(size=(60, n_columns)).round(3)
    table[7, n_columns // 2] = 40.0
    names = [f"c{j}" for j in range(n_columns)]
    pd.DataFrame(table, columns=names).to_csv(folder / "wide.csv", index=False)
    files = ["--output", folder / "found.csv", "--report", folder / "report.html"]
    command = ["detect", folder / "wide.csv", *files]
    start = time.process_time()
    result = CliRunner().invoke(app, [str(argument) for argument in command])
    seconds = time.process_time() - start
    assert result.exit_code == 0, result.output
    found = pd.read_csv(folder / "found.csv")
    assert f"c{n_columns // 2} 40 (expected" in found["reasons"][7]
    return seconds


def test_the_cost_of_reasons_and_report_grows_with_the_columns_not_their_square(
    tmp_path,
):
    seconds_of_detection(tmp_path, 50)  # pays for the imports
    some, many = (seconds_of_detection(tmp_path, p) for p in (600, 2400))
    assert many < 6 * some  # four times as many columns
