"""The study of absurd cells, thresholds, gaps and expected values."""

import numpy as np
import pandas as pd

import benchmarks.judgement as study
from benchmarks.judgement import _measures as measures
from benchmarks.judgement._spoiling import robust_sd, spoil_cells
from skim import ALTBIDetector
from tests.benchmarks.commands import run_twice


def test_one_cell_of_each_chosen_row_is_spoilt():
    normal = np.random.default_rng(0).normal(size=(200, 4))
    X = np.c_[normal, np.zeros(len(normal))]  # a column that cannot be spoilt
    rows = np.array([3, 5, 8])
    spoilt, columns = spoil_cells(X, rows, 30, seed=1)
    changed = np.argwhere(spoilt != X)
    np.testing.assert_array_equal(changed, np.c_[rows, columns])
    distance = np.abs(spoilt[rows, columns] - np.median(X, axis=0)[columns])
    np.testing.assert_allclose(distance, 30 * robust_sd(X)[columns])
    _, same = spoil_cells(X, rows, 1000, seed=1)
    np.testing.assert_array_equal(same, columns)


def test_the_command_measures_all_parts_once(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(200, 1)) + 0.5 * rng.normal(size=(200, 4))
    X, y = np.r_[normal, normal[:10] + 8], np.arange(210) >= 200
    np.savez(tmp_path / "made__task.npz", X=X, y=y)
    monkeypatch.setattr(
        measures,
        "ALTBIDetector",
        lambda **params: ALTBIDetector(n_estimators=1, epochs=15, **params),
    )
    monkeypatch.setenv("SKIM_DATA_HOME", str(tmp_path))
    output = tmp_path / "out"
    run_twice("judgement", "--data", "keel/task", "--keel", tmp_path, output=output)
    assert {path.stem for path in output.iterdir()} == {*study.PARTS, "summary"}
    found = pd.read_csv(output / "summary.csv").set_index("quantity")["all"]
    for where in ("training", "new"):
        assert found[f"cell at 1000 sd, {where} rows: AUROC"] == 1
        assert found[f"cell at 1000 sd, {where} rows: first in reasons"] == 1
        assert found[f"expected values, {where} rows: mean error in sd"] < 1.5
    assert found["AUROC"] > 0.99
    assert 0 < found["F1 / best F1"] <= 1
    assert found["flagged of clean data, mean"] < 0.1
    assert found["10% planted, cluster: flagged"] > 0.05
    assert abs(found["10% of the cells missing: AUROC lost"]) < 0.1
