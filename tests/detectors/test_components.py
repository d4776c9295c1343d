import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from skim import ALTBIDetector
from skim._model._components import ComponentScaler
from skim._model._scaling import RankScaler
from skim.networks import VAEConfig

N_FACTORS = 8


def wide_rows(n_rows=120, n_features=260, seed=0):
    """Rows that differ in few directions, and a little everywhere."""
    rng = np.random.default_rng(seed)
    factors = np.random.default_rng(99).normal(size=(N_FACTORS, n_features))
    noise = rng.normal(scale=0.3, size=(n_rows, n_features))
    return rng.normal(size=(n_rows, N_FACTORS)) @ factors + noise


X = wide_rows()
QUICK = {"epochs": 10, "random_state": 0}


@pytest.fixture(scope="module")
def fitted():
    return ALTBIDetector(**QUICK).fit(X)


def scaler(n_components=20):
    return ComponentScaler(n_components, far_loss=50.0)


def test_wide_tables_are_reduced_and_others_are_not(fitted):
    assert isinstance(fitted.model_.scaler, ComponentScaler)
    assert len(fitted.model_.scaler.components_) == len(X) // 3
    narrow = ALTBIDetector(**QUICK).fit(X[:, :100])
    assert type(narrow.model_.scaler) is RankScaler
    whole = ALTBIDetector(network=VAEConfig(n_components=None), **QUICK).fit(X)
    assert type(whole.model_.scaler) is RankScaler


def test_what_lies_outside_the_components_counts(fitted):
    rng = np.random.default_rng(2)
    components = fitted.model_.scaler.components_
    direction = rng.normal(size=X.shape[1])
    direction -= direction @ components.T @ components
    new = wide_rows(50, seed=3)
    moved = new + 2 * direction
    assert fitted.score_samples(moved).max() < fitted.score_samples(new).min()


def test_columns_in_large_units_are_not_overlooked():
    rows = wide_rows(300)
    is_odd = np.arange(300) < 15
    few = rows[:, :40]
    rows[is_odd, :40] = np.random.default_rng(1).permuted(few, axis=0)[is_odd]
    rows[:, :40] *= 0.001
    scores = ALTBIDetector(random_state=0).fit(rows).training_scores_
    assert roc_auc_score(is_odd, -scores) > 0.9


def test_an_absurd_cell_is_strange_but_sets_no_direction():
    spoilt = X.copy()
    spoilt[5, 17] = 1e6
    before, after = scaler(N_FACTORS).fit(X), scaler(N_FACTORS).fit(spoilt)
    overlap = np.linalg.svd(before.components_ @ after.components_.T)[1]
    assert overlap.min() > 0.99
    detector = ALTBIDetector(**QUICK).fit(spoilt)
    assert detector.training_scores_.argmin() == 5
    reasons = detector.reasons(spoilt[[5]])
    assert reasons["feature"].iloc[0] == "x17"


def test_scores_do_not_depend_on_the_company_of_a_row(fitted):
    new = wide_rows(150, seed=4)
    together = fitted.score_samples(new)
    alone = [fitted.score_samples(new[[i]])[0] for i in (0, 63, 64, 149)]
    assert alone == together[[0, 63, 64, 149]].tolist()
    assert np.array_equal(fitted.score_samples(X), fitted.training_scores_)


def test_gaps_make_a_row_neither_strange_nor_ordinary(fitted):
    new = wide_rows(200, seed=5)
    new[:20] += 4 * np.random.default_rng(6).normal(size=(20, new.shape[1]))
    complete = fitted.score_samples(new)
    gappy = new.copy()
    gappy[np.random.default_rng(7).random(new.shape) < 0.3] = np.nan
    scores = fitted.score_samples(gappy)
    is_odd = np.arange(200) < 20
    assert roc_auc_score(is_odd, -scores) > 0.99
    usual = np.ptp(complete[20:])
    assert np.abs(np.median(scores[20:]) - np.median(complete[20:])) < 0.2 * usual
    nothing = fitted.score_samples(np.full((1, new.shape[1]), np.nan))
    assert nothing > np.quantile(complete[20:], 0.01)


def test_contributions_add_up_and_name_the_columns(fitted):
    new = wide_rows(40, seed=9)
    odd = [3, 50, 200]
    new[0, odd] += 8 * X.std(axis=0)[odd]
    contributions = fitted.explain(new)
    rest = -fitted.score_samples(new) - contributions.sum(axis=1)
    # Nothing but what the latent code adds to the losses of the networks.
    model = fitted.model_
    losses, terms = model._losses_and_terms(model.scaler.transform(new))
    np.testing.assert_allclose(rest, losses - terms.sum(axis=1), atol=1e-6)
    relative = fitted.explain(new[:1], relative=True)[0]
    assert set(np.argsort(-relative)[:3]) == set(odd)
    missing = new.copy()
    missing[0, odd] = np.nan
    relative = fitted.explain(missing[:1], relative=True)[0]
    np.testing.assert_allclose(relative[odd], 0.0, atol=1e-9)


def test_constant_and_empty_columns_do_no_harm():
    spoilt = X.copy()
    spoilt[:, 4] = 3.0
    spoilt[:, 9] = np.nan
    with pytest.warns(UserWarning, match="without any value"):
        detector = ALTBIDetector(**QUICK).fit(spoilt)
    assert np.isfinite(detector.training_scores_).all()
    usual = detector.score_samples(spoilt)
    for value in (18.0, 1e9):
        new = spoilt.copy()
        new[0, 4] = value
        assert detector.score_samples(new)[0] < usual.min()
