"""
Choosing the number of epochs
=============================

With labels, a search finds the number of epochs that serves best; without them, a
criterion does that looks at the losses only. Both need one training a fold.
"""

# %%
# The search trains to the largest number of epochs and scores all others on the way.
# Inliers and outliers are shared out evenly among the folds:

import matplotlib.pyplot as plt

from skim import ALTBIDetector
from skim.datasets import load_breast_cancer_outliers
from skim.model_selection import EpochSearchCV, OutlierKFold

X, y = load_breast_cancer_outliers(return_X_y=True)
detector = ALTBIDetector(stopping=None, n_estimators=3, random_state=0)
search = EpochSearchCV(
    detector,
    {"epochs": [2, 4, 6, 8, 12, 16, 24, 32, 48, 64]},
    scoring=["outlier_roc_auc", "neg_loss_entropy"],
    refit="outlier_roc_auc",
    cv=OutlierKFold(n_splits=3),
).fit(X, y)
print(search.best_params_, round(search.best_score_, 3))

# %%
# What the labels say of each number of epochs, and what the losses alone do:

results = search.cv_results_
epochs = results["param_epochs"].astype(int)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
for ax, name, title in zip(
    axes,
    ("outlier_roc_auc", "neg_loss_entropy"),
    ("AUROC, with labels", "negative entropy of the losses, without"),
    strict=True,
):
    mean, std = results[f"mean_test_{name}"], results[f"std_test_{name}"]
    ax.plot(epochs, mean, marker="o", color="#0072b2")
    ax.fill_between(epochs, mean - std, mean + std, color="#0072b2", alpha=0.2)
    ax.axvline(epochs[mean.argmax()], color="black", lw=0.6)
    ax.set(xlabel="epochs", title=title, xscale="log")
plt.show()

# %%
# Inside a detector, the same criterion chooses where the training ends:

detector.set_params(epochs=100, stopping="entropy").fit(X)
print(detector.snapshot_epochs_)
