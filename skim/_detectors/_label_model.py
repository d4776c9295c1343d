"""What labels say about rows that resemble the labelled ones: a Gaussian process."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.spatial.distance import cdist
from scipy.special import expit, log_expit

from skim._model._scaling import usual_limits

SLOPE = 2.0  # log-odds of an outlier per unit of evidence
SPREAD = 10.0  # standard deviation of what labels add to the log-odds
MAX_LABELS = 1000  # beyond this, a sample stands for all
INLIERS_PER_OUTLIER = 3  # at least, of which some may be assumed
ROUNDING = 1e-6  # of scaled values in single precision
MIN_INFORMATION = 0.05  # of a label about the log-odds of its row, in planning
N_PLANNED = 500  # rows that are planned jointly
MAX_STEPS = 100  # of Newton's method, which needs about ten
SHORTEST_STEP = 1e-12


class LabelModel:
    r"""Log-odds of an outlier, by the loss of a row and the labels of similar rows.

    The log-odds are :math:`f(x) = m(x) + g(x)`. The first term is a function of the
    loss, 0 at the threshold of the losses. The second is a Gaussian process with mean 0
    and covariance :math:`s^2 \exp(-d(x, x'))`, where `d` is the mean absolute
    difference of the standardised features. A label is drawn with these log-odds, and
    `f` is taken at the mode of its posterior. Without labels, :math:`f = m`.
    """

    def __init__(self, losses, threshold, sample):
        median, upper = np.quantile(losses, [0.5, 0.95])
        self._median_loss = float(median)
        self._loss_unit = float(upper - median) / np.log(10) or 1.0
        self._zero = self._evidence(threshold)
        sample = np.clip(sample, *usual_limits(sample)).astype(np.float64, order="C")
        is_known = ~np.isnan(sample)
        n_known = np.maximum(is_known.sum(axis=0), 1)
        self._mean = np.where(is_known, sample, 0.0).sum(axis=0) / n_known
        squares = np.where(is_known, sample - self._mean, 0.0) ** 2
        deviation = np.sqrt(squares.sum(axis=0) / n_known)
        varies = deviation > ROUNDING * np.abs(self._mean)
        n_varying = max(np.count_nonzero(varies), 1)
        self._feature_units = np.where(varies, deviation, np.inf) * n_varying
        nothing = np.empty(0)
        self.rows, self.labels = nothing.astype(np.intp), nothing
        self._points = np.empty((0, len(self._mean)))
        self._weights = self._information = nothing

    def fit(self, rows, labels, values, losses):
        """Learn the labels of training rows, given their scaled values and losses."""
        self.rows, self.labels = rows, labels
        self._points = self._standardised(values)
        kernel = _kernel(self._points, self._points)
        prior = self.by_loss(losses)
        log_odds = prior + _mode(kernel, prior, labels)
        self._weights = labels - expit(log_odds)  # as is true at the mode
        self._information = np.maximum(_doubt(log_odds), MIN_INFORMATION)
        return self

    def log_odds(self, losses, values):
        """Return the log-odds of rows; those of a row do not depend on the others."""
        return self.by_loss(losses) + self.influences(values).sum(axis=1)

    def by_loss(self, losses):
        """Return the log-odds of rows from their losses alone."""
        return SLOPE * (self._evidence(losses) - self._zero)

    def influences(self, values):
        """Return the contribution of each label to the log-odds, (n, n_labels)."""
        return _kernel(self._standardised(values), self._points) * self._weights

    def most_informative(self, log_odds, values, n):
        """Return the indices of up to `n` rows, the most informative first.

        The next row is the one whose label is least predictable and whose log-odds
        vary most, given the labels so far and those to the rows before it.
        """
        points = self._standardised(values)
        doubt = _doubt(log_odds)
        information = np.maximum(doubt, MIN_INFORMATION)
        n_known, n_planned = len(self.rows), min(n, len(points), N_PLANNED)
        # Columns of a Cholesky factor, continued from known rows to planned ones.
        factor = np.zeros((n_known + n_planned, len(points)))
        if n_known:
            kernel = _kernel(self._points, self._points)
            kernel[np.diag_indices(n_known)] += 1 / self._information
            known = np.linalg.cholesky(kernel)
            factor[:n_known] = solve_triangular(
                known, _kernel(self._points, points), lower=True
            )
        variance = SPREAD**2 - (factor**2).sum(axis=0)
        chosen: list[int] = []
        for k in range(n_known, n_known + n_planned):
            best = int(np.argmax(doubt * variance))
            chosen.append(best)
            covariance = _kernel(points, points[[best]])[:, 0]
            covariance -= factor[:k].T @ factor[:k, best]
            factor[k] = covariance / np.sqrt(variance[best] + 1 / information[best])
            variance -= factor[k] ** 2
            doubt[best] = -1.0
        return np.array(chosen, dtype=np.intp)

    def _evidence(self, losses):
        """Map losses to a scale that all tables share; outliers are well above 1."""
        return np.arcsinh((losses - self._median_loss) / self._loss_unit)

    def _standardised(self, values):
        return np.nan_to_num((values - self._mean) / self._feature_units)


def usable_labels(labels, losses, seed):
    """Return the rows whose labels are used, in ascending order, and the labels.

    Of too many labels, some are drawn. Rows from the half with smaller losses are
    assumed to be inliers until there are three per known outlier: otherwise, all other
    rows would seem to resemble outliers.
    """
    order = np.random.default_rng(seed).permutation(len(labels))
    outliers, inliers = (order[labels[order] == kind] for kind in (1, 0))
    is_ordinary = (losses <= np.median(losses)) & np.isnan(labels)
    n_inliers = len(inliers) + np.count_nonzero(is_ordinary)
    outliers = outliers[: max(MAX_LABELS // 2, MAX_LABELS - n_inliers)]
    n_wanted = min(INLIERS_PER_OUTLIER * len(outliers), MAX_LABELS - len(outliers))
    inliers = inliers[: MAX_LABELS - len(outliers)]
    assumed = order[is_ordinary[order]][: max(n_wanted - len(inliers), 0)]
    rows = np.sort(np.r_[outliers, inliers, assumed])
    return rows, (labels[rows] == 1).astype(np.float64)


def _kernel(points, others):
    """Return the covariance of what labels add to the log-odds of rows."""
    return SPREAD**2 * np.exp(-cdist(points, others, "cityblock"))


def _doubt(log_odds):
    """Return the variance of a label, at most a quarter, where the odds are even."""
    return expit(log_odds) * expit(-log_odds)


def _mode(kernel, prior, labels):
    """Return what labels most likely add to the log-odds of their own rows.

    Newton's method for the mode of the posterior, halving steps that overshoot.
    """
    signs = 2 * labels - 1

    def log_posterior(weights, moved):
        return log_expit(signs * (prior + moved)).sum() - weights @ moved / 2

    weights = moved = np.zeros(len(labels))
    value = log_posterior(weights, moved)
    for _ in range(MAX_STEPS):
        probability = expit(prior + moved)
        root = np.sqrt(probability * (1 - probability))
        slope = root**2 * moved + labels - probability
        inner = root[:, None] * kernel * root
        inner[np.diag_indices_from(inner)] += 1
        solved = cho_solve(cho_factor(inner), root * (kernel @ slope))
        step = slope - root * solved - weights
        before, length = value, 1.0
        while True:
            ahead = weights + length * step
            moved = kernel @ ahead
            value = log_posterior(ahead, moved)
            if value >= before or length < SHORTEST_STEP:
                break
            length /= 2
        weights = ahead
        if value - before < 1e-9 * len(labels):
            break
    return moved
