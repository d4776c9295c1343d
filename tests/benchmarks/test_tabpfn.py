"""The study of TabPFN's embeddings."""

import numpy as np
import pandas as pd
import pytest

from benchmarks import tabpfn as study
from benchmarks._shared.representations import VALUES
from benchmarks.tabpfn import DATA, STUDY
from tests.benchmarks.commands import run_twice
from tests.embedding.tabpfn_checkpoints import save_tiny_checkpoint


def test_the_summary_has_means_of_complete_tables_and_published_values():
    rows = [(name, 0, "TabPFN", "ODIM", 0.6, 0.3, 1.0) for name in DATA]
    rows += [("yeast", s, "raw", "ALTBI", 0.4 + 0.2 * s, 0.3, 1.0) for s in (0, 1)]
    runs = pd.DataFrame(rows, columns=[*STUDY.key, *VALUES])
    table = STUDY.summary(runs).set_index(["metric", "data", "detector"])
    assert table.loc[("auroc", "yeast", "ALTBI"), "raw"] == pytest.approx(0.5)
    assert np.isnan(table.loc[("auroc", "mean", "ALTBI"), "raw"])
    assert table.loc[("auroc", "mean", "ODIM"), "+TabPFN"] == pytest.approx(0.6)
    assert np.isnan(table.loc[("auroc", "mean of others", "ODIM"), "+TabPFN"])
    assert table.loc[("auroc", "SpamBase", "ALTBI"), "published: raw"] == 0.491


def test_a_run_is_kept_and_not_repeated(tmp_path, monkeypatch, short_training):
    monkeypatch.setenv("SKIM_WEIGHTS_HOME", str(tmp_path))
    save_tiny_checkpoint(tmp_path / "tabpfn-v2-regressor.ckpt")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 20 == 0
    monkeypatch.setattr(study, "fetch_adbench", lambda *_, **__: (X, y.astype(int)))
    study.load.cache_clear()
    output = tmp_path / "results.csv"
    arguments = ["tabpfn", "--data", "yeast", "--method", "ALTBI", "--seeds", 1]
    run_twice(*arguments, "--column", "raw", "--column", "+TabPFN", output=output)
    assert pd.read_csv(output)["representation"].tolist() == ["raw", "TabPFN"]
    study.load.cache_clear()
