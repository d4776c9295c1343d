"""What a training run tells."""

import numpy as np
import pytest

from skim._training._history import QUANTILES, quantiles_of


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (3, 7), (5, 256)])
def test_quantiles_are_those_of_numpy(shape):
    losses = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    expected = np.quantile(losses.astype(np.float64), QUANTILES)
    np.testing.assert_allclose(quantiles_of(losses), expected, rtol=1e-12, atol=1e-12)
