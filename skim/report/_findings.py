"""The top rows: why they are strange, how stable they are, where they lie."""

import numpy as np
from sklearn.decomposition import PCA
from sklearn.utils import _safe_indexing

from skim.report._charts import scatter

N_REASONS = 3  # columns named for a row
N_COLUMNS = 200  # columns described
N_BLAMED = 10  # columns to blame for the top rows together
N_DOTS = 3000  # rows on the map, in addition to the top ones
LEVELS = (0.5, 0.75, 0.9, 0.97, 0.99)  # quantiles at which the map changes colour


def is_training_data(detector, losses):
    """Whether these are the losses of the training data, in its order."""
    trained = -detector.training_scores_
    return len(losses) == len(trained) and np.allclose(losses, trained, rtol=1e-5)


# Why ------------------------------------------------------------------------------


def blame(case, top):
    """Return how much each column contributes to the top rows.

    Returns
    -------
    shares : ndarray of shape (n_top, n_columns)
        Rows sum to 1, or to 0 if no column adds more than usual.
    stands_out : ndarray of shape (n_top,)
        Whether some feature adds at least twice the average. Otherwise the row is
        strange as a whole.
    """
    rows = _safe_indexing(case.features, top)
    relative = case.detector.explain(rows, relative=True)
    excess = np.maximum(relative, 0)
    n_features = excess.shape[1]
    enough = min(2.0, (1 + n_features) / 2)  # attainable with one or two features
    stands_out = excess.max(axis=1) >= enough * excess.mean(axis=1)
    shares = np.maximum(case.by_column(relative), 0)
    total = shares.sum(axis=1, keepdims=True)
    return shares / np.where(total > 0, total, 1), stands_out


def reasons_and_columns(case, top, shares, stands_out):
    """Describe the values that make the top rows strange, and the columns.

    Rows that are strange as a whole have no column to blame; their rarest values are
    given instead.

    Returns
    -------
    reasons : list of list of dict
        For each of the top rows, the most important reason first.
    blamed : list of dict
        The columns named in the reasons.
    read : list of dict
        The first columns of the input table.
    """
    weight = np.where(stands_out[:, None], shares, 0)
    if not stands_out.all():
        weight[~stands_out] = _rareness(case, top[~stands_out])
    ranked = np.argsort(-weight, axis=1, kind="stable")[:, :N_REASONS]
    named = {int(j) for j in np.unique(ranked)}
    first = range(min(case.read.n_columns, N_COLUMNS))
    same = case.table is case.read
    described: dict = {}
    reasons: list = [[] for _ in top]
    for j in sorted(named.union(first if same else ())):
        # One column at a time, because columns can be large.
        column = case.table.column(j)
        described[j] = _describe(column, case.table.names[j], f"c{j}")
        for k in np.flatnonzero((ranked == j).any(axis=1) & (weight[:, j] > 0)):
            reason = {"weight": float(weight[k, j]), "column": described[j]}
            reasons[k].append(reason | column.describe(top[k]))
    for mine in reasons:
        mine.sort(key=lambda reason: -reason["weight"])
    if same:
        read = [described[j] for j in first]
    else:
        names = case.read.names
        read = [_describe(case.read.column(j), names[j], f"r{j}") for j in first]
    return reasons, [described[j] for j in sorted(named)], read


def _rareness(case, rows):
    """Return how rare each value of the rows is in its column, 0 if unused."""
    rareness = np.zeros((len(rows), case.table.n_columns))
    for j in np.unique(case.origins):
        column = case.table.column(j)
        rareness[:, j] = [1 - column.rarity(i) for i in rows]
    return rareness


def _describe(column, name, symbol):
    facts = {key: getattr(column, key) for key in ("bars", "summary", "n_missing")}
    return {"name": name, "symbol": symbol} | facts


