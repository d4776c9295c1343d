"""The quantities of the theorem on the inlier-memorization effect."""

import math
from dataclasses import dataclass
from numbers import Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import lambertw
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from skim.theory._geometry import ClusterGeometry, check_floats, cluster_geometry
from skim.theory._network import ACTIVATIONS, jacobian, reconstruct

N_RADII = 400  # candidates of radius="auto"


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

    def largest_T(self) -> float | None:
        """Return the last iteration that the theorem covers.

        None if no iteration meets all conditions, infinity if all from `T_star` on do.
        """
        if self.learning_rate <= 0 or self.T_star() == math.inf:
            return None
        for_delta = (self.geometry.delta - 4 * self.nu) / 2 - self.Delta_f
        room = min(self.radius - self.path_radius, for_delta / self.beta)
        if not room >= 0:
            return None
        if self.gamma == 0:  # both training runs are the same
            return math.inf if all(self.conditions(math.inf).values()) else None
        # Solve eta gamma T exp(eta kappa T) = room for T.
        time = float(lambertw(self.kappa * room / self.gamma).real) / self.kappa
        T = math.floor(time / self.learning_rate)
        while self.T_star() < T and not all(self.conditions(T).values()):
            T -= 1  # more than once only because of rounding
        return T if all(self.conditions(T).values()) else None


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
    activation: Literal["tanh", "sigmoid", "identity"] = "tanh",
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

    activation : {"tanh", "sigmoid", "identity"}, default="tanh"
        Activation of the hidden units.

    radius : float or "auto", default="auto"
        Radius of the ball in which the Jacobian is bounded. "auto" chooses the one
        with which the theorem covers the most iterations or, if it covers none, the
        one that comes closest to the radius condition.

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
    bounds = _Bounds(W, A, geometry, activation)
    if radius == "auto":
        candidates = [bounds.quantities(r, learning_rate) for r in bounds.radii()]
        return max(candidates, key=_reach)
    return bounds.quantities(float(radius), learning_rate)


class _Bounds:
    """Bounds of the network that do not depend on the radius."""

    def __init__(self, W, A, geometry, activation):
        phi = ACTIVATIONS[activation]
        self.geometry = geometry
        self.slope, self.curvature = phi.max_slope, phi.max_curvature
        centers = geometry.centers
        J = jacobian(W, A, centers, activation)
        values = np.linalg.svd(J, compute_uv=False)
        self.largest = float(values[0])
        self.smallest = float(values[-1]) if J.shape[0] <= J.shape[1] else 0.0
        self.norm_A = float(np.linalg.norm(A, 2))
        self.norm_W = float(np.linalg.norm(W))
        self.R_mu = float(np.linalg.norm(centers, axis=1).max())
        norm_M = float(np.linalg.norm(centers, 2))
        self.L_c = self.norm_A * self.curvature * self.R_mu * norm_M
        errors = reconstruct(W, A, centers, activation) - centers
        squares = geometry.sizes @ np.square(errors).sum(axis=1)
        self.R0_tilde = math.sqrt(squares)
        n, rho = len(geometry.clusters), float(geometry.rho.max())
        self.R0_hat = self.R0_tilde + math.sqrt(n) * geometry.eps_c
        self.R0_hat += math.sqrt(rho * n) * geometry.eps_o

    def radii(self):
        """Return the candidates of ``radius="auto"``."""
        if self.smallest == 0:
            return [0.0]
        if self.L_c == 0:
            needed = self.quantities(0.0, "auto").path_radius
            return (needed * np.geomspace(1, 1e3, N_RADII)).tolist()
        largest = self.smallest / self.L_c
        return (largest * np.geomspace(1e-6, 1 - 1e-6, N_RADII)).tolist()

    def quantities(self, radius, learning_rate):
        """Return all quantities for a given radius."""
        geometry, spread = self.geometry, self.geometry.eps_c + self.geometry.eps_o
        n = len(geometry.clusters)
        alpha_c = max(self.smallest - self.L_c * radius, 0.0)
        alpha = math.sqrt(geometry.n_min) * alpha_c
        beta = math.sqrt(geometry.n_max) * (self.largest + self.L_c * radius)
        L = math.sqrt(geometry.n_max) * self.L_c
        R_W = self.norm_W + radius
        Delta_f = self.norm_A * self.slope * R_W * spread
        per_row = self.slope + self.curvature * R_W * self.R_mu
        Delta_J = math.sqrt(n) * self.norm_A * per_row * spread
        beta_X = beta + Delta_J
        steepest = min(
            _ratio(alpha**2, 8 * beta**4),
            _ratio(alpha**2, 2 * L * beta**2 * self.R0_hat),
        )
        if learning_rate == "auto":
            learning_rate = steepest
        return TheoremQuantities(
            geometry=geometry,
            radius=float(radius),
            learning_rate=float(learning_rate),
            R0_tilde=self.R0_tilde,
            R0_hat=self.R0_hat,
            alpha=alpha,
            beta=beta,
            L=L,
            Delta_f=Delta_f,
            Delta_J=Delta_J,
            beta_X=beta_X,
            kappa=L * self.R0_hat + beta * beta_X,
            gamma=Delta_J * self.R0_hat + beta_X * math.sqrt(n) * Delta_f,
            max_learning_rate=steepest,
        )


def _reach(quantities):
    """Rank by how much the theorem covers or, if nothing, how close it comes."""
    T = quantities.largest_T()
    if T is not None:
        return 1, T * quantities.learning_rate
    return 0, _ratio(quantities.radius, quantities.path_radius)


def _ratio(numerator, denominator):
    """Divide; x / 0 is infinite, 0 / 0 is 0."""
    if denominator == 0:
        return math.inf if numerator > 0 else 0.0
    return numerator / denominator
