import logging
import os
import pickle
import socket
import sys
import warnings
from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import pytest
import torch
from sklearn import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from skim import ALTBIDetector
from skim.embedding import MissingWeightsError, TabPFNEmbedder, weights_home
from skim.embedding import _tabpfn_model as tabpfn_model
from tests.embedding.conftest import global_state
from tests.embedding.tabpfn_checkpoints import EMBEDDING_SIZE, save_tiny_checkpoint

WIDTH = EMBEDDING_SIZE


@pytest.fixture(scope="module")
def regressor(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tabpfn")
    return save_tiny_checkpoint(folder / "tabpfn-v2-regressor-tiny.ckpt")


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tabpfn")
    path = folder / "tabpfn-v2-classifier-tiny.ckpt"
    return save_tiny_checkpoint(path, "classification")


@pytest.fixture
def make(regressor):
    def make(**params):
        settings = {"model_path": regressor, "random_state": 0, "max_context": 50}
        return TabPFNEmbedder(**(settings | params))

    return make


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return rng.normal(size=(70, 3)) @ rng.normal(size=(3, 5))


@pytest.fixture
def no_network(monkeypatch):
    """Refuses connections, and records them."""
    asked = []

    def refuse(*args, **kwargs):
        asked.append(args)
        raise OSError("no network in this test")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return asked


# What comes out --------------------------------------------------------------------


def test_rows_become_embeddings(make, X):
    embedder = make()
    embedding = embedder.fit_transform(X)
    assert embedding.shape == (70, WIDTH)
    assert embedding.dtype == np.float32
    assert np.isfinite(embedding).all()
    assert (embedding.std(axis=0) > 0).all()
    names = embedder.get_feature_names_out()
    assert list(names[:2]) == ["tabpfnembedder0", "tabpfnembedder1"]
    assert len(names) == WIDTH


def tabpfn_itself(embedder, X):
    """TabPFN with all rows as its context and the first column as its target."""
    from tabpfn import TabPFNRegressor

    model = TabPFNRegressor(
        model_path=embedder.model_path,
        n_estimators=1,
        device="cpu",
        inference_precision=torch.float32,
        inference_config=tabpfn_model.AS_GIVEN,
        random_state=embedder._recipe.seed,
    )
    return model.fit(X[:, 1:], X[:, 0])


def test_pooling_the_target_gives_the_embedding_of_tabpfn(make, X):
    embedder = make(max_context=100, pooling="target")
    embedding = embedder.fit_transform(X)
    expected = tabpfn_itself(embedder, X).get_embeddings(X[:, 1:])[0]
    np.testing.assert_allclose(embedding, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layers", [[1], [2], (1, 2), np.array([2, 1, 2])])
def test_pooling_the_mean_averages_the_cells_of_layers(make, X, layers):
    embedder = make(max_context=100, layers=layers)
    embedding = embedder.fit_transform(X)
    outputs = {}
    direct = tabpfn_itself(embedder, X)
    for place, block in enumerate(direct.models_[0].blocks):
        block.register_forward_hook(
            lambda *call, place=place: outputs.update({place + 1: call[2][0]})
        )
    direct.predict(X[:, 1:])
    # Without a cache, the context rows come first in the same pass.
    cells = [outputs[layer][0, -len(X) :, :-1].mean(dim=1) for layer in set(layers)]
    expected = sum(cells) / len(cells)
    np.testing.assert_allclose(embedding, expected, rtol=1e-4, atol=1e-5)


def test_middle_layers_are_the_default(make, X):
    np.testing.assert_array_equal(
        make().fit_transform(X), make(layers=[1, 2]).fit_transform(X)
    )
    network = SimpleNamespace(blocks=range(1, 13))
    assert tabpfn_model._choose_blocks(network, None) == [6, 7, 8, 9, 10]


def test_networks_without_cells_need_the_target(make, X, monkeypatch):
    real = tabpfn_model._choose_blocks
    monkeypatch.setattr(
        tabpfn_model, "_choose_blocks", lambda network, layers: real(object(), layers)
    )
    with pytest.raises(ValueError, match="use pooling='target'"):
        make().fit(X)
    make(pooling="target").fit(X)


def test_an_embedding_depends_on_its_row_alone(make, X):
    embedder = make(batch_size=16).fit(X)
    embedding = embedder.transform(X)
    for n_rows in (1, 2, 33):
        np.testing.assert_array_equal(
            embedder.transform(X[:n_rows]), embedding[:n_rows]
        )
    np.testing.assert_array_equal(embedder.transform(X[::-1])[::-1], embedding)
    embedder.set_params(batch_size=70)
    np.testing.assert_array_equal(embedder.transform(X), embedding)


def test_members_are_not_scrambled(make, X):
    side_by_side = make(n_estimators=3, combine="concat").fit(X)
    mean = make(n_estimators=3).fit(X)
    every = side_by_side.transform(X)
    assert every.shape == (70, 3 * WIDTH)
    for row in (0, 41):
        # Each row's members are its own, whoever else is in the batch.
        np.testing.assert_array_equal(side_by_side.transform(X[[row]])[0], every[row])
    np.testing.assert_allclose(
        every.reshape(70, 3, WIDTH).mean(axis=1), mean.transform(X), atol=1e-6
    )


def test_the_seed_determines_the_embedding(make, X):
    first = make().fit_transform(X)
    np.testing.assert_array_equal(make().fit_transform(X), first)
    assert np.abs(make(random_state=1).fit_transform(X) - first).max() > 1e-4


def test_global_random_states_are_left_alone(make, X):
    before = global_state()
    make(n_estimators=2, n_folds=2).fit_transform(X)
    assert global_state() == before


def test_cpus_with_bfloat16_compute_in_single_precision(make, X, monkeypatch):
    expected = make().fit_transform(X)
    for fast in (False, True):
        monkeypatch.setattr(
            "tabpfn.utils._cpu_supports_fast_bf16",
            lambda fast=fast: fast,
            raising=False,
        )
        np.testing.assert_array_equal(make().fit_transform(X), expected)


def test_integers_and_single_precision_are_accepted(make, X):
    whole = np.round(100 * X).astype(int)
    np.testing.assert_array_equal(
        make().fit_transform(whole), make().fit_transform(whole.astype(float))
    )
    assert make().fit_transform(X.astype(np.float32)).shape == (70, WIDTH)


def test_data_frames_keep_index_and_names(make, X):
    frame = pd.DataFrame(X, columns=list("abcde"), index=np.arange(70) + 7)
    out = make().set_output(transform="pandas").fit_transform(frame)
    assert list(out.index) == list(frame.index)
    assert out.columns[0] == "tabpfnembedder0"


def test_features_may_be_missing(make, X):
    X = X.copy()
    X[::7, 3] = np.nan
    assert np.isfinite(make(target=0).fit_transform(X)).all()
    X[2:, 0] = np.nan
    assert make().fit(X).targets_ == [1]  # mostly missing, so not the default target
    with pytest.raises(ValueError, match=r"Only 1 of the rows .* fewer folds"):
        make(target=0, n_folds=2, random_state=2).fit_transform(X[:3])
    X[::2, 1:3] = np.nan
    X[1::2, 4] = np.nan
    every = make(target=[1, 4]).fit_transform(X)  # no row has both
    assert np.isfinite(every).all()


# The target ------------------------------------------------------------------------


def test_the_first_column_that_varies_is_the_target(make, X):
    assert make().fit(X).targets_ == [0]
    X = X.copy()
    X[:, 0] = 1.0
    assert make().fit(X).targets_ == [1]
    X[:, 1] = np.arange(70) == 3  # one row of seventy: that is variation
    assert make().fit(X).targets_ == [1]
    rare = np.random.default_rng(0).normal(size=(20_000, 4))
    rare[:, :2] = 0.0
    rare[0, 0] = 1.0
    assert make().fit(rare).targets_ == [2]


def test_targets_by_position_name_and_number(make, X):
    frame = pd.DataFrame(X, columns=list("abcde"))
    by_name = make(target="c").fit(frame)
    by_position = make(target=2).fit(X)
    assert by_name.targets_ == by_position.targets_ == [2]
    np.testing.assert_array_equal(by_name.transform(frame), by_position.transform(X))
    assert make(target=-1).fit(X).targets_ == [4]
    assert list(make(n_targets=2).fit(X).targets_) == [0, 1]
    assert list(make(target=["e", 0]).fit(frame).targets_) == [4, 0]
    assert list(make(target="all").fit(X).targets_) == [0, 1, 2, 3, 4]


def test_targets_are_averaged_or_put_side_by_side(make, X):
    one, other = (make(target=j).fit(X) for j in (1, 3))
    parts = [one.transform(X), other.transform(X)]
    both = make(target=[1, 3])
    np.testing.assert_allclose(both.fit_transform(X), np.mean(parts, axis=0), atol=1e-6)
    both.set_params(combine="concat")
    np.testing.assert_array_equal(both.fit_transform(X), np.hstack(parts))
    assert len(both.get_feature_names_out()) == 2 * WIDTH


def test_a_rare_value_is_drawn_into_the_context(make):
    X = np.random.default_rng(0).normal(size=(400, 3))
    X[:, 0] = 0.0
    X[17, 0] = 1.0
    embedder = make(target=0, task="regression", max_context=20).fit(X)
    assert np.ptp(embedder.context_[:, 0]) > 0


# The task --------------------------------------------------------------------------


def test_few_integers_are_classes(make, classifier, regressor, X, tmp_path):
    home = tmp_path / "weights"
    home.mkdir()
    for file in (classifier, regressor):
        (home / file.name).write_bytes(file.read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SKIM_WEIGHTS_HOME", str(home))
        patch.setenv("HF_HUB_OFFLINE", "1")
        assert weights_home() == home
        X = X.copy()
        X[:, 0] = np.arange(70) % 3
        both = make(model_path="v2", target=[0, 1], combine="concat").fit(X)
        assert both.tasks_ == ["classification", "regression"]
        assert both.transform(X).shape == (70, 2 * WIDTH)
        # Embeddings of two networks cannot be averaged.
        mean = make(model_path="v2", target=[0, 1]).fit(X)
        assert mean.tasks_ == ["regression", "regression"]
        assert make(model_path="v2", task="regression").fit(X).tasks_ == ["regression"]


def test_a_checkpoint_may_support_one_task_only(make, classifier, X):
    X = X.copy()
    X[:, 0] = np.arange(70) % 3
    assert make().fit(X).tasks_ == ["regression"]
    assert make(model_path=classifier).fit(X).tasks_ == ["classification"]
    with pytest.raises(ValueError, match="does not support regression"):
        make(model_path=classifier, target=1).fit(X)
    with pytest.raises(ValueError, match="does not support classification"):
        make(task="classification").fit(X)
    with pytest.raises(ValueError, match="at most 10 classes"):
        make(model_path=classifier, target=1, task="classification").fit(X)


# Context and folds -----------------------------------------------------------------


def test_the_context_is_limited(make, X):
    assert make(max_context=30).fit(X).context_.shape == (30, 5)
    assert make(max_context=500).fit(X).context_.shape == (70, 5)


def test_out_of_fold_embeddings_do_not_see_their_own_target(make, X):
    changed = X.copy()
    changed[5, 0] += 3.0
    settings = {"target": 0, "max_context": 70}
    within = make(**settings)
    assert np.abs(within.fit_transform(X) - within.fit_transform(changed))[5].max() > 0
    outside = make(n_folds=3, **settings)
    before, after = outside.fit_transform(X), outside.fit_transform(changed)
    np.testing.assert_array_equal(before[5], after[5])
    assert np.abs(before - after).max() > 0  # but others see it


def test_out_of_fold_rows_stay_in_order(make, X):
    twice = np.repeat(X, 2, axis=0)
    embedding = make(n_folds=4, max_context=200).fit_transform(twice)
    distances = np.linalg.norm(embedding[::2, None] - embedding[None, 1::2], axis=2)
    # A row and its copy may be in different folds and still are mostly the closest.
    assert (distances.argmin(axis=1) == np.arange(70)).mean() > 0.5


# The gate --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "applied"),
    [
        ((4_000, 3), False),
        ((4_001, 3), True),
        ((50_000, 3), False),
        ((4_001, 50), False),
        ((4_001, 1), False),
    ],
)
def test_the_papers_rule(make, shape, applied):
    X = np.random.default_rng(0).normal(size=shape)
    embedder = make(apply="auto").fit(X)
    assert embedder.is_applied_ == applied
    out = embedder.transform(X[:3])
    if applied:
        assert out.shape == (3, WIDTH)
    else:
        np.testing.assert_array_equal(out, X[:3])
        names = embedder.get_feature_names_out()
        assert list(names) == [f"x{j}" for j in range(shape[1])]


def test_tables_that_pass_through_need_no_weights(X):
    embedder = TabPFNEmbedder(apply="auto", model_path="nowhere.ckpt")
    np.testing.assert_array_equal(embedder.fit_transform(X), X)


# Pickles and the cache -------------------------------------------------------------


@pytest.mark.parametrize("keep_weights", [False, True])
def test_pickles_keep_or_drop_the_weights(make, X, tmp_path, keep_weights):
    checkpoint = save_tiny_checkpoint(tmp_path / "tabpfn-v2-regressor-tiny.ckpt")
    embedder = make(model_path=checkpoint, keep_weights=keep_weights)
    embedding = embedder.fit_transform(X)
    joblib.dump(embedder, tmp_path / "embedder.joblib")
    size = checkpoint.stat().st_size
    assert (len(pickle.dumps(embedder)) > size) == keep_weights
    loaded = joblib.load(tmp_path / "embedder.joblib")
    np.testing.assert_array_equal(loaded.transform(X), embedding)
    checkpoint.unlink()
    loaded = joblib.load(tmp_path / "embedder.joblib")
    if keep_weights:
        np.testing.assert_array_equal(loaded.transform(X), embedding)
    else:
        with pytest.raises(MissingWeightsError, match="There is no checkpoint"):
            loaded.transform(X)


def test_the_cache_is_used_and_not_confused(make, X, tmp_path, monkeypatch):
    calls = []
    original = tabpfn_model.ContextModel.embed

    def counted(self, features):
        calls.append(len(features))
        return original(self, features)

    embedder = make(memory=str(tmp_path))
    embedding = embedder.fit_transform(X)
    monkeypatch.setattr(tabpfn_model.ContextModel, "embed", counted)
    np.testing.assert_array_equal(embedder.transform(X), embedding)
    again = clone(embedder)
    np.testing.assert_array_equal(again.fit_transform(X), embedding)
    assert sum(calls) == 1  # fit embeds one row to get the width
    changed = X.copy()
    changed[0, 0] += 1
    assert not np.array_equal(embedder.transform(changed)[1:], [])
    assert sum(calls) == 71
    for other in ({"target": 1}, {"n_folds": 2}, {"combine": "concat"}):
        calls.clear()
        clone(embedder).set_params(**other).fit_transform(X)
        assert sum(calls) == 71, other


# Weights ---------------------------------------------------------------------------


def test_nothing_uses_the_network(make, X, no_network):
    make().fit(X).transform(X)
    assert no_network == []


@pytest.fixture
def no_weights(tmp_path, monkeypatch):
    monkeypatch.setenv("SKIM_WEIGHTS_HOME", str(tmp_path))
    monkeypatch.setattr(
        "tabpfn.settings.settings.tabpfn.model_cache_dir", tmp_path / "cache"
    )


def test_missing_weights_say_how_to_get_them(
    X, tmp_path, monkeypatch, no_network, no_weights
):
    with pytest.raises(MissingWeightsError, match="SKIM_WEIGHTS_HOME") as caught:
        TabPFNEmbedder().fit(X)
    assert "tabpfn-v2-regressor" in str(caught.value)
    assert no_network  # it was tried
    assert not list(tmp_path.rglob("*.ckpt"))
    no_network.clear()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(MissingWeightsError, match="cannot be downloaded"):
        TabPFNEmbedder().fit(X)
    assert no_network == []


def test_gated_versions_are_never_downloaded(X, no_network, no_weights):
    with pytest.raises(MissingWeightsError, match=r"TabPFN v2\.5"):
        TabPFNEmbedder(model_path="v2.5").fit(X)
    assert no_network == []


def test_files_that_are_not_checkpoints_are_refused(make, X, tmp_path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "unpickled"),)

    for name, content in {
        "empty.ckpt": b"",
        "evil.ckpt": pickle.dumps(Evil()),
    }.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=f"{name}' is not a checkpoint"):
            make(model_path=tmp_path / name).fit(X)
    assert not (tmp_path / "unpickled").exists()


