import numpy as np
import pytest

from skim import IMAutoencoderDetector


def test_default_keeps_the_epoch_of_the_best_separation(table):
    detector = IMAutoencoderDetector(n_estimators=1, epochs=20, random_state=0)
    detector.fit(table)
    separations = detector.history_["criterion"]
    assert detector.best_epochs_.item() == 1 + separations.argmax()


def test_scores_are_squared_errors_of_the_network(table):
    detector = IMAutoencoderDetector(
        n_estimators=2, epochs=3, hidden_units=4, activation="relu", random_state=0
    ).fit(table)
    x = detector._scaler.transform(table).astype(np.float64)
    losses = []
    for weights in detector.weights_[0].astype(np.float64):
        W, A = weights[:24].reshape(4, 6), weights[24:].reshape(6, 4)
        losses.append(((x - np.maximum(x @ W.T, 0) @ A.T) ** 2).sum(axis=1))
    np.testing.assert_allclose(
        detector.training_scores_, -np.mean(losses, axis=0), rtol=1e-5
    )


def test_inputs_are_no_longer_than_one(table):
    for scaling in ("squash", "minmax"):
        detector = IMAutoencoderDetector(epochs=1, scaling=scaling).fit(table)
        lengths = np.linalg.norm(detector._scaler.transform(table), axis=1)
        assert lengths.max() <= 1 + 1e-6


def test_theorem_setting_is_full_batch_gradient_descent_on_the_encoder(table):
    params = {"learning_rate": 1e-3, "random_state": 0, "hidden_units": 4}
    one = IMAutoencoderDetector.theorem(epochs=1, stopping=None, **params).fit(table)
    two = IMAutoencoderDetector.theorem(epochs=2, stopping=None, **params).fit(table)
    first, second = one.weights_[0, 0], two.weights_[0, 0]
    assert np.array_equal(first[24:], second[24:])  # the decoder stays
    W, A = (
        first[:24].reshape(4, 6).astype(float),
        first[24:].reshape(6, 4).astype(float),
    )
    x = one._scaler.transform(table).astype(float)
    hidden = np.tanh(x @ W.T)
    residual = hidden @ A.T - x
    gradient = ((residual @ A) * (1 - hidden**2)).T @ x  # of half the squared error
    np.testing.assert_allclose(
        second[:24].reshape(4, 6), W - 1e-3 * gradient, rtol=1e-4, atol=1e-6
    )


def test_gradient_descent_reduces_the_loss_steadily(table):
    detector = IMAutoencoderDetector.theorem(epochs=50, random_state=0).fit(table)
    assert (np.diff(detector.history_["loss_q50"]) < 1e-4).all()
    assert (detector.history_["batch_size"] == 300).all()


@pytest.mark.parametrize("updates_per_epoch", [None, 3])
def test_an_epoch_is_a_pass_or_a_number_of_updates(table, updates_per_epoch):
    detector = IMAutoencoderDetector(
        epochs=2, batch_size=100, updates_per_epoch=updates_per_epoch, random_state=0
    ).fit(table)
    assert detector.history_["update"].tolist() == [3, 6]


def test_full_batches_work_with_the_warm_up(table):
    detector = IMAutoencoderDetector.theorem(ema_steps=3, epochs=2).fit(table)
    assert np.isfinite(detector.training_scores_).all()


def test_the_warm_up_descends_the_same_objective(table):
    params = {"random_state": 0, "learning_rate": 1e-3, "stopping": None, "epochs": 1}
    warm = IMAutoencoderDetector.theorem(ema_steps=1, ema_decay=1e-12, **params)
    two_steps = IMAutoencoderDetector.theorem(**(params | {"epochs": 2}))
    np.testing.assert_allclose(
        warm.fit(table).weights_, two_steps.fit(table).weights_, rtol=1e-4, atol=1e-6
    )
