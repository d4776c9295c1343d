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


def test_pipelines_are_fitted_as_a_whole_and_frames_are_made(table, is_outlier):
    detector = IMAutoencoderDetector(epochs=3, random_state=0)
    path = trajectory(make_pipeline(StandardScaler(), detector), table, is_outlier)
    unlabelled = trajectory(detector, StandardScaler().fit_transform(table))
    np.testing.assert_array_equal(path.quantiles, unlabelled.quantiles)
    frame = path.to_frame()
    assert len(frame) == 3
    assert {"epoch", "auroc", "loss_q50", "outlier_loss_q95"} <= set(frame)
    assert "auroc" not in unlabelled.to_frame()
    assert unlabelled.auroc is None
    with pytest.raises(ValueError, match="needs labels"):
        unlabelled.window()
    with pytest.raises(TypeError, match="not IsolationForest"):
        trajectory(IsolationForest(), table)
