"""The top rows: why they are strange, how stable they are, where they lie."""

from typing import NamedTuple

import numpy as np
from sklearn.decomposition import PCA
from sklearn.utils import _safe_indexing, check_array

from skim._detectors._base import scaled_table
from skim._model._expectations import CellExpectations, cells_to_blame
from skim._model._reasons import SHARE, Judgement, judge
from skim.report._charts import scatter

N_REASONS = 3  # columns named for a row
N_COLUMNS = 200  # columns described
N_BLAMED = 10  # columns to blame for the top rows together
N_OTHERS = 10  # rows named on which threshold and labels differ
N_DOTS = 3000  # rows on the map, in addition to the top ones
LEVELS = (0.5, 0.75, 0.9, 0.97, 0.99)  # quantiles at which the map changes colour


def is_training_data(detector, losses):
    """Whether these are the losses of the training data, in its order."""
    trained = -detector.training_scores_
    rows = getattr(detector, "training_rows_", None)
    if rows is not None:  # of a large table
        losses = losses[rows[rows < len(losses)]]
    return len(losses) == len(trained) and np.allclose(losses, trained, rtol=1e-5)


def labels_of(detector, losses):
    """Return the labels that rows had in training, NaN for none; None without any."""
    labels = getattr(detector, "labels_", None)
    return labels if is_training_data(detector, losses) else None


def judged_labels(labels, flagged, names):
    """Compare labels with what the threshold says about their rows.

    Returns
    -------
    judged : dict or None
        None without labels. "n" is the number of labels; "n_outliers", how many of
        them say outlier; "n_agreed", how many the threshold agrees with; "others", the
        names of the first rows on which it does not.
    """
    if labels is None:
        return None
    known = np.flatnonzero(~np.isnan(labels))
    differs = known[labels[known] != flagged[known]]
    return {
        "n": len(known),
        "n_outliers": int(labels[known].sum()),
        "n_agreed": len(known) - len(differs),
        "others": [str(names[i]) for i in differs[:N_OTHERS]],
    }


# Why ------------------------------------------------------------------------------


class Blame(NamedTuple):
    """Which cells of the top rows are to blame, and what to expect in them.

    Attributes
    ----------
    features : ndarray of int of shape (n_top, n_features)
        The features in the order of blame, as in ``detector.reasons``.
    ranges : tuple of three ndarrays of shape (n_top, n_features)
        The expected values in that order and the ends of their ranges, in the units of
        the features.
    judgement : Judgement
        Which of them are reasons, in that order.
    shares : ndarray of shape (n_top, n_columns)
        How much each column adds to the loss. Rows sum to 1, or to 0 if no column adds
        more than usual.
    """

    features: np.ndarray
    ranges: tuple[np.ndarray, np.ndarray, np.ndarray]
    judgement: Judgement
    shares: np.ndarray


def blame(case, top):
    """Find the cells to blame for the losses of the top rows."""
    detector, model = case.networks, case.networks.model_
    scaler = model.scaler
    rows = _safe_indexing(case.features, top)
    scaled = scaled_table(detector, rows).cells()
    relative = detector.explain(rows, relative=True)
    with np.errstate(over="ignore", invalid="ignore"):  # of values near 1e308
        expectations = CellExpectations(scaler, scaler.cells(model.sample))
        cells = cells_to_blame(expectations, scaled, relative, scaled.shape[1])
        features, contributions = cells["column"], cells["contribution"]
        expected, low, high = (
            scaler.inverse_transform(cells[name], features)
            for name in ("expected", "low", "high")
        )
        values = np.take_along_axis(_as_array(rows), features, axis=1)
        # Cells that add little do not make a row strange as a whole.
        matters = contributions >= SHARE * contributions.max(axis=1, keepdims=True)
        is_outside = cells["is_outside"] & matters
        judgement = judge(values, expected, low, high, contributions, is_outside)
    shares = np.maximum(case.by_column(relative), 0)
    total = shares.sum(axis=1, keepdims=True)
    shares /= np.where(total > 0, total, 1)
    return Blame(features, (expected, low, high), judgement, shares)


