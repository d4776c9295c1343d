import sys

import matplotlib as mpl
import numpy as np
import polars
import pytest

mpl.use("agg")
import matplotlib.pyplot as plt
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skim import ALTBIDetector, IMAutoencoderDetector
from skim.inspection import (
    ExplanationDisplay,
    IMTrajectoryDisplay,
    LossHistogramDisplay,
    im_window,
)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def fitted(table):
    return ALTBIDetector(epochs=10, random_state=0, contamination=0.05).fit(table)


def test_trajectory_shows_the_window(table, is_outlier):
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


def test_pipelines_frames_and_no_labels(table):
    frame = polars.DataFrame(table, schema=list("abcdef"))
    model = make_pipeline(StandardScaler(), IMAutoencoderDetector(epochs=3)).fit(frame)
    (bars,) = LossHistogramDisplay.from_estimator(model, frame).ax_.containers
    assert sum(bar.get_height() for bar in bars) == 300
    display = ExplanationDisplay.from_estimator(model, frame, 0)
    labels = {tick.get_text()[0] for tick in display.ax_.get_yticklabels()}
    assert labels == set("abcdef")


def test_displays_plot_on_given_axes(fitted, table):
    figure, axes = plt.subplots(2)
    display = IMTrajectoryDisplay.from_estimator(
        IMAutoencoderDetector(epochs=2), table, axes=axes
    )
    assert display.figure_ is figure
    with pytest.raises(ValueError, match="axes must have 2 elements, not 3"):
        display.plot(axes=plt.subplots(3)[1])
    ax = plt.subplots()[1]
    assert LossHistogramDisplay.from_estimator(fitted, table, ax=ax).ax_ is ax


def test_histogram_counts_every_row(fitted, table, is_outlier):
    display = LossHistogramDisplay.from_estimator(fitted, table, is_outlier, bins=20)
    inliers, outliers = display.ax_.containers
    assert sum(bar.get_height() for bar in inliers) == 285
    assert sum(bar.get_height() for bar in outliers) == 15
    assert display.threshold == pytest.approx(-fitted.offset_)
    display.figure_.canvas.draw()


def test_explanation_shows_the_largest_contributions(fitted, table):
    display = ExplanationDisplay.from_estimator(fitted, table, 299, n_features=4)
    widths = [bar.get_width() for bar in display.ax_.patches]
    expected = np.sort(fitted.explain(table[[299]], relative=True)[0])[::-1][:4]
    np.testing.assert_allclose(widths, expected)
    assert display.ax_.get_yticklabels()[0].get_text().startswith("x")
    with pytest.raises(ValueError, match="n_features"):
        display.plot(n_features=0)


def test_the_error_without_matplotlib_names_the_extra(fitted, table, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"skim-od\[plot\]"):
        LossHistogramDisplay.from_estimator(fitted, table)
