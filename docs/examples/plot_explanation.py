"""
See why a row was flagged
=========================

The loss of a row is a sum over its features. The largest terms tell what is unusual
about the row.
"""

# %%
# The wine with the lowest training score:

from skim import ALTBIDetector
from skim.datasets import load_wine_outliers
from skim.inspection import ExplanationDisplay

wine = load_wine_outliers(as_frame=True)
detector = ALTBIDetector(random_state=0).fit(wine.data)
strangest = int(detector.training_scores_.argmin())
ExplanationDisplay.from_estimator(detector, wine.data, strangest)

# %%
# What to expect in the cells that contribute most, given the rest of the row:

detector.reasons(wine.data.iloc[[strangest]]).round(2)

# %%
# All of these values are in their ranges: this wine is strange as a whole. A wine for
# which the decimal point of one value was lost is another matter:

typo = wine.data.iloc[[strangest]].assign(ash=wine.data["ash"].iloc[strangest] * 100)
detector.reasons(typo).round(2)
