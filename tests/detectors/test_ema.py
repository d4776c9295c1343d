import numpy as np
import pytest
import torch

from skim import EMAWarmStart


class Walker(EMAWarmStart):
    def __init__(self, ema_steps, ema_decay):
        self.ema_steps = ema_steps
        self.ema_decay = ema_decay


@pytest.mark.parametrize("library", [np, torch])
def test_average_is_the_recursion(library):
    steps = [1.0, -2.0, 4.0]
    weights = library.zeros(2) + 1.0
    walk = iter(steps)

    def update():
        weights[:] += next(walk)

    Walker(3, 0.9).ema_warm_up(weights, update)
    average, position = 1.0, 1.0
    for step in steps:
        position += step
        average = 0.9 * average + 0.1 * position
    assert weights.tolist() == pytest.approx([average, average])
    Walker(0, 0.9).ema_warm_up(weights, lambda: pytest.fail("updated"))
    assert weights.tolist() == pytest.approx([average, average])
