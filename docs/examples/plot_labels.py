"""
A few answers
=============

:class:`skim.IMBoostDetector` asks about the rows that are hardest to judge, and learns
from the answers. Here, the answers are diagnoses of tumours: after a few of them, the
detector flags most of the malignant tumours, and hardly any others.
"""

import matplotlib.pyplot as plt
import numpy as np

from skim import IMBoostDetector
from skim.datasets import load_breast_cancer_outliers

X, is_malignant = load_breast_cancer_outliers(return_X_y=True)
detector = IMBoostDetector(random_state=0).fit(X)

# %%
# Without labels, the scores are those of :class:`skim.ALTBIDetector`. Fitting the same
# rows again with more labels does not train the networks again.

labels = np.full(len(X), np.nan)
found, wrong = [], []
for _ in range(11):
    is_flagged = detector.training_scores_ < detector.offset_
    found.append(np.sum(is_flagged & (is_malignant == 1)))
    wrong.append(np.sum(is_flagged & (is_malignant == 0)))
    rows = detector.query(3)
    labels[rows] = is_malignant[rows]
    detector.fit(X, labels=labels)

n_answers = 3 * np.arange(len(found))
plt.plot(n_answers, found, marker="o", label="malignant, flagged")
plt.plot(n_answers, wrong, marker="o", label="benign, flagged")
plt.axhline(np.sum(is_malignant), color="grey", linestyle=":", label="malignant")
plt.ylim(-1, np.sum(is_malignant) + 2)
plt.xlabel("number of answers")
plt.ylabel("rows")
_ = plt.legend()

# %%
# The more a row resembles a labelled one, the more the label affects its score. These
# labels add most to the log-odds that one of the malignant tumours is an outlier:

row = np.flatnonzero(is_malignant)[-1]
(influences,) = detector.label_influences(X[[row]])
for place in np.argsort(-influences)[:3]:
    print(f"row {detector.label_rows_[place]}: {influences[place]:+.1f}")
