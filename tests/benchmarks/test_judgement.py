"""The study of absurd cells, thresholds, gaps and expected values."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

import benchmarks.judgement as study
from benchmarks.judgement import _measures as measures
from benchmarks.judgement._spoiling import delete_cells, plant, robust_sd, spoil_cells
from benchmarks.judgement._summary import by_family, figures
from benchmarks.judgement._tables import (
    Table,
    first_of_sources,
    load,
    sample,
    tables_of,
)
from skim import ALTBIDetector
from tests.benchmarks.commands import run_command


@pytest.fixture
def normal():
    return np.random.default_rng(0).normal(size=(200, 4))


@pytest.fixture
def made(normal, tmp_path, monkeypatch):
    """A table of normal rows with ten outliers, for detectors that train briefly."""
    y = np.zeros(len(normal))
    X = np.concatenate([normal, normal[:10] + 8])
    np.savez(tmp_path / "made__task.npz", X=X, y=np.r_[y, np.ones(10)])
    monkeypatch.setattr(
        measures,
        "ALTBIDetector",
        lambda random_state: ALTBIDetector(
            n_estimators=2, epochs=20, random_state=random_state
        ),
    )
    (table,) = (each for each in tables_of(tmp_path) if each.name == "keel/task")
    return table


def test_robust_sd_is_that_of_normal_data_and_ignores_absurd_values(normal):
    X = 3 * normal
    before = robust_sd(X)
    np.testing.assert_allclose(before, 3, rtol=0.2)
    X[0] = 1e9
    np.testing.assert_allclose(robust_sd(X), before, rtol=0.05)


def test_one_cell_of_each_chosen_row_is_spoilt(normal):
    X = np.c_[normal, np.zeros(len(normal))]  # a column that cannot be spoilt
    rows = np.array([3, 5, 8])
    spoilt, columns = spoil_cells(X, rows, 30, seed=1)
    changed = np.argwhere(spoilt != X)
    np.testing.assert_array_equal(changed, np.c_[rows, columns])
    distance = np.abs(spoilt[rows, columns] - np.median(X, axis=0)[columns])
    np.testing.assert_allclose(distance, 30 * robust_sd(X)[columns])
    _, same = spoil_cells(X, rows, 1000, seed=1)
    np.testing.assert_array_equal(same, columns)


@pytest.mark.parametrize("kind", measures.KINDS)
@pytest.mark.parametrize("share", [0.01, 0.2])
def test_planted_rows_are_a_share_of_all_and_come_last(normal, kind, share):
    rows = plant(normal, share, kind, seed=0)
    np.testing.assert_array_equal(rows[: len(normal)], normal)
    assert 1 - len(normal) / len(rows) == pytest.approx(share, abs=0.003)
    np.testing.assert_array_equal(plant(normal, 0, kind, seed=0), normal)


def test_a_planted_cluster_is_shifted_and_scattered_rows_fill_a_box(normal):
    cluster = plant(normal, 0.2, "cluster", seed=0)[len(normal) :]
    shift = np.abs(cluster.mean(axis=0) - normal.mean(axis=0)) / robust_sd(normal)
    np.testing.assert_allclose(shift, 6, atol=1)
    box = plant(normal, 0.5, "scattered", seed=0)[len(normal) :]
    np.testing.assert_allclose(
        np.ptp(box, axis=0) / np.ptp(normal, axis=0), 3, rtol=0.1
    )


def test_cells_are_deleted_at_random(normal):
    rows = delete_cells(normal, 0.3, seed=0)
    assert np.isnan(rows).mean() == pytest.approx(0.3, abs=0.05)
    known = ~np.isnan(rows)
    np.testing.assert_array_equal(rows[known], normal[known])


def test_two_tasks_of_each_family_count(tmp_path, monkeypatch):
    monkeypatch.setenv("SKIM_DATA_HOME", str(tmp_path))
    for name in ("iris__c", "iris__a", "iris__b", "wine__z"):
        np.savez(tmp_path / f"{name}.npz", X=np.eye(3), y=np.array([0, 0, 1]))
    tables = tables_of(tmp_path)
    names = [table.name for table in tables if table.name.startswith("keel/")]
    assert names == ["keel/a", "keel/b", "keel/z"]
    assert "sklearn/iris" in [table.name for table in tables]
    of_sources = [table.name for table in first_of_sources(tables)]
    assert "keel/a" in of_sources
    assert "sklearn/iris" not in of_sources
    X, is_outlier = load(tables[0])
    assert X.shape == (3, 3)
    np.testing.assert_array_equal(is_outlier, [False, False, True])


def test_samples_keep_the_share_of_outliers_and_some_of_the_rarest():
    often = np.arange(10_000) % 5 == 0
    rows = sample(often, 1000)
    assert len(rows) == len({*rows}) == 1000
    assert often[rows].sum() == 200
    seldom = np.arange(10_000) < 12
    assert seldom[sample(seldom, 1000)].sum() == 10
    np.testing.assert_array_equal(sample(often[:50], 1000), np.arange(50))


def test_the_best_f1_is_that_of_some_threshold():
    rng = np.random.default_rng(0)
    is_outlier, losses = rng.random(60) < 0.2, rng.normal(size=60)
    by_hand = max(f1_score(is_outlier, losses >= value) for value in losses)
    assert measures.best_f1(is_outlier, losses) == pytest.approx(by_hand)


def test_spoilt_rows_are_judged_against_inliers_only(made):
    found = pd.DataFrame(measures.cells(made), columns=measures.CELLS)
    assert list(found["where"]) == ["training"] * 3 + ["new"] * 3
    assert list(found["spoilt"]) == [3, 3, 3, 30, 30, 30]
    absurd = found[found["sd"] == 1000]
    assert (absurd["auroc"] == 1).all()
    assert (absurd[["flagged", "by_reasons"]] == 1).all(axis=None)


def test_verdicts_and_accuracy_of_a_made_table(made):
    (values,) = measures.labelled(made)
    values = dict(zip(measures.LABELLED, values, strict=True))
    assert values["auroc"] == pytest.approx(1, abs=0.01)
    assert 0 <= values["f1"] <= values["best_f1"]
    assert values["f1_at_0.05"] > values["f1_at_0.2"]
    lines = measures.clean(made) + measures.seeds(made)
    clean = pd.DataFrame(lines, columns=measures.CLEAN)
    assert list(clean["seed"]) == list(range(measures.SEEDS))
    assert clean["flagged"].between(0, 0.1).all()


def test_gaps_cost_accuracy_and_are_counted(made):
    found = pd.DataFrame(measures.gaps(made), columns=measures.GAP_VALUES)
    assert list(found["gaps"]) == list(measures.GAPS)
    assert (found["ours"] + found["ours_lost"]).nunique() == 1
    assert found["correlation"].abs().max() < 0.3


def test_expected_values_of_a_table_that_can_be_predicted(tmp_path, made):
    rng = np.random.default_rng(0)
    cause = rng.normal(size=(400, 1))
    X = cause * [1, 2, 3] + 0.01 * rng.normal(size=(400, 3))
    np.savez(tmp_path / "linear__task.npz", X=X, y=np.zeros(400))
    path = str(tmp_path / "linear__task.npz")
    table = Table("keel/task", "keel/linear", "linear", path)
    found = pd.DataFrame(measures.expected(table), columns=measures.EXPECTED)
    assert list(found["where"]) == ["training", "new"]
    assert (found["error"] < 0.3).all()
    assert (found["imputer_error"] < 0.1).all()
    assert found["covered_usual"].between(0.8, 1).all()


def test_families_weigh_the_same_however_many_tables_they_have():
    frame = pd.DataFrame({"family": ["a", "a", "b"], "value": [0.0, 1.0, 1.0]})
    assert by_family(frame, "value") == 0.75


def test_figures_compare_versions_and_halves(tmp_path):
    lines = ["version,table,family,source,seed,flagged"]
    for source, flagged in (("aloi", 0.02), ("bands", 0.04), ("bupa", 0.03)):
        lines.append(f"before,x/{source},x/{source},{source},0,0.2")
        lines.append(f"now,x/{source},x/{source},{source},0,{flagged}")
    (tmp_path / "clean.csv").write_text("\n".join(lines))
    more = [
        f"now,x/aloi,x/aloi,aloi,{seed},{0.02 + 0.01 * (-1) ** seed}" for seed in (1, 2)
    ]
    (tmp_path / "seeds.csv").write_text("\n".join([lines[0], *more]))
    found = figures(tmp_path).set_index("quantity")
    mean = found.loc["flagged of clean data, mean"]
    numbers = mean[["before", "now", "half 1", "half 2"]].astype(float)
    np.testing.assert_allclose(numbers, [0.2, 0.03, 0.025, 0.04])
    deviation = found.loc["its standard deviation over seeds", "now"]
    assert deviation == pytest.approx(0.01)


def test_the_command_measures_only_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("SKIM_DATA_HOME", str(tmp_path))
    calls = []

    def measure(table):
        calls.append(table.name)
        return [(0, 0.02)]

    parts = {"clean": (measure, measures.CLEAN)}
    monkeypatch.setattr(study, "PARTS", parts)
    output = tmp_path / "out"
    command = ["judgement", "--part", "clean", "--output", output, "--data"]
    printed = run_command(*command, "sklearn/iris")
    assert "flagged of clean data" in printed
    run_command(*command, "sklearn/iris")
    run_command(*command, "sklearn/iris", "--data", "sklearn/wine")
    assert calls == ["sklearn/iris", "sklearn/wine"]
    assert (output / "summary.csv").exists()
