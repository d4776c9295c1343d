"""
See where the threshold lies
============================

A histogram of the losses shows whether outliers stand apart, and what the threshold
cuts off.
"""

# %%
# With ``contamination="auto"``, the default, the threshold lies where the largest
# losses thin out; without a clear gap, it flags few rows. If you know the share of
# outliers, pass it as ``contamination``, or move the threshold of a fitted detector.
# The loss is the negative of the score. Labels are used only to colour the bars:

import matplotlib.pyplot as plt

from skim import ALTBIDetector
from skim.datasets import load_breast_cancer_outliers

X, y = load_breast_cancer_outliers(return_X_y=True)
detector = ALTBIDetector(random_state=0).fit(X)
losses = -detector.score_samples(X)
figure, axes = plt.subplots(2, sharex=True, figsize=(7, 6), layout="constrained")
for ax, contamination in zip(axes, ("auto", 0.05), strict=True):
    detector.set_contamination(contamination)
    groups = [losses[y == 0], losses[y == 1]]
    style = {"color": ["#56b4e9", "#9a3412"], "label": ["Inliers", "Outliers"]}
    ax.hist(groups, bins=50, stacked=True, **style)
    ax.axvline(-detector.offset_, color="black", ls="--", label="Threshold")
    ax.set(xlabel="Loss", ylabel="Rows", title=f"contamination = {contamination}")
axes[0].legend()
