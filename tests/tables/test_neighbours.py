"""How far rows are from others."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from skim import TableDetector
from skim.tables._neighbours import Neighbours
from tests.tables.test_detector import QUICK


def no_levels(numbers):
    return np.zeros((len(numbers), 0), dtype=np.int32)


def fitted(numbers, is_clean=False):
    model = Neighbours.of(numbers, no_levels(numbers), is_clean)
    return lambda rows, is_training=False: model.distances(
        rows, no_levels(rows), is_training
    )


def test_a_cluster_of_outliers_does_not_hide_itself():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(900, 3)), 6 + 0.01 * rng.normal(size=(100, 3))]
    found = fitted(X)(X, is_training=True)
    assert found[900:].min() > np.quantile(found[:900], 0.99)


@pytest.mark.parametrize("is_clean", [False, True])
def test_distances_of_single_rows_are_those_of_many(is_clean):
    X = np.random.default_rng(0).normal(size=(300, 4))
    X[::7, 1] = np.nan
    distances = fitted(X, is_clean)
    new = np.random.default_rng(1).normal(size=(50, 4))
    one_by_one = np.concatenate([distances(new[i : i + 1]) for i in range(50)])
    assert_array_equal(distances(new), one_by_one)


def test_an_odd_cell_of_a_nearly_constant_column_counts_like_one_far_out():
    X = np.random.default_rng(0).normal(size=(1000, 3))
    X[:, 2] = 0.0
    X[0, 2] = 1.0
    found = fitted(X)(X, is_training=True)
    one, two = fitted(X)(np.array([[9.0, 0.0, 0.0], [9.0, 9.0, 0.0]]))
    assert 0.8 * one < found[0] < two


@pytest.mark.parametrize("contamination", ["auto", 0.0])
def test_tables_of_levels_alone_are_judged(contamination):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.choice(list("pqr"), 200), "b": list("xy") * 100})
    detector = TableDetector(QUICK, contamination=contamination, random_state=0)
    assert np.isfinite(detector.fit(table).training_scores_).all()
    new = pd.DataFrame({"a": ["p", "unheard of"], "b": ["x", "x"]})
    ordinary, odd = detector.score_samples(new)
    assert odd < ordinary


def test_late_dates_are_no_reason():
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 360, 400), "D")
    table = pd.DataFrame({"placed": days, "x": rng.normal(size=400)})
    detector = TableDetector(QUICK, random_state=0).fit(table)
    late = pd.DataFrame(
        {"placed": [pd.Timestamp("2025-02-01")] * 5, "x": table["x"][:5]}
    )
    assert not detector.reasons(late, n_reasons=1)["column"].eq("placed").any()
