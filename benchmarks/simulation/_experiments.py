"""What is varied in the simulation study."""

from itertools import product

import numpy as np
from sklearn.preprocessing import MinMaxScaler

from benchmarks.demo import DATA
from benchmarks.simulation._estimate import estimate_geometry
from benchmarks.simulation._stack import Member, initial_error, initial_weights
from skim.datasets import make_im_clusters
from skim.theory import cluster_geometry

# (experiment, what is varied, its values, arguments of make_im_clusters)
VARIED = {
    "variation": ("ε_c", (1.0, 2.5, 4.0), lambda v: {"cluster_std": v}),
    "balance": (
        "n_max : n_min",
        (1, 11, 27),
        lambda v: {"cluster_std": 1.5, "weights": weights_of(v)},
    ),
    "rate": (
        "ρ",
        (0.03, 0.10, 0.25),
        lambda v: {"cluster_std": 2.0, "outlier_rate": v},
    ),
}
INITIALISATION = ("R̃0", (0.40, 0.55, 0.60), {"cluster_std": 3.0})
N_DRAWS = 200  # of initial weights, among which to find wanted errors


def weights_of(ratio):
    """Relative sizes of three clusters of which the second is small."""
    return [ratio, 1, ratio]


def main_members(n_seeds):
    """Return the members of the four experiments, and those with the warm-up."""
    members = []
    for experiment, (_, values, arguments) in VARIED.items():
        for value, seed in product(values, range(n_seeds)):
            members.append(simulated(experiment, value, seed, **arguments(value)))
    members += initialisation_members(n_seeds)
    twins = [m for m in members if m.experiment in ("variation", "initialisation")]
    return members + [with_ema(member) for member in twins]


def simulated(experiment, value, seed, **arguments):
    """Return a member on simulated data."""
    X, y, clusters = make_im_clusters(random_state=seed, **arguments)
    geometry = cluster_geometry(X, clusters, y)
    weights = initial_weights(2, 1, seed)[0]
    return Member(experiment, value, seed, X, y, geometry, weights)


def initialisation_members(n_seeds):
    """Return members that differ in the initial weights and the order of the rows."""
    _, values, arguments = INITIALISATION
    X, y, clusters = make_im_clusters(random_state=0, **arguments)
    geometry = cluster_geometry(X, clusters, y)
    draws = initial_weights(2, N_DRAWS, seed=0)
    errors = np.array([initial_error(weights, geometry) for weights in draws])
    members = []
    for value, seed in product(values, range(n_seeds)):
        weights = draws[np.abs(errors - value).argmin()]
        members.append(Member("initialisation", value, seed, X, y, geometry, weights))
    return members


def with_ema(member):
    """Return the same member, with the warm-up."""
    names = ("experiment", "value", "seed", "X", "y", "geometry", "weights")
    return Member(**{name: getattr(member, name) for name in names}, ema=True)


def real_members(name, n_seeds):
    """Return members on a real table, without and with the warm-up.

    Its clusters are not known; they are estimated, without the labels.
    """
    X, y = DATA[name](return_X_y=True)
    X = MinMaxScaler((0, X.shape[1] ** -0.5)).fit_transform(X)  # no row beyond 1
    geometry = estimate_geometry(X, seed=0)
    plain = [
        Member(
            "real", name, seed, X, y, geometry, initial_weights(X.shape[1], 1, seed)[0]
        )
        for seed in range(n_seeds)
    ]
    return plain + [with_ema(member) for member in plain]
