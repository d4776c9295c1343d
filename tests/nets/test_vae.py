"""The hand-written VAE against automatic differentiation."""

import math

import numpy as np
import pytest
import torch
from torch.nn.functional import leaky_relu

from skim._nets import VAEShape
from skim._nets._memory import Workspace
from skim._nets._vae import EPS, LOG_VAR_RANGE, MOMENTUM, SLOPE, StackedVAE

M, P, B = 3, 7, 20


def make(n_samples=1, stretch=1.0, gaps=False):
    fill = np.linspace(0.2, 0.8, P, dtype=np.float32)
    shape = VAEShape(P, (32, 16), 6, n_samples, fill)
    generator = torch.Generator().manual_seed(0)
    weights = shape.weights.draw(M, generator) * stretch
    x = torch.rand(M, P, B, generator=generator)
    if gaps:
        delete_cells(x)
    network = StackedVAE(shape, weights, generator)
    network.has_gaps = gaps
    state = generator.get_state()
    noise = torch.empty(M, shape.n_latent, n_samples, B).normal_(generator=generator)
    generator.set_state(state)
    return network, x, noise


def delete_cells(x):
    x[torch.rand(x.shape, generator=torch.Generator().manual_seed(1)) < 0.3] = torch.nan
    x[1, 2] = torch.nan  # without any value in this batch


def with_batch_means(terms, missing):
    """Replace the terms of missing cells by means over the batch, as constants."""
    known = (~missing).expand_as(terms)
    total = terms.where(known, 0.0).sum((2, 3), keepdim=True)
    mean = total / known.sum((2, 3), keepdim=True).clamp(min=1)
    return terms.where(known, mean.detach())


def reference_losses(shape, weights, x, noise, normalise):
    """The objective as one would write it down, in double precision."""
    missing = x.isnan()
    x = x.where(~missing, torch.from_numpy(shape.fill)[:, None]).double()
    noise = noise.double()
    w = shape.weights.views(weights.double())
    n_samples = noise.shape[2]

    def block(name, inputs):
        return leaky_relu(normalise(name, w[name] @ inputs), SLOPE)

    def head(name, inputs):
        mean, log_var = (w[name] @ inputs).chunk(2, dim=1)
        return mean, (log_var + w[f"{name}_bias"]).clamp(*LOG_VAR_RANGE)

    mean, log_var = head("latent", block("encode_2", block("encode_1", x)))
    z = mean.unsqueeze(2) + (log_var / 2).exp().unsqueeze(2) * noise
    h = block("decode_2", block("decode_1", z.flatten(2)))
    m, v = (part.unflatten(2, (n_samples, -1)) for part in head("output", h))
    terms = v + (x.unsqueeze(2) - m.sigmoid()) ** 2 / (2 * v.exp())
    log_p_x = -with_batch_means(terms, missing.unsqueeze(2)).sum(1)
    log_p_z = -0.5 * z.square().sum(1)
    log_q_z = -0.5 * noise.square().sum(1) - 0.5 * log_var.sum(1).unsqueeze(1)
    ratio = log_p_x + log_p_z - log_q_z
    return math.log(n_samples) - torch.logsumexp(ratio, dim=1)


def assert_near(found, expected):
    scale = expected.abs().max().item()
    torch.testing.assert_close(
        found.double(), expected.double(), rtol=0, atol=1e-4 * scale
    )


def batch_normalise(name, values):
    centred = values - values.mean(2, keepdim=True)
    return centred / (centred.square().mean(2, keepdim=True) + EPS).sqrt()


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("stretch", [1.0, 4.0])  # the latter reaches the clamps
@pytest.mark.parametrize(("n_samples", "zeros"), [(1, 0), (1, B), (4, 0), (4, 11)])
def test_losses_and_gradient_equal_automatic_differentiation(
    n_samples, stretch, zeros, gaps
):
    network, x, noise = make(n_samples, stretch, gaps)
    row_weights = torch.linspace(-1, 1, M * B).view(M, B)
    row_weights[:2, :zeros] = 0
    row_weights[2, : zeros + 3] = 0
    leaf = network.weights.clone().requires_grad_()
    expected = reference_losses(network.shape, leaf, x, noise, batch_normalise)
    (expected * row_weights).sum().backward()

    losses, cache = network.forward(x)
    grad = torch.empty_like(network.weights)
    network.backward(cache, row_weights, grad)
    assert_near(losses, expected.detach())
    assert_near(grad, leaf.grad)


def test_running_statistics_are_those_of_torchs_batch_norm():
    network, x, _ = make()
    shape = network.shape
    norm = torch.nn.BatchNorm1d(32, eps=EPS, momentum=MOMENTUM, affine=False)
    encode = shape.weights.views(network.weights)["encode_1"]
    for _ in range(3):
        network.forward(x)
        norm((encode[1] @ x[1]).T)
    running = shape.statistics.views(network.statistics)
    torch.testing.assert_close(running["encode_1_mean"][1, :, 0], norm.running_mean)
    torch.testing.assert_close(running["encode_1_var"][1, :, 0], norm.running_var)


@pytest.mark.parametrize("n_samples", [1, 4])
def test_fixed_losses_use_the_running_statistics(n_samples):
    network, x, _ = make(n_samples)
    shape = network.shape
    for _ in range(5):
        network.forward(x)
    running = shape.statistics.views(network.statistics)

    def normalise(name, values):
        centred = values - running[f"{name}_mean"]
        return centred / (running[f"{name}_var"] + EPS).sqrt()

    noise = torch.linspace(-2, 2, M * shape.n_latent * n_samples)
    noise = noise.view(M, shape.n_latent, n_samples)
    expected = reference_losses(
        shape, network.weights, x, noise.unsqueeze(3).expand(-1, -1, -1, B), normalise
    )
    folded = shape.fold(network.weights, network.statistics, noise)
    workspace = Workspace()
    losses, terms = shape.losses(folded, x, workspace, terms=True)
    assert_near(losses, expected)
    assert terms.shape == (M, P, B)
    torch.testing.assert_close(shape.losses(folded, x, workspace), losses)
    shared = shape.losses(folded, x[0], workspace)
    torch.testing.assert_close(shared[0], losses[0])
