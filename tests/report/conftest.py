from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import make_pipeline

from skim import IMAutoencoderDetector
from skim.report import write_report

SCRIPT = "<script>document.title = 'taken over'</script>"
HOSTILE = '</script><b title="x">&amp;'


class Decision(NamedTuple):
    column: str
    treatment: str
    reason: str


class OneHot(TransformerMixin, BaseEstimator):
    """Numbers as they are, a feature for every value of anything else."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        self.values_ = {}
        self.decisions_ = []
        origins = []
        for name in X.columns:
            values = [None]
            if X[name].dtype.kind not in "if":
                values = sorted(X[name].unique())
            self.values_[name] = values
            treatment = "number" if values == [None] else "category"
            self.decisions_.append(
                Decision(name, treatment, f"{len(values)} features of {name}")
            )
            origins += [name] * len(values)
        self.origins_ = np.array(origins, dtype=object)
        return self

    def transform(self, X):
        features = [
            X[name] if value is None else X[name] == value
            for name, values in self.values_.items()
            for value in values
        ]
        return np.stack(features, axis=1).astype(np.float64)


@pytest.fixture(scope="session")
def people():
    """A table of 120 rows; row "p7" has a colour, and "p3" a height, of its own."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "height": rng.normal(170, 8, 120).round(1),
            HOSTILE: rng.normal(size=120),
            "colour": rng.choice(["red", "blue"], 120),
        },
        index=[f"p{i}" for i in range(120)],
    )
    X.loc["p3", "height"] = 260.5
    X.loc["p7", "colour"] = SCRIPT
    return X


@pytest.fixture(scope="session")
def fitted(people):
    """A pipeline, fitted to the table of people."""
    detector = IMAutoencoderDetector(epochs=40, contamination=0.05, random_state=0)
    return make_pipeline(OneHot(), detector).fit(people)


@pytest.fixture(scope="session")
def page(tmp_path_factory, fitted, people):
    """The page about them."""
    path = tmp_path_factory.mktemp("report") / "people.html"
    return write_report(fitted, people, path, source="people & more.csv", top=20)
