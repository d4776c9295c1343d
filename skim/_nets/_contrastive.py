"""An encoder trained to recognise corrupted views of the same row."""

from itertools import pairwise

import numpy as np
import torch
from torch.nn import functional

from skim._nets._memory import as_tensor, compute, outside_compute, seeded_generator
from skim._nets._run import Adam

# Chosen by how tight they make the clusters of simulations and of small tables.
HIDDEN_UNITS = 64
BATCH_SIZE = 128
LEARNING_RATE = 3e-3
TEMPERATURE = 0.5
CORRUPTION = 0.5  # fraction of the values that are replaced in a view
N_CANDIDATES = 10  # replacement values come from the nearest of this many other rows
FAR = 0.5  # fraction of the batch that a row is contrasted with: the furthest rows

EXACT = "donot_use_mm_for_euclid_dist"  # the distance of equal rows is exactly 0
CHUNK_SIZE = 512  # rows encoded at once, a multiple of the vector width


def train_encoder(X, n_components, n_updates, seed):
    """Train an encoder on views of the rows of X, an array of shape (n, p)."""
    with compute(), outside_compute():
        X = as_tensor(X, "cpu")
        generator = seeded_generator(seed, "cpu")
        layers = []
        widths = X.shape[1], HIDDEN_UNITS, HIDDEN_UNITS, n_components
        for fan_in, fan_out in pairwise(widths):
            weight = X.new_empty(fan_out, fan_in)
            weight.normal_(0.0, (2 / fan_in) ** 0.5, generator=generator)
            layers.append((weight, X.new_zeros(fan_out)))
        parts = [part.requires_grad_() for layer in layers for part in layer]
        optimisers = [Adam(part, learning_rate=LEARNING_RATE) for part in parts]
        losses = []
        for _ in range(n_updates):
            first, second, distances = draw_views(X, generator)
            with torch.enable_grad():
                x = torch.cat([first, second])
                for place, (weight, bias) in enumerate(layers):
                    x = functional.linear(torch.relu(x) if place else x, weight, bias)
                first, second = x.split(len(first))
                loss = contrast(first, second, distances)
                grads = torch.autograd.grad(loss, parts)
            with torch.no_grad():
                for optimiser, grad in zip(optimisers, grads, strict=True):
                    optimiser.step(grad)
            losses.append(loss.item())
    return [tuple(part.detach().numpy() for part in layer) for layer in layers], losses


def draw_views(X, generator):
    """Return two views of B rows, each (B, p), and the rows' distances, (B, B)."""
    rows = X
    if len(X) > BATCH_SIZE:
        rows = X[torch.randint(len(X), (BATCH_SIZE,), generator=generator)]
    distances = torch.cdist(rows, rows, compute_mode=EXACT)
    first, second = (_corrupt(rows, distances, generator) for _ in range(2))
    return first, second, distances


def _corrupt(rows, distances, generator):
    """Replace some values of each row by those of a nearby row."""
    n_rows = len(rows)
    steps = torch.randint(1, n_rows, (n_rows, N_CANDIDATES), generator=generator)
    candidates = (torch.arange(n_rows).unsqueeze(1) + steps) % n_rows
    closest = distances.gather(1, candidates).argmin(dim=1, keepdim=True)
    donors = rows[candidates.gather(1, closest).squeeze(1)]
    drawn = torch.rand(rows.shape, generator=generator, dtype=rows.dtype)
    return torch.where(drawn < CORRUPTION, donors, rows)


def contrast(first, second, distances):
    """Return the InfoNCE loss of pairs of views, by cosine similarity.

    `first` and `second` are the codes of the two views of each row, of shape (B, d);
    `distances` are those between the rows, of shape (B, B).
    """
    n_rows = len(distances)
    rank = n_rows - max(round(FAR * n_rows), 1) + 1
    close = distances < distances.kthvalue(rank, dim=1, keepdim=True).values
    close.fill_diagonal_(False)
    first, second = (functional.normalize(x, dim=1, eps=1e-6) for x in (first, second))
    similarity = first @ second.T / TEMPERATURE
    own = torch.arange(n_rows)
    losses = [
        functional.cross_entropy(each.masked_fill(close, -torch.inf), own)
        for each in (similarity, similarity.T)
    ]
    return (losses[0] + losses[1]) / 2


def encode(X, layers):
    """Return the codes, of shape (n, d), of the rows of X, an array of shape (n, p).

    All chunks have the same size, so a row's code does not depend on the other rows.
    """
    codes = np.empty((len(X), len(layers[-1][1])), np.float32)
    with compute():
        tensors = [[as_tensor(part, "cpu") for part in layer] for layer in layers]
        for start in range(0, len(X), CHUNK_SIZE):
            chunk = slice(start, start + CHUNK_SIZE)
            rows = as_tensor(X[chunk], "cpu")
            x = functional.pad(rows, (0, 0, 0, CHUNK_SIZE - len(rows))).T.contiguous()
            for place, (weight, bias) in enumerate(tensors):
                x = torch.relu(x) if place else x
                x = torch.addmm(bias.unsqueeze(1), weight, x)
            codes[chunk] = x.T[: len(rows)].numpy()
    return codes
