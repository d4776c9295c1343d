import numpy as np
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skim import IMAutoencoderDetector
from skim.inspection import trajectory
from skim.metrics import separation


def test_a_trajectory_has_the_losses_of_every_epoch(quick, table, is_outlier):
    path = trajectory(quick(), table, is_outlier, store_losses=True)
    n_entries = len(path.detector.history_["epoch"])
    assert path.losses.shape == (n_entries, len(table))
    for losses, auroc, auprc, apart, median in zip(
        path.losses,
        path.auroc,
        path.auprc,
        path.separation,
        path.quantiles[:, 2],
        strict=True,
    ):
        assert auroc == pytest.approx(roc_auc_score(is_outlier, losses), abs=1e-3)
        assert auprc == pytest.approx(
            average_precision_score(is_outlier, losses), abs=1e-3
        )
        assert apart == pytest.approx(separation(losses), rel=1e-3)
        assert median == pytest.approx(np.median(losses), rel=1e-5)


def test_without_labels_there_is_no_auroc(table):
    path = trajectory(IMAutoencoderDetector(epochs=3), table)
    assert path.auroc is None
    assert path.inlier_quantiles is None
    with pytest.raises(ValueError, match="needs labels"):
        path.window()


def test_a_pipeline_is_fitted_as_a_whole(table, is_outlier):
    detector = IMAutoencoderDetector(epochs=3, random_state=0)
    path = trajectory(make_pipeline(StandardScaler(), detector), table, is_outlier)
    scaled = StandardScaler().fit_transform(table)
    np.testing.assert_array_equal(
        path.auroc, trajectory(detector, scaled, is_outlier).auroc
    )


def test_a_trajectory_becomes_a_frame(table, is_outlier):
    detector = IMAutoencoderDetector(epochs=3)
    frame = trajectory(detector, table, is_outlier).to_frame()
    assert len(frame) == 3
    assert {"epoch", "auroc", "loss_q50", "outlier_loss_q95"} <= set(frame)
    assert "auroc" not in trajectory(detector, table).to_frame()


def test_only_detectors_of_this_package_have_trajectories(table):
    with pytest.raises(TypeError, match="not IsolationForest"):
        trajectory(IsolationForest(), table)
