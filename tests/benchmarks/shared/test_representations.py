"""Tasks of one class, and means over runs."""

import numpy as np
import pandas as pd
import pytest

from benchmarks._shared.representations import KEY, VALUES, Study

LABELS = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 100))


def test_means_are_over_seeds_then_classes_then_data():
    study = Study(
        {"A": ("A",), "B": ("B",), "both": ("A", "B")},
        {"plain": ("raw", "")},
        ("published",),
        lambda data, method, metric: (0.25 if data == "A" else 0.75,),
    )
    rows = [("A", 0, 0, 0.2), ("A", 0, 1, 0.4), ("A", 1, 0, 0.9), ("B", 0, 0, 1.0)]
    runs = pd.DataFrame(
        [(*key, "raw", "ALTBI", auroc, auroc / 2, 1.0) for *key, auroc in rows],
        columns=[*KEY, *VALUES],
    )
    table = study.summary(runs).set_index(["metric", "data", "detector"])
    assert table.loc[("auroc", "A", "ALTBI"), "plain"] == pytest.approx(0.6)
    assert table.loc[("auroc", "A", "ALTBI"), "runs of plain"] == 3
    assert table.loc[("auprc", "both", "ALTBI"), "plain"] == pytest.approx(0.4)
    assert table.loc[("auroc", "both", "ODIM"), "published"] == 0.5
    assert np.isnan(table.loc[("auroc", "A", "ODIM"), "plain"])
    only_A = study.summary(runs[:3]).set_index(["metric", "data", "detector"])
    assert np.isnan(only_A.loc[("auroc", "both", "ALTBI"), "plain"])
