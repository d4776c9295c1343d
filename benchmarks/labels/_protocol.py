"""Who may be asked what, and how an answer is scored."""

import numpy as np
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

from benchmarks._shared.tables import sample

MAX_ROWS = 10_000  # of a table; beyond, a fixed sample
MIN_OUTLIERS = 30  # of such a sample
BUDGETS = (10, 20, 50, 100)
SHARE, MAX_LABELS = 0.05, 500  # of the last budget
# When those who ask in rounds learn from the answers.
ROUNDS = (10, 20, 35, 50, 75, 100, 150, 225, 350, 500)


def load(table):
    """Return the rows of a table, or a sample of them, and which are outliers."""
    X, y = table.load()
    X, is_outlier = np.asarray(X, dtype=np.float64), np.asarray(y) == 1
    rows = sample(is_outlier, MAX_ROWS, MIN_OUTLIERS)
    return X[rows], is_outlier[rows]


class Exam:
    """A table of which one half may be asked about, and the other half is scored.

    Both halves have outliers.
    """

    def __init__(self, X, is_outlier, seed):
        self.X = X
        self.is_outlier = is_outlier
        self.seed = seed
        rng = np.random.default_rng(seed)
        self.may_ask = np.zeros(len(X), dtype=bool)
        for kind in (0, 1):
            rows = rng.permutation(np.flatnonzero(is_outlier == kind))
            self.may_ask[rows[: len(rows) // 2]] = True
        self.open_rows = np.flatnonzero(self.may_ask)
        self.at_random = rng.permutation(self.open_rows)
        share = min(max(round(SHARE * len(X)), 1), MAX_LABELS)
        sizes = dict(zip(map(str, BUDGETS), BUDGETS, strict=True)) | {"5%": share}
        self.budgets = {
            name: min(size, len(self.open_rows)) for name, size in sizes.items()
        }

    def rounds(self):
        """Return the numbers of labels after which those who ask in rounds learn."""
        last = max(self.budgets.values())
        return sorted({n for n in ROUNDS if n < last} | {*self.budgets.values()})

    def labels(self, rows):
        """Return labels of all rows, NaN for those that were not asked about."""
        labels = np.full(len(self.X), np.nan)
        labels[rows] = self.is_outlier[rows]
        return labels

    def has_both(self, rows):
        """Whether there are answers of both kinds."""
        return 0 < self.is_outlier[rows].sum() < len(rows)

    def results(self, method, by_budget):
        """Yield a line of results for each budget.

        `by_budget` maps a number of labels to the rows asked about, the scores of all
        rows, high for outliers, and the threshold, None if there is none.
        """
        y = self.is_outlier[~self.may_ask]
        for budget, size in self.budgets.items():
            rows, scores, threshold = by_budget(size)
            scores = scores[~self.may_ask]
            share = self.is_outlier[rows].mean() if len(rows) else 0.0
            verdict = np.nan, np.nan
            if threshold is not None:
                verdict = f1_score(y, scores > threshold), np.mean(scores > threshold)
            metrics = roc_auc_score(y, scores), average_precision_score(y, scores)
            yield method, budget, len(rows), *map(float, (*metrics, *verdict, share))