def test_a_missing_extra_is_named(make, X, monkeypatch):
    monkeypatch.setitem(sys.modules, "tabpfn.checkpoint", None)
    with pytest.raises(ImportError, match=r"needs tabpfn: .*'skim-od\[tabpfn\]'"):
        make().fit(X)


def test_a_pickle_finds_the_weights_where_they_are_now(X, tmp_path, monkeypatch):
    homes = [tmp_path / "one", tmp_path / "other"]
    for home in homes:
        home.mkdir()
    checkpoint = save_tiny_checkpoint(homes[0] / "tabpfn-v2-regressor.ckpt")
    monkeypatch.setenv("SKIM_WEIGHTS_HOME", str(homes[0]))
    embedder = TabPFNEmbedder(random_state=0)
    embedding = embedder.fit_transform(X)
    pickled = pickle.dumps(embedder)
    checkpoint.rename(homes[1] / checkpoint.name)
    np.testing.assert_array_equal(embedder.transform(X), embedding)  # it is loaded
    monkeypatch.setenv("SKIM_WEIGHTS_HOME", str(homes[1]))
    np.testing.assert_array_equal(pickle.loads(pickled).transform(X), embedding)


def test_threads_get_their_own_rows_and_leave_no_trace(make, X):
    embedder = make().fit(X)
    alone = embedder.transform(X)
    before = list(warnings.filters), logging.getLogger("tabpfn").level
    parts = [slice(i % 30, i % 30 + 2 + i % 40) for i in range(0, 160, 7)]
    parallel = joblib.Parallel(4, prefer="threads")
    found = parallel(joblib.delayed(embedder.transform)(X[part]) for part in parts)
    assert (list(warnings.filters), logging.getLogger("tabpfn").level) == before
    for part, embedding in zip(parts, found, strict=True):
        np.testing.assert_array_equal(embedding, alone[part])


