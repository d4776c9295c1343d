import sys

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score, roc_auc_score

mpl.use("agg")
import matplotlib.pyplot as plt

from skim import ALTBIDetector, IMAutoencoderDetector
from skim.inspection import IMTrajectoryDisplay, im_window, trajectory
from skim.metrics import separation


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


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


def test_labels_are_used_for_evaluation_only(table, is_outlier):
    detector = IMAutoencoderDetector(epochs=3, random_state=0)
    labelled = trajectory(detector, table, is_outlier)
    unlabelled = trajectory(detector, table)
    assert len(labelled.auroc) == 3
    assert unlabelled.auroc is None
    np.testing.assert_array_equal(labelled.quantiles, unlabelled.quantiles)
    with pytest.raises(TypeError, match="not IsolationForest"):
        trajectory(IsolationForest(), table)


def test_the_display_shows_the_window(table, is_outlier):
    detector = ALTBIDetector(epochs=10, random_state=0)
    display = IMTrajectoryDisplay.from_estimator(
        detector, table, is_outlier, threshold=0.6
    )
    path = display.trajectory
    losses, auroc, separation = display.axes_
    assert [line.get_label() for line in losses.lines] == ["Inliers", "Outliers"]
    np.testing.assert_array_equal(auroc.lines[0].get_ydata(), path.auroc)
    np.testing.assert_array_equal(separation.lines[0].get_ydata(), path.separation)
    start, stop, _ = im_window(path.auroc, 0.6, epochs=path.epoch)
    (shade,) = auroc.patches
    assert (shade.get_x(), shade.get_x() + shade.get_width()) == (start, stop)
    display.figure_.canvas.draw()


def test_the_display_takes_axes_and_names_the_missing_extra(table, monkeypatch):
    figure, axes = plt.subplots(2)
    display = IMTrajectoryDisplay.from_estimator(
        IMAutoencoderDetector(epochs=2), table, axes=axes
    )
    assert display.figure_ is figure
    with pytest.raises(ValueError, match="axes must have 2 elements, not 3"):
        display.plot(axes=plt.subplots(3)[1])
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"skim-od\[plot\]"):
        display.plot()
