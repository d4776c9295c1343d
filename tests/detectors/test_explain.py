import numpy as np
import pandas as pd
import pytest

from skim import ALTBIDetector
from skim.networks import VAEConfig


@pytest.fixture
def odd_column():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    X[0, 3] = 12.0
    return X


def test_contributions_name_the_column_that_is_odd(quick, odd_column):
    detector = quick(epochs=40).fit(odd_column)
    contributions = detector.explain(odd_column, relative=True)
    assert contributions.shape == odd_column.shape
    assert contributions[0].argmax() == 3


def test_vae_contributions_sum_to_the_loss_up_to_the_latent_term(odd_column):
    network = VAEConfig(n_importance=10)
    detector = ALTBIDetector(epochs=30, network=network, random_state=0)
    detector.fit(odd_column)
    losses = -detector.training_scores_
    latent = losses - detector.explain(odd_column).sum(axis=1)
    # The latent term is about the divergence of the code from its prior: it is
    # small beside the spread of the losses, and so is what it leaves unexplained.
    assert np.corrcoef(losses, losses - latent)[0, 1] > 0.95
    assert np.abs(latent - latent.mean()).mean() < losses.std()


def test_relative_contributions_are_zero_on_average(fitted, table):
    mean = fitted.explain(table, relative=True).mean(axis=0)
    np.testing.assert_allclose(mean, 0, atol=1e-8)


def test_as_frame_keeps_index_and_columns(quick, fitted, table):
    frame = pd.DataFrame(
        table, columns=list("abcdef"), index=[f"row {i}" for i in range(300)]
    )
    explained = quick().fit(frame).explain(frame.iloc[5:8], as_frame=True)
    assert list(explained.columns) == list("abcdef")
    assert list(explained.index) == ["row 5", "row 6", "row 7"]
    plain = fitted.explain(table[:2], as_frame=True)
    assert list(plain.columns) == [f"x{j}" for j in range(6)]
