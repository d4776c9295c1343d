"""The study of accuracy."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.accuracy import _detectors as detectors
from benchmarks.accuracy import _measures as measures
from benchmarks.accuracy import _summary as summary
from benchmarks.accuracy._detectors import StandardisedKNN
from tests.benchmarks.commands import run_command


@pytest.fixture
def means():
    """Means of three detectors on four families of two suites."""
    values = {
        "ALTBI": {"ALOI": 0.6, "campaign": 0.9, "keel/wine": 0.8, "keel/glass": 0.8},
        "IsolationForest": {"campaign": 0.8}
        | dict.fromkeys(("ALOI", "keel/wine", "keel/glass"), 0.7),
        "kNN": {"ALOI": 0.9, "campaign": 0.5, "keel/wine": 0.6, "keel/glass": 0.6},
    }
    runs = pd.DataFrame(
        {
            "suite": "KEEL" if family.startswith("keel") else "ADBench",
            "family": family,
            "task": f"{family}:{task}",
            "detector": detector,
            "auroc": value + task / 10 + seed / 10,
        }
        for detector, by_family in values.items()
        for family, value in by_family.items()
        for task in range(2 if family == "keel/wine" else 1)
        for seed in ((0,) if detector == "kNN" else (-1, 0, 1))
    )
    runs.loc[len(runs)] = ["ADBench", "cardio", "cardio", "kNN", 1.0]
    return summary.family_means(runs.assign(auprc=0.5, flagged=np.nan, seconds=1.0))


def test_the_interval_is_that_of_a_mean_over_families():
    values = np.random.default_rng(0).normal(0.1, 0.02, size=400)
    error = 1.96 * values.std() / 20
    expected = values.mean() - error, values.mean() + error
    assert summary.interval(values) == pytest.approx(expected, abs=3e-4)
    assert summary.interval(np.full(4, 0.25)) == (0.25, 0.25)


def test_families_are_averaged_over_suites_and_halves(means):
    table = summary.levels(means).set_index("AUROC / AUPRC")
    assert table.index.tolist() == ["ALTBI", "IsolationForest", "kNN"]
    assert table.loc["ALTBI", "confirming half (2)"] == "0.875 / 0.500"
    assert table.loc["kNN", "KEEL (2)"] == "0.625 / 0.500"
    table = summary.differences(means, "IsolationForest")
    table = table.set_index(["data", "detector"])
    lead = table.loc["confirming half", "ALTBI"]
    assert lead["AUROC"] == "+0.100 (+0.100 to +0.100)"
    assert lead["families ahead"] == lead["families"] == 2
    table = summary.by_family(means).set_index("family")
    assert table.loc["keel/wine", ["half", "AUROC, ALTBI"]].tolist() == [
        "confirming half",
        0.85,
    ]


def test_neighbours_are_others_on_standardised_columns():
    X = np.c_[[0.0, 1, 2, 10, 2], 1000 * np.array([0.0, 1, 2, 10, 2])]
    detector = StandardisedKNN(n_neighbors=1).fit(X)
    unit = np.sqrt(2) / X[:, 0].std()
    np.testing.assert_allclose(
        -detector.training_scores_, np.array([1, 1, 0, 8, 0]) * unit
    )
    np.testing.assert_allclose(
        -detector.score_samples(X + np.array([5, 5000]))[3], 5 * unit
    )


@pytest.fixture
def folder(tmp_path, monkeypatch, table, is_outlier):
    """A folder with three tasks of a family of KEEL and two tables of OddBench."""
    monkeypatch.setenv("SKIM_KEEL_HOME", str(tmp_path))
    monkeypatch.setenv("SKIM_DATA_HOME", str(tmp_path))
    for i in range(3):
        np.savez(tmp_path / f"glass__glass{i}.npz", X=table, y=is_outlier)
    odd = tmp_path / "odd"
    odd.mkdir()
    np.savez(odd / "small.npz", X=table[::-1], y=is_outlier[::-1])
    y = np.arange(11_000) % 1000 == 0
    np.savez(odd / "large.npz", X=np.zeros((len(y), 1)), y=y)
    return tmp_path


def test_large_tables_are_sampled_or_left_out(folder):
    def names(part, data=()):
        return [t.file for t in measures.tables_of(part, data, folder / "odd")]

    glass = ["keel/glass0", "keel/glass1", "keel/glass2"]
    assert names("contaminated") == [*glass, "oddbench/small", "oddbench/large"]
    assert names("clean") == [*glass[:2], "oddbench/small"]
    assert names("clean", ["oddbench/small"]) == ["oddbench/small"]
    with pytest.raises(ValueError, match=r"'oddbench/smal'.*oddbench/small"):
        names("clean", ["oddbench/smal"])
    with pytest.raises(ValueError, match="--oddbench"):
        measures.tables_of("clean", ["oddbench"], None)
    (large,) = measures.oddbench_tables(["oddbench/large"], folder / "odd")
    X, y = measures.load(large)
    assert len(X) == 10_000
    assert y.sum() == 11


def test_the_command_measures_both_parts_and_resumes(folder, monkeypatch):
    quick = detectors.ALTBI._replace(params={"epochs": 10, "n_estimators": 2})
    for part in detectors.PARTS:
        few = (quick, detectors.FOREST, detectors.KNN)
        monkeypatch.setitem(detectors.PARTS, part, few)
    output = folder / "out"
    parts = ["--part", "contaminated", "--part", "clean"]
    data = ["--data", "keel/glass0", "--data", "oddbench/small"]
    command = ["accuracy", *parts, *data, "--oddbench", folder / "odd", "--seeds", 1]
    told = run_command(*command, "--output", output)
    assert "contaminated, means" in told
    runs = [output / f"{part}-runs.csv" for part in parts[1::2]]
    before = [path.read_text() for path in runs]
    assert "clean, differences" in run_command(*command, "--output", output)
    assert [path.read_text() for path in runs] == before
    for part in parts[1::2]:
        families = pd.read_csv(output / f"{part}-families.csv")
        assert families["suite"].tolist() == ["KEEL", "OddBench"]
        assert (families["AUROC, kNN"] > 0.9).all()
    clean = pd.read_csv(output / "clean-means.csv").set_index("AUROC / AUPRC")
    flagged = clean["new inliers flagged"]
    assert 0 < flagged["ALTBI"] < 0.2
    assert np.isnan(flagged["kNN"])
