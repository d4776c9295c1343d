"""Labelled rows in a training run."""

import numpy as np
import pytest
import torch

from skim._nets import Adam, LabelledRows, Run, VAEShape, compute
from skim._nets._labels import CUBO_ORDER
from tests.nets.test_gradients import linear_layers

N_MEMBERS, N_FEATURES = 2, 5


@pytest.fixture
def rows():
    return torch.rand(60, N_FEATURES, generator=torch.Generator().manual_seed(1))


def new_run(rows, n_samples=2):
    generator = torch.Generator().manual_seed(0)
    shape = VAEShape(N_FEATURES, (16, 8), 4, n_samples)
    weights = shape.weights.draw(N_MEMBERS, generator)
    noise = shape.draw_noise(N_MEMBERS, generator)
    optimiser = Adam(weights, learning_rate=3e-3)
    return Run(shape, weights, optimiser, rows, generator, noise)


def trained(rows, labels, *, n_updates=60, **weights):
    run = new_run(rows)
    with compute(1):
        labelled = LabelledRows(run, rows, labels, **weights)
        for _ in range(n_updates):
            labelled.update(run, 16, quantile=0.92, inlier_share=0.4)
        return run.losses(rows.T.contiguous()).mean(0)


def test_the_two_bounds_enclose_the_likelihood(rows):
    run = new_run(rows, n_samples=5)
    shape, network = run.network.shape, run.network
    linear = linear_layers(shape, network.weights)
    x = rows.T.expand(N_MEMBERS, -1, -1)
    arguments = linear, network.statistics, x, run.noise
    below = -shape.traced_losses(*arguments)
    above = -shape.traced_losses(*arguments, order=CUBO_ORDER)
    torch.testing.assert_close(-run.losses(rows.T.contiguous()), below)
    assert (above > below).all()


def test_labelled_inliers_get_smaller_and_outliers_larger_losses(rows):
    labels = np.full(60, np.nan)
    labels[:8], labels[8:16] = 0, 1
    neither = trained(rows, labels, inlier_weight=0.0, outlier_weight=0.0)
    inliers = trained(rows, labels, inlier_weight=2.0, outlier_weight=0.0)
    outliers = trained(rows, labels, inlier_weight=0.0, outlier_weight=1.0)
    assert inliers[:8].mean() < neither[:8].mean()
    assert outliers[8:16].mean() > neither[8:16].mean() + 1


def test_labelled_rows_are_not_drawn(rows):
    labels = np.full(60, np.nan)
    labels[::2] = 0
    run = new_run(rows)
    with compute(1):
        labelled = LabelledRows(run, rows, labels, inlier_weight=1, outlier_weight=1)
        losses = labelled.update(run, 50, quantile=0.92, inlier_share=0.4)
    assert losses.shape == (N_MEMBERS, 30)
    drawn = {tuple(row) for row in run.batch[0].T.tolist()}
    assert drawn == {tuple(row) for row in rows[1::2].tolist()}