def _as_array(rows):
    return check_array(rows, dtype=np.float64, ensure_all_finite="allow-nan")


def reasons_and_columns(case, top, blame):
    """Describe the values that make the top rows strange, and the columns.

    Rows that are strange as a whole have no column to blame; their rarest values are
    given instead.

    Returns
    -------
    reasons : list of list of dict
        For each of the top rows, the most important reason first.
    n_more : list of int
        For each of the top rows, the number of columns that are reasons as well.
    blamed : list of dict
        The columns named in the reasons.
    read : list of dict
        The first columns of the input table.
    """
    named, n_more = _named_columns(case, top, blame)
    values = _as_array(_safe_indexing(case.features, top))
    every = sorted({j for mine in named for j in mine})
    first = range(min(case.read.n_columns, N_COLUMNS))
    same = case.table is case.read
    described: dict = {}
    reasons: list = [[None] * len(mine) for mine in named]
    for j in sorted({*every, *(first if same else ())}):
        # One column at a time, because columns can be large.
        column = case.table.column(j)
        described[j] = _describe(column, case.table.names[j], f"c{j}")
        own = np.flatnonzero(case.origins == j)
        plain = {f for f in own if column.holds(values[:, f], top)}
        for k in (k for k, mine in enumerate(named) if j in mine):
            place, f = named[k][j]
            expected, low, high = (part[k, place] for part in blame.ranges)
            reason = {"weight": float(blame.shares[k, j]), "column": described[j]}
            reason |= column.describe(top[k]) | {"expected": None, "band": None}
            if f in plain:
                reason |= column.expectation(top[k], low, high)
            else:
                ends = (low, high) if column.is_ordered else (expected, expected)
                text = case.describe(f, *ends)
                reason["expected"] = None if text == reason["value"] else text
            reasons[k][list(named[k]).index(j)] = reason
    if same:
        read = [described[j] for j in first]
    else:
        names = case.read.names
        read = [_describe(case.read.column(j), names[j], f"r{j}") for j in first]
    return reasons, n_more, [described[j] for j in every], read


def _named_columns(case, top, blame):
    """Choose the columns to name for each row, most important first.

    Returns
    -------
    named : list of dict
        For each row, from a column to the place of one of its features in the order of
        blame, and that feature.
    n_more : list of int
    """
    whole = np.flatnonzero(blame.judgement.is_whole)
    rarest = dict(zip(whole, _rarest(case, top[whole]), strict=True))
    named, n_more = [], []
    for k, features in enumerate(blame.features):
        is_whole = k in rarest
        places = np.flatnonzero(is_whole | blame.judgement.is_reason[k])
        found: dict = {}
        for place in places:
            column = int(case.origins[features[place]])
            found.setdefault(column, (int(place), int(features[place])))
        chosen = rarest[k] if is_whole else list(found)
        named.append({j: found[j] for j in chosen[:N_REASONS]})
        n_more.append(0 if is_whole else max(len(found) - N_REASONS, 0))
    return named, n_more


def _rarest(case, rows):
    """Return, by row, the columns in which its values are rarest, if they are rare."""
    rareness = np.zeros((len(rows), case.table.n_columns))
    for j in np.unique(case.origins):
        column = case.table.column(j)
        rareness[:, j] = 1 - column.rarity(rows)
    order = np.argsort(-rareness, axis=1, kind="stable")[:, :N_REASONS]
    return [
        [int(j) for j in mine if rareness[i, j] > 0] for i, mine in enumerate(order)
    ]


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
    networks = case.networks
    rows = networks.feature_space(_safe_indexing(case.features, shown))
    rows = np.where(np.isnan(rows), networks.model_.scaler.fill_, rows)
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


def snapshot_times(detector):
    """Return the unit of training time, and when snapshots were taken."""
    if hasattr(detector, "best_updates_"):
        return "update", detector.best_updates_
    if hasattr(detector, "best_epochs_"):
        return "epoch", detector.best_epochs_
    return "epoch", detector.snapshot_epochs_
