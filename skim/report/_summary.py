"""What there is to say about the outliers, in the report and on the command line."""

import numpy as np

from skim._model._threshold import APART, CERTAIN, stands_apart
from skim.tables._duplicates import find_duplicates

N_PAIRS = 3  # of duplicates that are named


def counted(n, noun):
    """Return a number of things in words."""
    return f"{n:,} {noun}{'s' * (n != 1)}"


def share_of_outliers(n_outliers, n_rows):
    """Begin a sentence on the number of outliers."""
    verb = "is an outlier" if n_outliers == 1 else "are outliers"
    share = f"{n_outliers / n_rows:.1%}"
    return f"{n_outliers:,} of {counted(n_rows, 'row')} ({share}) {verb}"


def verdict(detector, losses, *, is_training):
    """Return a sentence on the number of outliers, and what it rests on."""
    scores = detector.training_scores_
    n_outliers = int((-losses < detector.offset_).sum())
    share = share_of_outliers(n_outliers, len(losses))
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
    far = f"more than {CERTAIN:g} interquartile ranges above the median loss"
    if n_extreme == n_outliers:
        return f"{share}, {far}."
    if n_extreme:
        share += f", {n_extreme:,} of them {far}"
    others = "the others" if n_extreme else "them"
    return f"{share}; no gap sets {others} apart, so the number is a convention."


def agreement(labels, is_outlier):
    """Say how many of the labels, NaN for unknown ones, the threshold agrees with."""
    is_right = (labels == is_outlier)[~np.isnan(labels)]
    return (
        f"The threshold agrees with {is_right.sum():,} of "
        f"{counted(len(is_right), 'label')} ({is_right.mean():.0%})."
    )


def duplicates(table, ids, numbers):
    """Return sentences on rows that repeat another one, which they name.

    `ids` are the columns that identify rows, and `numbers` those of the rows.
    """
    sentences = []
    for column, own in find_duplicates(table, ids).groupby("column", dropna=False):
        pairs = own[["row", "other"]][:N_PAIRS].to_numpy()
        named = ", ".join(" and ".join(map(str, numbers[pair])) for pair in pairs)
        named += f" and {len(own) - N_PAIRS:,} more" * (len(own) > N_PAIRS)
        what = f"the same {column}" if isinstance(column, str) else "the same values"
        sentences.append(f"Rows with {what}: {named}.")
    return sentences
