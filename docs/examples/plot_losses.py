"""
See where the threshold lies
============================

A histogram of the losses shows whether outliers stand apart, and what the threshold
cuts off.
"""

# %%
# With ``contamination="auto"``, the default, the threshold lies where the largest
# losses thin out. Without a clear gap, it flags few rows:

import matplotlib.pyplot as plt

from skim import ALTBIDetector
from skim.datasets import load_breast_cancer_outliers
from skim.inspection import LossHistogramDisplay

X, y = load_breast_cancer_outliers(return_X_y=True)
detector = ALTBIDetector(random_state=0).fit(X)
LossHistogramDisplay.from_estimator(detector, X)

# %%
# If you know the share of outliers, pass it as ``contamination``, or move the threshold
# of a fitted detector. Labels, if given, show which rows each threshold would flag:

figure, axes = plt.subplots(2, sharex=True, figsize=(7, 6), layout="constrained")
for ax, contamination in zip(axes, ("auto", 0.05), strict=True):
    detector.set_contamination(contamination)
    LossHistogramDisplay.from_estimator(detector, X, y, ax=ax)
    ax.set_title(f"contamination = {contamination}")
