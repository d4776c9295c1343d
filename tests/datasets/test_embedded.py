import numpy as np
import pandas as pd
import pytest

from skim import datasets

CASES = [
    (datasets.load_breast_cancer_outliers, (378, 30), 21),
    (datasets.load_wine_outliers, (129, 13), 10),
    (datasets.load_digits_outliers, (1664, 64), 45),
]


@pytest.mark.parametrize(("load", "shape", "n_outliers"), CASES)
def test_all_forms_hold_the_same(load, shape, n_outliers):
    bunch = load()
    assert bunch.data.shape == shape
    assert len(bunch.feature_names) == shape[1]
    assert set(bunch.target) == {0, 1}
    assert bunch.target.sum() == n_outliers
    assert bunch.DESCR
    X, y = load(return_X_y=True)
    frame, series = load(return_X_y=True, as_frame=True)
    assert isinstance(frame, pd.DataFrame)
    assert isinstance(series, pd.Series)
    assert np.array_equal(X, bunch.data)
    assert np.array_equal(frame.to_numpy(), X)
    assert list(frame.columns) == bunch.feature_names
    assert np.array_equal(series.to_numpy(), y)
