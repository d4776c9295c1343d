"""
Choosing the number of epochs
=============================

With labels, a search finds the best number of epochs; without labels, a criterion that
looks only at the losses takes their place. Both need one fit per fold.
"""

# %%
# The search trains for the largest number of epochs and scores all others along the
# way. Outliers are distributed evenly over the folds:

import matplotlib.pyplot as plt
from sklearn.model_selection import StratifiedKFold

from skim import ALTBIDetector
from skim.datasets import load_breast_cancer_outliers
from skim.model_selection import EpochSearchCV

X, y = load_breast_cancer_outliers(return_X_y=True)
detector = ALTBIDetector(stopping=None, n_estimators=3, random_state=0)
search = EpochSearchCV(
    detector,
    {"epochs": [2, 4, 6, 8, 12, 16, 24, 32, 48, 64]},
    scoring=["outlier_roc_auc", "neg_loss_entropy"],
    refit="outlier_roc_auc",
    cv=StratifiedKFold(n_splits=3, shuffle=True, random_state=0),
).fit(X, y)
print(search.best_params_, round(search.best_score_, 3))

# %%
# The two scores for each number of epochs:

results = search.cv_results_
epochs = results["param_epochs"].astype(int)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
for ax, name, title in zip(
    axes,
    ("outlier_roc_auc", "neg_loss_entropy"),
    ("AUROC (with labels)", "Negative entropy of the losses (without)"),
    strict=True,
):
    mean, std = results[f"mean_test_{name}"], results[f"std_test_{name}"]
    ax.plot(epochs, mean, marker="o", color="#0072b2")
    ax.fill_between(epochs, mean - std, mean + std, color="#0072b2", alpha=0.2)
    ax.axvline(epochs[mean.argmax()], color="black", lw=0.6)
    ax.set(xlabel="Epochs", title=title, xscale="log")
    ax.set_xticks(epochs, epochs)
    ax.minorticks_off()
plt.show()

# %%
# Early stopping in a detector uses the same criterion. These are the epochs of the
# snapshots that rows are scored with:

detector.set_params(epochs=100, stopping="entropy").fit(X)
print(detector.snapshot_epochs_)
