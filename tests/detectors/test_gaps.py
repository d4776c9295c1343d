"""Missing values, which are NaN in the data."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import spearmanr
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skim import ALTBIDetector
from skim._nets import StackedVAE, VAEShape
from skim._nets._autoencoder import AutoencoderShape
from skim._training._stopping import CRITERIA
from skim.inspection import trajectory
from skim.metrics import get_scorer, get_scorer_names, outlier_roc_auc_score
from skim.model_selection import EpochSearchCV
from tests.nets.test_vae import assert_near, batch_normalise

NAMES = list("abcdef")


def with_gaps(X, share=0.1, seed=0):
    """Delete a share of the cells at random."""
    is_deleted = np.random.default_rng(seed).random(X.shape) < share
    return np.where(is_deleted, np.nan, X)


@pytest.fixture(scope="module")
def gappy(table):
    return with_gaps(table)


@pytest.mark.parametrize("scaling", ["squash", "minmax"])
def test_rows_with_gaps_can_be_scored_labelled_and_explained(quick, gappy, scaling):
    detector = quick(scaling=scaling, store_snapshots=True).fit(gappy)
    scores = detector.score_samples(gappy)
    assert np.isfinite(scores).all()
    assert_array_equal(scores, detector.training_scores_)
    assert_array_equal(detector.predict(gappy) == -1, scores < detector.offset_)
    assert np.isfinite(detector.explain(gappy)).all()
    reasons = detector.reasons(gappy, n_reasons=None)
    assert_array_equal(reasons["value"].isna().sum(), np.isnan(gappy).sum())
    numbers = reasons[["expected", "low", "high", "contribution"]]
    assert np.isfinite(numbers.to_numpy()).all()
    assert not reasons.loc[reasons["value"].isna(), "is_outside"].any()


def test_frames_with_gaps_are_scored_like_arrays(quick, gappy):
    columns = dict(zip(NAMES, gappy.T, strict=True))
    expected = quick().fit(gappy).training_scores_
    nullable = pd.DataFrame(columns).convert_dtypes()
    assert nullable.dtypes.eq("Float64").all()
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), nullable):
        assert_array_equal(quick().fit(frame).score_samples(frame), expected)


def test_single_precision_has_gaps_too(quick, gappy):
    single, double = (quick().fit(gappy.astype(t)) for t in (np.float32, np.float64))
    assert spearmanr(single.training_scores_, double.training_scores_)[0] > 0.99


def test_scaling_by_a_pipeline_leaves_the_gaps(quick, gappy):
    pipeline = make_pipeline(StandardScaler(), quick()).fit(gappy)
    scores = pipeline.score_samples(gappy)
    plain = quick().fit(gappy).training_scores_
    assert_allclose(scores, plain, rtol=0, atol=0.02 * np.ptp(plain))


@pytest.mark.parametrize("scaling", ["squash", "minmax"])
def test_a_missing_cell_contributes_what_is_typical_of_its_column(
    quick, gappy, scaling
):
    detector = quick(scaling=scaling).fit(gappy)
    missing = np.isnan(gappy)
    assert (detector.explain(gappy, relative=True)[missing] == 0).all()
    assert (detector.explain(gappy, relative=True)[~missing] != 0).all()
    typical = np.broadcast_to(detector.typical_contributions_, gappy.shape)
    assert_array_equal(detector.explain(gappy)[missing], typical[missing])


def test_vae_contributions_of_rows_with_gaps_sum_to_the_loss_but_for_the_code(gappy):
    detector = ALTBIDetector(epochs=30, random_state=0).fit(gappy)
    losses = -detector.training_scores_
    explained = detector.explain(gappy).sum(axis=1)
    assert np.corrcoef(losses, explained)[0, 1] > 0.95


def test_score_of_a_row_does_not_depend_on_gaps_in_others(quick, table, gappy):
    detector = quick().fit(gappy)
    together = detector.score_samples(gappy)
    rows = np.flatnonzero(np.isnan(gappy).any(axis=1))[:10]
    alone = [detector.score_samples(gappy[[i]]).item() for i in rows]
    assert_array_equal(alone, together[rows])
    mixed = np.r_[table[:50], gappy]
    assert_array_equal(
        detector.score_samples(mixed)[:50], detector.score_samples(table[:50])
    )
    assert_array_equal(detector.explain(mixed)[:50], detector.explain(table[:50]))


@pytest.mark.parametrize("scaling", ["squash", "minmax"])
def test_staged_scores_are_those_of_shorter_fits(quick, gappy, scaling):
    params = {"scaling": scaling}
    if "normalize_losses" in quick().schedule.get_params():
        params["schedule__normalize_losses"] = scaling == "minmax"
    detector = quick(store_snapshots=True, **params).fit(gappy)
    *_, last = stages = list(detector.staged_score_samples(gappy))
    assert_array_equal(last, detector.score_samples(gappy))
    shorter = quick(epochs=3, **params).fit(gappy)
    stage = np.flatnonzero(detector.history_["epoch"] <= 3)[-1]
    assert_array_equal(stages[stage], shorter.training_scores_)


@pytest.fixture(scope="module")
def thousand():
    """A table of 1,000 rows, the last 20 of which are far away."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, 8)) @ rng.normal(size=(8, 8))
    X[-20:] = rng.uniform(-20, 20, size=(20, 8))
    return X, np.arange(1000) >= 980


