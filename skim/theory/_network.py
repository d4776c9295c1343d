"""The one-hidden-layer autoencoder of the theorem, and its Jacobian."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.utils import check_consistent_length

from skim.theory._geometry import check_floats


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
    "identity": Activation(lambda t: t, np.ones_like, 1.0, 0.0),
    # Almost everywhere: the curvature is unbounded where a unit switches on.
    "relu": Activation(lambda t: np.maximum(t, 0), lambda t: 1.0 * (t > 0), 1.0, 0.0),
}


def check_network(
    W: ArrayLike, A: ArrayLike, n_features: int, activation: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weights as arrays, after a check of shapes and activation."""
    W, A = check_floats(W), check_floats(A)
    if W.shape[1] != n_features or A.shape != W.shape[::-1]:
        raise ValueError(
            f"W has shape {W.shape} and A has shape {A.shape}, but with {n_features} "
            f"features and H hidden units they must be (H, {n_features}) and "
            f"({n_features}, H)."
        )
    if activation not in ACTIVATIONS:
        known = ", ".join(map(repr, ACTIVATIONS))
        raise ValueError(f"activation must be one of {known}, got {activation!r}.")
    return W, A


def reconstruct(
    W: ArrayLike, A: ArrayLike, X: ArrayLike, activation: str = "tanh"
) -> NDArray[np.float64]:
    r"""Apply the autoencoder :math:`F_W(x) = A \phi(W x)` to rows.

    Parameters
    ----------
    W : array-like of shape (n_hidden, n_features)
        Weights of the encoder.
    A : array-like of shape (n_features, n_hidden)
        Weights of the decoder.
    X : array-like of shape (n_samples, n_features)
        The data.
    activation : {"tanh", "sigmoid", "relu", "identity"}, default="tanh"
        The activation function :math:`\phi`.

    Returns
    -------
    output : ndarray of shape (n_samples, n_features)
        The reconstructed rows.
    """
    X = check_floats(X)
    W, A = check_network(W, A, X.shape[1], activation)
    return ACTIVATIONS[activation].value(X @ W.T) @ A.T


def jacobian(
    W: ArrayLike, A: ArrayLike, X: ArrayLike, activation: str = "tanh"
) -> NDArray[np.float64]:
    r"""Compute the Jacobian of the stacked outputs in the weights of the encoder.

    Parameters
    ----------
    W, A, X, activation
        As in :func:`reconstruct`.

    Returns
    -------
    J : ndarray of shape (n_samples * n_features, n_hidden * n_features)
        Derivatives of the outputs, row by row, in ``W.ravel()``: :math:`\partial
        F_W(x_i)_a / \partial W_{hb} = A_{ah} \phi'(w_h^\top x_i) x_{ib}`.
    """
    X = check_floats(X)
    W, A = check_network(W, A, X.shape[1], activation)
    slopes = ACTIVATIONS[activation].slope(X @ W.T)
    return np.einsum("ah,ih,ib->iahb", A, slopes, X).reshape(X.size, W.size)


def project_on_clusters(V: ArrayLike, clusters: ArrayLike) -> NDArray[np.float64]:
    r"""Project onto the vectors that are constant within each cluster.

    Parameters
    ----------
    V : array-like of shape (n_samples, n_features)
        A vector with one block per row.
    clusters : array-like of shape (n_samples,)
        Cluster label of each row.

    Returns
    -------
    projection : ndarray of shape (n_samples, n_features)
        The orthogonal projection :math:`\Pi_{S_+} V`, in which every block is the
        mean of its cluster, :math:`\frac{1}{n_k} \sum_{j \in \Lambda_k} v_j`.
    """
    V = check_floats(V)
    check_consistent_length(V, clusters)
    _, places = np.unique(clusters, return_inverse=True)
    sums = np.zeros((places.max() + 1, V.shape[1]))
    np.add.at(sums, places, V)
    return (sums / np.bincount(places)[:, None])[places]
