import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.mixture import GaussianMixture

from skim._training._mixture import fit_two_gaussians, split_point
from skim.metrics import separation

finite = st.floats(-1e6, 1e6).map(lambda value: round(value, 6))


@pytest.fixture
def two_groups():
    rng = np.random.default_rng(0)
    return np.r_[rng.normal(0.2, 0.05, 900), rng.normal(0.8, 0.1, 100)]


def test_mixture_equals_scikit_learns(two_groups):
    ours = fit_two_gaussians(two_groups, max_iter=1000, tol=1e-10)
    theirs = GaussianMixture(2, tol=1e-10, max_iter=1000, random_state=0)
    theirs.fit(two_groups[:, None])
    order = np.argsort(theirs.means_.ravel())
    np.testing.assert_allclose(ours.means, theirs.means_.ravel()[order], rtol=1e-4)
    np.testing.assert_allclose(ours.weights, theirs.weights_[order], rtol=1e-4)
    np.testing.assert_allclose(
        ours.variances, theirs.covariances_.ravel()[order], rtol=1e-3
    )


def test_rows_of_a_batch_are_fitted_as_if_alone(two_groups):
    rows = np.stack([two_groups, two_groups**2, np.sqrt(np.abs(two_groups))])
    together = fit_two_gaussians(rows)
    for i, row in enumerate(rows):
        alone = fit_two_gaussians(row)
        for ours, expected in zip(together, alone, strict=True):
            np.testing.assert_allclose(ours[i], expected, rtol=1e-12)


@pytest.mark.parametrize("values", [[1.0], [1.0, np.nan], 3.0])
def test_values_that_cannot_be_split_are_refused(values):
    with pytest.raises(ValueError, match="at least two finite values"):
        separation(values)


def test_separation_is_the_published_formula(two_groups):
    _, means, variances = fit_two_gaussians(two_groups)
    width = np.ptp(two_groups)
    expected = ((means[0] - means[1]) / width) ** 2
    expected += ((variances[0] - variances[1]) / width**2) ** 2
    assert separation(two_groups) == pytest.approx(expected)


@given(arrays(float, st.integers(2, 40), elements=finite))
@settings(deadline=None)
def test_separation_is_finite_and_blind_to_scale_and_order(losses):
    value = separation(losses)
    assert np.isfinite(value)
    assert value >= 0
    assert separation(losses[::-1]) == pytest.approx(value)
    assert separation(losses * 4.0) == pytest.approx(value)


def test_extreme_input():
    assert separation(np.ones(10)) == 0
    assert split_point(np.full(5, 3.0)) == np.inf
    assert np.isfinite(separation([-1.7e308, 0.0, 1.7e308]))
    assert np.isfinite(split_point([-1.7e308, -1.7e308, -1.7e308, 1.7e308]))


def test_split_point_lies_between_the_groups(two_groups):
    assert 0.3 < split_point(two_groups) < 0.7
    many = np.tile(two_groups, 50)  # thinned out before it is fitted
    assert 0.3 < split_point(many) < 0.7


@pytest.mark.parametrize("shape", ["normal", "lognormal", "uniform"])
def test_split_point_never_calls_the_bulk_outlying(shape):
    losses = getattr(np.random.default_rng(0), shape)(size=(20, 500))
    for own in (*losses, *-losses):
        assert (own > split_point(own)).mean() < 0.5


def test_split_point_finds_outliers_above_a_heavy_upper_group():
    rng = np.random.default_rng(0)
    losses = np.r_[np.zeros(90), rng.normal(5, 0.3, 210), np.full(3, 9.0)]
    assert 6 < split_point(losses) < 9
