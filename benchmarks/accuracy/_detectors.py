"""The detectors of the study."""

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from benchmarks._shared.detectors import DETECTORS, Detector

REFERENCE = "IsolationForest"


class StandardisedKNN(OutlierMixin, BaseEstimator):
    """Distance from the k-th nearest neighbour, on standardised columns.

    Parameters
    ----------
    n_neighbors : int, default=5
        As by default in PyOD's KNN, which leaves columns as they are.
    """

    def __init__(self, n_neighbors=5):
        self.n_neighbors = n_neighbors

    def fit(self, X, y=None):
        """Score the rows of a table; no row is a neighbour of itself."""
        self._scaler = StandardScaler().fit(X)
        self._neighbors = NearestNeighbors(n_neighbors=self.n_neighbors)
        self._neighbors.fit(self._scaler.transform(X))
        self.training_scores_ = -self._neighbors.kneighbors()[0][:, -1]
        return self

    def score_samples(self, X):
        """Score new rows: the lower, the more abnormal."""
        return -self._neighbors.kneighbors(self._scaler.transform(X))[0][:, -1]


def standardised_lof():
    """Return scikit-learn's LocalOutlierFactor on standardised columns."""
    return make_pipeline(StandardScaler(), LocalOutlierFactor(novelty=True))


def standardised_svm():
    """Return scikit-learn's OneClassSVM on standardised columns."""
    return make_pipeline(StandardScaler(), OneClassSVM())


def _detector(name, path, **params):
    return Detector(name, path, params, "study")


ALTBI = DETECTORS["ALTBI"]
FOREST = _detector(REFERENCE, "sklearn.ensemble:IsolationForest", n_estimators=200)
TABLE = DETECTORS["TableDetector"]
KNN = _detector("kNN", f"{__name__}:StandardisedKNN")
PARTS = {
    "contaminated": (ALTBI, TABLE, FOREST, KNN, DETECTORS["ECOD"]),
    "clean": (
        ALTBI,
        _detector(
            "TableDetector (contamination=0)", "skim:TableDetector", contamination=0.0
        ),
        _detector("ALTBI (contamination=0)", "skim:ALTBIDetector", contamination=0.0),
        FOREST,
        _detector("LOF", f"{__name__}:standardised_lof"),
        _detector("nearest neighbour", f"{__name__}:StandardisedKNN", n_neighbors=1),
        KNN,
        _detector("OneClassSVM", f"{__name__}:standardised_svm"),
    ),
}


def usable(detectors):
    """Return the detectors that can be fitted here, and why the others cannot."""
    rows = np.random.default_rng(0).normal(size=(50, 3))
    found, errors = [], {}
    for detector in detectors:
        try:
            detector.build(seed=0).fit(rows)
            found.append(detector)
        except (ImportError, ValueError) as error:
            errors[detector.name] = str(error)
    return found, errors
