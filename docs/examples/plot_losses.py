"""
See where the threshold lies
============================

The histogram of the losses, the mixture of two Gaussians that is fitted to them, and
the threshold that it suggests.
"""

# %%
# With ``contamination="auto"``, the default, the mixture decides where the losses part.

import matplotlib.pyplot as plt

from skim import ALTBIDetector
from skim.datasets import load_breast_cancer_outliers
from skim.inspection import LossHistogramDisplay

X, y = load_breast_cancer_outliers(return_X_y=True)
detector = ALTBIDetector(random_state=0).fit(X)
LossHistogramDisplay.from_estimator(detector, X)

# %%
# Where the share of outliers is known, give it, and the threshold moves. With labels,
# one can see what it would have found.

figure, axes = plt.subplots(2, sharex=True, figsize=(7, 6), layout="constrained")
for ax, contamination in zip(axes, ("auto", 0.05), strict=True):
    detector = ALTBIDetector(contamination=contamination, random_state=0).fit(X)
    LossHistogramDisplay.from_estimator(detector, X, y, ax=ax)
    ax.set_title(f"contamination = {contamination}")
