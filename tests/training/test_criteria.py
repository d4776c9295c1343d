"""Criteria that need no labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from skim._training._criteria import gradient_cohesion
from skim.metrics import loss_entropy

sizes = st.just(0.0) | st.floats(1e-9, 1e6)  # smaller ones underflow when scaled
losses_of_rows = hnp.arrays(np.float64, st.integers(2, 50), elements=sizes)


def test_entropy_by_hand():
    shares = np.array([0.1, 0.2, 0.3, 0.4])
    expected = -(shares * np.log(shares)).sum()
    assert loss_entropy(7 * shares) == pytest.approx(expected)
    assert loss_entropy([0.0, 0.0, 5.0]) == 0.0
    assert loss_entropy([3.0, 3.0, 3.0]) == pytest.approx(np.log(3))
    assert loss_entropy([-2.0, -2.0, 3.0]) == 0.0
    np.testing.assert_allclose(
        loss_entropy([7 * shares, np.ones(4)]), [expected, np.log(4)]
    )


@given(losses_of_rows, st.floats(1e-3, 1e3))
def test_entropy_is_bounded_and_ignores_the_scale(losses, factor):
    entropy = loss_entropy(losses)
    assert loss_entropy(factor * losses) == pytest.approx(entropy)
    assert -1e-9 <= entropy <= np.log(len(losses)) + 1e-9


def test_cohesion_by_hand():
    gradients = np.zeros((10, 3))
    gradients[:8, 0] = 1.0
    gradients[8:, 1] = 5.0
    # Alike within, at right angles between.
    assert gradient_cohesion(gradients @ gradients.T) == pytest.approx(1.0)
    gradients[8:, 1] = 0.0
    gradients[8:, 0] = 5.0
    assert gradient_cohesion(gradients @ gradients.T) == pytest.approx(0.0)
    gradients[8:, 0] = -5.0
    products = gradients @ gradients.T
    assert gradient_cohesion(products) == pytest.approx(2.0)
    np.testing.assert_allclose(gradient_cohesion([products, products]), [2.0, 2.0])
    assert gradient_cohesion(np.zeros((6, 6))) == 0.0
