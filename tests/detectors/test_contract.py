"""The detectors with the rest of scikit-learn."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_score

from tests.conftest import make_quick

COLUMNS = ["a", "b", "c", "d", "e", "f"]


def test_finds_the_outliers(quick, table, is_outlier):
    detector = quick(epochs=60).fit(table)
    assert roc_auc_score(is_outlier, -detector.training_scores_) > 0.9


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_score_like_arrays_and_keep_names(table, frame):
    data = frame({name: table[:, j] for j, name in enumerate(COLUMNS)})
    detector = make_quick("altbi").fit(data)
    assert list(detector.feature_names_in_) == COLUMNS
    scores = detector.score_samples(data)
    assert np.array_equal(scores, detector.fit(table).training_scores_)
    assert not hasattr(detector, "feature_names_in_")


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.uint8, bool])
def test_every_numeric_dtype_scores_like_its_values_in_float64(table, dtype):
    data = (np.abs(table) * 3 if dtype is not bool else table > 0).astype(dtype)
    detector = make_quick("altbi").fit(data)
    expected = make_quick("altbi").fit(data.astype(np.float64)).training_scores_
    assert np.array_equal(detector.training_scores_, expected)


def test_cross_val_score_with_scikit_learns_own_scorer(table, is_outlier):
    y, detector = np.where(is_outlier, -1, 1), make_quick("altbi")
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    areas = cross_val_score(detector, table, y, scoring="roc_auc", cv=cv)
    assert (areas > 0.5).all()


def test_device_is_resolved_at_fit(table):
    assert make_quick("altbi").fit(table).model_.device == "cpu"
    assert make_quick("altbi", device="auto").fit(table).model_.device in {
        "cpu",
        "cuda",
    }
    for absent in ("cuda:99", "meta", "toaster"):
        with pytest.raises(ValueError, match=r"device=.* is not available"):
            make_quick("altbi", device=absent).fit(table)


def test_progress_bar_on_standard_error(quick, table, capfd):
    detector = quick(verbose=1).fit(table)
    out, err = capfd.readouterr()
    assert out == ""
    assert type(detector).__name__ in err
    assert f"] {len(detector.history_['epoch'])}/{detector.epochs}" in err
    assert err.endswith("\n")


def test_history_has_one_entry_per_epoch(fitted, table):
    # ODIM checks once per epoch of so few rows.
    history = pd.DataFrame(fitted.history_)
    quantiles = history.filter(regex=re.compile(r"loss_q\d\d"))
    assert len(quantiles.columns) == 5
    assert (quantiles.diff(axis=1).iloc[:, 1:] >= 0).all(axis=None)
    assert (history["update"].diff()[1:] == history["update"][0]).all()
    assert history["batch_size"][0] == min(fitted.schedule.batch_size, len(table))
    assert history["epoch"].tolist() == list(range(1, len(history) + 1))
    assert np.isfinite(history["criterion"]).any()
    fitted.history_["epoch"][:] = 0  # changes a copy
    assert fitted.history_["epoch"][0] == 1
