import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.mixture import GaussianMixture

from skim.separation import fit_two_gaussians, separation, split_point

finite = st.floats(-1e6, 1e6)


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


def test_separation_is_the_published_formula(two_groups):
    scaled = (two_groups - two_groups.min()) / np.ptp(two_groups)
    _, means, variances = fit_two_gaussians(scaled)
    expected = (means[0] - means[1]) ** 2 + (variances[0] - variances[1]) ** 2
    assert separation(two_groups) == pytest.approx(expected)


def test_separation_grows_as_groups_part():
    rng = np.random.default_rng(0)
    base = rng.normal(size=200)
    shifted = [np.r_[base, base[:40] + shift] for shift in (3, 6, 12)]
    values = separation(np.stack(shifted))
    assert (np.diff(values) > 0).all()


def test_separation_of_equal_losses_is_zero():
    assert separation(np.ones(10)) == 0


@given(arrays(float, st.integers(2, 40), elements=finite))
@settings(max_examples=200, deadline=None)
def test_separation_is_finite_and_blind_to_scale_and_order(losses):
    value = separation(losses)
    assert np.isfinite(value)
    assert value >= 0
    assert separation(losses[::-1]) == pytest.approx(value)
    assert separation(losses * 4.0) == pytest.approx(value)


def test_split_point_lies_between_the_groups(two_groups):
    assert 0.3 < split_point(two_groups) < 0.7
    many = np.tile(two_groups, 50)  # thinned out before it is fitted
    assert 0.3 < split_point(many) < 0.7


def test_split_point_of_equal_losses_is_infinite():
    assert split_point(np.full(5, 3.0)) == np.inf


@given(arrays(float, st.integers(2, 40), elements=finite))
@settings(max_examples=200, deadline=None)
def test_split_point_leaves_the_lowest_loss_below(losses):
    assert losses.min() <= split_point(losses)
