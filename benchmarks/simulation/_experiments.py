"""What is varied in the simulation study."""

from itertools import product

import numpy as np
from scipy.stats import spearmanr

from benchmarks.demo import DATA
from benchmarks.simulation._stack import Member, initial_error, initial_weights
from skim.datasets import make_im_clusters
from skim.datasets._clusters import unit_rows
from skim.theory import cluster_geometry, estimate_geometry

SMALL_CLUSTER = 1  # which of the three clusters shrinks

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

# Triples of centres at least 16 apart in [-10, 10]², to check generality.
OTHER_CENTERS = {
    "flat": ((-10.0, -10.0), (0.0, 2.5), (10.0, -10.0)),
    "corner": ((-8.0, -8.0), (8.0, -8.0), (8.0, 8.0)),
    "steep": ((-9.0, -7.0), (-1.0, 7.0), (9.0, -7.0)),
    "upside down": ((-10.0, 10.0), (0.0, -2.5), (10.0, 10.0)),
    "sideways": ((-10.0, -10.0), (2.5, 0.0), (-10.0, 10.0)),
}


def weights_of(ratio, small=SMALL_CLUSTER):
    """Relative sizes of three clusters of which one is small."""
    weights = [ratio, ratio, ratio]
    weights[small] = 1
    return weights


def main_members(n_seeds):
    """Return the members of the four experiments, and those with the warm-up."""
    members = []
    for experiment, (_, values, arguments) in VARIED.items():
        for value, seed in product(values, range(n_seeds)):
            members.append(simulated(experiment, value, seed, **arguments(value)))
    members += initialisation_members(n_seeds)
    twins = [m for m in members if m.experiment in ("variation", "initialisation")]
    return members + [with_ema(member) for member in twins]


def simulated(experiment, value, seed, *, init_seed=None, **arguments):
    """Return a member on simulated data."""
    X, y, clusters = make_im_clusters(random_state=seed, **arguments)
    geometry = cluster_geometry(X, clusters, y)
    weights = initial_weights(2, 1, seed if init_seed is None else init_seed)[0]
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
    X = unit_rows(X)
    geometry = estimate_geometry(X, n_resamples=1, random_state=0).geometry
    plain = [
        Member(
            "real", name, seed, X, y, geometry, initial_weights(X.shape[1], 1, seed)[0]
        )
        for seed in range(n_seeds)
    ]
    return plain + [with_ema(member) for member in plain]


def centers_evidence(n_seeds):
    """Return members for the variation and the rate, with other centres."""
    return [
        simulated(experiment, (name, value), seed, centers=centers, **arguments(value))
        for experiment, (_, values, arguments) in VARIED.items()
        if experiment != "balance"  # has a study of its own
        for (name, centers), value in product(OTHER_CENTERS.items(), values)
        for seed in range(n_seeds)
    ]


def balance_evidence(n_seeds):
    """Return members for the balance with other centres and small clusters."""
    return [
        simulated(
            "balance",
            (name, small, ratio),
            seed,
            centers=centers,
            cluster_std=1.5,
            weights=weights_of(ratio, small),
        )
        for name, centers in OTHER_CENTERS.items()
        for small, ratio in [(0, 1), *product(range(3), (11, 27))]
        for seed in range(n_seeds)
    ]


def initialisation_evidence(n_draws):
    """Return members that differ in nothing but the initial weights."""
    _, _, arguments = INITIALISATION
    return [
        simulated(
            "initialisation", name, 0, init_seed=draw, centers=centers, **arguments
        )
        for name, centers in OTHER_CENTERS.items()
        for draw in range(n_draws)
    ]


def rank_correlation(errors, values):
    """Spearman's correlation, None where the values are all equal."""
    if len(set(values)) < 2:
        return None
    return float(spearmanr(errors, values).statistic)
