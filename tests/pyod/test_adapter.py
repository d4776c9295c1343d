"""PyOD detectors as scikit-learn estimators."""

import numpy as np
import pandas as pd
import pytest
from pyod.models.base import BaseDetector
from pyod.models.devnet import DevNet
from pyod.models.ecod import ECOD
from pyod.models.iforest import IForest
from pyod.models.knn import KNN
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skim.pyod import PyODDetector, from_pyod

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
    assert estimator.get_params()["detector__n_neighbors"] == 3
    copy = clone(estimator).set_params(detector__n_neighbors=9)
    assert estimator.detector.n_neighbors == 3
    expected = KNN(n_neighbors=9).fit(table).decision_function(table)
    assert np.array_equal(copy.fit(table).score_samples(table), -expected)
    assert "n_neighbors" in repr(estimator)


def test_frames_keep_their_names(table):
    frame = pd.DataFrame(table, columns=list("abcdef"))
    estimator = from_pyod(KNN()).fit(frame)
    assert list(estimator.feature_names_in_) == list("abcdef")
    assert estimator.n_features_in_ == 6
    assert estimator.predict(frame).shape == (300,)
    with pytest.raises(ValueError, match="feature names"):
        estimator.predict(frame[list("fedcba")])


class Fixed(BaseDetector):
    """Scores a row by its first value."""

    def __init__(self, contamination=0.1, factor=1.0):
        super().__init__(contamination)
        self.factor = factor

    def fit(self, X, y=None):
        self.decision_scores_ = self.decision_function(X)
        return self._process_decision_scores()

    def decision_function(self, X):
        with np.errstate(invalid="ignore", over="ignore"):
            return X[:, 0] * self.factor


class Short(Fixed):
    """Forgets a row."""

    def decision_function(self, X):
        return X[1:, 0]


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_scores_and_thresholds_that_make_no_sense_are_errors(table):
    estimator = from_pyod(Fixed(factor=10.0)).fit(table)
    new = table[:2].copy()
    new[:, 0] = [1e308, -1e308]
    assert np.array_equal(estimator.score_samples(new), [-np.inf, np.inf])
    assert np.array_equal(estimator.predict(new), [-1, 1])
    estimator.detector_.factor, new[0, 0] = np.inf, 0.0
    for method in (estimator.score_samples, estimator.predict):
        with pytest.raises(ValueError, match="NaN scores for 1 of 2 rows"):
            method(new)
    with pytest.raises(ValueError, match="Short returned 299 scores for 300 rows"):
        from_pyod(Short()).fit(table)
    data = np.full((20, 1), 1e308)
    with pytest.raises(ValueError, match=r"threshold of Fixed is .*, not finite"):
        from_pyod(Fixed(factor=10.0)).fit(data)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_failed_fit_leaves_the_estimator_unfitted(table):
    estimator = from_pyod(Fixed()).fit(table)
    estimator.set_params(detector__factor=np.nan)
    with pytest.raises(ValueError, match="NaN"):
        estimator.fit(table)
    with pytest.raises(NotFittedError):
        estimator.predict(table)


def test_anything_but_an_unsupervised_pyod_detector_is_refused(table):
    for wrong in (KNN, "KNN", StandardScaler()):
        hint = r"; did you mean KNN\(\)\?" if wrong is KNN else r"\."
        with pytest.raises(TypeError, match=f"a PyOD detector instance.*{hint}$"):
            from_pyod(wrong)
        with pytest.raises(ValueError, match="'detector' parameter of PyODDetector"):
            PyODDetector(wrong).fit(table)
    with pytest.raises(ValueError, match="DevNet requires labels"):
        from_pyod(DevNet()).fit(table)


class Thresholder:
    """Stands in for a PyThresh object: labels by a given rule."""

    def __init__(self, rule):
        self.rule = rule

    def fit(self, scores):
        self.labels_ = self.rule(scores).astype(int)
        self.thresh_ = 0.5  # on a scale of its own
        return self

    def predict(self, scores):
        return self.rule(scores).astype(int)


def test_the_threshold_of_a_thresholder_separates_its_labels(table):
    rule = Thresholder(lambda scores: scores > 4.0)
    estimator = from_pyod(KNN(contamination=rule))
    labels = estimator.fit_predict(table)
    expected = KNN(contamination=rule).fit(table).labels_
    assert 0 < expected.sum() < 300
    assert np.array_equal(labels, 1 - 2 * expected)
    inliers, outliers = (estimator.training_scores_[labels == k] for k in (1, -1))
    assert estimator.offset_ == outliers.max() / 2 + inliers.min() / 2
    for limit, label in ((np.inf, 1), (-np.inf, -1)):
        rule = Thresholder(lambda scores, limit=limit: scores > limit)
        labels = from_pyod(KNN(contamination=rule)).fit_predict(table)
        assert (labels == label).all()
    rule = Thresholder(lambda scores: np.arange(len(scores)) % 2 == 0)
    with pytest.raises(ValueError, match="No threshold reproduces the labels of"):
        from_pyod(KNN(contamination=rule)).fit(table)
