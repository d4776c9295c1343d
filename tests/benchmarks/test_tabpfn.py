import csv

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks import tabpfn as study
from benchmarks.__main__ import app
from tests.embedding.tabpfn_checkpoints import EMBEDDING_SIZE, save_tiny_checkpoint

runner = CliRunner()


def record(name, detector, representation, seed, auroc):
    keys = ("file", "detector", "settings", "threads", "seed", "auroc", "auprc")
    values = (name, detector, representation, 1, seed, auroc, auroc / 2)
    return dict(zip(keys, values, strict=True))


def test_the_first_seed_comes_first():
    runs = list(study.plan(["yeast", "ALOI"], ["ALTBI"], ["raw", "+TabPFN"], 2))
    assert runs[:2] == [("yeast", "ALTBI", "raw", 1, 0), ("ALOI", "ALTBI", "raw", 1, 0)]
    assert runs[2] == ("yeast", "ALTBI", "TabPFN", 1, 0)
    assert [run[-1] for run in runs] == [0] * 4 + [1] * 4


def test_means_are_over_seeds_and_then_over_all_tables():
    records = [
        record("yeast", "ALTBI", "raw", seed, 0.4 + 0.2 * seed) for seed in (0, 1)
    ]
    found = study.means(records, "auroc")
    assert found["ALTBI", "raw"] == {"yeast": pytest.approx(0.5)}
    assert found["ALTBI", "+TabPFN"] == {}
    assert found["ALTBI", "published: raw"]["SpamBase"] == 0.491
    assert study._cell(found["ALTBI", "raw"], "yeast") == "0.5000"
    assert study._cell(found["ALTBI", "raw"], "mean") == ""  # tables are missing
    every = dict.fromkeys(study.DATA, 0.25)
    assert study._cell(every, "mean") == "0.2500"
    assert study._cell(every, "mean of others") == ""


def test_the_summary_is_written(tmp_path):
    records = [record(name, "ODIM", "TabPFN", 0, 0.6) for name in study.DATA]
    study.write(records, tmp_path / "summary.csv")
    lines = (tmp_path / "summary.csv").read_text().splitlines()
    rows = list(csv.DictReader(lines))
    means = [row for row in rows if row["table"] == "mean" and row["method"] == "ODIM"]
    assert [row["+TabPFN"] for row in means] == ["0.6000", "0.3000"]
    assert means[0]["raw"] == ""
    assert {row["+TabPFN"] for row in rows if row["table"] in study.OTHERS} == {""}


def test_the_other_tables_are_small_and_none_of_the_papers():
    from skim.datasets._adbench import sizes

    assert not set(study.OTHERS) & set(study.DATA)
    for name in study.OTHERS:
        n_rows, n_columns = sizes()[name]
        assert n_rows < 10_000
        assert n_columns < 50


def test_a_run_is_kept_and_not_repeated(tmp_path, monkeypatch):
    monkeypatch.setenv("SKIM_WEIGHTS_HOME", str(tmp_path))
    save_tiny_checkpoint(tmp_path / "tabpfn-v2-regressor.ckpt")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 20 == 0
    widths = []
    monkeypatch.setattr(study, "fetch_adbench", lambda *_, **__: (X, y.astype(int)))

    def build(seed):
        from sklearn.ensemble import IsolationForest

        return IsolationForest(n_estimators=5, random_state=seed)

    measure = study.measure

    def watched(detector, X, y):
        widths.append(X.shape[1])
        return measure(detector, X, y)

    monkeypatch.setattr(study, "measure", watched)
    detector = type("Detector", (), {"build": staticmethod(build)})
    monkeypatch.setattr(study, "DETECTORS", {"ALTBI": detector})
    output = tmp_path / "results.jsonl"
    arguments = ["tabpfn", "--data", "yeast", "--method", "ALTBI", "--seeds", "1"]
    arguments += ["--column", "raw", "--column", "+TabPFN", "--output", str(output)]
    for _ in range(2):
        result = runner.invoke(app, arguments)
        assert result.exit_code == 0, result.output
    assert widths == [3, EMBEDDING_SIZE]
    assert len(output.read_text().splitlines()) == 2


def test_unknown_names_are_refused(tmp_path):
    result = runner.invoke(app, ["tabpfn", "--data", "nowhere"])
    assert result.exit_code == 2
    assert "nowhere" in result.output