def most_blamed(case, shares):
    """Return the columns with the largest mean shares."""
    if not len(shares):
        return []
    mean = shares.mean(axis=0)
    order = np.argsort(-mean, kind="stable")[:N_BLAMED]
    return [
        {"name": case.table.names[j], "share": float(mean[j])}
        for j in order
        if mean[j] > 0
    ]


# How stable -----------------------------------------------------------------------


def agreement(scores, top):
    """Measure how far the ensemble members agree on the strangest rows.

    Parameters
    ----------
    scores : ndarray of shape (n_members, n_rows)
    top : ndarray of shape (n_top,)
        The strangest rows of the ensemble.

    Returns
    -------
    agreement : dict or None
        None if there is only one member or one row. "k" is the length of a member's
        own list of strangest rows; "votes", the number of members that list each of
        the top rows; "overlap", the mean share of its list that a member has in
        common with another, and "by_chance", the same for random lists; "tally", the
        number of the first k rows by number of votes.
    """
    n_members, n_rows = scores.shape
    if n_members < 2 or n_rows < 2:
        return None
    k = min(len(top), max(n_rows // 10, 1))
    own = np.argsort(scores, axis=1, kind="stable")[:, :k]
    of_member = np.zeros((n_members, n_rows), dtype=bool)
    np.put_along_axis(of_member, own, True, axis=1)
    chosen = of_member[:, of_member.any(axis=0)].astype(np.intp)
    shared = (chosen @ chosen.T)[np.triu_indices(n_members, 1)]
    votes = of_member[:, top].sum(axis=0)
    tally = np.bincount(votes[:k], minlength=n_members + 1)
    return {
        "k": k,
        "n_members": n_members,
        "votes": votes.tolist(),
        "overlap": float(shared.mean()) / k,
        "by_chance": k / n_rows,
        "tally": [(m, int(tally[m])) for m in range(n_members, -1, -1)],
    }


# Where ----------------------------------------------------------------------------


def map_of(case, losses, flagged, order, n_top):
    """Lay out the top rows and all others, or a sample, by principal components.

    `order` lists the rows, strangest first.
    """
    n = len(losses)
    top = order[:n_top]
    sample = np.arange(n)
    if n > N_DOTS:
        sample = np.random.default_rng(0).choice(n, N_DOTS, replace=False)
    shown = np.union1d(sample, top)
    rows = case.detector._scaled(_safe_indexing(case.features, shown))
    points, variance = _components(rows, np.isin(shown, sample))
    place = np.empty(n, dtype=np.intp)
    place[order] = np.arange(n)
    place = place[shown]  # 0 for the strangest row
    level = np.searchsorted(LEVELS, 1 - (place + 1) / n, side="right")
    ranks = np.where(place < n_top, place + 1, 0)
    chart = scatter(points, level, ranks, flagged[shown], len(LEVELS) + 1)
    return chart | {"variance": variance, "n_dots": len(shown), "n_rows": n}


def _components(rows, counts):
    """Project rows on two principal components, fitted to those that count.

    Returns
    -------
    points : ndarray of shape (n, 2)
    variance : list of two floats
        The explained variance ratios.
    """
    points, variance = np.zeros((len(rows), 2)), np.zeros(2)
    varies = np.ptp(rows[counts], axis=0) > 0
    n_components = min(2, int(varies.sum()))
    if n_components:
        pca = PCA(n_components, random_state=0).fit(rows[counts].astype(np.float64))
        points[:, :n_components] = pca.transform(rows.astype(np.float64))
        variance[:n_components] = pca.explained_variance_ratio_
    return points, variance.tolist()


# The training history -------------------------------------------------------------


def kept_checkpoints(detector):
    """Return the unit of training time, and when checkpoints were kept."""
    if hasattr(detector, "best_updates_"):
        return "update", detector.best_updates_
    if hasattr(detector, "best_epochs_"):
        return "epoch", detector.best_epochs_
    return "epoch", detector.snapshot_epochs_
