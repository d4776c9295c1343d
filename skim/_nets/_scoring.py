"""Scores of rows under kept snapshots."""

import torch

from skim._nets._rows import in_chunks
from skim._nets._workspace import Workspace

# Rows per chunk are chosen so that a layer of all members stays in the cache.
CHUNK_ELEMENTS = 2**18


def chunk_size(n_members, n_samples, widest):
    """Rows that are scored at once; whole vector registers, so no remainders."""
    rows = CHUNK_ELEMENTS // (n_members * n_samples * widest)
    return max(64, min(2048, rows // 64 * 64))


class Scorer:
    """Losses of rows under each of several snapshots.

    Parameters
    ----------
    shape : VAEShape or AutoencoderShape
    weights : Tensor of shape (S, M, P)
        The snapshots.
    statistics : Tensor of shape (S, M, Q)
    noise : Tensor of shape (M, L, K) or None
    """

    def __init__(self, shape, weights, statistics, noise):
        self.shape = shape
        self.folded = [
            shape.fold(w, s, noise) for w, s in zip(weights, statistics, strict=True)
        ]
        n_members = weights.shape[1]
        n_samples = 1 if noise is None else noise.shape[2]
        self._size = chunk_size(n_members, n_samples, shape.widest)
        self._workspace = Workspace(weights.dtype, weights.device)

    def losses(self, X):
        """Yield the losses, of shape (M, n), of each snapshot in turn."""
        chunks = in_chunks(X, self._size)
        for folded in self.folded:
            parts = [self.shape.losses(folded, x, self._workspace) for x in chunks]
            yield torch.cat(parts, dim=1)[:, : len(X)]

    def terms(self, X, member_weights):
        """Yield what the features add to the losses, (p, n), per snapshot.

        Parameters
        ----------
        X : Tensor of shape (n, p)
        member_weights : Tensor of shape (S, M)
            How much each member of each snapshot counts.
        """
        chunks = in_chunks(X, self._size)
        for folded, weights in zip(self.folded, member_weights, strict=True):
            parts = []
            for x in chunks:
                _, terms = self.shape.losses(folded, x, self._workspace, terms=True)
                parts.append(torch.tensordot(weights, terms, dims=1))
            yield torch.cat(parts, dim=1)[:, : len(X)]
