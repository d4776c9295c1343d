"""The embedder that is trained on the table itself."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
import torch
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from skim import ALTBIDetector
from skim._detectors._scaling import InputScaler
from skim._nets._contrastive import Views, contrast
from skim.datasets import make_im_clusters
from skim.embedding import ContrastiveEmbedder
from skim.theory import cluster_geometry
from tests.embedding.conftest import global_state

NAMES = list("abcdef")


@parametrize_with_checks([ContrastiveEmbedder()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def quick(**params):
    return ContrastiveEmbedder(**({"n_updates": 20, "random_state": 0} | params))


@pytest.fixture(scope="module")
def fitted(table):
    return quick().fit(table)


# What it is for ------------------------------------------------------------------


def variation(X, clusters):
    counted = clusters >= 0
    geometry = cluster_geometry(X[counted], clusters[counted])
    return geometry.distances.mean() / geometry.delta


@pytest.mark.parametrize(("std", "seed"), [(1.0, 0), (2.5, 1)])
def test_clusters_of_the_simulation_become_tighter(std, seed):
    X, _, clusters = make_im_clusters(1000, cluster_std=std, random_state=seed)
    before = InputScaler("squash", centred=True).fit(X).transform(X)
    after = ContrastiveEmbedder(random_state=seed).fit_transform(X)
    assert variation(after, clusters) < variation(before, clusters)


def test_training_lowers_the_loss(table):
    losses = ContrastiveEmbedder(random_state=0).fit(table).loss_curve_
    assert losses.shape == (200,)
    assert losses[-20:].mean() < losses[:20].mean() - 0.05


def test_it_feeds_a_detector(table, is_outlier):
    detector = ALTBIDetector(epochs=14, n_estimators=2, random_state=0)
    scores = make_pipeline(quick(), detector).fit(table).score_samples(table)
    assert scores[is_outlier].mean() < scores[~is_outlier].mean()


# Views and loss ------------------------------------------------------------------


def new_views(X, **params):
    generator = torch.Generator().manual_seed(0)
    settings = {"batch_size": 64, "n_candidates": 1, "corruption": 0.5} | params
    return Views(X, generator=generator, **settings)


def test_views_hold_values_of_the_row_or_of_another():
    X = torch.arange(50.0).repeat(4, 1).T + torch.arange(4) * 1000
    first, second, distances = new_views(X).draw()
    for view in (first, second):
        columns = view - torch.arange(4) * 1000
        assert ((columns >= 0) & (columns < 50)).all()
        own = (view == X).float().mean()
        assert 0.35 < own < 0.65
        # All replaced values come from a single other row.
        other = torch.where(view == X, -1.0, columns).amax(dim=1, keepdim=True)
        assert ((view == X) | (columns == other)).all()
    assert not torch.equal(first, second)
    assert torch.equal(distances.diagonal(), torch.zeros(50))


def test_values_come_from_close_rows_if_there_are_candidates():
    X = torch.arange(60.0).unsqueeze(1)

    def reach(n_candidates):
        views = new_views(X, n_candidates=n_candidates, corruption=1.0)
        return (views.draw()[0] - X).abs().mean()

    assert reach(20) < reach(1) / 2


def test_a_row_is_never_its_own_donor():
    X = torch.arange(3.0).unsqueeze(1)
    views = new_views(X, n_candidates=10, corruption=1.0)
    assert all((views.draw()[0] != X).all() for _ in range(20))


def test_close_rows_are_not_pushed_apart():
    rows = torch.tensor([[0.0], [0.1], [5.0], [5.1]])
    distances = torch.cdist(rows, rows)
    generator = torch.Generator().manual_seed(0)
    first, second = torch.randn(2, 4, 3, generator=generator)
    similarity = torch.nn.functional.cosine_similarity(
        first.unsqueeze(1), second, dim=2
    )
    expected = 0.0
    for matrix in (similarity, similarity.T):
        for row, negatives in enumerate(([2, 3], [2, 3], [0, 1], [0, 1])):
            logits = matrix[row, [row, *negatives]] / 0.5
            expected = expected - logits.log_softmax(0)[0] / 8
    loss = contrast(first, second, distances, far=0.5, temperature=0.5)
    torch.testing.assert_close(loss, expected)


# Repeatable ----------------------------------------------------------------------


def test_same_seed_gives_bitwise_equal_embeddings(fitted, table):
    assert np.array_equal(quick().fit_transform(table), fitted.transform(table))
    other = quick(random_state=1).fit_transform(table)
    assert not np.array_equal(other, fitted.transform(table))


def test_embedding_of_a_row_does_not_depend_on_its_batch(fitted, table):
    embedding = fitted.transform(table)
    order = np.random.default_rng(0).permutation(len(table))
    assert np.array_equal(fitted.transform(table[order]), embedding[order])
    alone = np.concatenate([fitted.transform(table[[i]]) for i in range(0, 300, 30)])
    assert np.array_equal(alone, embedding[::30])
    many = fitted.transform(np.tile(table, (5, 1)))
    assert np.array_equal(many, np.tile(embedding, (5, 1)))


@pytest.mark.parametrize("random_state", [0, None])
def test_global_states_are_untouched(table, random_state):
    before = global_state()
    quick(random_state=random_state, n_jobs=2).fit_transform(table)
    assert global_state() == before


def test_it_fits_where_gradients_are_off(fitted, table):
    with torch.inference_mode():
        found = quick().fit_transform(table)
    with torch.no_grad():
        assert np.array_equal(quick().fit_transform(table), found)
    assert np.array_equal(found, fitted.transform(table))


def test_default_dtype_of_torch_does_not_matter(fitted, table):
    torch.set_default_dtype(torch.float64)
    try:
        found = quick().fit_transform(table)
    finally:
        torch.set_default_dtype(torch.float32)
    assert np.array_equal(found, fitted.transform(table))


def test_a_cache_gives_the_same_and_is_used(fitted, table, tmp_path, monkeypatch):
    expected = fitted.transform(table)
    memory = str(tmp_path)
    assert np.array_equal(quick(memory=memory).fit_transform(table), expected)
    monkeypatch.setattr("skim._nets.train_encoder", None)
    again = quick(memory=memory).fit(table)
    assert np.array_equal(again.transform(table), expected)
    with pytest.raises(TypeError):
        quick(memory=memory, temperature=0.3).fit(table)


# Saving --------------------------------------------------------------------------


def test_pickle_and_skops_keep_embeddings_and_trust_skim_alone(fitted, table):
    expected = fitted.transform(table)
    copy = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(copy.transform(table), expected)
    data = skops.io.dumps(fitted)
    untrusted = skops.io.get_untrusted_types(data=data)
    assert all(name.startswith("skim.") for name in untrusted)
    copy = skops.io.loads(data, trusted=untrusted)
    assert np.array_equal(copy.transform(table), expected)


def test_fitted_state_is_plain_arrays(fitted):
    assert [weight.shape for weight in fitted.coefs_] == [(64, 6), (64, 64), (16, 64)]
    assert [bias.shape for bias in fitted.intercepts_] == [(64,), (64,), (16,)]
    parts = [*vars(fitted).values(), *fitted.coefs_, *fitted.intercepts_]
    assert not any(isinstance(part, torch.Tensor) for part in parts)


def test_a_transformer_from_a_lost_device_works_on_the_cpu(fitted, table):
    lost = pickle.loads(pickle.dumps(fitted))
    lost.device_ = "cuda:99"
    assert np.array_equal(lost.transform(table), fitted.transform(table))


def test_its_network_does_not_need_scikit_learn():
    code = (
        "import sys; import skim._nets._contrastive; sys.exit('sklearn' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# Input and output ----------------------------------------------------------------


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_give_what_arrays_give(fitted, table, frame):
    data = frame(dict(zip(NAMES, table.T, strict=True)))
    embedder = clone(fitted).fit(data)
    assert embedder.feature_names_in_.tolist() == NAMES
    assert np.array_equal(embedder.transform(data), fitted.transform(table))


@pytest.mark.parametrize(("container", "frame"), [("pandas", pd), ("polars", pl)])
def test_output_can_be_a_frame_with_names(fitted, table, container, frame):
    embedder = clone(fitted).set_output(transform=container)
    found = embedder.fit_transform(table)
    assert isinstance(found, frame.DataFrame)
    names = [f"contrastiveembedder{i}" for i in range(16)]
    assert list(found.columns) == names
    assert fitted.get_feature_names_out().tolist() == names
    assert np.array_equal(found.to_numpy(), fitted.transform(table))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_kept(table, dtype):
    embedding = quick(n_components=3).fit_transform(table.astype(dtype))
    assert embedding.dtype == dtype
    assert embedding.shape == (300, 3)


@pytest.mark.parametrize("scaling", ["squash", "minmax"])
@pytest.mark.parametrize(
    "X",
    [
        np.arange(20.0).reshape(-1, 1),
        np.ones((20, 3)),
        np.c_[np.arange(20.0), np.full(20, 7.0)],
        np.arange(4.0).reshape(2, 2),
        np.array([[1e300, 1.0], [-1e300, 2.0], [0.0, 3.0]]),
        np.array([[1e-320], [0.0], [1.0]]),
    ],
    ids=["one column", "equal rows", "constant column", "two rows", "huge", "tiny"],
)
def test_odd_tables_give_finite_output(X, scaling):
    embedder = quick(scaling=scaling).fit(X)
    assert np.isfinite(embedder.transform(X)).all()
    assert np.isfinite(embedder.transform(np.full_like(X, -1e308))).all()


def test_bad_input_is_refused_in_one_sentence(table, fitted):
    with pytest.raises(ValueError, match=r"1 sample.* minimum of 2 is required"):
        quick().fit(table[:1])
    for bad in (np.nan, np.inf):
        broken = table.copy()
        broken[3, 2] = bad
        with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
            quick().fit(broken)
        with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
            fitted.transform(broken)
    with pytest.raises(ValueError, match="'temperature' parameter"):
        quick(temperature=0.0).fit(table)
    with pytest.raises(ValueError, match="use 'cpu' or 'auto'"):
        quick(device="cuda:99").fit(table)


def test_divergence_says_what_to_do(table):
    embedder = quick().fit(table)
    with pytest.raises(ValueError, match="learning_rate=1e\\+38: lower it"):
        embedder.set_params(learning_rate=1e38).fit(table)
    with pytest.raises(ValueError, match="not fitted"):
        embedder.transform(table)


def test_progress_is_shown_when_asked(table, capfd):
    quick(n_updates=3).fit_transform(table)
    assert capfd.readouterr() == ("", "")
    quick(n_updates=3, verbose=1).fit(table)
    out, err = capfd.readouterr()
    assert out == ""
    assert "3/3" in err
