"""The quantities of the theorem on the inlier-memorization effect."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from skim.theory._geometry import ClusterGeometry, check_floats, cluster_geometry

N_RADII = 400  # candidates of radius="auto"
# The activation, its derivative, and the bounds B1 and B2 of its two derivatives.
ACTIVATIONS: dict[str, tuple[Callable, Callable, float, float]] = {
    "tanh": (np.tanh, lambda t: 1 - np.tanh(t) ** 2, 1.0, 4 / 27**0.5),
    "sigmoid": (expit, lambda t: expit(t) * expit(-t), 0.25, 1 / (6 * 3**0.5)),
}


@dataclass(frozen=True)
class TheoremQuantities:
    r"""The quantities of the theorem, for one network and one data set.

    The notation is that of the paper. Norms of matrices are spectral unless marked
    :math:`F`. The theorem needs bounds of the Jacobian that hold in a ball of
    radius :math:`R_{loc}` around the initial weights. They follow from the Jacobian
    :math:`J_c` at the centres and the initial weights, and its Lipschitz constant,

    .. math::

        L_c = \|A\| B_2 R_\mu \|M\|, \quad
        \alpha_c = \sigma_{\min}(J_c) - L_c R_{loc}, \quad
        \beta_c = \sigma_{\max}(J_c) + L_c R_{loc},

    where :math:`M` is the matrix of the centres.

    Attributes
    ----------
    geometry : ClusterGeometry
        Geometry of the data: :math:`\delta, \varepsilon_c, \varepsilon_o, \rho`.
    radius : float
        :math:`R_{loc}`.
    learning_rate : float
        :math:`\eta`.
    R0_tilde : float
        :math:`\tilde R_0 = \|F_{W_0}(\tilde X) - \tilde X\|`, the reconstruction
        error of the centres at initialisation, over all rows. The simulation of the
        paper reports it divided by :math:`\sqrt n`.
    R0_hat : float
        :math:`\hat R_0 = \tilde R_0 + \sqrt n \varepsilon_c
        + \sqrt{\rho n} \varepsilon_o`.
    alpha : float
        :math:`\alpha = \sqrt{n_{\min}}\, \alpha_c`; 0 if the bound is vacuous.
    beta : float
        :math:`\beta = \sqrt{n_{\max}}\, \beta_c`.
    L : float
        :math:`L = \sqrt{n_{\max}}\, L_c`.
    Delta_f : float
        :math:`\Delta_f = \|A\| B_1 R_W (\varepsilon_c + \varepsilon_o)` with
        :math:`R_W = \|W_0\|_F + R_{loc}`.
    Delta_J : float
        :math:`\Delta_J = \sqrt n \|A\| (B_1 + B_2 R_W R_\mu)
        (\varepsilon_c + \varepsilon_o)` with :math:`R_\mu = \max_k \|\mu_k\|`.
    beta_X : float
        :math:`\beta_X = \beta + \Delta_J`.
    kappa : float
        :math:`\kappa = L \hat R_0 + \beta \beta_X`.
    gamma : float
        :math:`\gamma = \Delta_J \hat R_0 + \beta_X \sqrt n \Delta_f`.
    max_learning_rate : float
        :math:`\min\{\alpha^2 / (8 \beta^4), \alpha^2 / (2 L \beta^2 \hat R_0)\}`.
    """

    geometry: ClusterGeometry
    radius: float
    learning_rate: float
    R0_tilde: float
    R0_hat: float
    alpha: float
    beta: float
    L: float
    Delta_f: float
    Delta_J: float
    beta_X: float
    kappa: float
    gamma: float
    max_learning_rate: float

    @property
    def nu(self) -> float:
        r"""Remaining error, :math:`\nu = \varepsilon_c + \rho \varepsilon_o`."""
        geometry = self.geometry
        return geometry.eps_c + float(geometry.rho.max()) * geometry.eps_o

    @property
    def path_radius(self) -> float:
        r"""Bound of the path of clean training, :math:`2 \beta \hat R_0 / \alpha^2`."""
        if self.alpha == 0:
            return math.inf
        return 2 * self.beta * self.R0_hat / self.alpha**2

    def T_star(self) -> float:
        r"""Return the iteration at which the centres have been learned.

        This is :math:`\lceil 2 / (\eta \alpha^2) \log_+(\hat R_0 / \nu) \rceil`;
        infinite if the network may never learn them.
        """
        ratio = _ratio(self.R0_hat, self.nu)
        if ratio <= 1:
            return 0
        iterations = _ratio(2 * math.log(ratio), self.learning_rate * self.alpha**2)
        return math.ceil(iterations) if math.isfinite(iterations) else math.inf

    def Delta_path(self, T: float) -> float:
        r"""Bound the distance between training on the data and on the centres.

        After T iterations, it is :math:`\eta \gamma T \exp(\eta \kappa T)`.
        """
        if self.gamma == 0:
            return 0.0
        exponent = self.learning_rate * self.kappa * T
        if exponent > 700:  # overflows
            return math.inf
        return self.learning_rate * self.gamma * T * math.exp(exponent)

    def zeta(self, T: float) -> float:
        r"""Bound the distance of the outputs from those of training on the centres.

        After T iterations, it is :math:`\zeta_T = \Delta_f + \beta \Delta_{path}(T)`.
        """
        return self.Delta_f + self.beta * self.Delta_path(T)

    def conditions(self, T: float) -> dict[str, bool]:
        r"""Tell which conditions of the theorem hold after T iterations.

        "jacobian": :math:`\alpha > 0`; "radius":
        :math:`R_{loc} \ge 2 \beta \hat R_0 / \alpha^2`; "learning_rate":
        :math:`0 < \eta \le` :attr:`max_learning_rate`; "long_enough":
        :math:`T \ge T_\star(\nu)`; "path": :math:`\Delta_{path}(T) \le R_{loc} -
        2 \beta \hat R_0 / \alpha^2`; "delta": :math:`\delta > 2 \zeta_T + 4 \nu`.
        """
        return {
            "jacobian": self.alpha > 0,
            "radius": self.radius >= self.path_radius,
            "learning_rate": 0 < self.learning_rate <= self.max_learning_rate,
            "long_enough": self.T_star() <= T,
            "path": self.Delta_path(T) <= self.radius - self.path_radius,
            "delta": self.geometry.delta > 2 * self.zeta(T) + 4 * self.nu,
        }


@validate_params(
    {
        "activation": [StrOptions(set(ACTIVATIONS))],
        "radius": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "learning_rate": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"auto"}),
        ],
    },
    prefer_skip_nested_validation=True,
)
def theorem_quantities(
    W: ArrayLike,
    A: ArrayLike,
    X: ArrayLike,
    clusters: ArrayLike,
    outliers: ArrayLike | None,
    *,
    activation: Literal["tanh", "sigmoid"] = "tanh",
    radius: float | Literal["auto"] = "auto",
    learning_rate: float | Literal["auto"] = "auto",
) -> TheoremQuantities:
    """Compute all quantities of the theorem.

    Parameters
    ----------
    W : array-like of shape (n_hidden, n_features)
        Initial weights of the encoder.

    A : array-like of shape (n_features, n_hidden)
        Weights of the decoder, which the theorem keeps fixed.

    X : array-like of shape (n_samples, n_features)
        The data as the network sees it.

    clusters : array-like of shape (n_samples,)
        See :func:`cluster_geometry`.

    outliers : array-like of shape (n_samples,) or None
        See :func:`cluster_geometry`.

    activation : {"tanh", "sigmoid"}, default="tanh"
        Activation of the hidden units.

    radius : float or "auto", default="auto"
        Radius of the ball in which the Jacobian is bounded. "auto" chooses the one
        that is the largest multiple of the `path_radius` it gives.

    learning_rate : float or "auto", default="auto"
        Learning rate of gradient descent. "auto" chooses the largest admissible one.

    Returns
    -------
    quantities : TheoremQuantities
        The quantities, in the notation of the paper.

    Examples
    --------
    >>> import numpy as np
    >>> from skim.theory import theorem_quantities
    >>> X = np.array([[0.6, 0.0], [0.6, 0.0], [0.0, 0.6], [0.0, 0.6], [-0.3, -0.3]])
    >>> clusters, outliers = [0, 0, 1, 1, 1], [0, 0, 0, 0, 1]
    >>> rng = np.random.default_rng(0)
    >>> W, A = rng.normal(size=(8, 2)) / 1000, 200 * rng.normal(size=(2, 8))
    >>> quantities = theorem_quantities(W, A, X, clusters, outliers)
    >>> quantities.conditions(T=0)["radius"]
    True
    """
    W, A, X = map(check_floats, (W, A, X))
    p = X.shape[1]
    if W.shape[1] != p or A.shape != W.shape[::-1]:
        raise ValueError(
            f"W has shape {W.shape} and A has shape {A.shape}, but with {p} features "
            f"and H hidden units they must be (H, {p}) and ({p}, H)."
        )
    geometry = cluster_geometry(X, clusters, outliers)
    centers, eps_c, eps_o = geometry.centers, geometry.eps_c, geometry.eps_o
    _, _, B1, B2 = ACTIVATIONS[activation]
    n, rho = len(X), float(geometry.rho.max())
    root_n, root_max = math.sqrt(n), math.sqrt(geometry.n_max)
    J = jacobian(W, A, centers, activation)
    values = np.linalg.svd(J, compute_uv=False)
    largest = float(values[0])
    smallest = float(values[-1]) if J.shape[0] <= J.shape[1] else 0.0
    norm_A = float(np.linalg.norm(A, 2))
    R_mu = float(np.linalg.norm(centers, axis=1).max())
    L_c = norm_A * B2 * R_mu * float(np.linalg.norm(centers, 2))
    errors = reconstruct(W, A, centers, activation) - centers
    R0_tilde = math.sqrt(geometry.sizes @ np.square(errors).sum(axis=1))
    R0_hat = R0_tilde + root_n * eps_c + math.sqrt(rho * n) * eps_o
    best = _best_radius(smallest, largest, L_c)
    R_loc = best if radius == "auto" else float(radius)
    alpha = math.sqrt(geometry.n_min) * max(smallest - L_c * R_loc, 0.0)
    beta = root_max * (largest + L_c * R_loc)
    L = root_max * L_c
    R_W = float(np.linalg.norm(W)) + R_loc
    Delta_f = norm_A * B1 * R_W * (eps_c + eps_o)
    Delta_J = root_n * norm_A * (B1 + B2 * R_W * R_mu) * (eps_c + eps_o)
    beta_X = beta + Delta_J
    max_learning_rate = min(
        _ratio(alpha**2, 8 * beta**4), _ratio(alpha**2, 2 * L * beta**2 * R0_hat)
    )
    return TheoremQuantities(
        geometry=geometry,
        radius=R_loc,
        learning_rate=max_learning_rate if learning_rate == "auto" else learning_rate,
        R0_tilde=R0_tilde,
        R0_hat=R0_hat,
        alpha=alpha,
        beta=beta,
        L=L,
        Delta_f=Delta_f,
        Delta_J=Delta_J,
        beta_X=beta_X,
        kappa=L * R0_hat + beta * beta_X,
        gamma=Delta_J * R0_hat + beta_X * root_n * Delta_f,
        max_learning_rate=max_learning_rate,
    )


def reconstruct(W, A, X, activation="tanh"):
    """Apply the autoencoder F_W(x) = A phi(W x) to the rows of X."""
    phi, *_ = ACTIVATIONS[activation]
    return phi(X @ W.T) @ A.T


def jacobian(W, A, X, activation="tanh"):
    """Return the derivatives of all outputs, row by row, in ``W.ravel()``.

    These are ``A[a, h] * phi'(W[h] @ x) * x[b]``, in an array of shape (n * p, H * p).
    """
    _, slope, *_ = ACTIVATIONS[activation]
    return np.einsum("ah,ih,ib->iahb", A, slope(X @ W.T), X).reshape(X.size, W.size)


def _best_radius(smallest, largest, L_c):
    """Return the radius that is the largest multiple of the `path_radius` it gives."""
    if smallest == 0:
        return 0.0
    radii = smallest / L_c * np.geomspace(1e-6, 1 - 1e-6, N_RADII)
    multiples = radii * (smallest - L_c * radii) ** 2 / (largest + L_c * radii)
    return float(radii[multiples.argmax()])


def _ratio(numerator, denominator):
    """Divide; x / 0 is infinite, 0 / 0 is 0."""
    if denominator == 0:
        return math.inf if numerator > 0 else 0.0
    return numerator / denominator
