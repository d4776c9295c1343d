"""Losses of rows under kept snapshots."""

import numpy as np
import torch

from skim._nets._memory import Workspace, as_tensor, device_or_cpu

# Rows per chunk are chosen so that a layer of all members stays in the cache.
CHUNK_ELEMENTS = 2**18


def snapshot_losses(
    shape, weights, statistics, noise, rows, *, device="cpu", member_weights=None
):
    """Yield the losses of rows under each snapshot in turn, as arrays.

    Parameters
    ----------
    shape : VAEShape or AutoencoderShape
    weights : ndarray of shape (S, M, P)
        The snapshots.
    statistics : ndarray of shape (S, M, Q)
    noise : ndarray of shape (M, L, K) or None
    rows : ndarray of shape (n, p)
    device : str, default="cpu"
        Where to compute; the CPU if that device is not available.
    member_weights : ndarray of shape (S, M), default=None
        If given, what each feature adds to the losses is yielded instead, summed over
        the members with these weights.

    Yields
    ------
    losses : ndarray of shape (M, n), or terms : ndarray of shape (n, p)
    """
    device = device if device == "cpu" else device_or_cpu(device)
    noise = as_tensor(noise, device)
    n_members, n_samples = weights.shape[1], 1 if noise is None else noise.shape[2]
    size = CHUNK_ELEMENTS // (n_members * n_samples * shape.widest)
    size = max(64, min(2048, size // 64 * 64))  # whole vector registers
    chunks = in_chunks(as_tensor(rows, device), size)
    workspace = Workspace(device)
    for s in range(len(weights)):
        state = (as_tensor(part[s], device) for part in (weights, statistics))
        folded = shape.fold(*state, noise)
        if member_weights is None:
            parts = [shape.losses(folded, x, workspace) for x in chunks]
        else:
            share = as_tensor(member_weights[s], device)
            parts = []
            for x in chunks:
                _, terms = shape.losses(folded, x, workspace, terms=True)
                parts.append(torch.tensordot(share, terms, dims=1))
        found = torch.cat(parts, dim=1)[:, : len(rows)].cpu().numpy()
        found = found.astype(np.float64)
        yield found if member_weights is None else found.T


def in_chunks(X, size):
    """Cut rows into transposed chunks of one fixed size, the last one padded.

    Fixed shapes keep the arithmetic of a row the same wherever it stands and
    however many rows come with it.

    Parameters
    ----------
    X : Tensor of shape (n, p)
    size : int

    Returns
    -------
    chunks : Tensor of shape (n_chunks, p, size)
    """
    n_rows, n_features = X.shape
    n_chunks = -(-n_rows // size)
    padded = X.new_zeros(n_chunks * size, n_features)
    padded[:n_rows] = X
    return padded.view(n_chunks, size, n_features).transpose(1, 2).contiguous()
