"""skim detectors in PyOD's ensembles, and with its persistence."""

import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from pyod.models.feature_bagging import FeatureBagging
from pyod.utils.persistence import load, save
from sklearn.metrics import roc_auc_score

from tests.pyod.conftest import make_pyod


def test_feature_bagging_fits_clones_with_different_seeds(table, is_outlier):
    bagging = FeatureBagging(make_pyod(epochs=30), n_estimators=4, random_state=0)
    bagging.fit(table)
    seeds = {each.random_state for each in bagging.estimators_}
    assert len(seeds) == 4
    assert roc_auc_score(is_outlier, bagging.decision_scores_) > 0.8
    again = FeatureBagging(make_pyod(epochs=30), n_estimators=4, random_state=0).fit(
        table
    )
    assert np.array_equal(again.decision_scores_, bagging.decision_scores_)


SUOD = """
import sys
import numpy as np
from pyod.models.pca import PCA
from pyod.models.suod import SUOD
from skim.pyod import ALTBI

table = np.load(sys.argv[1])
quick = dict(epochs=10, n_estimators=2, random_state=0)
detectors = [ALTBI(**quick), PCA()]
suod = SUOD(detectors, n_jobs=2, bps_flag=False).fit(table)
scores = [each.decision_scores_ for each in suod.model_.base_estimators]
np.savez(sys.argv[2], combined=suod.decision_function(table), altbi=scores[0],
         expected=ALTBI(**quick).fit(table).decision_scores_)
"""


# In a subprocess, because importing suod silences all warnings and changes how joblib
# starts processes.
@pytest.mark.skipif(find_spec("suod") is None, reason="suod is not installed")
def test_suod_fits_detectors_in_parallel(table, is_outlier, tmp_path):
    np.save(tmp_path / "table.npy", table)
    files = [str(tmp_path / "table.npy"), str(tmp_path / "scores.npz")]
    subprocess.run(
        [sys.executable, "-c", SUOD, *files],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    scores = np.load(tmp_path / "scores.npz")
    assert roc_auc_score(is_outlier, scores["combined"]) > 0.8
    assert np.array_equal(scores["altbi"], scores["expected"])


def test_pyod_can_save_and_load_a_detector(table, tmp_path):
    detector = make_pyod().fit(table)
    save(detector, tmp_path / "detector.joblib", metadata={"rows": 300})
    copy, header = load(
        tmp_path / "detector.joblib", strict=True, return_metadata=True, trusted=True
    )
    assert type(copy) is type(detector)
    assert header["metadata"] == {"rows": 300}
    assert copy.get_params() == detector.get_params()
    assert copy.threshold_ == detector.threshold_
    assert np.array_equal(copy.decision_function(table), detector.decision_scores_)
    assert np.array_equal(copy.predict_proba(table), detector.predict_proba(table))
