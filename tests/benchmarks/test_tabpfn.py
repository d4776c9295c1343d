"""The study of TabPFN's embeddings."""

import numpy as np
import pandas as pd

from benchmarks import tabpfn as study
from tests.benchmarks.commands import run_twice
from tests.embedding.tabpfn_checkpoints import save_tiny_checkpoint


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
