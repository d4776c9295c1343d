"""Inner products of gradients against gradients made one by one."""

from functools import partial

import pytest
import torch

from skim._nets import AutoencoderShape, VAEShape, gradient_products
from skim._nets._memory import linear

N_ROWS, N_MEMBERS, N_FEATURES = 6, 2, 7


def vae(n_samples, generator):
    shape = VAEShape(N_FEATURES, (16, 8), 4, n_samples)
    weights = shape.weights.draw(N_MEMBERS, generator)
    statistics = torch.rand(N_MEMBERS, shape.statistics.size, generator=generator)
    noise = torch.randn(N_MEMBERS, 4, n_samples, generator=generator)
    return shape, weights, statistics, noise


def autoencoder(generator):
    shape = AutoencoderShape(N_FEATURES, 5)
    weights = shape.weights.draw(N_MEMBERS, generator)
    return shape, weights, weights.new_empty(N_MEMBERS, 0), None


@pytest.fixture(params=[partial(vae, 1), partial(vae, 3), autoencoder])
def network(request):
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(N_FEATURES, N_ROWS, generator=generator)
    return *request.param(generator), x


def test_products_are_those_of_the_gradients(network):
    shape, weights, statistics, noise, x = network
    products = gradient_products(shape, weights, statistics, x, noise)
    weights = weights.clone().requires_grad_()
    rows = x.expand(N_MEMBERS, -1, -1)
    layer = partial(linear, shape.weights.views(weights))
    losses = shape.traced_losses(layer, statistics, rows, noise)
    gradients = torch.stack(
        [
            torch.autograd.grad(losses[:, row].sum(), weights, retain_graph=True)[0]
            for row in range(N_ROWS)
        ],
        dim=1,
    )
    expected = gradients @ gradients.transpose(1, 2)
    torch.testing.assert_close(products, expected, rtol=1e-4, atol=1e-4)
    assert expected.abs().max() > 0
