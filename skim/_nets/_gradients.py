"""How alike the gradients of single rows are."""

import torch

from skim._nets._memory import linear


def gradient_products(shape, weights, statistics, x, noise=None):
    """Return the inner products of the gradients of rows' losses.

    The gradient of one row in the weights of a linear layer is an outer product,
    of what the row sends into the layer and what comes back from its loss. Inner
    products of such gradients are therefore products of inner products of vectors,
    and no gradient of the size of the network is ever made.
    """
    if not hasattr(shape, "traced_losses"):
        return shape.gradient_products(weights, statistics, x)
    with torch.inference_mode(False), torch.enable_grad():
        tensors = weights, statistics, x.expand(len(weights), -1, -1), noise
        weights, statistics, x, noise = (
            None if tensor is None else tensor.clone() for tensor in tensors
        )
        views = shape.weights.views(weights)
        inputs, outputs = [], []

        def traced(name, into):
            out = linear(views, name, into)
            out.requires_grad_() if not out.requires_grad else out.retain_grad()
            inputs.append((name, into))
            outputs.append(out)
            return out

        losses = shape.traced_losses(traced, statistics, x, noise)
        deltas = torch.autograd.grad(losses.sum(), outputs)
    n_rows = x.shape[2]
    products = weights.new_zeros(len(weights), n_rows, n_rows)
    for (name, into), delta in zip(inputs, deltas, strict=True):
        like = _products(delta, delta) * _products(into, into)
        if f"{name}_bias" in views:
            last = delta[:, -views[f"{name}_bias"].shape[1] :]
            like += _products(last, last)
        n_samples = into.shape[2] // n_rows
        like = like.view(-1, n_samples, n_rows, n_samples, n_rows)
        products += like.sum((1, 3))
    return products


def _products(a, b):
    a = a.detach()
    return torch.bmm(a.transpose(1, 2), b.detach())
