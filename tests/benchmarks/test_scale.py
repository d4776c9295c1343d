"""The study of size, on tables that are small."""

import numpy as np
import pandas as pd

from benchmarks import scale
from benchmarks.scale import in_memory, make_part, make_table, write_parts
from skim import ALTBIDetector
from tests.benchmarks.commands import run_twice

SMALL = ["--parquet-rows", 200, "--part-rows", 50, "--columns", 4]


def test_a_table_is_the_same_in_memory_and_in_parts(tmp_path):
    table = make_table(1000, 3, part_rows=300)
    folder = write_parts(tmp_path, 1000, 3, 300)
    assert len(list(folder.iterdir())) == 4
    np.testing.assert_array_equal(pd.read_parquet(folder), table)
    assert table.dtype == np.float32
    np.testing.assert_array_equal(make_part(1, 300, 3), table[300:600])


def test_fits_in_memory_and_out_of_core_are_measured(tmp_path):
    output = tmp_path / "results.csv"
    command = ["scale", "--step", "parquet", "--folder", tmp_path / "data", *SMALL]
    assert "scores and labels" in run_twice(*command, output=output)
    found = pd.read_csv(output).set_index(["step", "quantity"])["value"]
    in_memory_results = {quantity: value for quantity, _, value in in_memory(200, 4)}
    assert in_memory_results["fit"] > 0
    assert found["parquet", "scores and labels: memory"] > 0


def test_a_sample_of_all_rows_is_as_accurate(table, is_outlier, monkeypatch):
    monkeypatch.setattr(scale, "fetch_adbench", lambda *_, **__: (table, is_outlier))
    monkeypatch.setattr(
        scale, "ALTBIDetector", lambda **params: ALTBIDetector(epochs=10, **params)
    )
    found = {quantity: value for quantity, _, value in scale.accuracy("x", 5000, 0)}
    assert found["x: sample"] == found["x: whole table"] > 0.8
    assert found["x: flagged by the sample"] < 0.2
