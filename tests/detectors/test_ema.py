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


def test_no_steps_changes_nothing():
    weights = np.ones(2)
    Walker(0, 0.9).ema_warm_up(weights, lambda: pytest.fail("updated"))
    assert weights.tolist() == [1.0, 1.0]


def test_detectors_warm_up_when_asked(quick, fitted, table):
    plain, warm = fitted, quick(ema_steps=5).fit(table)
    assert not np.array_equal(plain.training_scores_, warm.training_scores_)
    assert len(warm.history_["update"]) > 0
    assert warm.history_["update"][0] == plain.history_["update"][0]
