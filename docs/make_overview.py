"""Draw the picture of the front pages: ``python docs/make_overview.py``."""

from pathlib import Path

import matplotlib.pyplot as plt

from skim import ALTBIDetector
from skim.datasets import load_wine_outliers
from skim.inspection import trajectory
from skim.schedules import ALTBISchedule

PICTURE = Path(__file__).parent / "_static" / "overview.png"

X, y = load_wine_outliers(return_X_y=True)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")

# patience=None trains for all epochs, beyond the one that early stopping chooses.
schedule = ALTBISchedule(patience=None)
path = trajectory(ALTBIDetector(schedule=schedule, random_state=0), X, y)
quartiles = path.levels.searchsorted([0.25, 0.5, 0.75])
for label, quantiles, color, style in (
    ("Inliers", path.inlier_quantiles, "#56b4e9", "-"),
    ("Outliers", path.outlier_quantiles, "#9a3412", "--"),
):
    low, median, high = quantiles[:, quartiles].T
    left.fill_between(path.epoch, low, high, color=color, alpha=0.3, lw=0)
    left.plot(path.epoch, median, style, color=color, label=label)
left.set(xlabel="Epoch", ylabel="Loss", title="Inliers are learned first …")

detector = ALTBIDetector(random_state=0).fit(X)
losses = -detector.score_samples(X)
style = {"color": ["#56b4e9", "#9a3412"], "label": ["Inliers", "Outliers"]}
right.hist([losses[y == 0], losses[y == 1]], bins=50, stacked=True, **style)
right.axvline(-detector.offset_, color="black", ls="--", label="Threshold")
right.set(
    xlabel="Loss", ylabel="Rows", title="… so outliers are the rows with large losses"
)
for ax in (left, right):
    ax.spines[["right", "top"]].set_visible(False)
    ax.legend(frameon=False)

figure.savefig(PICTURE, dpi=150)
