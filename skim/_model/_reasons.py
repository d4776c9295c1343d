"""Why a row is strange, in the words used by the command line and the report."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

BEYOND = 1.5  # half-widths of its range that a value lies from what was expected
SHARE = 0.25  # of the largest contribution in a row that makes a cell a reason
WHOLE = "strange as a whole"


class Reason(NamedTuple):
    """A cell that makes its row strange.

    Attributes
    ----------
    column : str
    value : str
        The value, as the user would write it.
    expected : str
        What was expected: a value, or a range such as "3 to 17". Empty if that cannot
        be told apart from the value.
    contribution : float
        What the cell adds to the loss of the row beyond the usual.
    """

    column: str
    value: str
    expected: str
    contribution: float

    def __str__(self):
        expected = f"expected {self.expected}" if self.expected else "unexpected"
        return f"{self.column} {self.value} ({expected})"


class Judgement(NamedTuple):
    """Which cells make rows strange.

    Attributes
    ----------
    is_reason : ndarray of bool of shape (n_rows, n_features)
    n_outside, n_known : ndarray of int of shape (n_rows,)
        Number of cells outside of their ranges that contribute as much as a reason,
        and of cells that are not missing.
    """

    is_reason: NDArray[np.bool_]
    n_outside: NDArray[np.intp]
    n_known: NDArray[np.intp]

    @property
    def is_mostly_outside(self):
        """Whether more than half of the known cells, and not just one, are to blame."""
        return self.n_outside > np.maximum(self.n_known / 2, 1)

    @property
    def is_whole(self):
        """Whether rows are strange as a whole."""
        return ~self.is_reason.any(axis=1) | self.is_mostly_outside


class RowReasons(NamedTuple):
    """Why a row is strange.

    Attributes
    ----------
    is_whole : bool
        Whether the row is strange as a whole.
    cells : list of Reason
        The cells to blame, the most important one first.
    like : str
        Which label the row owes its verdict to; empty if it does not owe it to any.
    """

    is_whole: bool
    cells: list[Reason]
    like: str = ""

    def __str__(self):
        causes = [WHOLE] * self.is_whole + [self.like] * bool(self.like)
        texts = [", ".join(causes), ", ".join(map(str, self.cells))]
        return ": ".join(text for text in texts if text)


def judge(value, expected, low, high, contribution, is_outside):
    """Decide which cells make rows strange.

    A cell is a reason if its value lies further from what was expected than 1.5 times
    that side of its range, and if it contributes at least a quarter of what the cell
    with the largest contribution does. A row is strange as a whole if it has no such
    cell, or if more than half of its known cells contribute that much and are outside
    of their ranges.

    Parameters
    ----------
    value, expected, low, high, contribution, is_outside : ndarray of shape \
            (n_rows, n_features)
        All cells of the rows, as of ``detector.reasons(X, n_reasons=None)``.

    Returns
    -------
    judgement : Judgement
    """
    # In halves, as the difference of two float64 need not be one.
    with np.errstate(over="ignore", invalid="ignore"):
        distance = value / 2 - expected / 2
        side = np.where(distance > 0, high, low) / 2 - expected / 2
        is_far = np.abs(distance) > BEYOND * np.abs(side)
    largest = contribution.max(axis=1, keepdims=True)
    matters = (contribution > 0) & (contribution >= SHARE * largest)
    return Judgement(
        is_reason=is_outside & is_far & matters,
        n_outside=(is_outside & matters).sum(axis=1),
        n_known=(~np.isnan(value)).sum(axis=1),
    )


def row_reasons(
    reasons: pd.DataFrame,
    n_rows: int,
    *,
    max_reasons: int = 3,
    columns: Mapping[str, str] | None = None,
    levels: Collection[str] = (),
    describe: Callable[[str, float], str] | None = None,
    written: Callable[[int, str, str], str | None] | None = None,
) -> list[RowReasons]:
    """Put into words which cells make rows strange, as decided by :func:`judge`.

    Parameters
    ----------
    reasons : DataFrame
        All cells of the rows, from ``detector.reasons(X, n_reasons=None)``.
    n_rows : int
        Number of rows.
    max_reasons : int, default=3
        Maximum number of reasons for a row.
    columns : mapping of str to str, default=None
        The column of the table that each feature was made from. By default, features
        are columns.
    levels : collection of str, default=()
        Features that encode levels: a range of them means nothing. If a column has
        several, the one with the largest expected value tells what was expected.
    describe : callable, default=None
        Takes a feature and a value, and returns the text of the value. By default,
        numbers have four digits.
    written : callable, default=None
        Takes the position of a row, a column and a feature, and returns the text of
        the cell in the table, or None to describe the feature's value instead.

    Returns
    -------
    rows : list of RowReasons
    """
    if n_rows == 0:
        return []
    describe = describe or _number
    cells = {
        name: reasons[name].to_numpy().reshape(n_rows, -1)
        for name in reasons.columns
        if name != "row"
    }
    features = cells.pop("feature")
    judgement = judge(**cells)

    def likeliest(i, column):
        """Return the feature of a column of levels that is expected, and its value."""
        own = np.flatnonzero(np.isin(features[i], levels_of[column]))
        k = own[np.argmax(cells["expected"][i, own])]
        return features[i, k], float(cells["expected"][i, k])

    def origin(feature):
        return feature if columns is None else columns[feature]

    levels_of: dict[str, list[str]] = {}
    for level in levels:
        levels_of.setdefault(origin(level), []).append(level)

    def told(i, k, column):
        feature = features[i, k]
        value, middle, low, high = (
            float(cells[name][i, k]) for name in ("value", "expected", "low", "high")
        )
        text = written(i, column, feature) if written else None
        text = describe(feature, value) if text is None else text
        if feature in levels:
            feature, middle = likeliest(i, column)
        expected = describe(feature, middle)
        if feature not in levels:
            ends = describe(feature, low), describe(feature, high)
            # Rounded, the end of a range may coincide with the value outside of it.
            if ends[0] != ends[1] and text not in ends:
                expected = f"{ends[0]} to {ends[1]}"
        expected = "" if expected == text else expected
        return Reason(column, text, expected, float(cells["contribution"][i, k]))

    rows = []
    for i, is_whole in enumerate(judgement.is_whole.tolist()):
        found: dict[str, Reason] = {}
        for k in np.flatnonzero(judgement.is_reason[i]):
            column = origin(features[i, k])
            if column not in found:
                found[column] = told(i, k, column)
                if len(found) == max_reasons:
                    break
        rows.append(RowReasons(is_whole, list(found.values())))
    return rows


def _number(feature, value):
    return f"{value:.4g}"


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
