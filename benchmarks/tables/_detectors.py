"""The detectors that are compared, and the plain way to encode a table."""

import numpy as np
import pandas as pd
from sklearn.ensemble import IsolationForest
from sklearn.impute import SimpleImputer
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from skim import TableDetector
from skim.tables import TableEncoder

MAX_LEVELS = 20  # of a column that is one-hot encoded
ENOUGH = 0.9  # share of numbers, or dates, in text that is read as such
N_NEIGHBORS = 5  # PyOD's default
ENCODINGS = ("plain", "TableEncoder")


def plain(table):
    """Encode a table as is common: one-hot up to 20 levels, ordinal codes beyond.

    Dates become numbers. Columns without two distinct values are dropped.
    """
    features = [_plain_column(table[name]) for name in table]
    features = [block for block in features if block is not None]
    return _filled(np.column_stack(features))


def _plain_column(column):
    if column.nunique() < 2:
        return None
    numbers = _numbers(column)
    if numbers is not None:
        return numbers
    codes, levels = pd.factorize(column.astype("string"), sort=True)
    if len(levels) > MAX_LEVELS:
        return np.where(codes < 0, np.nan, codes)
    return (codes[:, None] == np.arange(len(levels))).astype(float)


def _numbers(column):
    """Return a column as numbers, None if it is neither numbers nor dates."""
    if pd.api.types.is_datetime64_any_dtype(column):
        return _days(column)
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(float, na_value=np.nan)
    text = column.dropna().astype(str)
    if pd.to_numeric(text, errors="coerce").notna().mean() >= ENOUGH:
        return pd.to_numeric(column, errors="coerce").to_numpy(float, na_value=np.nan)
    text = column.astype(object).str.replace("/", "-")
    dates = pd.to_datetime(text, errors="coerce", format="ISO8601", utc=True)
    return _days(dates) if dates.notna().sum() >= ENOUGH * column.count() else None


def _days(dates):
    origin = pd.Timestamp("1970-01-01", tz=dates.dt.tz)
    return ((dates - origin) / pd.Timedelta(days=1)).to_numpy(float)


def _filled(X):
    X = SimpleImputer(strategy="median").fit_transform(X)
    return X[:, np.ptp(X, axis=0) > 0]


def encode(table, encoding):
    """Return the finite features of a table for the detectors other than skim's."""
    if encoding == "plain":
        return plain(table)
    return _filled(TableEncoder().fit_transform(table))


def _forest(X, seed):
    return -IsolationForest(random_state=seed).fit(X).score_samples(X)


def _neighbors(X, seed):
    X = StandardScaler().fit_transform(X)
    distances, _ = NearestNeighbors(n_neighbors=N_NEIGHBORS).fit(X).kneighbors()
    return distances[:, -1]


def _ecod(X, seed):
    from pyod.models.ecod import ECOD

    return ECOD().fit(X).decision_scores_


SKIM = "skim"
OTHERS = {"IsolationForest": _forest, "kNN": _neighbors, "ECOD": _ecod}


def score(detector, table, seed, features):
    """Return how strange a detector finds the rows of a table.

    `features` is what `encode` returns; skim takes the table as it is.
    """
    if detector == SKIM:
        return -TableDetector(random_state=seed).fit(table).training_scores_
    return OTHERS[detector](features, seed)


def recall(scores, planted):
    """Return the share of the planted rows among as many strangest rows.

    Rows of equal scores count as if they were in random order.
    """
    n = len(planted)
    last = np.sort(scores)[-n]
    above, equal = scores > last, scores == last
    share = (n - above.sum()) / equal.sum()
    return float((above[planted].sum() + share * equal[planted].sum()) / n)
