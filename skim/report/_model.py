"""A detector, alone or at the end of a pipeline, and the table to report on."""

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skim._detectors._base import BaseDetector
from skim._detectors._imboost import IMBoostDetector
from skim._utils import feature_names
from skim.report._table import Table


class Case:
    """A fitted model and a table, split into the parts that a report needs.

    Parameters
    ----------
    model : detector or Pipeline
    X : DataFrame or array-like of shape (n_rows, n_columns)

    Attributes
    ----------
    detector : BaseDetector or IMBoostDetector
    networks : BaseDetector
        The detector itself, or the one that labels add to.
    read : Table
        The columns of `X`.
    features : DataFrame or ndarray of shape (n_rows, n_features)
        The input of the detector.
    table : Table
        The columns used in explanations: those of `X`, or the features if they
        cannot be traced back to columns.
    origins : ndarray of shape (n_features,)
        The position in `table` of the column that each feature comes from.
    decisions : list
        Name, treatment and reason for each column, if an encoder provides them.
    """

    def __init__(self, model, X):
        steps, self.detector = _split(model)
        check_is_fitted(self.detector)
        self.networks = getattr(self.detector, "detector_", self.detector)
        self.read = Table(X)
        self._check_shape(model)
        if steps and hasattr(steps[0], "parse"):
            self.read = Table(steps[0].parse(X))
        self.table = self.read
        self.features = X
        for step in steps:
            self.features = step.transform(self.features)
        self.decisions = []
        self._encoder, self._names = None, []
        self.origins = np.arange(self.detector.n_features_in_)
        if steps:
            self._trace(model[:-1], steps)

    def _check_shape(self, model):
        if not self.read.n_rows:
            raise ValueError("X has no rows; pass at least one.")
        n_columns = self.read.n_columns
        expected = getattr(model, "n_features_in_", n_columns)
        if n_columns != expected:
            raise ValueError(
                f"X has {n_columns} features, but the model is expecting "
                f"{expected} features as input."
            )

    def _trace(self, transformer, steps):
        """Find the column that each feature comes from."""
        n_features = self.detector.n_features_in_
        names = feature_names(transformer, self.detector)
        origins = names
        for step in steps:
            self.decisions = getattr(step, "decisions_", self.decisions)
            origins = getattr(step, "origins_", origins)
        if names is not None and hasattr(steps[-1], "describe"):
            self._encoder, self._names = steps[-1], names
        position = {name: j for j, name in enumerate(self.read.names)}
        if origins is not None and len(origins) == n_features:
            found = [position.get(str(name), -1) for name in origins]
            if min(found) >= 0:
                self.origins = np.array(found)
                return
        if names is None:
            names = [f"feature {j}" for j in range(n_features)]
        self.table = Table(self.features, names)

    def describe(self, feature, low, high):
        """Return the text of a range of an encoded feature, None if there is none."""
        if self._encoder is None:
            return None
        name = self._names[feature]
        ends = [self._encoder.describe(name, float(end)) for end in (low, high)]
        return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"

    def by_column(self, values):
        """Sum `values`, with one column per feature, over the columns of the table."""
        sums = np.zeros((self.table.n_columns, len(values)))
        np.add.at(sums, self.origins, values.T)
        return sums.T


def _split(model):
    """Return the steps before the detector, and the detector."""
    steps, detector = [], model
    if isinstance(model, Pipeline):
        *before, (_, detector) = model.steps
        steps = [step for _, step in before if step not in (None, "passthrough")]
    if not isinstance(detector, BaseDetector | IMBoostDetector):
        raise TypeError(
            "model must be a fitted skim detector, or a Pipeline that ends with one, "
            f"not {type(detector).__name__}."
        )
    return steps, detector
