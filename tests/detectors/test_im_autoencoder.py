import numpy as np
import pytest

from skim import IMAutoencoderDetector
from skim.networks import AutoencoderConfig
from skim.schedules import BestEpochSchedule


def theorem(**params):
    detector = IMAutoencoderDetector.theorem(random_state=0)
    return detector.set_params(**params)


def test_default_keeps_the_epoch_of_the_best_separation(table):
    detector = IMAutoencoderDetector(n_estimators=1, epochs=20, random_state=0)
    detector.fit(table)
    separations = detector.history_["criterion"]
    assert detector.best_epochs_.item() == 1 + separations.argmax()


def test_scores_are_squared_errors_of_the_network(table):
    network = AutoencoderConfig(hidden_units=4)
    detector = IMAutoencoderDetector(
        n_estimators=2, epochs=3, network=network, random_state=0
    ).fit(table)
    x = detector.feature_space(table).astype(np.float64)
    losses = []
    for weights in detector.model_.snapshots.weights[0].astype(np.float64):
        W, A = weights[:24].reshape(4, 6), weights[24:].reshape(6, 4)
        losses.append(((x - np.tanh(x @ W.T) @ A.T) ** 2).sum(axis=1))
    np.testing.assert_allclose(
        detector.training_scores_, -np.mean(losses, axis=0), rtol=1e-5
    )


@pytest.mark.parametrize("scaling", ["squash", "minmax"])
def test_inputs_are_no_longer_than_one(table, scaling):
    network = AutoencoderConfig(scaling=scaling)
    detector = IMAutoencoderDetector(epochs=1, network=network).fit(table)
    lengths = np.linalg.norm(detector.feature_space(table), axis=1)
    assert lengths.max() <= 1 + 1e-6


def test_theorem_setting_is_full_batch_gradient_descent_on_the_encoder(table):
    params = {"network__hidden_units": 4, "stopping": None}
    one = theorem(epochs=1, **params).fit(table)
    two = theorem(epochs=2, **params).fit(table)
    first, second = (
        one.model_.snapshots.weights[0, 0],
        two.model_.snapshots.weights[0, 0],
    )
    assert np.array_equal(first[24:], second[24:])  # the decoder stays
    W, A = (
        first[:24].reshape(4, 6).astype(float),
        first[24:].reshape(6, 4).astype(float),
    )
    x = one.feature_space(table).astype(float)
    hidden = np.tanh(x @ W.T)
    residual = hidden @ A.T - x
    gradient = ((residual @ A) * (1 - hidden**2)).T @ x  # of half the squared error
    np.testing.assert_allclose(
        second[:24].reshape(4, 6), W - 1e-3 * gradient, rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("updates_per_epoch", [None, 3])
def test_an_epoch_is_a_pass_or_a_number_of_updates(table, updates_per_epoch):
    schedule = BestEpochSchedule(batch_size=100, updates_per_epoch=updates_per_epoch)
    detector = IMAutoencoderDetector(epochs=2, schedule=schedule, random_state=0)
    assert detector.fit(table).history_["update"].tolist() == [3, 6]


def test_the_warm_up_descends_the_same_objective(table):
    class LastWeights(IMAutoencoderDetector):
        ema_decay = 1e-12  # the average is the latest weights

    warm = LastWeights.theorem(ema_steps=1, epochs=1, stopping=None, random_state=0)
    two_steps = theorem(epochs=2, stopping=None)
    np.testing.assert_allclose(
        warm.fit(table).model_.snapshots.weights,
        two_steps.fit(table).model_.snapshots.weights,
        rtol=1e-4,
        atol=1e-6,
    )