def test_settings_of_fit_hold_for_transform(make, X):
    embedder = make(n_estimators=2, combine="concat").fit(X)
    embedding = embedder.transform(X)
    embedder.set_params(n_estimators=1, combine="mean")
    again = pickle.loads(pickle.dumps(embedder)).transform(X)
    np.testing.assert_array_equal(again, embedding)


def test_a_fit_that_fails_leaves_nothing_fitted(make, X):
    embedder = make().fit(X)
    with pytest.raises(ValueError, match="infinity"):
        embedder.fit(np.full((5, 4), np.inf))
    with pytest.raises(NotFittedError):
        embedder.transform(X)


# Bad input -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        *(
            ({"layers": layers}, "layers must be integers from 1")
            for layers in ([], [0], [1.5], [-1], ["last"])
        ),
        ({"layers": [3, 1]}, "but the network has 2 layers"),
        ({"target": 9}, "target=9 is out of range: X has 5 columns"),
        ({"target": "z"}, "'z' is not a column of X, which has no names"),
        ({"target": []}, "target is empty"),
        ({"target": [0, 1.5]}, "1.5, which is neither a position nor a name"),
        ({"target": 2}, "target 2 is constant in X: choose another"),
        ({"max_context": 20_000}, "1,000 are usually enough"),
        ({"n_folds": 99}, "n_folds=99 is more than the 70 rows"),
    ],
)
def test_bad_settings_are_refused(make, X, params, message):
    X = X.copy()
    X[:, 2] = 3.0
    with pytest.raises(ValueError, match=message):
        make(**params).fit_transform(X)


