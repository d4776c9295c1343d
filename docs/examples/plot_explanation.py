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
# The features that contribute most, and their quartiles over all wines:

reasons = detector.explain(wine.data.iloc[[strangest]], relative=True, as_frame=True)
columns = reasons.iloc[0].nlargest(3).index
wine.data[columns].describe().loc[["25%", "50%", "75%"]]
