"""The lemmas and the corollary of the theorem, checked numerically."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from skim.theory import theorem_quantities
from skim.theory._theorem import ACTIVATIONS, jacobian, reconstruct

seeds = st.integers(0, 2**31)
activations = st.sampled_from(sorted(ACTIVATIONS))
few = settings(max_examples=25, deadline=None)


def make_case(seed, *, eps_c=0.0, gain=None, outliers=True):
    """Clusters around scaled axes, some outliers, and a well-conditioned network."""
    rng = np.random.default_rng(seed)
    p, K = rng.integers(3, 6), rng.integers(1, 4)
    sizes = rng.integers(3, 7, size=K)
    clusters = np.repeat(np.arange(K), sizes)
    X = 0.4 * np.eye(p)[clusters]
    noise = rng.normal(size=X.shape)
    X += eps_c * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    is_outlier = np.zeros(len(X), dtype=bool)
    if outliers:
        is_outlier[np.cumsum(sizes) - 1] = rng.random(K) < 0.7
        X[is_outlier] += 0.3 * rng.normal(size=(is_outlier.sum(), p))
    H = p + rng.integers(0, 5)
    rows, _ = np.linalg.qr(rng.normal(size=(H, p)))
    A = (rng.uniform(50, 200) if gain is None else gain) * rows.T
    W = rng.normal(size=(H, p)) * 1e-3 / np.linalg.norm(A, 2)
    return W, A, X, clusters, is_outlier


def in_ball(W, radius, rng):
    step = rng.normal(size=W.shape)
    return W + rng.random() * radius * step / np.linalg.norm(step)


def row_norms(V):
    return np.linalg.norm(V, axis=1)


def project_on_clusters(V, clusters):
    """Replace every row by the mean of its cluster."""
    D = np.equal.outer(clusters, np.unique(clusters)).astype(float)
    return D @ (D.T @ V / D.sum(axis=0)[:, None])


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_derivatives_and_their_bounds(activation):
    rng = np.random.default_rng(0)
    W, A, X = rng.normal(size=(5, 3)), rng.normal(size=(3, 5)), rng.normal(size=(4, 3))
    step = 1e-6 * rng.normal(size=W.shape)
    change = reconstruct(W + step, A, X, activation) - reconstruct(W, A, X, activation)
    predicted = jacobian(W, A, X, activation) @ step.ravel()
    np.testing.assert_allclose(change.ravel(), predicted, rtol=1e-4, atol=1e-10)
    _, slope, B1, B2 = ACTIVATIONS[activation]
    t = np.linspace(-3, 3, 10_001)
    assert slope(t).max() == pytest.approx(B1)
    assert np.gradient(slope(t), t).max() == pytest.approx(B2, rel=1e-4)


@given(seeds, activations)
@few
def test_jacobian_at_the_centres_has_the_bounds_that_are_claimed(seed, activation):
    W, A, X, clusters, outliers = make_case(seed)
    q = theorem_quantities(W, A, X, clusters, outliers, activation=activation)
    assume(math.isfinite(q.radius))
    centred = q.geometry.centers[clusters]
    rng = np.random.default_rng(seed)
    W1, W2 = (in_ball(W, q.radius, rng) for _ in range(2))
    J1, J2 = (jacobian(each, A, centred, activation) for each in (W1, W2))
    n, p = X.shape
    for column in J1.T[:: max(J1.shape[1] // 5, 1)]:
        block = column.reshape(n, p)
        np.testing.assert_allclose(project_on_clusters(block, clusters), block)
    # The singular values in S₊: of the Jacobian against an orthonormal basis of it.
    D = np.equal.outer(clusters, np.unique(clusters)) / np.sqrt(q.geometry.sizes)
    basis = np.kron(D, np.eye(p))
    values = np.linalg.svd(basis.T @ J1, compute_uv=False)
    assert values[-1] >= q.alpha * (1 - 1e-9)
    assert values[0] <= q.beta * (1 + 1e-9)
    distance = np.linalg.norm(W1 - W2)
    assert np.linalg.norm(J1 - J2, 2) <= q.L * distance * (1 + 1e-9) + 1e-9 * q.beta


@given(seeds, activations)
@few
def test_outputs_and_jacobians_stray_no_further_than_claimed(seed, activation):
    W, A, X, clusters, outliers = make_case(seed, eps_c=0.05)
    q = theorem_quantities(W, A, X, clusters, outliers, activation=activation)
    near = in_ball(W, q.radius, np.random.default_rng(seed))
    centred = q.geometry.centers[clusters]
    strayed = reconstruct(near, A, X, activation) - reconstruct(
        near, A, centred, activation
    )
    assert row_norms(strayed).max() <= q.Delta_f * (1 + 1e-9)
    J = jacobian(near, A, X, activation) - jacobian(near, A, centred, activation)
    assert np.linalg.norm(J, 2) <= q.Delta_J * (1 + 1e-9)


def descend(W, A, X, inputs, q, n_steps):
    """Yield the weights and residuals of gradient descent from `inputs` to X."""
    for _ in range(n_steps):
        residual = reconstruct(W, A, inputs) - X
        yield W, residual
        gradient = residual.ravel() @ jacobian(W, A, inputs)
        W = W - q.learning_rate * gradient.reshape(W.shape)


@given(seeds)
@settings(max_examples=10, deadline=None)
def test_the_cluster_centred_residual_decays_and_the_rest_stays(seed):
    W, A, X, clusters, outliers = make_case(seed, eps_c=0.01, gain=400)
    q = theorem_quantities(W, A, X, clusters, outliers)
    assert q.conditions(0)["radius"]
    assert q.learning_rate == q.max_learning_rate > 0
    centred = q.geometry.centers[clusters]
    rate = 1 - q.learning_rate * q.alpha**2
    first = X * 0
    for step, (now, residual) in enumerate(descend(W, A, X, centred, q, 60)):
        inside = project_on_clusters(residual, clusters)
        if step == 0:
            first, first_inside = residual, np.sum(inside**2)
            first_outside = residual - inside
        np.testing.assert_allclose(residual - inside, first_outside, atol=1e-9)
        assert np.sum(inside**2) <= rate**step * first_inside * (1 + 1e-9)
        assert np.linalg.norm(now - W) <= q.path_radius * (1 + 1e-9)
    assert np.linalg.norm(first) <= q.R0_hat * (1 + 1e-9)


def test_after_T_star_the_centres_are_learned():
    W, A, X, clusters, outliers = make_case(1, eps_c=0.02, gain=2000)
    q = theorem_quantities(W, A, X, clusters, outliers)
    assert q.conditions(0)["radius"]
    centred = q.geometry.centers[clusters]
    T = q.T_star()
    assert 0 < T < 5000
    *_, (now, _) = descend(W, A, X, centred, q, T + 1)
    error = row_norms(reconstruct(now, A, centred) - centred).max()
    assert error <= 2 * q.nu


@given(seeds)
@settings(max_examples=10, deadline=None)
def test_training_on_the_data_strays_no_further_than_claimed(seed):
    W, A, X, clusters, outliers = make_case(seed, eps_c=1e-4, gain=2000, outliers=False)
    q = theorem_quantities(W, A, X, clusters, outliers)
    centred = q.geometry.centers[clusters]
    paths = zip(
        descend(W, A, X, X, q, 40), descend(W, A, X, centred, q, 40), strict=True
    )
    for T, ((on_data, _), (on_centres, _)) in enumerate(paths):
        if q.Delta_path(T) > q.radius - q.path_radius:
            break
        distance = np.linalg.norm(on_data - on_centres)
        assert distance <= q.Delta_path(T) * (1 + 1e-9) + 1e-15
        output = reconstruct(on_data, A, X) - reconstruct(on_centres, A, centred)
        assert row_norms(output).max() <= q.zeta(T) * (1 + 1e-9)
    assert T > 0


@pytest.fixture
def by_hand():
    """A case in which nothing is zero; each hidden unit sees one of the centres."""
    X = [[0.6, 0.01], [0.6, -0.01], [0.6, 0.0], [0.5, 0.4], [0, 0.5], [0, 0.6]]
    clusters, outliers = [0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 0, 0]
    W, A = np.diag([0.1, 0.2]), np.diag([30.0, 50.0])
    at = {"radius": 0.002, "learning_rate": 1e-6}
    return theorem_quantities(W, A, X, clusters, outliers, **at)


def test_every_formula_where_nothing_is_zero(by_hand):
    q = by_hand
    n, n_min, n_max, rho, radius = 6, 2, 4, 1 / 4, 0.002
    eps_c, eps_o = 0.05, math.hypot(0.1, 0.4)
    B2, norm_A, R_mu, norm_M = 4 / math.sqrt(27), 50.0, 0.6, 0.6
    # At the centres (0.6, 0) and (0, 0.55), one hidden unit each sees an input.
    slopes = 1 - math.tanh(0.06) ** 2, 1 - math.tanh(0.11) ** 2
    sizes = 30 * slopes[0] * 0.6, 50 * 0.6, 30 * 0.55, 50 * slopes[1] * 0.55
    L_c = norm_A * B2 * R_mu * norm_M
    errors = 30 * math.tanh(0.06) - 0.6, 50 * math.tanh(0.11) - 0.55
    R0_tilde = math.sqrt(4 * errors[0] ** 2 + 2 * errors[1] ** 2)
    R_W = math.hypot(0.1, 0.2) + radius
    Delta_J = math.sqrt(n) * norm_A * (1 + B2 * R_W * R_mu) * (eps_c + eps_o)
    path = 3e-6 * q.gamma * math.exp(3e-6 * q.kappa)
    by_alpha = 1 / (8 * q.beta**4), 1 / (2 * q.L * q.beta**2 * q.R0_hat)
    for found, expected in (
        (q.R0_tilde, R0_tilde),
        (q.R0_hat, R0_tilde + math.sqrt(n) * eps_c + math.sqrt(rho * n) * eps_o),
        (q.alpha, math.sqrt(n_min) * (min(sizes) - L_c * radius)),
        (q.beta, math.sqrt(n_max) * (max(sizes) + L_c * radius)),
        (q.L, math.sqrt(n_max) * L_c),
        (q.Delta_f, norm_A * R_W * (eps_c + eps_o)),
        (q.Delta_J, Delta_J),
        (q.beta_X, q.beta + Delta_J),
        (q.kappa, q.L * q.R0_hat + q.beta * q.beta_X),
        (q.gamma, Delta_J * q.R0_hat + q.beta_X * math.sqrt(n) * q.Delta_f),
        (q.max_learning_rate, q.alpha**2 * min(by_alpha)),
        (q.nu, eps_c + rho * eps_o),
        (q.path_radius, 2 * q.beta * q.R0_hat / q.alpha**2),
        (q.Delta_path(3), path),
        (q.zeta(3), q.Delta_f + q.beta * path),
        (q.T_star(), math.ceil(2e6 / q.alpha**2 * math.log(q.R0_hat / q.nu))),
    ):
        assert found == pytest.approx(expected, rel=1e-9)


def test_every_condition_turns_where_it_should(by_hand):
    def holds(name, T, **fields):
        return dataclasses.replace(by_hand, **fields).conditions(T)[name]

    q = by_hand
    assert holds("long_enough", q.T_star())
    assert not holds("long_enough", q.T_star() - 1)
    steepest, needed = q.max_learning_rate, q.path_radius
    assert holds("learning_rate", 0, learning_rate=steepest)
    assert not holds("learning_rate", 0, learning_rate=steepest * 1.001)
    assert holds("radius", 0, radius=needed)
    assert not holds("radius", 0, radius=needed * 0.999)
    with_path = needed + q.Delta_path(3)
    assert holds("path", 3, radius=with_path * (1 + 1e-9))
    assert not holds("path", 3, radius=with_path * (1 - 1e-9))
    for factor, expected in ((1.001, True), (0.999, False)):
        delta = factor * (2 * q.zeta(3) + 4 * q.nu)
        geometry = dataclasses.replace(q.geometry, delta=delta)
        assert holds("delta", 3, geometry=geometry) == expected


@pytest.mark.parametrize(
    ("W", "X", "clusters"),
    [
        (np.eye(2), [[0.5, 0], [-0.5, 0], [0, 0.5], [0, -0.5]], [0] * 4),
        (np.ones((1, 3)), np.eye(3), [0, 1, 2]),
    ],
    ids=["centred on the origin", "too few hidden units"],
)
@pytest.mark.parametrize("radius", [1.0, "auto"])
def test_a_network_that_cannot_learn_the_centres_is_never_covered(
    W, X, clusters, radius
):
    q = theorem_quantities(W, W.T, X, clusters, None, radius=radius)
    assert q.alpha == q.max_learning_rate == 0
    assert q.T_star() == q.path_radius == math.inf
    assert not q.conditions(5)["radius"]


def test_bad_input_is_refused():
    good = {"W": np.eye(2), "A": np.eye(2), "X": np.eye(2)}
    for change, message in (
        ({"W": np.ones((2, 3))}, r"must be \(H, 2\) and \(2, H\)"),
        ({"A": np.ones((3, 2))}, r"must be \(H, 2\) and \(2, H\)"),
        ({"activation": "swish"}, "activation"),
        ({"radius": -1.0}, "radius"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"X": [[np.nan, 0.0], [0.0, 1.0]]}, "NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            theorem_quantities(**(good | change), clusters=[0, 1], outliers=None)
