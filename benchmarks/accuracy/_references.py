"""The detectors that the study compares ALTBI with."""

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from benchmarks._shared.detectors import Detector

MAX_ROWS = 20_000  # among which neighbours are searched


class StandardisedKNN(OutlierMixin, BaseEstimator):
    """Distance from the k-th nearest neighbour, on standardised columns.

    Neighbours of rows of a large table are those in a fixed sample of its rows.

    Parameters
    ----------
    n_neighbors : int, default=5
        As by default in PyOD's KNN, which leaves columns as they are.
    """

    def __init__(self, n_neighbors=5):
        self.n_neighbors = n_neighbors

    def fit(self, X, y=None):
        """Score the rows of a table; no row is a neighbour of itself."""
        Z = StandardScaler().fit_transform(X)
        order = np.random.default_rng(0).permutation(len(Z))
        sample, others = np.split(order, [MAX_ROWS])
        neighbours = NearestNeighbors(n_neighbors=self.n_neighbors).fit(Z[sample])
        self.training_scores_ = np.empty(len(Z))
        self.training_scores_[sample] = -neighbours.kneighbors()[0][:, -1]
        if len(others):
            distances, _ = neighbours.kneighbors(Z[others])
            self.training_scores_[others] = -distances[:, -1]
        return self


REFERENCES = (
    Detector("IsolationForest", "sklearn.ensemble:IsolationForest", {}, "scikit-learn"),
    Detector("kNN", f"{__name__}:StandardisedKNN", {}, "scikit-learn"),
)
