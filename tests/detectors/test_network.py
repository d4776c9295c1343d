"""Networks that users bring, and the built-in ones."""

import pickle
from functools import partial

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from torch import nn

from skim import NetworkDetector
from skim.model_selection import EpochSearchCV
from skim.networks import Flow
from skim.schedules import ALTBISchedule

QUICK = {
    "epochs": 12,
    "n_estimators": 2,
    "schedule": ALTBISchedule(min_epochs=4),
    "random_state": 0,
}


class Own(nn.Module):
    """Has buffers, random numbers in training, a frozen parameter and no terms."""

    def __init__(self, n_features, n_hidden=4):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_features, n_hidden),
            nn.BatchNorm1d(n_hidden),
            nn.Tanh(),
            nn.Dropout(0.1),
            nn.Linear(n_hidden, n_features),
        )
        self.scale = nn.Parameter(torch.tensor(200.0), requires_grad=False)

    def forward(self, x):
        return self.scale * (x - self.layers(x)).square().sum(1)


def fitted(network, X, **params):
    return NetworkDetector(network, **(QUICK | params)).fit(X)


@pytest.mark.parametrize("network", ["flow", "autoencoder", Own])
def test_every_network_finds_the_outliers(network, table, is_outlier):
    gappy = np.where(np.random.default_rng(0).random((300, 6)) < 0.2, np.nan, table)
    for X, least in ((table, 0.9), (gappy, 0.85)):
        detector = fitted(network, X, epochs=30)
        assert roc_auc_score(is_outlier, -detector.training_scores_) > least


def test_scores_are_reproducible_and_those_of_rows_alone(table):
    before = torch.get_rng_state()
    detector = fitted(Own, table, store_snapshots=True)
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(3)  # what others draw does not matter
    expected = fitted(Own, table).training_scores_
    assert np.array_equal(detector.training_scores_, expected)
    assert np.array_equal(detector.score_samples(table[::-1]), expected[::-1])
    for size in (1, 7, 65):
        some = detector.score_samples(table[20 : 20 + size])
        assert np.array_equal(some, expected[20 : 20 + size])
    *_, last = detector.staged_score_samples(table)
    assert np.array_equal(last, expected)


def test_searches_take_any_network(table):
    detector = NetworkDetector(Own, **QUICK)
    search = EpochSearchCV(detector, {"epochs": [6, 12]}, cv=2).fit(table)
    alone = fitted(Own, table, **search.best_params_)
    assert np.array_equal(search.score_samples(table), alone.training_scores_)


def test_members_start_from_the_modules_own_initialisation(table):
    class Constant(Own):
        def __init__(self, n_features):
            super().__init__(n_features)
            nn.init.constant_(self.layers[0].weight, 0.25)

    still = ALTBISchedule(learning_rate=1e-9)
    detector = fitted(Constant, table, epochs=1, schedule=still)
    first = detector.model_.snapshots.weights[0, :, : 4 * 6]
    np.testing.assert_allclose(first, 0.25, atol=1e-6)
    others = detector.model_.snapshots.weights[0, :, 4 * 6 :]
    assert not np.array_equal(others[0], others[1])


def test_the_flow_is_a_density():
    torch.manual_seed(0)
    flow = Flow(2).eval()
    edge = torch.linspace(-3, 4, 351)
    grid = torch.cartesian_prod(edge, edge)
    with torch.no_grad():
        # The loss is minus the log-likelihood of 6 (x - 1/2).
        mass = (-flow(grid)).exp().sum() * (6 * (edge[1] - edge[0])) ** 2
    assert mass.item() == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("network", ["flow", "autoencoder"])
def test_terms_of_the_module_sum_to_the_loss(network, table):
    detector = fitted(network, table)
    total = detector.explain(table).sum(axis=1)
    np.testing.assert_allclose(total, -detector.score_samples(table), rtol=1e-4)


def test_gradients_sum_to_the_difference_from_an_ordinary_row(table):
    detector = fitted(Own, table, scaling="minmax")
    scaler = detector.model_.scaler
    fill = scaler.inverse_transform(scaler.fill_, np.arange(6))
    ordinary = detector.score_samples(fill[None])
    total = detector.explain(table).sum(axis=1)
    expected = ordinary - detector.score_samples(table)
    np.testing.assert_allclose(total, expected, rtol=0.02, atol=0.02)


def test_a_detector_with_a_callable_is_pickled_and_cloned(table):
    detector = fitted(partial(Own, n_hidden=3), table)
    copy = pickle.loads(pickle.dumps(detector))
    assert np.array_equal(copy.score_samples(table), detector.training_scores_)
    assert np.array_equal(
        clone(detector).fit(table).training_scores_, detector.training_scores_
    )


class Mean(Own):
    def forward(self, x):
        return super().forward(x).mean()


@pytest.mark.parametrize(
    ("network", "error", "message"),
    [
        (Mean, ValueError, "must return one loss per row"),
        (Own(6), TypeError, "a callable that makes a torch.nn.Module"),
        (abs, TypeError, "a callable that makes a torch.nn.Module"),
    ],
)
def test_what_is_no_network_is_refused(network, error, message, table):
    with pytest.raises(error, match=message):
        fitted(network, table)
