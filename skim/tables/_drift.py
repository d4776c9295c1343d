"""Whether a new table, as a whole, differs from the training data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skim._utils import Stored
from skim.tables._columns import is_missing, to_numbers
from skim.tables._text import to_text

N_ROWS = 2_000  # of a table that count: more would find differences without meaning
MAX_LEVELS = 2_000  # of a column that is compared
MIN_EXPECTED = 5.0  # rows of a level, to be compared by itself
ALPHA = 0.01  # probability of a false alarm, over all columns of a table


@dataclass(frozen=True)
class ColumnSummary(Stored):
    """What a column of the training data looked like.

    `values` is a sorted sample of numbers, and `levels` has the number of rows of each
    level; what a column does not have is empty.
    """

    n_rows: int
    n_missing: int
    values: np.ndarray
    levels: dict


def summarise(encoder, table, by=None):
    """Summarise the columns that can be compared with later ones, by their names.

    These are numbers, levels, constants, and `by`, a column of groups; dates are
    expected to move.
    """
    parsed, summaries = encoder.parse(table), {}
    treated = {
        d.column: "constant" if d.reason.startswith("constant: ") else d.treatment
        for d in encoder.decisions_
    }
    treated[by] = "group"
    for name in table.columns:
        kind, n_missing = treated.get(name), int(is_missing(table[name]).sum())
        values, levels = np.empty(0), {}
        if kind == "number":
            values = to_numbers(parsed[name])
            values = np.sort(_sample(values[np.isfinite(values)]))
        elif kind in ("frequency", "constant", "group"):
            levels = to_text(table[name]).value_counts().to_dict()
        if len(values) or 0 < len(levels) <= MAX_LEVELS or kind == "group":
            found = ColumnSummary(len(table), n_missing, values, levels)
            summaries[name] = found
    return summaries


def compare(before, after, describe):
    """Say which columns differ from the training data, the clearest difference first.

    Numbers are compared by the two-sample Kolmogorov-Smirnov test, levels and shares
    of missing cells by the chi-square test, with a Bonferroni correction.
    `describe` returns a number as text, given the column and the number.
    """
    from scipy.stats import ks_2samp

    found = []
    for name in before.keys() & after.keys():
        old, new = before[name], after[name]
        gaps = [(s.n_missing, s.n_rows - s.n_missing) for s in (old, new)]
        usual, share = (f"{s.n_missing / s.n_rows:.1%}" for s in (old, new))
        found.append((_chi_square(*gaps), f"{name} is missing in {share} ({usual})"))
        if len(old.values) and len(new.values):
            usual, ends = (
                " to ".join(
                    describe(name, q) for q in np.quantile(values, [0.05, 0.95])
                )
                for values in (old.values, new.values)
            )
            p = ks_2samp(old.values, new.values, method="asymp").pvalue
            found.append((p, f"nine of ten values of {name} are {ends} ({usual})"))
        elif old.levels and new.levels:
            levels = list(new.levels | old.levels)
            counts = np.array(
                [[s.levels.get(level, 0) for level in levels] for s in (old, new)]
            )
            usual, share = counts / counts.sum(axis=1, keepdims=True)
            j = np.abs(share - usual).argmax()
            phrase = f"{name} is {levels[j]} in {share[j]:.1%} ({usual[j]:.1%})"
            found.append((_chi_square(*counts), phrase))
    found.sort()
    return [phrase for p, phrase in found if p * len(found) < ALPHA]


def _chi_square(old, new):
    from scipy.special import chdtrc

    counts = np.array([old, new], dtype=np.float64)
    counts *= np.minimum(1, N_ROWS / counts.sum(axis=1, keepdims=True))
    totals, columns = counts.sum(axis=1, keepdims=True), counts.sum(axis=0)
    is_rare = columns * totals.min() / totals.sum() < MIN_EXPECTED
    counts = np.c_[counts[:, ~is_rare], counts[:, is_rare].sum(axis=1)]
    expected = counts.sum(axis=0) * totals / totals.sum()
    enough = expected.min(axis=0) >= MIN_EXPECTED
    if enough.sum() < 2:
        return 1.0
    squares = (counts - expected)[:, enough] ** 2 / expected[:, enough]
    return chdtrc(enough.sum() - 1, squares.sum())


def _sample(values):
    if len(values) <= N_ROWS:
        return values
    return np.random.default_rng(0).choice(values, N_ROWS, replace=False)
