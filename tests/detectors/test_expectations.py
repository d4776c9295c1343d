"""What to expect in a cell, given the other cells of its row."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skim._model._expectations import CellExpectations
from skim._model._scaling import InputScaler


def related_rows(n_rows, seed=0):
    """Normal columns of which x2 = x0 + x1 + small noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    X[:, 2] = X[:, 0] + X[:, 1] + 0.1 * X[:, 2]
    return X


class Expectations:
    """Cells predicted in the units of the data."""

    def __init__(self, X):
        self.scaler = InputScaler("squash").fit(X)
        self.cells = CellExpectations(self.scaler, self.scaler.transform(X))

    def __call__(self, X, columns=None):
        every = np.arange(X.shape[1]) if columns is None else columns
        columns = np.broadcast_to(every, (len(X), len(every)))
        found = self.cells.predict(self.scaler.transform(X), columns)
        return [self.scaler.inverse_transform(part, columns) for part in found]


@pytest.fixture(scope="module")
def related():
    return Expectations(related_rows(1000))


def test_a_spoilt_cell_is_expected_to_be_what_the_others_imply(related):
    X = related_rows(500, seed=1)
    implied = X[:, 0] + X[:, 1]
    X[:, 2] += np.where(X[:, 2] > 0, -3, 3)
    expected, low, high = (part[:, 0] for part in related(X, [2]))
    assert np.median(np.abs(expected - implied)) < 0.15
    is_outside = (X[:, 2] < low) | (X[:, 2] > high)
    assert is_outside.mean() > 0.95
    # Neither the cell itself nor a far one has any influence.
    for column, values in ((2, (1e6, -1e300, np.nan)), (0, (1e6, np.nan))):
        changed = [X.copy() for _ in values]
        for each, value in zip(changed, values, strict=True):
            each[:, column] = value
        found = [related(each, [2]) for each in changed]
        assert_array_equal(found, [found[-1]] * len(found))
    assert_array_equal(related(changed[0], [0]), related(X, [0]))


def test_ranges_hold_about_nine_of_ten_values_and_are_no_wider_than_need_be(related):
    X = related_rows(2000, seed=1)
    _, low, high = related(X)
    coverage = ((low <= X) & (high >= X)).mean(axis=0)
    assert ((coverage > 0.8) & (coverage < 0.98)).all()
    widths = np.median(high - low, axis=0)
    assert widths[2] < 1.0  # of a cell that the others determine
    assert 2.5 < widths[3] < 4.5  # of one that they say nothing about


def test_discrete_columns_are_expected_to_have_values_that_exist():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    X[:, 1] = (X[:, 0] > 0) * 5.0
    X[:, 2] = rng.integers(0, 4, size=600)
    expected, low, high = Expectations(X)(X)
    for part in (expected, low, high):
        assert np.isin(part[:, 1].round(4), [0.0, 5.0]).all()
        assert np.isin(part[:, 2].round(4), [0, 1, 2, 3]).all()
    sure = np.abs(X[:, 0]) > 0.5
    assert (expected[sure, 1].round(4) == X[sure, 1]).mean() > 0.9


HARD = {
    "constant column": np.c_[related_rows(100), np.full(100, 3.0)],
    "constant table": np.zeros((50, 3)),
    "collinear": np.repeat(related_rows(200)[:, :1], 4, axis=1),
    "two rows": related_rows(2),
    "three rows": related_rows(3),
    "one column": related_rows(50)[:, :1],
    "more columns than rows": np.random.default_rng(0).normal(size=(20, 60)),
    "many columns": np.random.default_rng(0).normal(size=(30, 600)),
    "huge": related_rows(100) * 1e300,
    "tiny": related_rows(100) * 1e-300,
}


@pytest.mark.parametrize("X", HARD.values(), ids=HARD.keys())
def test_expectations_of_hard_tables_are_finite(X):
    new = X[:50].copy()
    new[np.random.default_rng(1).random(new.shape) < 0.2] = np.nan
    new[0] = np.nan  # nothing to go by
    new[1] = 1e308
    for part in Expectations(X)(new):
        assert np.isfinite(part).all()


def test_without_anything_to_go_by_the_expectation_is_what_is_usual(related):
    X = related_rows(1000)
    expected, low, high = related(np.full((1, 5), np.nan))
    assert (np.abs(expected[0] - np.median(X, axis=0)) < 0.5 * X.std(axis=0)).all()
    inside = ((low <= X) & (high >= X)).mean(axis=0)
    assert (inside > 0.8).all()
