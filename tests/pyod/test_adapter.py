"""PyOD detectors as scikit-learn estimators."""

import numpy as np
import pytest
from pyod.models.base import BaseDetector
from pyod.models.ecod import ECOD
from pyod.models.iforest import IForest
from pyod.models.knn import KNN
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skim.pyod import from_pyod

FOREST = IForest(n_estimators=20, random_state=0)

# scikit-learn checks that these PyOD detectors themselves do not pass.
KNOWN = {
    KNN: {"check_outliers_fit_predict": "a new row can be its own neighbour"},
}


@parametrize_with_checks(
    [from_pyod(detector) for detector in (FOREST, KNN())],
    expected_failed_checks=lambda each: KNOWN.get(type(each.detector), {}),
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("detector", [FOREST, KNN(contamination=0.05), ECOD()])
def test_scores_and_labels_are_those_of_pyod_with_the_sign_flipped(detector, table):
    train, new = table[::2], table[1::2]
    expected = clone(detector).fit(train)
    found = from_pyod(detector).fit(train)
    assert np.array_equal(found.training_scores_, -expected.decision_scores_)
    assert np.array_equal(found.score_samples(new), -expected.decision_function(new))
    assert np.array_equal(found.predict(new), 1 - 2 * expected.predict(new))
    labels = from_pyod(detector).fit_predict(train)
    assert np.array_equal(labels, 1 - 2 * expected.labels_)


def test_nested_parameters(table):
    estimator = from_pyod(KNN(n_neighbors=3))
    copy = clone(estimator).set_params(detector__n_neighbors=9)
    assert estimator.detector.n_neighbors == 3
    expected = KNN(n_neighbors=9).fit(table).decision_function(table)
    assert np.array_equal(copy.fit(table).score_samples(table), -expected)


class Unsure(BaseDetector):
    """Scores a row by its first value, unless that is large."""

    def __init__(self, contamination=0.1):
        super().__init__(contamination)

    def fit(self, X, y=None):
        self.decision_scores_ = self.decision_function(X)
        return self._process_decision_scores()

    def decision_function(self, X):
        return np.where(X[:, 0] > 100, np.nan, X[:, 0])


def test_scores_that_make_no_sense_are_errors(table):
    estimator, new = from_pyod(Unsure()).fit(table), table[:2].copy()
    new[0, 0] = 1000
    for method in (estimator.score_samples, estimator.predict):
        with pytest.raises(ValueError, match=r"Unsure returned NaN .* 1 of 2"):
            method(new)


def test_anything_but_a_pyod_detector_is_refused(table):
    for wrong in (KNN, "KNN", StandardScaler()):
        with pytest.raises(ValueError, match="'detector' parameter of PyODDetector"):
            from_pyod(wrong).fit(table)