def test_rows_are_not_strange_for_their_gaps(quick, thousand):
    X, is_outlier = thousand
    gappy = with_gaps(X)
    detector = quick(epochs=30).fit(gappy)
    n_gaps = np.isnan(gappy).sum(axis=1)
    assert abs(spearmanr(detector.training_scores_, n_gaps)[0]) <= 0.15
    assert outlier_roc_auc_score(is_outlier, detector.training_scores_) > 0.95


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_new_rows_are_not_strange_for_their_gaps(quick, thousand, share):
    X, _ = thousand
    detector = quick(epochs=30).fit(X)
    gappy = with_gaps(X[:980], share)
    n_gaps = np.isnan(gappy).sum(axis=1)
    assert abs(spearmanr(detector.score_samples(gappy), n_gaps)[0]) <= 0.15
    assert (detector.predict(gappy) == -1).mean() < 0.1


def test_trajectory_does_not_mistake_gaps_for_losses(quick, table, is_outlier):
    gappy = table.copy()
    gappy[:100] = with_gaps(table[:100], 0.5)
    path = trajectory(quick(epochs=30), gappy, is_outlier, store_losses=True)
    n_gaps = np.isnan(gappy).sum(axis=1)
    assert abs(spearmanr(path.losses[-1], n_gaps)[0]) < 0.25
    assert path.auroc[-1] > 0.8


def test_a_row_without_any_value_is_ordinary(quick, gappy):
    detector = quick(epochs=30).fit(gappy)
    nothing = np.full((1, 6), np.nan)
    low, high = np.quantile(detector.training_scores_, [0.05, 0.95])
    assert low < detector.score_samples(nothing).item() < high
    assert detector.predict(nothing).item() == 1
    assert (detector.explain(nothing, relative=True) == 0).all()


@pytest.mark.parametrize("scaling", ["squash", "minmax"])
def test_columns_without_values_are_named_and_ignored(
    quick, table, is_outlier, scaling
):
    X = np.insert(table, [2, 5], np.nan, axis=1)
    frame = pd.DataFrame(X, columns=["a", "b", "none", "c", "d", "e", "nil", "f"])
    message = "Columns without any value are ignored: none, nil"
    with pytest.warns(UserWarning, match=message) as warned:
        detector = quick(epochs=30, scaling=scaling).fit(frame)
    assert len(warned) == 1
    filled = frame.assign(none=7.0)  # nothing is known about this column
    assert_array_equal(detector.explain(frame, relative=True)[:, [2, 6]], 0)
    assert np.isfinite(detector.score_samples(filled)).all()
    assert_array_equal(detector.score_samples(filled), detector.training_scores_)
    if scaling == "squash":
        auroc = outlier_roc_auc_score(is_outlier, detector.training_scores_)
        without = quick(epochs=30).fit(table).training_scores_
        assert auroc > outlier_roc_auc_score(is_outlier, without) - 0.02
    reasons = detector.reasons(frame, n_reasons=None)
    empty = reasons[reasons["feature"].isin(["none", "nil"])]
    assert empty[["expected", "low", "high"]].isna().to_numpy().all()


def test_a_table_without_values_is_refused(quick):
    with pytest.raises(ValueError, match="X has no values: all its cells are missing"):
        quick().fit(np.full((10, 3), np.nan))


@pytest.mark.parametrize("stopping", [*CRITERIA, None])
def test_every_stopping_criterion_works_with_gaps(quick, gappy, stopping):
    gappy = gappy.copy()
    gappy[:, 4] = np.nan
    with pytest.warns(UserWarning, match="without any value"):
        detector = quick(stopping=stopping).fit(gappy)
    criterion = detector.history_["criterion"]
    assert np.isfinite(criterion).any() != (stopping is None)
    assert np.isfinite(detector.training_scores_).all()


def test_epoch_search_with_gaps_is_grid_search(quick, gappy, is_outlier):
    scaling = "scaling" if "scaling" in quick().get_params() else "network__scaling"
    grid = {"epochs": [2, 4], scaling: ["squash", "minmax"]}
    scoring = {name: get_scorer(name) for name in get_scorer_names()}
    settings = {
        "scoring": scoring,
        "refit": "outlier_roc_auc",
        "cv": StratifiedKFold(2),
    }
    fast = EpochSearchCV(quick(), grid, **settings).fit(gappy, is_outlier)
    slow = GridSearchCV(quick(), grid, **settings).fit(gappy, is_outlier)
    for name in get_scorer_names():
        key = f"mean_test_{name}"
        assert np.isfinite(fast.cv_results_[key]).all()
        assert_array_equal(fast.cv_results_[key], slow.cv_results_[key])
    assert_array_equal(fast.score_samples(gappy), slow.score_samples(gappy))


