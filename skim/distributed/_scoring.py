"""Scoring one part of a large table."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from skim._utils import import_pandas
from skim.distributed._sample import check_kinds, checked, kinds_of


class Scoring(NamedTuple):
    """A method of an estimator, to be applied to parts.

    Attributes
    ----------
    method : str
    params : dict
        Its keyword arguments.
    name : str or list of str
        The name of the resulting Series, or the columns of the DataFrame.
    dtype : dtype
        Of the result.
    columns : list or None
        The columns that parts should have; None for arrays.
    kinds : dict
        The kinds of values that they should have.
    allow_infinite : bool
    """

    method: str
    params: dict[str, Any]
    name: str | list[str]
    dtype: np.dtype
    columns: list | None
    kinds: dict[str, tuple[str, str]]
    allow_infinite: bool

    def __call__(self, part, name, estimator):
        """Return the result for a part, of which `name` is told in errors."""
        part = checked(
            part,
            name,
            self.columns,
            "the training data",
            allow_infinite=self.allow_infinite,
        )
        check_kinds({c: (k, name) for c, k in kinds_of(part).items() if k}, self.kinds)
        if not len(part):
            return self.empty(part)
        try:
            found = apply(estimator, self.method, part, **self.params)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name}: {error}") from error
        return self._with_index(found, part)

    def empty(self, part=None):
        """Return the result for no rows, with the index of a part if it has one."""
        shape = (0,) if isinstance(self.name, str) else (0, len(self.name))
        return self._with_index(np.empty(shape, self.dtype), part)

    def _with_index(self, found, part):
        found = np.asarray(found, dtype=self.dtype)
        if not hasattr(part, "iloc"):
            return found
        pd = import_pandas()
        if isinstance(self.name, str):
            return pd.Series(found, index=part.index, name=self.name)
        return pd.DataFrame(found, index=part.index, columns=self.name)


def detector_of(estimator):
    """Return the detector at the end of a Pipeline, or the estimator itself."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def apply(estimator, method, X, **params):
    """Call a method of the detector on rows that go through the Pipeline first."""
    if isinstance(estimator, Pipeline) and not hasattr(estimator, method):
        for _, step in estimator.steps[:-1]:
            if step not in (None, "passthrough"):
                X = step.transform(X)
        estimator = estimator[-1]
    return getattr(estimator, method)(X, **params)
