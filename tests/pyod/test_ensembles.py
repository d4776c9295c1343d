"""skim detectors in PyOD's ensembles, and with its persistence."""

import numpy as np
from pyod.models.feature_bagging import FeatureBagging
from pyod.utils.persistence import load, save
from sklearn.metrics import roc_auc_score

from tests.pyod.conftest import make_pyod


def test_feature_bagging_fits_clones_with_different_seeds(table, is_outlier):
    def fitted():
        detector = make_pyod(epochs=30)
        return FeatureBagging(detector, n_estimators=4, random_state=0).fit(table)

    bagging = fitted()
    assert len({each.random_state for each in bagging.estimators_}) == 4
    assert roc_auc_score(is_outlier, bagging.decision_scores_) > 0.8
    assert np.array_equal(fitted().decision_scores_, bagging.decision_scores_)


def test_pyod_can_save_and_load_a_detector(table, tmp_path):
    detector = make_pyod().fit(table)
    save(detector, tmp_path / "detector.joblib")
    copy = load(tmp_path / "detector.joblib", strict=True, trusted=True)
    assert copy.get_params() == detector.get_params()
    assert copy.threshold_ == detector.threshold_
    assert np.array_equal(copy.decision_function(table), detector.decision_scores_)
    assert np.array_equal(copy.predict_proba(table), detector.predict_proba(table))
