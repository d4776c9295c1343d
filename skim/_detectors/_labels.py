"""Partial labels: reading them, asking for them and learning from them."""

import numpy as np
from scipy.special import expit, logit
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.utils._missing import is_pandas_na

from skim._training._mixture import fit_two_gaussians

N_TREES = 50
CHUNK_ROWS = 8192  # that go through the trees at once
HALF_TRUST = 2  # labels of the rarer kind with which the classifier weighs one half
ODDS_UNIT = 1.5  # evidence that a log-odds of 1 is worth
MOST_CERTAIN = 0.98  # probability that a classifier is credited with at most
N_ASSUMED_INLIERS = 50  # at least, where all labels are of outliers
MIXTURE_POSTERIOR = 0.4  # smaller posterior of the rows that "mixture" asks about

STRATEGIES = ("balanced", "mixture", "random", "extremes", "strangest")


def check_labels(labels, n_rows):
    """Return labels as floats, NaN where unknown; None if all of them are."""
    if labels is None:
        return None
    values = np.asarray(labels)
    if values.shape != (n_rows,):
        raise ValueError(
            f"labels has shape {values.shape}, but there are {n_rows} rows; pass one "
            "label per row, NaN where it is unknown."
        )
    if values.dtype == object:
        is_missing = [value is None or is_pandas_na(value) for value in values]
        values = np.where(is_missing, np.nan, values)
    meaning = "1 is an outlier, 0 an inlier and NaN unknown"
    try:
        values = values.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"labels must be numbers: {meaning}.") from None
    known = values[~np.isnan(values)]
    wrong = known[(known != 0) & (known != 1)]
    if len(wrong):
        raise ValueError(f"labels contains {wrong[0]:g}: {meaning}.")
    return values if len(known) else None


def check_rows(among, n_rows):
    """Return the rows that may be asked about, as a mask."""
    if among is None:
        return np.ones(n_rows, dtype=bool)
    among = np.asarray(among)
    mask = np.zeros(n_rows, dtype=bool)
    if among.size == 0:
        return mask
    try:
        mask[among] = True
    except IndexError:
        raise ValueError(
            f"among must be row numbers below {n_rows} or a mask of {n_rows} values."
        ) from None
    return mask


# Learning from labels --------------------------------------------------------


def loss_scale(losses):
    """Return the median and the unit by which losses become evidence."""
    median, upper = np.quantile(losses, [0.5, 0.95])
    return float(median), float(upper - median) / np.log(10) or 1.0


def evidence(losses, scale):
    """Map losses to a scale that all tables share; outliers are well above 1."""
    median, unit = scale
    return np.arcsinh((losses - median) / unit)


