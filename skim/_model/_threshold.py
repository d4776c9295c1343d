"""From scores to a threshold and probabilities."""

import numpy as np
from scipy.special import expit

from skim._training._criteria import thinned

EXPECTED_SHARE = 0.0125  # of outliers, where the losses give no hint
SHARES = (0.005, 0.2)  # smallest and largest share of outliers considered
WINDOW = 1.25  # the spacing at a share is measured from share / 1.25 to share * 1.25
LINEAR_REACH = 3.0  # interquartile ranges above the median until gaps count less
CERTAIN = 7.0  # interquartile ranges from the median; rows beyond are outliers
APART = 3.0  # times the usual spacing is a gap that sets a group apart
MIN_VALUES = 4  # fewer losses are too few for a threshold
CLEAN_SHARE = 0.01  # of new clean rows that may be flagged if contamination is 0


def offset_of(scores, held_out, contamination, is_ordinary=None):
    """Return the threshold; on clean data, that which few new rows fall below.

    Rows that are not ordinary have obvious errors, which do not decide about others.
    """
    if contamination == "auto" and is_ordinary is not None and is_ordinary.any():
        ordinary = scores[is_ordinary]
        offset = threshold(ordinary, contamination, trusts_gaps=False)
        # In a gap, near its ordinary side: the obvious errors may lie in it.
        return offset / 4 + 3 * ordinary[ordinary >= offset].min() / 4
    if contamination != 0:
        return threshold(scores, contamination)
    if held_out is None:
        raise ValueError(
            "contamination=0 changes how the networks are trained; call "
            "set_params(contamination=0) and fit again."
        )
    return threshold(held_out, CLEAN_SHARE)


def threshold(scores, contamination, *, trusts_gaps=True):
    """Return the score below which a row is an outlier.

    Unless gaps are trusted, those that chance explains do not matter, so that the
    threshold depends less on the seed, but large clusters of outliers may be cut.
    """
    if contamination != "auto":
        n_outliers = int(contamination * len(scores) + 0.5)
        if n_outliers == 0:
            return scores.min()
        lowest = np.partition(scores, [n_outliers - 1, n_outliers])
        return between(lowest[n_outliers - 1], lowest[n_outliers])
    if len(scores) < MIN_VALUES or scores.min() / 4 == scores.max() / 4:
        return scores.min()
    losses = -thinned(scores)
    n_outliers = auto_share(losses) * len(losses)
    n_outliers = _above_widest_gap(losses, n_outliers, trusts_gaps)
    offset = scores.min()
    if n_outliers:
        offset = between(-losses[n_outliers - 1], -losses[n_outliers])
    lower, median, upper = np.quantile(scores / 4, [0.25, 0.5, 0.75])
    # In quarters, as the difference of two float64 need not be a float64; losses are
    # computed in single precision, so a smaller spread than its resolution is none.
    if upper - lower > np.finfo(np.float32).eps * np.abs(median):
        offset = max(offset, 4 * (median - CERTAIN * (upper - lower)))
    return offset


def auto_share(losses):
    r"""Estimate the share of outliers among losses, sorted from the largest down.

    Losses alone cannot tell whether their upper tail is made of outliers: inliers have
    heavy tails and small groups of their own. What they show is where the tail is
    sparse; this balances it against the share of outliers to expect.

    Let :math:`q(u)` be the loss exceeded by a share :math:`u` of the rows. Its spacing
    :math:`s(u) = q(u / 1.25) - q(1.25 u)` is constant for an exponential tail and peaks
    where a group of rows stands apart. The estimate is the geometric mean of all shares
    from 0.5 % to 20 %, weighted by

    .. math:: w(u) = \left[s(u) \min(u / u_0, u_0 / u)\right]^2

    with :math:`u_0` = 1.25 %.
    """
    log_shares, spacings = _spacings(losses)
    weights = (spacings * np.exp(-np.abs(log_shares - np.log(EXPECTED_SHARE)))) ** 2
    return np.exp(np.average(log_shares, weights=weights)) if weights.any() else 0.0


def stands_apart(scores, offset):
    """Whether the losses are much sparser at the threshold than elsewhere."""
    n_outliers = np.count_nonzero(scores < offset)
    if n_outliers == 0 or len(scores) < MIN_VALUES:
        return False
    losses = -thinned(scores)
    log_shares, spacings = _spacings(losses)
    here = np.interp(np.log(n_outliers / len(scores)), log_shares, spacings)
    return bool(here > APART * np.median(spacings))


def _spacings(losses):
    """Return log-shares, and the spacing of the sorted losses at each of them.

    Losses count as ``log(1 + e / (3 IQR))``, where e is the excess over the median, and
    the largest 0.5 % as if they were equal, so that a few gigantic losses, themselves
    outliers, do not decide about other rows.
    """
    n = len(losses)
    quarter = losses / 4  # the difference of two float64 need not be one
    lower, median, upper = np.quantile(quarter, [0.25, 0.5, 0.75])
    spread = upper - lower if upper > lower else quarter[0] - quarter[-1]
    with np.errstate(over="ignore"):
        excess = np.maximum(quarter - median, 0) / spread / LINEAR_REACH
    heights = np.log1p(np.minimum(excess, np.finfo(np.float64).max))
    n_levelled = int(np.ceil(SHARES[0] * n))
    heights[:n_levelled] = heights[n_levelled - 1]
    log_ranks = np.log((np.arange(n) + 0.5) / n)
    log_shares = np.linspace(np.log(SHARES[0]), np.log(SHARES[1]), 100)
    above = np.interp(log_shares - np.log(WINDOW), log_ranks, heights)
    spacings = above - np.interp(log_shares + np.log(WINDOW), log_ranks, heights)
    # Less than half a row cannot be seen: assume a spacing that is no evidence.
    visible = log_shares >= log_ranks[0]
    spacings[~visible] = np.median(spacings[visible])
    return log_shares, spacings


def _above_widest_gap(losses, n_outliers, trusts_gaps):
    """Return how many losses lie above the widest gap near a given number.

    If chance explains a gap that is not trusted, return that number. In an exponential
    tail, gaps times their ranks are exponentially distributed.
    """
    first = max(int(np.ceil(n_outliers / WINDOW)), 1)
    last = min(int(n_outliers * WINDOW), len(losses) - 1)
    if last < first:
        return int(np.rint(n_outliers))
    gaps = losses[first - 1 : last] / 2 - losses[first : last + 1] / 2
    widths = gaps * np.arange(first, last + 1)
    widest = np.argmax(gaps)
    by_chance = np.median(widths) / np.log(2) * (np.log(len(gaps)) + 1)
    if trusts_gaps or widths[widest] > by_chance:
        return first + int(widest)
    return int(np.clip(np.rint(n_outliers), first, last))


def probability(scores, offset, training_scores):
    """Map scores to [0, 1] by how rare they are beside the threshold `offset`.

    The training scores are taken to fall off exponentially from their median to the
    threshold, or to the lower quartile if that is lower.
    """
    lowest, quartile, median = np.quantile(training_scores, [0.0, 0.25, 0.5])
    end = min(max(offset, lowest), quartile)
    share = np.mean(training_scores < end)
    share = np.clip(share, 0.5 / len(training_scores), 0.25)
    scale = (median - end) / np.log(0.5 / share)
    with np.errstate(over="ignore"):
        if scale > 0:
            return expit((offset - scores) / scale)
        return np.heaviside(offset - scores, 0.5)


def between(below, above):
    """Return the midpoint, or `above` where no number lies between the two."""
    middle = below / 2 + above / 2
    return middle if middle > below else above
