"""The study of accuracy."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.accuracy import _summary as summary
from benchmarks.accuracy._references import StandardisedKNN
from tests.benchmarks.commands import run_command


def results():
    """Return results of the default, a variant and the references on four sources."""
    values = {
        "default": {"ALOI": 0.6, "campaign": 0.9, "keel/wine": 0.8, "keel/glass": 0.8},
        "IsolationForest": dict.fromkeys(("ALOI", "keel/wine", "keel/glass"), 0.7)
        | {"campaign": 0.8},
        "kNN": {"ALOI": 0.9, "campaign": 0.5, "keel/wine": 0.6, "keel/glass": 0.6},
        "variant": {"ALOI": 0.7, "campaign": 0.9},
    }
    rows = [
        (f"{family}:{task}", family, detector, seed, value + task / 10 + seed / 10)
        for detector, by_family in values.items()
        for family, value in by_family.items()
        for task in range(2 if family == "keel/wine" else 1)
        for seed in ((0,) if detector == "kNN" else (-1, 0, 1))
    ]
    frame = pd.DataFrame(rows, columns=["file", "dataset", "detector", "seed", "auroc"])
    return frame.assign(auprc=0.5)


def test_the_interval_is_that_of_a_mean_over_sources():
    values = np.random.default_rng(0).normal(0.1, 0.02, size=400)
    error = 1.96 * values.std() / 20
    expected = values.mean() - error, values.mean() + error
    assert summary.interval(values) == pytest.approx(expected, abs=3e-4)
    assert summary.interval(np.full(4, 0.25)) == (0.25, 0.25)


def test_expectations_are_told_for_both_halves_and_suites():
    found = summary.against(results(), "default")
    means, gains = (table.set_index("data") for table in found)
    assert means["number"].tolist() == [2, 2, 4, 2, 2]
    assert means.loc["KEEL, families", "AUROC, kNN"] == "0.625"
    half = "confirming half of the sources"
    assert means.index[0] == half
    assert means.loc[half, "AUROC, ALTBI"] == "0.875"
    assert gains.loc[half, "AUROC"] == "+0.1000"
    assert gains.loc[half, "better than IsolationForest"] == "2 of 2"
    worst = gains.loc["all sources", "worst against the better reference"]
    assert worst == "aloi -0.300"


def test_every_source_is_listed_with_its_half():
    table = summary.by_source(results(), "default").set_index("source")
    assert table["half"].to_dict() == {
        "aloi": "chosen on",
        "campaign": "confirmed on",
        "glass": "chosen on",
        "wine": "confirmed on",
    }
    assert table.loc["wine", "AUROC, ALTBI"] == "0.850"


def test_variants_are_compared_where_they_have_results():
    rows = summary.differences(results(), ["variant"], "default").to_dict("records")
    assert [(row["sources"], row["number"], row["AUROC"]) for row in rows] == [
        ("all", 2, "+0.0500"),
        ("chosen on", 1, "+0.1000"),
        ("confirmed on", 1, "+0.0000"),
    ]


def test_neighbours_are_others_on_standardised_columns():
    X = np.c_[[0.0, 1, 2, 10, 2], 1000 * np.array([0.0, 1, 2, 10, 2])]
    detector = StandardisedKNN(n_neighbors=1).fit(X)
    unit = np.sqrt(2) / X[:, 0].std()
    np.testing.assert_allclose(
        -detector.training_scores_, np.array([1, 1, 0, 8, 0]) * unit
    )


def test_the_command_resumes_and_compares_a_variant(tmp_path, monkeypatch, table):
    monkeypatch.setenv("SKIM_KEEL_HOME", str(tmp_path))
    y = np.arange(len(table)) >= 285
    np.savez(tmp_path / "glass__glass0.npz", X=table, y=y)
    output = tmp_path / "out"
    variant = "variant=tests.benchmarks.detectors:Good"
    command = ["accuracy", "--data", "keel/glass", "--detector", variant]
    told = run_command(*command, "--seeds", 1, "--output", output)
    assert "variants" in told
    lines = (output / "results.jsonl").read_text()
    assert len(lines.splitlines()) == 4
    run_command(*command, "--seeds", 1, "--output", output)
    assert (output / "results.jsonl").read_text() == lines
    expected = pd.read_csv(output / "expected.csv").set_index("data")
    assert expected.loc["KEEL, families", "AUROC, IsolationForest"] > 0.9
