"""What is measured on one table.

Each function takes a Table and returns the lines of its results.
"""

import warnings

import numpy as np
from scipy.stats import spearmanr
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from sklearn.metrics import (
    average_precision_score,
    f1_score,
    precision_recall_curve,
    roc_auc_score,
)

from benchmarks.judgement._spoiling import delete_cells, plant, robust_sd, spoil_cells
from benchmarks.judgement._tables import load
from skim import ALTBIDetector

DISTANCES = (10, 30, 1000)  # of absurd cells, in robust standard deviations
SEEDS = 4
MAX_ROWS_REPEATED = 2_000  # of tables that are fitted with several seeds
MAX_ROWS_PLANTED = 1_000
MAX_COLUMNS_IMPUTED = 64
PLANTED = (0.01, 0.05, 0.10, 0.20)
KINDS = ("cluster", "scattered")
GAPS = (0.1, 0.3)
SHARES = (0.01, 0.02, 0.03, 0.04, 0.05, 0.07, 0.10, 0.15, 0.20)  # flagged of all tables
NAN = float("nan")


def fitted(X, seed=0):
    return ALTBIDetector(random_state=seed).fit(X)


def share_flagged(detector):
    return float(np.mean(detector.training_scores_ < detector.offset_))


def some_inliers(is_outlier, share, least, seed=0):
    """Draw a share of the inliers, and at least so many if a third of them is more."""
    inliers = np.random.default_rng(seed).permutation(np.flatnonzero(~is_outlier))
    n = max(round(share * len(is_outlier)), least)
    return inliers[: min(n, max(len(inliers) // 3, 1))]


# One absurd cell ------------------------------------------------------------------

CELLS = ("where", "sd", "spoilt", "auroc", "flagged", "by_reasons", "by_explain")


def cells(table):
    """Spoil one cell of some rows, in the training data and in new rows."""
    X, is_outlier = load(table)
    if not (robust_sd(X) > 0).any():
        return [("training", 10, 0, NAN, NAN, NAN, NAN)]
    found = []
    rows = some_inliers(is_outlier, 0.01, least=3)
    for k in DISTANCES:
        spoilt, columns = spoil_cells(X, rows, k, seed=0)
        detector = fitted(spoilt)
        scores = detector.training_scores_
        found.append(
            (
                "training",
                k,
                *_judged(detector, spoilt, scores, is_outlier, rows, columns),
            )
        )
    chosen = np.random.default_rng(0).permutation(len(X))
    train, new = np.array_split(chosen, 2)
    detector = fitted(X[train])
    # New rows do not affect each other, so more of them may be spoilt.
    rows = some_inliers(is_outlier[new], 0.01, least=30)
    for k in DISTANCES:
        spoilt, columns = spoil_cells(X, new[rows], k, seed=0)
        scores = detector.score_samples(spoilt[new])
        judged = _judged(detector, spoilt[new], scores, is_outlier[new], rows, columns)
        found.append(("new", k, *judged))
    return found


def _judged(detector, X, scores, is_outlier, rows, columns):
    """Return how well spoilt rows are told from others, and their columns found."""
    is_spoilt = np.zeros(len(X), dtype=bool)
    is_spoilt[rows] = True
    counts = is_spoilt | ~is_outlier
    auroc = roc_auc_score(is_spoilt[counts], -scores[counts])
    flagged = np.mean(scores[rows] < detector.offset_)
    explained = detector.explain(X[rows], relative=True).argmax(axis=1)
    first = detector.reasons(X[rows], n_reasons=1)["feature"]
    by_reasons = np.mean(first.to_numpy() == [f"x{column}" for column in columns])
    by_explain = np.mean(explained == columns)
    return len(rows), *map(float, (auroc, flagged, by_reasons, by_explain))


# Labelled outliers ----------------------------------------------------------------

LABELLED = (
    "auroc",
    "auprc",
    "flagged",
    "f1",
    "best_f1",
    *(f"f1_at_{share:g}" for share in SHARES),
)


def labelled(table):
    """Measure accuracy and the verdict."""
    X, is_outlier = load(table)
    if not is_outlier.any():
        return [(NAN,) * len(LABELLED)]
    detector = fitted(X)
    losses = -detector.training_scores_
    metrics = [
        float(metric(is_outlier, losses))
        for metric in (roc_auc_score, average_precision_score)
    ]
    flagged = losses > -detector.offset_
    at_shares = [
        f1_score(is_outlier, losses > np.quantile(losses, 1 - share))
        for share in SHARES
    ]
    f1 = float(f1_score(is_outlier, flagged)), best_f1(is_outlier, losses)
    return [(*metrics, share_flagged(detector), *f1, *map(float, at_shares))]


def best_f1(is_outlier, losses):
    """Return the F1 of the best of all thresholds."""
    precision, recall, _ = precision_recall_curve(is_outlier, losses)
    return float(np.max(2 * precision * recall / np.maximum(precision + recall, 1e-12)))


# The verdict ----------------------------------------------------------------------

CLEAN = ("seed", "flagged")


def clean(table):
    """Return the share flagged where labelled outliers are removed."""
    X, is_outlier = load(table)
    return [(0, share_flagged(fitted(X[~is_outlier])))]


def seeds(table):
    """Return the same with more seeds, on small tables."""
    X, is_outlier = load(table)
    X = X[~is_outlier]
    if len(X) > MAX_ROWS_REPEATED:
        return [(1, NAN)]
    return [(seed, share_flagged(fitted(X, seed))) for seed in range(1, SEEDS)]


PLANTING = ("kind", "planted", "flagged", "found")


def planting(table):
    """Return the shares flagged where some outliers are planted in clean rows."""
    X, is_outlier = load(table)
    X = X[~is_outlier][:MAX_ROWS_PLANTED]
    found = []
    for kind in KINDS:
        for share in PLANTED:
            rows = plant(X, share, kind, seed=0)
            detector = fitted(rows)
            flagged = detector.training_scores_ < detector.offset_
            planted = 1 - len(X) / len(rows)
            found.append(
                (kind, planted, share_flagged(detector), flagged[len(X) :].mean())
            )
    return found


# Gaps -----------------------------------------------------------------------------

GAP_VALUES = ("gaps", "ours", "ours_lost", "forest", "forest_lost", "correlation")


def gaps(table):
    """Delete cells at random: AUROC lost, and whether rows with gaps stand out."""
    X, is_outlier = load(table)

    def losses(detector, rows):
        own = detector.fit(rows)
        return -(own.training_scores_ if own is ours else own.score_samples(rows))

    ours, forest = ALTBIDetector(random_state=0), IsolationForest(random_state=0)
    auroc = roc_auc_score if is_outlier.any() else lambda *_: NAN
    complete = [float(auroc(is_outlier, losses(each, X))) for each in (ours, forest)]
    found = []
    for share in GAPS:
        rows = delete_cells(X, share, seed=0)
        by_ours, by_forest = losses(ours, rows), losses(forest, rows)
        now = [float(auroc(is_outlier, each)) for each in (by_ours, by_forest)]
        lost = [before - after for before, after in zip(complete, now, strict=True)]
        correlation = spearmanr(by_ours, np.isnan(rows).sum(axis=1)).statistic
        found.append((share, now[0], lost[0], now[1], lost[1], float(correlation)))
    return found


# Expected values ------------------------------------------------------------------

EXPECTED = (
    "where",
    "spoilt",
    "error",
    "median_error",
    "imputer_error",
    "imputer_median_error",
    "covered",
    "covered_usual",
)


def expected(table):
    """Compare the values expected in spoilt cells with the true ones."""
    X, is_outlier = load(table)
    if X.shape[1] > MAX_COLUMNS_IMPUTED or not (robust_sd(X) > 0).any():
        return [("training", 0, *(NAN,) * 6)]
    rows = some_inliers(is_outlier, 0.03, least=5)
    spoilt, columns = spoil_cells(X, rows, 10, seed=1)
    train, new = np.array_split(np.random.default_rng(1).permutation(len(X)), 2)
    new_rows = some_inliers(is_outlier[new], 0.03, least=20)
    new_spoilt, new_columns = spoil_cells(X, new[new_rows], 10, seed=1)
    parts = [
        ("training", fitted(spoilt), spoilt, spoilt, rows, columns),
        ("new", fitted(X[train]), X[train], new_spoilt, new[new_rows], new_columns),
    ]
    return [
        (where, len(own), *_expectations(detector, known, X, given, own, cells))
        for where, detector, known, given, own, cells in parts
    ]


def _expectations(detector, known, X, spoilt, rows, columns):
    """Return the errors of both predictions, and how often ranges hold the truth."""
    n, p = len(rows), X.shape[1]
    truth, unit = X[rows, columns], robust_sd(X)[columns]
    names = np.array([f"x{j}" for j in range(p)])

    def cell_by_cell(rows):
        found = detector.reasons(rows, n_reasons=None)
        order = np.argsort(names)[np.searchsorted(np.sort(names), found["feature"])]
        every = {}
        for name in ("expected", "low", "high"):
            every[name] = np.empty((len(rows), p))
            every[name][np.repeat(np.arange(len(rows)), p), order] = found[name]
        return every

    ours = cell_by_cell(spoilt[rows])
    ours = {name: values[np.arange(n), columns] for name, values in ours.items()}
    error = np.abs(ours["expected"] - truth) / unit
    imputer_error = np.abs(_imputed(known, spoilt, rows, columns) - truth) / unit
    slack = 1e-6 * unit
    covered = (ours["low"] - slack <= truth) & (truth <= ours["high"] + slack)
    usual = cell_by_cell(X[rows])
    slack = 1e-6 * np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    within = (usual["low"] - slack <= X[rows]) & (X[rows] <= usual["high"] + slack)
    values = error.mean(), np.median(error), imputer_error.mean()
    values += np.median(imputer_error), covered.mean(), within.mean()
    return map(float, values)


def _imputed(known, spoilt, rows, columns):
    """Return what an imputer that is told which cells are spoilt puts there."""
    with_gaps = spoilt.copy()
    with_gaps[rows, columns] = np.nan
    learned = with_gaps if known is spoilt else known
    imputer = IterativeImputer(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        imputer.fit(learned)
    return imputer.transform(with_gaps[rows])[np.arange(len(rows)), columns]
