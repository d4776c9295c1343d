"""What there is to say about the number of outliers, here and on the command line."""

import numpy as np

from skim._model._threshold import APART, CERTAIN, stands_apart


def counted(n, noun):
    """Return a number of things in words."""
    return f"{n:,} {noun}{'s' * (n != 1)}"


def verdict(detector, losses, *, is_training):
    """Return a sentence on the number of outliers, and what it rests on."""
    n_rows, scores = len(losses), detector.training_scores_
    n_outliers = int((-losses < detector.offset_).sum())
    share = f"{n_outliers:,} of {counted(n_rows, 'row')} ({n_outliers / n_rows:.1%})"
    share += " is an outlier" if n_outliers == 1 else " are outliers"
    if not is_training:
        before = np.mean(scores < detector.offset_)
        return f"{share} by the threshold of the training data ({before:.1%} of them)."
    if detector.contamination == 0:
        return f"{share}; about 1% of new rows like these will be flagged."
    if detector.contamination != "auto":
        return f"{share}, as set by contamination."
    if len(getattr(detector, "label_rows_", ())):
        return f"{share}, judged with the labels."
    if not n_outliers:
        return f"{share}: no loss is far from the others."
    if stands_apart(scores, detector.offset_):
        return f"{share}: the gap to the others is over {APART:g} times the usual."
    lower, median, upper = np.quantile(losses / 4, [0.25, 0.5, 0.75])
    is_extreme = losses / 4 > median + CERTAIN * (upper - lower)
    n_extreme = min(int(is_extreme.sum()), n_outliers)
    rest = n_outliers - n_extreme
    far = f"more than {CERTAIN:g} interquartile ranges above the median loss"
    if not rest:
        return f"{share}, {far}."
    some, others = "", "it" if rest == 1 else "them"
    if n_extreme:
        some = f", {n_extreme:,} of them {far}"
        others = "the other one" if rest == 1 else f"the other {rest:,}"
    return f"{share}{some}; no gap sets {others} apart, so the number is a convention."


def agreement(labels, is_outlier):
    """Say how many of the labels, NaN for unknown ones, the threshold agrees with."""
    is_right = (labels == is_outlier)[~np.isnan(labels)]
    return (
        f"The threshold agrees with {is_right.sum():,} of "
        f"{counted(len(is_right), 'label')} ({is_right.mean():.0%})."
    )
