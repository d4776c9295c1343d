"""Why a row is strange, in the words used by the command line and the report."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

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
        What was expected: a value, or a range such as "3 to 17".
    contribution : float
        What the cell adds to the loss of the row beyond the usual.
    """

    column: str
    value: str
    expected: str
    contribution: float

    def __str__(self):
        return f"{self.column} {self.value} (expected {self.expected})"


class RowReasons(NamedTuple):
    """Why a row is strange.

    Attributes
    ----------
    is_whole : bool
        Whether the row is strange as a whole: no single cell is to blame, or more
        than half of its cells are outside of their ranges.
    cells : list of Reason
        The cells to blame, the most important one first.
    """

    is_whole: bool
    cells: list[Reason]

    def __str__(self):
        cells = ", ".join(map(str, self.cells))
        if not self.is_whole:
            return cells
        return f"{WHOLE}: {cells}" if cells else WHOLE


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
    """Decide which cells make rows strange, and put them into words.

    A cell is a reason if its value lies further from what was expected than 1.5 times
    that side of its range, and if it contributes at least a quarter of what the
    cell with the largest contribution does. A row is strange as a whole if it has no
    such cell, or if more than half of its known cells are outside of their ranges.

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
        Features whose values have no order: a range of them means nothing.
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
        for name in ("feature", "value", "expected", "low", "high", "contribution")
    }
    is_outside = reasons["is_outside"].to_numpy(bool).reshape(n_rows, -1)
    is_reason = is_outside & _is_far(cells) & _contributes(cells["contribution"])
    origin = _origins(cells["feature"], columns)
    is_whole = ~is_reason.any(axis=1) | _is_mostly_outside(
        origin, is_outside, ~np.isnan(cells["value"])
    )

    def told(i, k, column):
        feature = cells["feature"][i, k]
        value, middle, low, high = (
            cells[name][i, k] for name in ("value", "expected", "low", "high")
        )
        text = written(i, column, feature) if written else None
        text = describe(feature, value) if text is None else text
        expected = describe(feature, middle)
        if feature not in levels:
            ends = describe(feature, low), describe(feature, high)
            # Rounded, the end of the range may coincide with the value.
            if ends[0] != ends[1] and text not in ends:
                expected = f"{ends[0]} to {ends[1]}"
        if expected == text:
            return None
        return Reason(column, text, expected, float(cells["contribution"][i, k]))

    rows = []
    for i in range(n_rows):
        found: dict[str, Reason] = {}
        for k in np.flatnonzero(is_reason[i]):
            column = str(cells["feature"][i, k])
            column = columns[column] if columns is not None else column
            if column not in found and (reason := told(i, k, column)):
                found[column] = reason
                if len(found) == max_reasons:
                    break
        rows.append(RowReasons(bool(is_whole[i]) or not found, list(found.values())))
    return rows


def _is_far(cells):
    """Whether values are further from the expected ones than half-widths allow."""
    distance = cells["value"] - cells["expected"]
    above = cells["high"] - cells["expected"]
    below = cells["expected"] - cells["low"]
    return np.where(distance > 0, distance > BEYOND * above, -distance > BEYOND * below)


def _contributes(contributions):
    largest = np.nanmax(contributions, axis=1, keepdims=True)
    return (contributions > 0) & (contributions >= SHARE * largest)


def _origins(features, columns):
    """Return the number of the column that each cell belongs to."""
    names, number = np.unique(features.astype(str), return_inverse=True)
    if columns is not None:
        names, place = np.unique([columns[n] for n in names], return_inverse=True)
        number = place[number]
    return number.reshape(features.shape)


def _is_mostly_outside(origin, is_outside, is_known):
    """Whether more than half of the known cells, and more than one, are outside."""
    n_rows, n_columns = len(origin), origin.max() + 1
    row = np.arange(n_rows)[:, None] * n_columns
    outside, known = (
        np.bincount((row + origin)[which], minlength=n_rows * n_columns)
        .reshape(n_rows, n_columns)
        .astype(bool)
        .sum(axis=1)
        for which in (is_outside & is_known, is_known)
    )
    return (outside > known / 2) & (outside > 1)


def _number(feature, value):
    return f"{value:.4g}"
