"""The studies' command line, on tiny data."""

import csv

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks import accuracy, demo
from benchmarks.__main__ import app
from skim import ALTBIDetector, IMAutoencoderDetector


@pytest.fixture
def run():
    return lambda *arguments: CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def data_home(tmp_path, monkeypatch, table, is_outlier):
    (tmp_path / "Classical").mkdir()
    for name in ("1_first", "2_second"):
        np.savez(tmp_path / "Classical" / f"{name}.npz", X=table, y=is_outlier * 1)
    monkeypatch.setenv("SKIM_DATA_HOME", str(tmp_path))
    monkeypatch.setitem(
        accuracy.DETECTORS, "altbi", lambda **params: ALTBIDetector(epochs=2, **params)
    )
    return tmp_path


def test_accuracy_writes_each_result_once(run, data_home):
    output = data_home / "results.csv"
    arguments = ["accuracy", "--detector", "altbi", "--output", output]
    assert run(*arguments, "--seeds", 1).exit_code == 0
    first = output.read_text()
    assert len(first.splitlines()) == 3
    result = run(*arguments, "--seeds", 2)
    assert result.exit_code == 0
    assert output.read_text().startswith(first)
    rows = list(csv.DictReader(output.read_text().splitlines()))
    tasks = {(row["dataset"], row["seed"]) for row in rows}
    assert len(rows) == len(tasks) == 4
    mean = np.mean([float(row["auroc"]) for row in rows])
    assert f"{mean:.4f}" in result.output


def test_accuracy_computes_again_when_parameters_change(run, data_home, monkeypatch):
    output = data_home / "results.csv"
    arguments = ["accuracy", "--detector", "altbi", "--seeds", 1, "--output", output]
    run(*arguments)
    monkeypatch.setitem(
        accuracy.DETECTORS, "altbi", lambda **params: ALTBIDetector(epochs=3, **params)
    )
    run(*arguments)
    assert len(output.read_text().splitlines()) == 5


def test_accuracy_says_where_the_data_should_be(run, tmp_path, monkeypatch):
    monkeypatch.setenv("SKIM_DATA_HOME", str(tmp_path))
    result = run("accuracy", "--detector", "altbi")
    assert result.exit_code == 2
    assert "SKIM_DATA_HOME" in result.output


def test_accuracy_refuses_unknown_detectors(run, data_home):
    result = run("accuracy", "--detector", "altbu", "--output", data_home / "r.csv")
    assert result.exit_code == 2
    assert "altbu" in result.output


def test_demo_prints_a_table_and_draws_it(run, tmp_path, monkeypatch):
    def quick(seed):
        return {"one": IMAutoencoderDetector(epochs=2, random_state=seed)}

    monkeypatch.setattr(demo, "detectors", quick)
    result = run("demo", "--picture", tmp_path / "table.png")
    assert result.exit_code == 0
    assert "AUROC" in result.output
    assert (tmp_path / "table.png").stat().st_size > 10_000
