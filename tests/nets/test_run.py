"""Autoencoder, optimisers, batches and the training loop."""

import numpy as np
import pytest
import torch

from skim._nets import Adam, AutoencoderShape, low_loss_weights
from skim._nets._autoencoder import StackedAutoencoder
from skim._nets._run import RowStream
from tests.nets.test_vae import delete_cells, with_batch_means


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(("train_decoder", "gaps"), [(True, True), (False, False)])
def test_autoencoder_equals_automatic_differentiation(train_decoder, gaps):
    fill = np.linspace(0.2, 0.8, 4, dtype=np.float32)
    shape = AutoencoderShape(4, 5, train_decoder, fill)
    weights = shape.weights.draw(3, generator())
    given = torch.randn(3, 4, 11, generator=generator())
    if gaps:
        delete_cells(given)
    missing = given.isnan()
    x = given.where(~missing, torch.from_numpy(fill)[:, None])
    row_weights = torch.rand(3, 11, generator=generator())
    leaf = weights.clone().requires_grad_()
    w = shape.weights.views(leaf)
    hidden = torch.tanh(w["encode"] @ x)
    squares = (x - w["decode"] @ hidden).square().unsqueeze(2)
    expected = with_batch_means(squares, missing.unsqueeze(2)).sum((1, 2))
    (expected * row_weights).sum().backward()

    network = StackedAutoencoder(shape, weights)
    network.has_gaps = gaps
    losses, cache = network.forward(given)
    grad = torch.empty_like(weights)
    network.backward(cache, row_weights, grad)
    torch.testing.assert_close(losses, expected.detach())
    found, wanted = shape.weights.views(grad), shape.weights.views(leaf.grad)
    torch.testing.assert_close(found["encode"], wanted["encode"])
    if train_decoder:
        torch.testing.assert_close(found["decode"], wanted["decode"])
    else:
        assert (found["decode"] == 0).all()


def test_adam_equals_torchs():
    weights = torch.randn(2, 9, dtype=torch.float64, generator=generator())
    theirs = weights.clone().requires_grad_()
    optimiser = torch.optim.Adam([theirs], lr=0.01, weight_decay=0.1)
    ours = Adam(weights, learning_rate=0.01, weight_decay=0.1)
    for step in range(20):
        grad = torch.randn(2, 9, dtype=torch.float64, generator=generator(step))
        theirs.grad = grad.clone()
        optimiser.step()
        ours.step(grad)
    torch.testing.assert_close(weights, theirs.detach())


def test_stream_shows_every_row_once_a_pass_and_members_in_their_own_order():
    X = torch.arange(12.0).view(12, 1)
    stream = RowStream(X, 2, generator())
    batches = [stream.take(4) for _ in range(3)]
    rows = torch.cat(batches, dim=2)
    assert rows.shape == (2, 1, 12)
    assert torch.equal(rows.sort().values[0, 0], X[:, 0])
    assert torch.equal(rows.sort().values[1, 0], X[:, 0])
    assert not torch.equal(rows[0], rows[1])


@pytest.mark.parametrize("quantile", [0.0, 0.5, 0.92, 1.0])
def test_truncation_keeps_rows_at_or_below_the_quantile(quantile):
    losses = torch.randn(3, 50, generator=generator())
    row_weights = low_loss_weights(losses, quantile)
    limit = np.quantile(losses.numpy(), quantile, axis=1, keepdims=True)
    assert np.array_equal(row_weights.numpy() > 0, losses.numpy() <= limit)
    torch.testing.assert_close(row_weights.sum(1), torch.ones(3))
