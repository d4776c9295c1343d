"""Missing values, which are NaN in the data."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import spearmanr

from skim.metrics import outlier_roc_auc_score
from tests.conftest import make_quick

NAMES = list("abcdef")


def with_gaps(X, share=0.1, seed=0):
    """Delete a share of the cells at random."""
    is_deleted = np.random.default_rng(seed).random(X.shape) < share
    return np.where(is_deleted, np.nan, X)


@pytest.fixture(scope="module")
def gappy(table):
    return with_gaps(table)


@pytest.mark.parametrize("scaling", ["squash", "minmax"])
def test_rows_with_gaps_can_be_scored_labelled_and_explained(
    quick, table, gappy, scaling
):
    detector = quick(scaling=scaling).fit(gappy)
    scores = detector.score_samples(gappy)
    assert np.isfinite(scores).all()
    assert_array_equal(scores, detector.training_scores_)
    missing = np.isnan(gappy)
    explained = detector.explain(gappy)
    relative = detector.explain(gappy, relative=True)
    assert np.isfinite(explained).all()
    assert_array_equal(relative == 0, missing)
    typical = np.broadcast_to(detector.model_.typical.by_column, gappy.shape)
    assert_array_equal(explained[missing], typical[missing])
    reasons = detector.reasons(gappy, n_reasons=None)
    assert reasons["value"].isna().sum() == missing.sum()
    numbers = reasons[["expected", "low", "high", "contribution"]]
    assert np.isfinite(numbers.to_numpy()).all()
    assert not reasons.loc[reasons["value"].isna(), "is_outside"].any()
    # Nothing depends on gaps in other rows.
    rows = np.flatnonzero(missing.any(axis=1))[:10]
    alone = [detector.score_samples(gappy[[i]]).item() for i in rows]
    assert_array_equal(alone, scores[rows])
    mixed = np.r_[table[:50], gappy]
    expected = detector.score_samples(table[:50])
    assert_array_equal(detector.score_samples(mixed)[:50], expected)
    assert_array_equal(detector.explain(mixed)[:50], detector.explain(table[:50]))


def test_frames_with_gaps_are_scored_like_arrays(gappy):
    columns = dict(zip("abcdef", gappy.T, strict=True))
    expected = make_quick("altbi").fit(gappy).training_scores_
    nullable = pd.DataFrame(columns).convert_dtypes()
    assert nullable.dtypes.eq("Float64").all()
    masked = np.ma.masked_invalid(gappy)
    for same in (pd.DataFrame(columns), pl.DataFrame(columns), nullable, masked):
        found = make_quick("altbi").fit(same)
        assert_array_equal(found.training_scores_, expected)
        assert_array_equal(found.score_samples(same), expected)


@pytest.fixture(scope="module")
def thousand():
    """A table of 1,000 rows, the last 20 of which are far away."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, 8)) @ rng.normal(size=(8, 8))
    X[-20:] = rng.uniform(-20, 20, size=(20, 8))
    return X, np.arange(1000) >= 980


def test_rows_are_not_strange_for_their_gaps(quick, thousand):
    X, is_outlier = thousand
    gappy = with_gaps(X)
    detector = quick(epochs=30).fit(gappy)
    n_gaps = np.isnan(gappy).sum(axis=1)
    assert abs(spearmanr(detector.training_scores_, n_gaps)[0]) <= 0.15
    assert outlier_roc_auc_score(is_outlier, detector.training_scores_) > 0.95
    detector = quick(epochs=30).fit(X)
    for share in (0.1, 0.5):
        new = with_gaps(X[:980], share)
        n_gaps = np.isnan(new).sum(axis=1)
        assert abs(spearmanr(detector.score_samples(new), n_gaps)[0]) <= 0.15
        assert (detector.predict(new) == -1).mean() < 0.1


def test_a_row_without_any_value_is_ordinary(quick, gappy):
    detector = quick(epochs=30).fit(gappy)
    nothing = np.full((1, 6), np.nan)
    low, high = np.quantile(detector.training_scores_, [0.05, 0.95])
    assert low < detector.score_samples(nothing).item() < high
    assert detector.predict(nothing).item() == 1
    assert (detector.explain(nothing, relative=True) == 0).all()
    with pytest.raises(ValueError, match="X has no values: all its cells are missing"):
        quick().fit(np.full((10, 3), np.nan))


def test_columns_without_values_are_named_and_ignored(quick, table, is_outlier):
    X = np.insert(table, [2, 5], np.nan, axis=1)
    frame = pd.DataFrame(X, columns=["a", "b", "none", "c", "d", "e", "nil", "f"])
    message = "Columns without any value are ignored: none, nil"
    with pytest.warns(UserWarning, match=message) as warned:
        detector = quick(epochs=30).fit(frame)
    assert len(warned) == 1
    filled = frame.assign(none=7.0)  # nothing is known about this column
    assert_array_equal(detector.explain(frame, relative=True)[:, [2, 6]], 0)
    assert np.isfinite(detector.score_samples(filled)).all()
    assert_array_equal(detector.score_samples(filled), detector.training_scores_)
    auroc = outlier_roc_auc_score(is_outlier, detector.training_scores_)
    without = quick(epochs=30).fit(table).training_scores_
    assert auroc > outlier_roc_auc_score(is_outlier, without) - 0.02
    reasons = detector.reasons(frame, n_reasons=None)
    empty = reasons[reasons["feature"].isin(["none", "nil"])]
    assert empty[["expected", "low", "high"]].isna().to_numpy().all()
