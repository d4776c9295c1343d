"""How alike the gradients of single rows are."""

import torch

from skim._nets._memory import linear, outside_compute


def gradient_products(shape, weights, statistics, x, noise=None):
    """Return the inner products of the gradients of rows' losses.

    The gradient of one row in the weights of a linear layer is an outer product,
    of what the row sends into the layer and what comes back from its loss. Inner
    products of such gradients are therefore products of inner products of vectors,
    and no gradient of the size of the network is ever made.
    """
    if not hasattr(shape, "traced_losses"):
        return shape.gradient_products(weights, statistics, x)
    with outside_compute(), torch.enable_grad():
        tensors = weights, statistics, x.expand(len(weights), -1, -1), noise
        weights, statistics, x, noise = (
            None if tensor is None else tensor.clone() for tensor in tensors
        )
        views = shape.weights.views(weights)
        inputs, outputs = [], []

        def traced(name, into):
            inputs.append((name, into))
            outputs.append(linear(views, name, into).requires_grad_())
            return outputs[-1]

        losses = shape.traced_losses(traced, statistics, x, noise)
        deltas = torch.autograd.grad(losses.sum(), outputs)
    n_rows = x.shape[2]
    products = weights.new_zeros(len(weights), n_rows, n_rows)
    for (name, into), delta in zip(inputs, deltas, strict=True):
        like = _products(delta) * _products(into)
        if f"{name}_bias" in views:
            like += _products(delta[:, -views[f"{name}_bias"].shape[1] :])
        n_samples = into.shape[2] // n_rows
        like = like.view(-1, n_samples, n_rows, n_samples, n_rows)
        products += like.sum((1, 3))
    return products


def _products(x):
    x = x.detach()
    return torch.bmm(x.transpose(1, 2), x)