def with_assumed_inliers(labels, losses, seed):
    """Return labels in which some ordinary rows are inliers if all are of outliers.

    Ordinary rows are drawn from the half of the other rows that has smaller losses.
    """
    n_outliers = np.sum(labels == 1)
    if np.any(labels == 0) or n_outliers == 0:
        return labels
    others = np.flatnonzero(np.isnan(labels))
    ordinary = others[np.argsort(losses[others])][: len(others) // 2]
    drawn = np.random.default_rng(seed).permutation(ordinary)
    labels = labels.copy()
    labels[drawn[: max(N_ASSUMED_INLIERS, 5 * n_outliers)]] = 0
    return labels


def label_weight(labels):
    """Return how much the classifier counts, from 0 to 1, by its number of labels."""
    n_rarer = min(np.sum(labels == 0), np.sum(labels == 1))
    return float(n_rarer / (n_rarer + HALF_TRUST))


def fit_classifier(values, own, labels, seed):
    """Learn the labels from scaled features and the evidence of the losses."""
    known = np.flatnonzero(~np.isnan(labels))
    classifier = ExtraTreesClassifier(
        N_TREES, class_weight="balanced", random_state=seed
    )
    return classifier.fit(_inputs(values[known], own[known]), labels[known].astype(int))


def outlier_odds(classifier, values, own):
    """Return the log-odds of an outlier, within limits, by the classifier."""
    found = np.empty(len(own))
    for start in range(0, len(own), CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        inputs = _inputs(values[rows], own[rows])
        found[rows] = classifier.predict_proba(inputs)[:, 1]
    return logit(np.clip(found, 1 - MOST_CERTAIN, MOST_CERTAIN))


def combined(own, odds, weight):
    """Return the evidence of losses and of the classifier together."""
    return (1 - weight) * own + weight * ODDS_UNIT * odds


def _inputs(values, own):
    return np.column_stack([values, own]).astype(np.float32)


# Asking for labels -----------------------------------------------------------


class Questions:
    """An oracle, and what it has been asked so far.

    Parameters
    ----------
    oracle : callable
        Maps an array of row numbers to their labels.
    labels : ndarray of shape (n_rows,) or None
        Labels that are known beforehand.
    is_open : ndarray of bool of shape (n_rows,)
        The rows that may be asked about; those with a label are closed.
    n_rounds, n_per_round : int
    """

    def __init__(self, oracle, labels, is_open, n_rounds, n_per_round):
        self.oracle = oracle
        self.labels = labels
        self.is_open = is_open if labels is None else is_open & np.isnan(labels)
        self.n_rounds = n_rounds
        self.n_per_round = n_per_round

    def ask(self, rows):
        """Ask about rows, never again about these, and return all labels so far."""
        answers = check_labels(self.oracle(rows), len(rows)) if len(rows) else None
        self.is_open[rows] = False
        if answers is not None:
            if self.labels is None:
                self.labels = np.full(len(self.is_open), np.nan)
            self.labels = self.labels.copy()
            self.labels[rows] = answers
        return self.labels


def most_valuable(strategy, rows, n, *, losses, doubt, seed):
    """Return the `n` rows most worth asking about, the most valuable first.

    Parameters
    ----------
    strategy : str
        One of `STRATEGIES`.
    rows : ndarray of int
        Rows that may be asked about.
    n : int
    losses : ndarray of shape (n_rows,)
        How abnormal all rows seem to be at present.
    doubt : ndarray of shape (n_rows,) or None
        How little is known about them; None if nothing is known at all.
    seed : int
        Of the random order of all rows.
    """
    order = np.random.default_rng(seed).permutation(len(losses))
    at_random = rows[np.argsort(order[rows])]
    strangest = at_random[np.argsort(-losses[at_random], kind="stable")]
    if strategy == "random":
        return at_random[:n]
    if strategy == "strangest":
        return strangest[:n]
    if strategy == "extremes":
        return _in_turns([strangest, strangest[::-1]], n)
    if strategy == "mixture":
        distance = np.abs(_smaller_posterior(losses) - MIXTURE_POSTERIOR)
        return at_random[np.argsort(distance[at_random], kind="stable")][:n]
    rankings = [strangest, at_random]
    if doubt is not None:
        rankings.insert(1, at_random[np.argsort(-doubt[at_random], kind="stable")])
    return _in_turns(rankings, n)


def _in_turns(rankings, n):
    """Take the first of each ranking, then the second of each, without repetition."""
    turns = np.stack(rankings, axis=1)[:n].ravel()
    _, first = np.unique(turns, return_index=True)
    return turns[np.sort(first)][:n]


def _smaller_posterior(losses):
    """Return the posterior of the less likely of two Gaussians of the losses."""
    mixture = fit_two_gaussians(losses)
    variances = np.maximum(mixture.variances, np.finfo(np.float64).tiny)
    squares = (losses[:, None] - mixture.means) ** 2
    with np.errstate(divide="ignore"):
        log_density = np.log(mixture.weights) - 0.5 * np.log(variances)
    log_density = log_density - 0.5 * squares / variances
    return expit(-np.abs(np.diff(log_density, axis=1)[:, 0]))