def test_constant_tables_and_single_columns_are_refused(make):
    with pytest.raises(ValueError, match="Every column of X is constant"):
        make().fit(np.ones((10, 3)))
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        make().fit(np.arange(10.0)[:, None])


def test_too_many_columns_are_refused(make):
    X = np.random.default_rng(0).normal(size=(5, 502))
    with pytest.raises(ValueError, match="at most 500 besides the target"):
        make().fit(X)


def test_huge_values_stay_finite(make, X):
    X = X.copy()
    X[3, 1] = 1e300
    X[4, 0] = -1e300
    assert np.isfinite(make().fit_transform(X)).all()


# In a pipeline ---------------------------------------------------------------------


def test_one_line_in_a_pipeline(make, X):
    altbi = ALTBIDetector(epochs=5, contamination=0.1, random_state=0)
    detector = make_pipeline(make(), altbi)
    labels = detector.fit_predict(X)
    assert np.count_nonzero(labels == -1) == round(0.1 * len(X))
    assert detector[:-1].get_feature_names_out()[0] == "tabpfnembedder0"


def test_progress_is_shown_if_asked(make, X, capsys):
    make().fit_transform(X)
    assert capsys.readouterr() == ("", "")
    make(verbose=1).fit_transform(X)
    assert "TabPFNEmbedder [" in capsys.readouterr().err


@parametrize_with_checks([TabPFNEmbedder(model_path="tiny.ckpt", max_context=20)])
def test_scikit_learn_contract(estimator, check, regressor):
    check(estimator.set_params(model_path=str(regressor)))


# The real weights ------------------------------------------------------------------


def test_real_weights_tell_clusters_apart():
    files = list(weights_home().glob("tabpfn-v2-regressor*.ckpt"))
    if not files:
        pytest.skip("TabPFN's weights are not cached")
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 4)) + 6 * groups[:, None]
    embedding = TabPFNEmbedder(random_state=0).fit_transform(X)
    assert embedding.shape == (120, 192)
    centres = [embedding[groups == k].mean(axis=0) for k in (0, 1)]
    within = np.mean(
        [np.linalg.norm(embedding[groups == k] - centres[k], axis=1) for k in (0, 1)]
    )
    assert within < 0.5 * np.linalg.norm(centres[0] - centres[1])
