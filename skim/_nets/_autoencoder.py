"""A stack of the one-hidden-layer autoencoders ``F(x) = A tanh(W x)``."""

import torch

from skim._nets import _memory
from skim._nets._memory import Layout, Workspace, fill_terms, filled


class AutoencoderShape:
    """What the weights of a member look like, and how a fixed member scores."""

    def __init__(self, n_features, n_hidden, train_decoder=True, fill=None):
        self.n_features = n_features
        self.train_decoder = train_decoder
        self.fill = fill
        self.widest = max(n_features, n_hidden)
        self.weights = Layout(
            {"encode": (n_hidden, n_features), "decode": (n_features, n_hidden)}
        )

    def draw_weights(self, n_members, generator):
        return self.weights.draw(n_members, generator)

    def stack(self, weights, generator=None):
        return StackedAutoencoder(self, weights)

    def draw_noise(self, n_members, generator):
        return None  # nothing about the scores is random

    def fold(self, weights, statistics=None, noise=None):
        return self.weights.views(weights)

    def losses(self, folded, x, workspace, *, terms=False, gaps="nothing"):
        """Squared reconstruction errors of rows under fixed members."""
        x, missing = filled(x, self.fill)
        _, residual = self.reconstruct(folded, x, workspace)
        squares = residual.square_()
        if missing is not None:
            missing = missing.expand(len(squares), -1, -1)
            fill_terms(squares.unsqueeze(2), missing.unsqueeze(2), gaps)
        losses = squares.sum(1)
        return (losses, squares) if terms else losses

    def reconstruct(self, w, x, workspace):
        """Hidden activations and the residuals ``F(x) - x``."""
        n_members, n_hidden, n_features = w["encode"].shape
        x = x.expand(n_members, -1, -1)
        hidden = workspace.take("hidden", n_members, n_hidden, x.shape[2])
        torch.bmm(w["encode"], x, out=hidden).tanh_()
        residual = workspace.take("residual", n_members, n_features, x.shape[2])
        torch.baddbmm(x, w["decode"], hidden, beta=-1.0, out=residual)
        return hidden, residual

    def traced_losses(self, linear, statistics, x, noise):
        """Losses of rows under fixed members, by steps that torch can follow."""
        x, missing = filled(x, self.fill)
        squares = (linear("decode", linear("encode", x).tanh()) - x).square()
        if missing is not None:
            squares = squares.masked_fill(missing, 0.0)
        return squares.sum(1)


class StackedAutoencoder:
    """Members of an autoencoder in training."""

    def __init__(self, shape, weights):
        self.shape = shape
        self.weights = weights
        self.has_gaps = False  # whether batches may have missing cells
        self.statistics = weights.new_empty(len(weights), 0)
        self._workspace = Workspace(weights.device)
        self._views = shape.weights.views(weights)

    def forward(self, x):
        """Losses ``||x - F(x)||²`` of a batch of shape (M, p, B), and a cache."""
        x, missing = filled(x, self.shape.fill, self.has_gaps)
        hidden, residual = self.shape.reconstruct(self._views, x, self._workspace)
        if missing is not None:
            residual.masked_fill_(missing, 0.0)
        scratch = self._workspace.take("scratch", *residual.shape)
        squares = torch.mul(residual, residual, out=scratch)
        if missing is not None:
            fill_terms(squares.unsqueeze(2), missing.unsqueeze(2), "mean")
        return squares.sum(1), (x, hidden, residual)

    def backward(self, cache, row_weights, grad):
        """Write the gradient of ``(row_weights * losses).sum()`` into `grad`."""
        x, hidden, residual = cache
        w = self._views
        grad_out = residual.mul_(2.0 * row_weights.unsqueeze(1))
        grad_hidden = self._workspace.take("grad_hidden", *hidden.shape)
        torch.bmm(w["decode"].transpose(1, 2), grad_out, out=grad_hidden)
        if self.shape.train_decoder:
            grad_decode = torch.bmm(grad_out, hidden.transpose(1, 2))
        else:
            grad_decode = torch.zeros_like(w["decode"])
        _memory.tanh_backward(grad_hidden, hidden, grad_input=grad_hidden)
        grad_encode = torch.bmm(grad_hidden, x.transpose(1, 2))
        torch.cat([grad_encode.flatten(1), grad_decode.flatten(1)], dim=1, out=grad)
