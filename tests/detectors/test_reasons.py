"""Contributions to the losses, the cells to blame, and what was expected in them."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skim import ALTBIDetector
from skim.networks import VAEConfig
from tests.conftest import make_quick

NUMBERS = ["expected", "low", "high", "contribution"]


@pytest.fixture(scope="module")
def related():
    """x2 = x0 + x1 + small noise, but for the first row."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5))
    X[:, 2] = X[:, 0] + X[:, 1] + 0.1 * X[:, 2]
    X[0] = [1.0, 1.0, -2.0, 0.0, 0.0]
    return X


def test_a_broken_relation_is_named_with_what_was_expected(quick, related):
    detector = quick(epochs=40).fit(related)
    reasons = detector.reasons(related[:1], n_reasons=None).set_index("feature")
    spoilt = reasons.loc["x2"]
    assert spoilt["value"] == -2
    assert abs(spoilt["expected"] - 2) < 0.5
    assert spoilt["low"] < 2 < spoilt["high"]
    assert spoilt["is_outside"]
    assert not reasons.loc[["x3", "x4"], "is_outside"].any()


def test_reasons_tell_what_explain_and_the_data_tell(quick, table):
    detector = quick(scaling="minmax").fit(table)
    reasons = detector.reasons(table, n_reasons=None)
    assert len(reasons) == table.size
    cells = reasons["row"], reasons["feature"].str[1:].astype(int)
    assert_array_equal(reasons["value"], table[cells])
    explained = detector.explain(table, relative=True)
    assert_array_equal(reasons["contribution"], explained[cells])
    assert (np.sort(cells[1].to_numpy().reshape(300, 6)) == np.arange(6)).all()
    value, low, high = (reasons[name] for name in ("value", "low", "high"))
    is_outside = reasons["is_outside"]
    margin = 1e-3 * np.ptp(table, axis=0).max()
    assert value.between(low - margin, high + margin)[~is_outside].all()
    assert not value.between(low, high)[is_outside].any()


def test_contributions_of_a_vae_sum_to_the_loss_up_to_the_latent_term(related):
    network = VAEConfig(n_importance=10)
    detector = ALTBIDetector(epochs=30, network=network, random_state=0).fit(related)
    losses = -detector.training_scores_
    latent = losses - detector.explain(related).sum(axis=1)
    # The latent term is about the divergence of the code from its prior: it is
    # small beside the spread of the losses, and so is what it leaves unexplained.
    assert np.corrcoef(losses, losses - latent)[0, 1] > 0.95
    assert np.abs(latent - latent.mean()).mean() < losses.std()


def test_relative_contributions_are_zero_on_average(fitted, table):
    mean = fitted.explain(table, relative=True).mean(axis=0)
    assert_allclose(mean, 0, atol=1e-8)


def test_cells_outside_of_their_range_come_first(fitted, table):
    reasons = fitted.reasons(table, n_reasons=None)
    is_outside = reasons["is_outside"].to_numpy().reshape(300, 6)
    assert is_outside.any()
    assert (np.diff(is_outside.astype(int), axis=1) <= 0).all()
    for _, cells in reasons[~reasons["is_outside"]].groupby("row"):
        assert cells["contribution"].is_monotonic_decreasing


def test_the_number_of_reasons_can_be_chosen(fitted, table):
    every = fitted.reasons(table[:4], n_reasons=None)
    assert len(fitted.reasons(table[:4])) == 12
    assert fitted.reasons(table[:4], n_reasons=0).empty
    for n_reasons in (1, 2, 6, 100):
        some = fitted.reasons(table[:4], n_reasons=n_reasons)
        assert_array_equal(some["row"].value_counts(), min(n_reasons, 6))
    assert fitted.reasons(table[:4], n_reasons=6).equals(every)
    first = every.groupby("row").head(1).reset_index(drop=True)
    assert fitted.reasons(table[:4], n_reasons=1).equals(first)


def test_names_of_columns_and_rows_are_kept(table):
    index = pd.Index([f"row {i}" for i in range(300)])
    frame = pd.DataFrame(table, columns=list("abcdef"), index=index)
    detector = make_quick("altbi").fit(frame)
    reasons = detector.reasons(frame.iloc[5:8], n_reasons=2)
    assert reasons["row"].tolist() == [f"row {i}" for i in (5, 5, 6, 6, 7, 7)]
    assert set(reasons["feature"]) <= set("abcdef")
    expected = [
        frame.loc[row, name] for row, name in reasons[["row", "feature"]].values
    ]
    assert_array_equal(reasons["value"], expected)


def test_reasons_of_a_row_do_not_depend_on_its_company(fitted, table):
    gappy = table.copy()
    gappy[3, 2] = np.nan
    together = fitted.reasons(gappy)
    for i in (0, 3, 299):
        alone = fitted.reasons(gappy[[i]])
        own = together[together["row"] == i]
        assert alone["feature"].tolist() == own["feature"].tolist()
        assert_allclose(alone[NUMBERS], own[NUMBERS], rtol=1e-3, atol=1e-3)
    assert fitted.reasons(gappy[[3]], n_reasons=None)["feature"].iloc[-1] == "x2"
