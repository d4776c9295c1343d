"""The one-hidden-layer autoencoder of the theorem, and its Jacobian."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.utils import check_array, check_consistent_length


class Activation(NamedTuple):
    """An activation function with what the theorem asks of it.

    Attributes
    ----------
    value, slope : callable
        The function and its derivative, elementwise.
    max_slope, max_curvature : float
        Bounds B1 and B2 of the first and the second derivative's size.
    """

    value: object
    slope: object
    max_slope: float
    max_curvature: float


ACTIVATIONS = {
    "tanh": Activation(np.tanh, lambda t: 1 - np.tanh(t) ** 2, 1.0, 4 / 27**0.5),
    "sigmoid": Activation(
        expit, lambda t: expit(t) * expit(-t), 0.25, 1 / (6 * 3**0.5)
    ),
    "identity": Activation(lambda t: t, np.ones_like, 1.0, 0.0),
    # Almost everywhere: no bound on the curvature holds where a unit turns on.
    "relu": Activation(lambda t: np.maximum(t, 0), lambda t: 1.0 * (t > 0), 1.0, 0.0),
}


def activation_of(name):
    """Look up an activation by its name."""
    if name not in ACTIVATIONS:
        known = ", ".join(map(repr, ACTIVATIONS))
        raise ValueError(f"activation must be one of {known}, not {name!r}.")
    return ACTIVATIONS[name]


def check_network(W, A, n_features):
    """Return the weights as arrays of fitting shapes."""
    W = check_array(W, dtype=np.float64)
    A = check_array(A, dtype=np.float64)
    n_hidden = len(W)
    if W.shape != (n_hidden, n_features) or A.shape != (n_features, n_hidden):
        raise ValueError(
            f"W has shape {W.shape} and A {A.shape}; with {n_features} features and "
            f"H hidden units they must be (H, {n_features}) and ({n_features}, H)."
        )
    return W, A


def reconstruct(W, A, X, activation="tanh"):
    r"""Apply the autoencoder :math:`F_W(x) = A \phi(W x)` to rows.

    Parameters
    ----------
    W : array-like of shape (n_hidden, n_features)
    A : array-like of shape (n_features, n_hidden)
    X : array-like of shape (n_samples, n_features)
    activation : {"tanh", "sigmoid", "relu", "identity"}, default="tanh"

    Returns
    -------
    output : ndarray of shape (n_samples, n_features)
    """
    X = check_array(X, dtype=np.float64)
    W, A = check_network(W, A, X.shape[1])
    return activation_of(activation).value(X @ W.T) @ A.T


def jacobian(W, A, X, activation="tanh"):
    r"""Differentiate the stacked outputs by the encoder's weights.

    Parameters
    ----------
    W : array-like of shape (n_hidden, n_features)
    A : array-like of shape (n_features, n_hidden)
    X : array-like of shape (n_samples, n_features)
    activation : {"tanh", "sigmoid", "relu", "identity"}, default="tanh"

    Returns
    -------
    J : ndarray of shape (n_samples * n_features, n_hidden * n_features)
        Of the outputs, row after row, by ``W.ravel()``: :math:`\partial F_W(x_i)_a /
        \partial W_{hb} = A_{ah} \phi'(w_h^\top x_i) x_{ib}`.
    """
    X = check_array(X, dtype=np.float64)
    W, A = check_network(W, A, X.shape[1])
    slopes = activation_of(activation).slope(X @ W.T)
    blocks = np.einsum("ah,ih,ib->iahb", A, slopes, X)
    return blocks.reshape(X.size, W.size)


def project_on_clusters(V, clusters):
    r"""Project onto the vectors that are equal within each cluster.

    Parameters
    ----------
    V : array-like of shape (n_samples, n_features)
        A vector of one block a row.
    clusters : array-like of shape (n_samples,)

    Returns
    -------
    projection : ndarray of shape (n_samples, n_features)
        The orthogonal projection :math:`\Pi_{S_+} V`: every block is replaced by
        the mean of its cluster, :math:`\frac{1}{n_k} \sum_{j \in \Lambda_k} v_j`.
    """
    V = check_array(V, dtype=np.float64)
    check_consistent_length(V, clusters)
    _, places = np.unique(clusters, return_inverse=True)
    sums = np.zeros((places.max() + 1, V.shape[1]))
    np.add.at(sums, places, V)
    return (sums / np.bincount(places)[:, None])[places]
