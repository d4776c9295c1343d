"""
See why a row was flagged
=========================

The loss of a row is a sum over its features. The largest terms tell what is unusual
about the row.
"""

# %%
# What each feature adds to the loss of the wine with the lowest training score, beyond
# what it adds for a typical wine:

import pandas as pd

from skim import ALTBIDetector
from skim.datasets import load_wine_outliers

wine = load_wine_outliers(as_frame=True)
detector = ALTBIDetector(random_state=0).fit(wine.data)
strangest = int(detector.training_scores_.argmin())
contributions = detector.explain(wine.data.iloc[[strangest]], relative=True)[0]
contributions = pd.Series(contributions, index=wine.data.columns)
contributions.nlargest(10)[::-1].plot.barh(xlabel="Contribution to the loss")

# %%
# What to expect in the cells that contribute most, given the rest of the row:

detector.reasons(wine.data.iloc[[strangest]]).round(2)

# %%
# All of these values are in their ranges: this wine is strange as a whole. A wine for
# which the decimal point of one value was lost is another matter:

typo = wine.data.iloc[[strangest]].assign(ash=wine.data["ash"].iloc[strangest] * 100)
detector.reasons(typo).round(2)
