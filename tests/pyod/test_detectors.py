"""skim detectors as PyOD detectors."""

import inspect
import subprocess
import sys

import numpy as np
import pytest
from pyod.models.base import BaseDetector
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skim.pyod import ALTBI
from tests.conftest import make_quick
from tests.pyod.conftest import PYOD, make_pyod

# Agreement with the skim detectors ----------------------------------------------


@pytest.mark.parametrize("kind", PYOD)
def test_scores_are_the_negated_scores_of_the_skim_detector(kind, table):
    ours, skims = make_pyod(kind).fit(table), make_quick(kind).fit(table)
    assert np.array_equal(ours.decision_scores_, -skims.training_scores_)
    new = table + 0.1
    assert np.array_equal(ours.decision_function(new), -skims.score_samples(new))
    # The training scores are those of the training data, too.
    assert np.array_equal(ours.decision_scores_, ours.decision_function(table))


@pytest.mark.parametrize("cls", PYOD.values())
def test_the_signature_is_that_of_the_skim_detector_except_contamination(cls):
    ours = dict(inspect.signature(cls).parameters)
    skims = dict(inspect.signature(cls._detector_class).parameters)
    assert list(ours) == list(skims)
    assert ours.pop("contamination").default == 0.1
    assert skims.pop("contamination").default == "auto"
    assert ours == skims
    defaults = {name: parameter.default for name, parameter in ours.items()}
    assert cls().get_params() == defaults | {"contamination": 0.1}


# The PyOD interface -------------------------------------------------------------


def test_is_a_pyod_detector_that_must_be_fitted(table):
    detector = make_pyod()
    assert isinstance(detector, BaseDetector)
    for method in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(detector, method)(table)
    with pytest.raises(ValueError, match="1 sample"):
        detector.fit(table).fit(table[:1])
    assert np.array_equal(detector.predict(table), detector.labels_)


@pytest.mark.parametrize("contamination", [0.01, 0.5])
def test_contamination_is_the_share_of_outliers(table, contamination):
    detector = make_pyod(contamination=contamination).fit(table)
    assert detector.labels_.sum() == round(contamination * 300)
    above = detector.decision_scores_ > detector.threshold_
    assert np.array_equal(detector.labels_, above)
    assert np.array_equal(detector.predict(table), detector.labels_)


def test_probabilities_and_confidence_are_those_of_pyod(fitted_pyod, table):
    for method in ("linear", "unify"):
        probabilities = fitted_pyod.predict_proba(table, method=method)
        order = np.argsort(fitted_pyod.decision_scores_)
        assert (np.diff(probabilities[order, 1]) >= 0).all()
        # PyOD would count the classes of y, and predict_proba would fail with one.
        with_y = clone(fitted_pyod).fit(table, np.zeros(300, dtype=int))
        assert np.array_equal(with_y.predict_proba(table, method=method), probabilities)
    confidence = fitted_pyod.predict_confidence(table)
    assert 0 <= confidence.min() < confidence.max() <= 1
    labels = fitted_pyod.predict_with_rejection(table, T=5, c_r=0.1)
    kept = labels != -2
    assert 150 < kept.sum() < 300
    assert np.array_equal(labels[kept], fitted_pyod.labels_[kept])


# The scikit-learn interface -----------------------------------------------------


def test_clone_and_set_params(table):
    detector = make_pyod(contamination=0.2).fit(table)
    copy = clone(detector)
    assert copy.get_params() == detector.get_params()
    assert not hasattr(copy, "decision_scores_")
    copy.set_params(random_state=5, n_estimators=1)
    expected = make_pyod(contamination=0.2, random_state=5, n_estimators=1).fit(table)
    assert np.array_equal(copy.fit(table).decision_scores_, expected.decision_scores_)
    with pytest.raises(ValueError, match="Invalid parameter n_neighbors"):
        copy.set_params(n_neighbors=3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_neighbors'"):
        type(copy)(n_neighbors=5)


def test_contamination_must_be_a_share(table):
    for wrong in (0.0, 0.6, 1, np.nan, "auto", None):
        detector = ALTBI().set_params(contamination=wrong)
        with pytest.raises(ValueError, match=r"float in \(0, 0.5\]"):
            detector.fit(table)


def test_the_error_without_pyod_names_the_extra():
    code = "import sys; sys.modules['pyod'] = None; import skim; import skim.pyod"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert (
        "ImportError: skim.pyod needs PyOD: pip install 'skim-od[pyod]'" in done.stderr
    )
