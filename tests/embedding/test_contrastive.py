"""The embedder that is trained on the table itself."""

import numpy as np
import pytest
import torch

from skim._model._scaling import InputScaler
from skim._nets._contrastive import contrast, draw_views
from skim.datasets import make_im_clusters
from skim.embedding import ContrastiveEmbedder
from skim.theory import cluster_geometry


def quick(**params):
    return ContrastiveEmbedder(**{"n_updates": 20, "random_state": 0} | params)


def variation(X, clusters):
    counted = clusters >= 0
    geometry = cluster_geometry(X[counted], clusters[counted])
    return geometry.distances.mean() / geometry.delta


def test_clusters_of_the_simulation_become_tighter():
    X, _, clusters = make_im_clusters(1000, cluster_std=2.5, random_state=1)
    before = InputScaler("squash", centred=True).fit(X).transform(X)
    embedder = ContrastiveEmbedder(random_state=1)
    after = embedder.fit_transform(X)
    assert variation(after, clusters) < variation(before, clusters)
    losses = embedder.loss_curve_
    assert losses.shape == (200,)
    assert losses[-20:].mean() < losses[:20].mean() - 0.05


# Views and loss ------------------------------------------------------------------


def test_views_hold_values_of_the_row_or_of_another():
    X = torch.arange(50.0).repeat(4, 1).T + torch.arange(4) * 1000
    first, second, distances = draw_views(X, torch.Generator().manual_seed(0))
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
    torch.testing.assert_close(contrast(first, second, distances), expected)


# Input and output ----------------------------------------------------------------


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
def test_odd_tables_give_finite_output(X):
    embedder = quick().fit(X)
    assert np.isfinite(embedder.transform(X)).all()
    assert np.isfinite(embedder.transform(np.full_like(X, -1e308))).all()


def test_bad_input_is_refused(table):
    with pytest.raises(ValueError, match=r"1 sample.* minimum of 2 is required"):
        quick().fit(table[:1])
    with pytest.raises(ValueError, match="'n_updates' parameter"):
        quick(n_updates=0).fit(table)
