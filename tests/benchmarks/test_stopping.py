"""The study of when to stop, and what a search over epochs costs."""

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks.__main__ import app
from benchmarks.search import costs
from benchmarks.stopping import DETECTORS, choices, halves, read, record, summary
from skim._training._stopping import CRITERIA

pytestmark = pytest.mark.usefixtures("adbench")


@pytest.fixture(params=DETECTORS)
def name(request):
    return request.param


def quick(monkeypatch):
    """Make the study's trainings short."""
    import benchmarks.stopping as study

    new_detector = study.new_detector

    def shorter(name, n_rows, seed):
        return new_detector(name, n_rows, seed).set_params(epochs=4, n_estimators=2)

    monkeypatch.setattr(study, "new_detector", shorter)


def test_a_path_has_metrics_and_criteria(name, monkeypatch):
    quick(monkeypatch)
    rows = record(name, "wine", 0)
    assert len(rows) >= 4
    values = np.array([row[4:] for row in rows], dtype=float)
    assert np.isfinite(values).all()
    assert ((values[:, :2] >= 0) & (values[:, :2] <= 1)).all()
    assert values.shape[1] == 2 + len(CRITERIA)


def test_the_end_of_a_path_is_the_detectors_score(monkeypatch):
    from benchmarks.stopping import new_detector
    from skim.datasets import fetch_adbench
    from skim.metrics import outlier_roc_auc_score

    rows = record("IMAutoencoder", "wine", 0)
    X, y = fetch_adbench("wine", return_X_y=True)
    detector = new_detector("IMAutoencoder", len(X), 0)
    last = int(rows[-1][3])
    scores = detector.set_params(epochs=last).fit(X).training_scores_
    assert outlier_roc_auc_score(y, scores) == pytest.approx(
        float(rows[-1][4]), abs=1e-5
    )


def test_the_command_goes_on_where_it_stopped(tmp_path, monkeypatch):
    quick(monkeypatch)
    output = tmp_path / "stopping.csv"
    command = ["stopping", "--data", "wine", "--data", "WBC", "--detector", "ALTBI"]
    command += ["--seeds", "1", "--output", str(output)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "oracle" in result.output
    first = output.read_text()
    assert CliRunner().invoke(app, command).exit_code == 0
    assert output.read_text() == first
    assert set(read(output)) == {("ALTBI", "wine", 0), ("ALTBI", "WBC", 0)}


def test_unknown_detectors_and_data_are_refused(tmp_path):
    output = ["--output", str(tmp_path / "none.csv")]
    result = CliRunner().invoke(app, ["stopping", "--detector", "ALTIB", *output])
    assert result.exit_code == 2
    result = CliRunner().invoke(app, ["stopping", "--data", "wyne", *output])
    assert result.exit_code == 2
    assert not (tmp_path / "none.csv").exists()


def test_regret_by_hand():
    def run(auroc, entropy):
        flat = dict.fromkeys(CRITERIA, np.arange(3.0))
        columns = {"moment": np.arange(1.0, 4.0), "auroc": np.array(auroc)}
        columns |= {"auprc": np.array(auroc) / 2, **flat}
        return columns | {"entropy": np.array(entropy)}

    runs = {
        ("ODIM", "a", 0): run([0.5, 0.9, 0.7], [1.0, 3.0, 2.0]),
        ("ODIM", "b", 0): run([0.9, 0.7, 0.6], [1.0, 3.0, 2.0]),
    }
    table = {row[0]: row[1:] for row in summary(runs, "ODIM")}
    assert table["the best moment of each table (oracle)"][:3] == [
        "0.9000",
        "0.4500",
        "0.0000",
    ]
    assert table["the best moment for all (2)"][:3] == ["0.8000", "0.4000", "0.1000"]
    assert table["the end"][:3] == ["0.6500", "0.3250", "0.2500"]
    assert table["entropy"] == ["0.8000", "0.4000", "0.1000", "0.9000", "0.7000"]
    chosen = choices({key[1:]: value for key, value in runs.items()})
    assert chosen["entropy"]["a", 0] == (0.9, 0.45)
    late = choices({key[1:]: value for key, value in runs.items()}, earliest=3)
    assert late["entropy"]["a", 0] == (0.7, 0.35)


def test_halves_share_nothing():
    first, second = halves(["b", "A", "d", "C", "e"]).values()
    assert first == ["A", "C", "e"]
    assert second == ["b", "d"]


def test_costs_are_measured():
    found = costs("IMAutoencoder", "wine", n_values=3, n_splits=2, grid=True)
    assert list(found) == ["one training a fold", "EpochSearchCV", "GridSearchCV"]
    assert all(took > 0 for took in found.values())
