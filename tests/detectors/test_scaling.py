import numpy as np
import pytest
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from skim._model._scaling import InputScaler

X = np.random.default_rng(0).normal(size=(40, 3)) * [1, 10, 0.1] + [0, 5, -3]
NEW = X * 1.5


def test_minmax_equals_scikit_learns_and_knows_no_far_cells():
    expected = MinMaxScaler().fit(X).transform(NEW)
    scaler = InputScaler("minmax", far_loss=1.0).fit(X)
    np.testing.assert_allclose(scaler.transform(NEW), expected, rtol=1e-5)
    assert scaler.scale(1e6 * X).far is None


@pytest.mark.parametrize("centred", [False, True])
def test_squash_is_tanh_of_a_third_of_the_standardised_value(centred):
    expected = np.tanh(StandardScaler().fit(X).transform(NEW) / 3)
    if not centred:
        expected = (expected + 1) / 2
    found = InputScaler("squash", centred=centred, factor=2.0).fit(X).transform(NEW)
    np.testing.assert_allclose(found, 2 * expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("wild", [1e3, 1e6, -999999.0, 1e300])
def test_one_wild_value_does_not_hide_the_rest_of_its_column(wild):
    spoilt = X.copy()
    spoilt[0, 0] = wild
    found = InputScaler("squash").fit(spoilt).transform(spoilt)
    assert np.ptp(found[1:, 0]) > 0.1
    assert np.abs(found[0, 0] - 0.5) > 0.49


def test_columns_that_are_mostly_one_value_keep_their_spread():
    rare = np.zeros((40, 1))
    rare[:4] = [[1], [2], [3], [4]]
    found = InputScaler("squash").fit(rare).transform(rare)
    expected = (np.tanh(StandardScaler().fit_transform(rare) / 3) + 1) / 2
    np.testing.assert_allclose(found, expected, rtol=1e-4)
