"""Why a row is strange, in the words used by the command line and the report."""

from typing import NamedTuple

import numpy as np

WORDS = {
    "misspelling": "{column} {value}: did you mean {expected}?",
    "combination": "{column}: an unusual combination ({value})",
    "context": "{column} {value} (similar rows have {expected})",
}
USUAL = "{column} {value} (expected {expected})"


class Reason(NamedTuple):
    """A cell that makes its row strange.

    Attributes
    ----------
    kind : str
        As in :meth:`skim.TableDetector.reasons`.
    column, value, expected : str
    """

    kind: str
    column: str
    value: str
    expected: str

    def __str__(self):
        return WORDS.get(self.kind, USUAL).format(**self._asdict())


class RowReasons(NamedTuple):
    """Why a row is strange.

    Attributes
    ----------
    cells : list of Reason
        The most important one first.
    like : str
        Which label the row owes its verdict to; empty if it does not owe it to any.
    cause : str
        What it has in common with other rows, as in :func:`skim.tables.list_causes`.
    """

    cells: list[Reason]
    like: str = ""
    cause: str = ""

    def __str__(self):
        texts = [self.like] * bool(self.like) + [str(cell) for cell in self.cells]
        return "; ".join(texts)


def deciding_labels(detector, X, losses, name):
    """Name the label that changed the verdict on each row.

    Parameters
    ----------
    detector : object
        A fitted detector, which need not know any labels.
    X : ndarray of shape (n_rows, n_features)
    losses : ndarray of shape (n_rows,)
        The negated scores of the rows.
    name : callable
        Returns what to call a row of the training data, by its index.

    Returns
    -------
    texts : list of str
        Empty for rows on which the verdict would be the same without labels.
    """
    texts = [""] * len(losses)
    if not len(getattr(detector, "label_rows_", ())):
        return texts
    influences = detector.label_influences(X)
    is_outlier = losses > -detector.offset_
    by_loss = losses - influences.sum(axis=1)
    was_outlier = -by_loss < detector.offset_without_labels_
    labels = detector.labels_[detector.label_rows_]
    for i in np.flatnonzero(is_outlier != was_outlier):
        strength = np.where(labels == is_outlier[i], np.abs(influences[i]), 0)
        if strength.any():  # and not labels that are only assumed
            row = int(detector.label_rows_[strength.argmax()])
            kind = "an outlier" if is_outlier[i] else "an inlier"
            texts[i] = f"like {name(row)}, labelled {kind}"
    return texts
