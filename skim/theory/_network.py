"""The one-hidden-layer autoencoder of the theorem, and its Jacobian."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit


class Activation(NamedTuple):
    """An activation, its derivative, and the bounds B1 and B2 of two derivatives."""

    value: Callable
    slope: Callable
    max_slope: float
    max_curvature: float


ACTIVATIONS = {
    "tanh": Activation(np.tanh, lambda t: 1 - np.tanh(t) ** 2, 1.0, 4 / 27**0.5),
    "sigmoid": Activation(
        expit, lambda t: expit(t) * expit(-t), 0.25, 1 / (6 * 3**0.5)
    ),
}


def reconstruct(W, A, X, activation="tanh"):
    """Apply the autoencoder F_W(x) = A phi(W x) to the rows of X."""
    return ACTIVATIONS[activation].value(X @ W.T) @ A.T


def jacobian(W, A, X, activation="tanh"):
    """Return the derivatives of all outputs, row by row, in ``W.ravel()``.

    These are ``A[a, h] * phi'(W[h] @ x) * x[b]``, in an array of shape (n * p, H * p).
    """
    slopes = ACTIVATIONS[activation].slope(X @ W.T)
    return np.einsum("ah,ih,ib->iahb", A, slopes, X).reshape(X.size, W.size)