# Gradients, as in tests/nets/test_vae.py -----------------------------------------

M, P, B = 3, 7, 20


def batch_with_gaps(n_features=P):
    generator = torch.Generator().manual_seed(1)
    x = torch.rand(M, n_features, B, generator=generator)
    x[torch.rand(x.shape, generator=generator) < 0.3] = torch.nan
    x[1, 2] = torch.nan  # without any value in this batch
    fill = np.linspace(0.2, 0.8, n_features, dtype=np.float32)
    return x, fill, generator


def with_batch_means(terms, missing):
    """Replace the terms of missing cells by means over the batch, as constants."""
    known = (~missing).expand_as(terms)
    total = terms.where(known, 0.0).sum((2, 3), keepdim=True)
    mean = total / known.sum((2, 3), keepdim=True).clamp(min=1)
    return terms.where(known, mean.detach())


def vae_losses(shape, weights, x, noise):
    """The objective with gaps, as one would write it down, in double precision."""
    w = shape.weights.views(weights.double())
    missing = x.isnan()
    fill = torch.from_numpy(shape.fill)[:, None]
    x, noise = x.where(~missing, fill).double(), noise.double()

    def block(name, inputs):
        normed = batch_normalise(name, w[name] @ inputs)
        return torch.nn.functional.leaky_relu(normed, 0.01)

    def head(name, inputs):
        mean, log_var = (w[name] @ inputs).chunk(2, dim=1)
        return mean, (log_var + w[f"{name}_bias"]).clamp(-6, 2)

    mean, log_var = head("latent", block("encode_2", block("encode_1", x)))
    z = mean.unsqueeze(2) + (log_var / 2).exp().unsqueeze(2) * noise
    h = block("decode_2", block("decode_1", z.flatten(2)))
    m, v = (part.unflatten(2, (noise.shape[2], -1)) for part in head("output", h))
    terms = v + (x.unsqueeze(2) - m.sigmoid()) ** 2 / (2 * v.exp())
    ratio = -with_batch_means(terms, missing.unsqueeze(2)).sum(1)
    ratio = ratio - 0.5 * z.square().sum(1) + 0.5 * noise.square().sum(1)
    ratio = ratio + 0.5 * log_var.sum(1).unsqueeze(1)
    return np.log(noise.shape[2]) - torch.logsumexp(ratio, dim=1)


@pytest.mark.parametrize("stretch", [1.0, 4.0])  # the latter reaches the clamps
@pytest.mark.parametrize("n_samples", [1, 4])
@pytest.mark.parametrize("zeros", [0, B // 2 + 1])
def test_gradient_of_the_vae_does_not_see_missing_cells(n_samples, stretch, zeros):
    x, fill, generator = batch_with_gaps()
    shape = VAEShape(P, (32, 16), 6, n_samples, fill)
    weights = shape.weights.draw(M, generator) * stretch
    state = generator.get_state()
    noise = torch.empty(M, 6, n_samples, B).normal_(generator=generator)
    generator.set_state(state)
    network = StackedVAE(shape, weights, generator)
    network.has_gaps = True
    row_weights = torch.linspace(-1, 1, M * B).view(M, B)
    row_weights[:, :zeros] = 0
    leaf = weights.clone().requires_grad_()
    expected = vae_losses(shape, leaf, x, noise)
    (expected * row_weights).sum().backward()

    losses, cache = network.forward(x)
    grad = torch.empty_like(weights)
    network.backward(cache, row_weights, grad)
    assert_near(losses, expected.detach())
    assert_near(grad, leaf.grad)


@pytest.mark.parametrize("activation", ["tanh", "relu", "sigmoid", "identity"])
def test_gradient_of_the_autoencoder_does_not_see_missing_cells(activation):
    x, fill, generator = batch_with_gaps()
    shape = AutoencoderShape(P, 5, activation, fill=fill)
    weights = shape.weights.draw(M, generator)
    network = shape.stack(weights)
    network.has_gaps = True
    row_weights = torch.linspace(-1, 1, M * B).view(M, B)
    leaf = weights.double().requires_grad_()
    w = shape.weights.views(leaf)
    missing = x.isnan()
    filled = x.where(~missing, torch.from_numpy(fill)[:, None]).double()
    hidden = w["encode"] @ filled
    if activation != "identity":
        hidden = getattr(torch, activation)(hidden)
    squares = (w["decode"] @ hidden - filled).square().unsqueeze(2)
    expected = with_batch_means(squares, missing.unsqueeze(2)).sum((1, 2))
    (expected * row_weights).sum().backward()

    losses, cache = network.forward(x)
    grad = torch.empty_like(weights)
    network.backward(cache, row_weights, grad)
    assert_near(losses, expected.detach())
    assert_near(grad, leaf.grad)
