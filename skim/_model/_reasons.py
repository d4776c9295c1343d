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
    """A cell that makes its row strange."""

    kind: str  # as in `TableDetector.reasons`
    column: str
    value: str
    expected: str

    def __str__(self):
        return WORDS.get(self.kind, USUAL).format(**self._asdict())


class RowReasons(NamedTuple):
    """Why a row is strange."""

    cells: list[Reason]  # the most important one first
    like: str = ""  # which label the row owes its verdict to, if to any
    cause: str = ""  # what it has in common with other rows, as in `list_causes`

    def __str__(self):
        texts = [self.like] * bool(self.like) + [str(cell) for cell in self.cells]
        return "; ".join(texts)


def deciding_labels(detector, X, scores):
    """Name the label that changed the verdict on each row, if one did."""
    texts = [""] * len(scores)
    if not len(getattr(detector, "label_rows_", ())):
        return texts
    influences = detector.label_influences(X)
    is_outlier = scores < detector.offset_
    was_outlier = scores + influences.sum(axis=1) < detector.offset_without_labels_
    labels = detector.labels_[detector.label_rows_]
    for i in np.flatnonzero(is_outlier != was_outlier):
        strength = np.where(labels == is_outlier[i], np.abs(influences[i]), 0)
        if strength.any():  # and not labels that are only assumed
            row = int(detector.label_rows_[strength.argmax()])
            kind = "an outlier" if is_outlier[i] else "an inlier"
            texts[i] = f"like training row {row + 1}, labelled {kind}"
    return texts
