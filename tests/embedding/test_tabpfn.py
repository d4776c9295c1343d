import os
import pickle

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from skim.embedding import TabPFNEmbedder, weights_home
from skim.embedding._tabpfn import AS_GIVEN
from tests.embedding.tabpfn_checkpoints import EMBEDDING_SIZE


@pytest.fixture
def make(arguments):
    def make(**params):
        return TabPFNEmbedder(**arguments[TabPFNEmbedder] | params)

    return make


# What comes out --------------------------------------------------------------------


def tabpfn_itself(embedder, X):
    """TabPFN with all rows as its context and the first column as its target."""
    from tabpfn import TabPFNRegressor

    model = TabPFNRegressor(
        model_path=embedder.model,
        n_estimators=1,
        device="cpu",
        inference_precision=torch.float32,
        inference_config=AS_GIVEN,
        random_state=embedder._seed,
    )
    return model.fit(X[:, 1:], X[:, 0])


def test_pooling_the_target_gives_the_embedding_of_tabpfn(make, rows):
    embedder = make(max_context=100, pooling="target")
    embedding = embedder.fit_transform(rows)
    assert embedding.dtype == np.float32
    assert embedding.shape == (70, EMBEDDING_SIZE)
    expected = tabpfn_itself(embedder, rows).get_embeddings(rows[:, 1:])[0]
    assert_allclose(embedding, expected, rtol=1e-4, atol=1e-5)


def test_pooling_the_mean_averages_the_cells_of_layers(make, rows):
    embedder = make(max_context=100)
    embedding = embedder.fit_transform(rows)
    outputs = []
    direct = tabpfn_itself(embedder, rows)
    for block in direct.models_[0].blocks:
        block.register_forward_hook(lambda *call: outputs.append(call[2][0]))
    direct.predict(rows[:, 1:])
    # Without a cache, the context rows come first in the same pass.
    cells = [output[0, -len(rows) :, :-1].mean(dim=1) for output in outputs]
    assert_allclose(embedding, sum(cells) / 2, rtol=1e-4, atol=1e-5)


def test_features_may_be_missing(make, rows):
    X = rows.copy()
    X[::7, 3] = np.nan
    assert np.isfinite(make().fit_transform(X)).all()
    X[2:, 0] = np.nan
    assert make().fit(X).target_ == 1  # the first is mostly missing
    X[20:, 1:] = np.nan  # as all others, so it is the target again
    embedder = make().fit(X)
    assert len(embedder.context_) == 2
    assert np.isfinite(embedder.transform(X)).all()


# The target and the context --------------------------------------------------------


def test_first_column_that_varies_is_the_target(make, rows):
    assert make().fit(rows).target_ == 0
    X = rows.copy()
    X[:, 0] = 1.0
    assert make().fit(X).target_ == 1
    X[:, 1] = np.arange(70) == 3  # one row of seventy: that is variation
    assert make().fit(X).target_ == 1
    rare = np.random.default_rng(0).normal(size=(20_000, 4))
    rare[:, :2] = 0.0
    rare[0, 0] = 1.0
    assert make().fit(rare).target_ == 2


def test_target_of_a_new_row_is_not_part_of_its_embedding(make, rows):
    embedder = make().fit(rows)
    X = rows.copy()
    X[:, 0] = np.nan
    assert_array_equal(embedder.transform(X), embedder.transform(rows))


# Weights ---------------------------------------------------------------------------


def test_files_that_are_not_checkpoints_are_refused(make, rows, tmp_path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "unpickled"),)

    files = {"empty.ckpt": b"", "evil.ckpt": pickle.dumps(Evil())}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=f"Cannot run TabPFN with .*{name}"):
            make(model=tmp_path / name).fit(rows)
    assert not (tmp_path / "unpickled").exists()
    with pytest.raises(OSError, match="There is no checkpoint 'v9': model must be"):
        make(model="v9").fit(rows)


# Bad input -------------------------------------------------------------------------


def test_bad_settings_and_tables_are_refused(make, rows):
    for table, params, message in (
        (rows, {"max_context": 20_000}, "'max_context' parameter"),
        (np.ones((10, 3)), {}, "Every column of X is constant"),
        (np.arange(10.0)[:, None], {}, "minimum of 2 is required"),
        (np.arange(1004.0).reshape(2, 502), {}, "has 502 columns, .* at most 501"),
        (np.full((5, 4), np.inf), {}, "infinity"),
        (np.c_[np.arange(9.0), np.ones(9)], {}, "Cannot run TabPFN .* constant"),
    ):
        with pytest.raises(ValueError, match=message):
            make(**params).fit(table)


# The real weights ------------------------------------------------------------------


def test_real_weights_tell_clusters_apart():
    if not list(weights_home().glob("tabpfn-v2-regressor*.ckpt")):
        pytest.skip("TabPFN's weights are not cached")
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 4)) + 6 * groups[:, None]
    embedding = TabPFNEmbedder(random_state=0).fit_transform(X)
    assert embedding.shape == (120, 192)
    centres = np.stack([embedding[groups == k].mean(axis=0) for k in (0, 1)])
    within = np.linalg.norm(embedding - centres[groups], axis=1).mean()
    assert within < 0.5 * np.linalg.norm(centres[0] - centres[1])
