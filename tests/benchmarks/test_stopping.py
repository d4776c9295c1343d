"""The study of when to stop."""

import numpy as np
import pandas as pd
import pytest

import benchmarks.stopping as study
from benchmarks.stopping import CRITERIA, DETECTORS, choices, record, summary
from skim.datasets import fetch_adbench
from skim.metrics import outlier_roc_auc_score
from tests.benchmarks.commands import run_command

pytestmark = pytest.mark.usefixtures("adbench")


@pytest.fixture
def quick(monkeypatch):
    """Makes the study's detectors small, and trains them for four epochs."""
    new_detector = study.new_detector

    def shorter(name, n_rows, seed):
        return new_detector(name, n_rows, seed).set_params(epochs=4, n_estimators=2)

    monkeypatch.setattr(study, "new_detector", shorter)


@pytest.mark.parametrize("name", DETECTORS)
def test_a_path_has_metrics_and_criteria(name, quick):
    values = np.array(record((name, "wine", 0)), dtype=float)[:, 1:]
    assert len(values) >= 4
    assert np.isfinite(values).all()
    assert ((values[:, :2] >= 0) & (values[:, :2] <= 1)).all()
    assert values.shape[1] == 2 + len(CRITERIA)


def test_the_end_of_a_path_is_the_detectors_score():
    last, auroc, *_ = record(("IMAutoencoder", "wine", 0))[-1]
    X, y = fetch_adbench("wine", return_X_y=True)
    detector = study.new_detector("IMAutoencoder", len(X), 0)
    scores = detector.set_params(epochs=last).fit(X).training_scores_
    assert outlier_roc_auc_score(y, scores) == pytest.approx(auroc, abs=1e-5)


def test_the_command_resumes_where_it_stopped(tmp_path, quick):
    output = tmp_path / "stopping.csv"
    command = ["stopping", "--data", "wine", "--data", "WBC", "--detector", "ALTBI"]
    command += ["--seeds", 1, "--output", output]
    assert "oracle" in run_command(*command)
    first = output.read_text()
    run_command(*command)
    assert output.read_text() == first
    keys = {tuple(line.split(",")[:3]) for line in first.splitlines()[1:]}
    assert keys == {("ALTBI", "wine", "0"), ("ALTBI", "WBC", "0")}


def test_regret_by_hand():
    def path(dataset, auroc):
        columns = {criterion: [0, 1, 2] for criterion in CRITERIA}
        columns |= {"entropy": [1, 3, 2]}
        columns |= {"moment": [1, 2, 3], "auroc": auroc, "auprc": np.array(auroc) / 2}
        return pd.DataFrame(
            columns | {"detector": "ODIM", "dataset": dataset, "seed": 0}
        )

    paths = {
        ("ALOI", 0): path("ALOI", [0.5, 0.9, 0.7]),
        ("campaign", 0): path("campaign", [0.9, 0.7, 0.6]),
    }
    table = {rule: values for rule, *values in summary(pd.concat(paths.values()))}
    for rule, expected in {
        "the best moment of each table (oracle)": [0.9, 0.45, 0],
        "the best moment for all (2)": [0.8, 0.4, 0.1],
        "the end": [0.65, 0.325, 0.25],
        "entropy": [0.8, 0.4, 0.1, 0.9, 0.7],
    }.items():
        np.testing.assert_allclose(table[rule][: len(expected)], expected, atol=1e-12)
    np.testing.assert_allclose(choices(paths)["entropy"]["ALOI", 0], [0.9, 0.45])
    late = choices(paths, earliest=3)
    np.testing.assert_allclose(late["entropy"]["ALOI", 0], [0.7, 0.35])
