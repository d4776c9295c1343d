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
from skim._detectors import _base
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


NETWORKS = ["flow", "autoencoder", "vae", Own]


def fitted(network, X, **params):
    return NetworkDetector(network, **(QUICK | params)).fit(X)


@pytest.mark.parametrize("network", NETWORKS)
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

    with pytest.warns(UserWarning, match="pickle cannot store"):
        detector = fitted(
            Constant, table, epochs=1, schedule=ALTBISchedule(learning_rate=1e-9)
        )
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


@pytest.mark.parametrize("network", [Own, partial(Own, n_hidden=3)])
def test_a_detector_with_a_callable_is_pickled_and_cloned(network, table):
    detector = fitted(network, table)
    copy = pickle.loads(pickle.dumps(detector))
    assert np.array_equal(copy.score_samples(table), detector.training_scores_)
    assert np.array_equal(
        clone(detector).fit(table).training_scores_, detector.training_scores_
    )


class Wrong(Own):
    """Returns what `how` says."""

    def __init__(self, n_features, how):
        super().__init__(n_features)
        self.how = how

    def forward(self, x):
        losses = super().forward(x)
        if self.how == "shape":
            return losses.mean()
        if self.how == "nan":
            return losses.sub(losses).log().mul(0.0)
        if self.how == "no gradient":
            return losses.detach()
        if self.how == "steep":
            return losses + (x.sum(1) * self.layers[0].bias.mul(0.0).sum()).abs().sqrt()
        if self.how == "random":
            return losses + torch.rand_like(losses)
        if self.how == "batch":
            return losses - losses.mean()
        return losses if losses.sum() > 0 else -losses  # "branch"


class WrongTerms(Own):
    def feature_losses(self, x):
        return self.forward(x)


def frozen(n_features):
    return Own(n_features).requires_grad_(False)


def no_module(n_features):
    return n_features


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (partial(Wrong, how="shape"), r"one number per row, .* returned \(\)"),
        (partial(Wrong, how="nan"), "NaN or infinity"),
        (partial(Wrong, how="no gradient"), "no gradient"),
        (partial(Wrong, how="steep"), "gradient of the network's losses is not finite"),
        (partial(Wrong, how="random"), "not deterministic in evaluation mode"),
        (partial(Wrong, how="batch"), "depends on the other rows"),
        (partial(Wrong, how="branch"), "cannot be stacked"),
        (WrongTerms, "`feature_losses` must return one number per cell"),
        (frozen, "no parameters to train"),
    ],
)
def test_a_module_that_cannot_be_used_is_refused_before_training(
    network, message, table, monkeypatch
):
    monkeypatch.setattr(_base, "train", None)
    with pytest.raises(ValueError, match=message) as caught:
        fitted(network, table)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("network", "message"),
    [(no_module, "returned int; it must return a torch.nn.Module"), (Own(6), "class")],
)
def test_what_makes_no_module_is_refused(network, message, table):
    with pytest.raises(TypeError, match=message):
        fitted(network, table)
