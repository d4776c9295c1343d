"""What labels say about rows like the labelled ones."""

import numpy as np
import pytest
from scipy.special import expit

from skim._detectors._label_model import (
    INLIERS_PER_OUTLIER,
    MAX_LABELS,
    LabelModel,
    usable_labels,
)


@pytest.fixture(scope="module")
def values():
    return np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)


@pytest.fixture(scope="module")
def losses(values):
    return (values**2).sum(axis=1).astype(np.float64)


def learned(rows, labels, values, losses):
    model = LabelModel(losses, 8.0, values)
    rows = np.array(rows)
    return model.fit(rows, np.array(labels, float), values[rows], losses[rows])


def test_the_posterior_has_its_mode_where_labels_and_prior_balance(values, losses):
    rows, labels = np.arange(40), (np.arange(40) % 4 == 0).astype(float)
    model = learned(rows, labels, values, losses)
    residuals = labels - expit(model.log_odds(losses[rows], values[rows]))
    np.testing.assert_allclose(model._weights, residuals, atol=1e-5)


def test_missing_cells_and_constant_columns_say_nothing(values, losses):
    wide = np.column_stack([values, np.full(200, 0.3), np.full(200, np.nan)])
    wide = wide.astype(np.float32)
    rows, labels = np.arange(20), np.arange(20) % 2
    model, wider = (learned(rows, labels, each, losses) for each in (values, wide))
    expected = model.log_odds(losses, values)
    np.testing.assert_allclose(wider.log_odds(losses, wide), expected)
    gaps, filled = wide.copy(), wide.copy()
    gaps[:, 0] = np.nan
    filled[:, 0] = wider._mean[0]
    found = wider.log_odds(losses, gaps)
    np.testing.assert_allclose(found, wider.log_odds(losses, filled), rtol=1e-4)


# Questions -------------------------------------------------------------------


def test_questions_follow_the_posterior_variance(values, losses):
    model = learned(np.arange(12), np.arange(12) % 2, values, losses)
    log_odds = model.log_odds(losses, values)
    chosen = model.most_informative(log_odds, values, 4)
    scaled = (values - model._mean) / model._feature_units
    distance = np.abs(scaled[:, None] - scaled).sum(axis=2)
    kernel = 100 * np.exp(-distance)
    doubt = expit(log_odds) * expit(-log_odds)
    known = np.arange(12)
    for row in chosen:
        noise = np.diag(1 / np.maximum(doubt[known], 0.05))
        inner = np.linalg.inv(kernel[np.ix_(known, known)] + noise)
        cross = kernel[:, known]
        variance = 100 - np.einsum("ij,jk,ik->i", cross, inner, cross)
        value = doubt * variance
        value[known[12:]] = 0
        assert row == value.argmax()
        known = np.r_[known, row]


# Which labels are used -------------------------------------------------------


def test_known_outliers_have_inliers_beside_them(losses):
    labels = np.full(200, np.nan)
    labels[[3, 7]] = 1
    labels[[4, 5]] = 0
    rows, used = usable_labels(labels, losses, seed=0)
    assert used.sum() == 2
    assert (used == 0).sum() == 2 * INLIERS_PER_OUTLIER
    assert {3, 4, 5, 7} <= set(rows)
    assumed = np.setdiff1d(rows, [3, 4, 5, 7])
    assert np.all(losses[assumed] <= np.median(losses))
    assert np.array_equal(rows, np.sort(rows))


@pytest.mark.parametrize("others", [0, np.nan])
@pytest.mark.parametrize(("n_outliers", "n_kept"), [(300, 300), (1200, 500)])
def test_too_many_labels_are_sampled(n_outliers, n_kept, others):
    n = 6 * MAX_LABELS
    labels = np.where(np.arange(n) < n_outliers, 1, others)
    rows, used = usable_labels(labels, np.arange(n, dtype=float), seed=0)
    assert len(rows) == MAX_LABELS
    assert used.sum() == n_kept
    assert np.array_equal(used, labels[rows] == 1)
