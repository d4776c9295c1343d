"""The study of TabPFN's embeddings."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import IsolationForest

from benchmarks import tabpfn as study
from benchmarks._shared import representations
from benchmarks._shared.representations import VALUES
from benchmarks.tabpfn import DATA, STUDY, plan
from tests.benchmarks.commands import run_command
from tests.embedding.tabpfn_checkpoints import EMBEDDING_SIZE, save_tiny_checkpoint


def test_the_first_seed_comes_first():
    runs = list(plan(["yeast", "ALOI"], ["ALTBI"], ["raw", "+TabPFN"], 2))
    assert runs[:2] == [("yeast", 0, "raw", "ALTBI"), ("ALOI", 0, "raw", "ALTBI")]
    assert runs[2] == ("yeast", 0, "TabPFN", "ALTBI")
    assert [run[1] for run in runs] == [0] * 4 + [1] * 4


def test_the_summary_has_means_of_complete_tables_and_published_values():
    rows = [(name, 0, "TabPFN", "ODIM", 0.6, 0.3, 1.0) for name in DATA]
    rows += [("yeast", s, "raw", "ALTBI", 0.4 + 0.2 * s, 0.3, 1.0) for s in (0, 1)]
    runs = pd.DataFrame(rows, columns=[*STUDY.key, *VALUES])
    table = STUDY.summary(runs).set_index(["metric", "data", "detector"])
    assert table.loc[("auroc", "yeast", "ALTBI"), "raw"] == pytest.approx(0.5)
    assert np.isnan(table.loc[("auroc", "mean", "ALTBI"), "raw"])
    assert table.loc[("auroc", "mean", "ODIM"), "+TabPFN"] == pytest.approx(0.6)
    assert table.loc[("auprc", "mean", "ODIM"), "+TabPFN"] == pytest.approx(0.3)
    assert np.isnan(table.loc[("auroc", "mean of others", "ODIM"), "+TabPFN"])
    assert table.loc[("auroc", "SpamBase", "ALTBI"), "published: raw"] == 0.491


def test_a_run_is_kept_and_not_repeated(tmp_path, monkeypatch):
    monkeypatch.setenv("SKIM_WEIGHTS_HOME", str(tmp_path))
    save_tiny_checkpoint(tmp_path / "tabpfn-v2-regressor.ckpt")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 20 == 0
    monkeypatch.setattr(study, "fetch_adbench", lambda *_, **__: (X, y.astype(int)))
    widths = []

    def build(name, seed):
        widths.append(name)
        return IsolationForest(n_estimators=5, random_state=seed)

    measure = representations.measure

    def watched(detector, X, y):
        widths.append(X.shape[1])
        return measure(detector, X, y)

    monkeypatch.setattr(representations, "measure", watched)
    monkeypatch.setattr(representations, "build", build)
    output = tmp_path / "results.csv"
    arguments = ["tabpfn", "--data", "yeast", "--method", "ALTBI", "--seeds", 1]
    arguments += ["--column", "raw", "--column", "+TabPFN", "--output", output]
    for _ in range(2):
        run_command(*arguments)
    assert widths == ["ALTBI", 3, "ALTBI", EMBEDDING_SIZE]
    assert len(output.read_text().splitlines()) == 1 + 2
