"""A detector for data of any size, trained on a sample of it."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    MetaEstimatorMixin,
    OutlierMixin,
    _fit_context,
    clone,
)
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_is_fitted

from skim._utils import import_pandas, own_random_state
from skim.distributed._sample import draw, in_order, merge

MERGED = 4  # samples at a time


class DaskDetector(MetaEstimatorMixin, OutlierMixin, BaseEstimator):
    """Fit a detector to a uniform sample of data of any size, and score all of it.

    The detector is trained in this process. Scores and labels are lazy Dask collections
    with the partitions and the index of their input, and bitwise what `estimator_`
    gives.

    Read more in the :doc:`User Guide </size>`.

    Parameters
    ----------
    estimator : detector or Pipeline
        An outlier detector such as :class:`~skim.TableDetector`, or a
        :class:`~sklearn.pipeline.Pipeline` that ends with one.

    n_rows : int, default=200_000
        Number of rows to train on. If there are no more, all of them are used, in
        their order.

    random_state : int, RandomState instance or None, default=None
        Seed of the sample, which does not depend on the scheduler. `estimator` has a
        `random_state` of its own.

    Attributes
    ----------
    estimator_ : estimator
        The estimator fitted to the sample, which does not need Dask.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from skim import ALTBIDetector
    >>> from skim.distributed import DaskDetector
    >>> X = np.random.default_rng(0).normal(size=(1000, 4))
    >>> X[-5:] += 20
    >>> parts = da.from_array(X, chunks=(100, 4))
    >>> detector = DaskDetector(ALTBIDetector(epochs=10, random_state=0), n_rows=500)
    >>> labels = detector.fit(parts).predict(parts)  # nothing is scored yet
    >>> labels[-5:].compute()
    array([-1, -1, -1, -1, -1])
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict", "score_samples"])],
        "n_rows": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        n_rows: int = 200_000,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.estimator = estimator
        self.n_rows = n_rows
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: object = None) -> Self:
        """Draw a sample of the data and fit the estimator to it.

        Parameters
        ----------
        X : dask DataFrame or Array of shape (n_samples, n_features)
            The data.

        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
        """
        X, is_frame = _checked(X)
        delayed = _import_dask().delayed
        seed = int(own_random_state(self.random_state).randint(2**31 - 1))
        samples = [
            delayed(draw)(part, number, seed, self.n_rows)
            for number, part in enumerate(np.ravel(X.to_delayed()))
        ]
        while len(samples) > 1:
            groups = [samples[i : i + MERGED] for i in range(0, len(samples), MERGED)]
            samples = [delayed(merge)(few, self.n_rows) for few in groups]
        sample = samples[0].compute()
        if len(sample) < 2:
            raise ValueError(f"X has {len(sample)} row(s); at least two are needed.")
        rows = in_order(sample)
        self.estimator_ = clone(self.estimator).fit(
            rows if is_frame else rows.to_numpy()
        )
        return self

    def score_samples(self, X: Any) -> Any:
        """Score rows: the lower, the more abnormal.

        Parameters
        ----------
        X : dask DataFrame or Array of shape (n_samples, n_features)
            Rows with the columns seen during `fit`.

        Returns
        -------
        scores : dask Series or Array of shape (n_samples,)
        """
        return self._lazy("score_samples", X, np.float64)

    def predict(self, X: Any) -> Any:
        """Label rows as inliers (+1) or outliers (-1).

        Parameters
        ----------
        X : dask DataFrame or Array of shape (n_samples, n_features)
            Rows with the columns seen during `fit`.

        Returns
        -------
        labels : dask Series or Array of shape (n_samples,)
        """
        return self._lazy("predict", X, np.int64)

    def _lazy(self, method, X, dtype):
        """Return the lazy result of a method.

        The estimator is a single task of the graph, so that it is sent to each worker
        once.
        """
        check_is_fitted(self)
        dask = _import_dask()
        model = dask.delayed(self.estimator_, traverse=False)
        X, is_frame = _checked(X)
        scored = _result, model, method, dtype
        empty = np.empty(0, dtype)
        if not is_frame:
            return X.map_blocks(*scored, dtype=dtype, meta=empty, drop_axis=1)
        index = dask.dataframe.utils.make_meta(X).index
        meta = import_pandas().Series(empty, index=index)
        return X.map_partitions(*scored, meta=meta, enforce_metadata=False)


def _result(part, model, method, dtype):
    found = getattr(model, method)(part) if len(part) else []
    found = np.asarray(found, dtype=dtype)
    if not hasattr(part, "iloc"):
        return found
    return import_pandas().Series(found, index=part.index)


def _import_dask():
    """Return dask, or raise with installation advice."""
    try:
        import dask
        import dask.array
        import dask.dataframe
    except ImportError as error:
        raise ImportError(
            "DaskDetector needs Dask: pip install 'skim-od[dask]'"
        ) from error
    return dask


def _checked(X):
    """Return a collection whose rows are in one piece, and whether it is a frame."""
    dask = _import_dask()
    if isinstance(X, dask.dataframe.DataFrame):
        return X, True
    if not isinstance(X, dask.array.Array):
        raise TypeError(
            f"X must be a Dask DataFrame or Array, not {type(X).__name__}; read files "
            "with dask.dataframe, and fit a table in memory with the detector itself."
        )
    if X.ndim != 2:
        raise ValueError(f"X must be two-dimensional, but it has {X.ndim} dimensions.")
    return X.rechunk({1: -1}), False
