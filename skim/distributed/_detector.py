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
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skim._utils import import_pandas, own_random_state
from skim.distributed._sample import draw, merge, sampled_rows

MERGED = 4  # samples at a time


def _has(method):
    """Return a check of whether the estimator has a method."""

    def check(self):
        getattr(getattr(self, "estimator_", self.estimator), method)  # or it raises
        return True

    return available_if(check)


class DaskDetector(MetaEstimatorMixin, OutlierMixin, BaseEstimator):
    """Fit a detector to a sample of data of any size, and score all of it.

    The data is read once to draw a uniform sample of `n_rows` rows, partition by
    partition. The detector is trained on the sample, in this process, and kept as
    `estimator_`, a plain fitted estimator. Everything else is lazy: the methods return
    Dask collections with the partitions, the index and the divisions of their input.

    Read more in the :doc:`User Guide </size>`.

    Parameters
    ----------
    estimator : detector or Pipeline
        An outlier detector such as :class:`~skim.TableDetector`, or a
        :class:`~sklearn.pipeline.Pipeline` that ends with one.

    n_rows : int, default=200_000
        Number of rows to train on. If there are no more, all of them are used, in
        their order, and `estimator_` is what a fit to the whole table would be.

    random_state : int, RandomState instance or None, default=None
        Seed of the sample. An int gives the same sample for the same partitions,
        whatever the scheduler and the order in which it works. `estimator` has a
        `random_state` of its own.

    Attributes
    ----------
    estimator_ : estimator
        The estimator fitted to the sample. It does not need Dask, and can be saved
        like any other.

    n_samples_seen_ : int
        Number of rows in the data.

    n_samples_fit_ : int
        Number of rows that the estimator was fitted to.

    offset_ : float
        The threshold of the detector.

    n_features_in_ : int
        Number of columns seen during `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of columns seen during `fit`. Defined only when the data has column
        names that are all strings.

    See Also
    --------
    skim.TableDetector : Detect outliers in a table with text, dates and gaps.

    Notes
    -----
    The threshold is that of the sample. If it flags a share p of n sampled rows, the
    share that it flags in all data has a standard error of about
    ``sqrt(p * (1 - p) / n)``: at 1.25 % of 200,000 rows, 0.025 percentage points.

    Values that the sample missed are no error: those far from all others, and levels
    that the sample did not have, make their rows strange. If a column of a DataFrame is
    constant in the sample, but not in the data, a row with another value is added to
    the sample, or an encoder would ignore the column.

    Dask decides where to compute: on the current :class:`distributed.Client`, if there
    is one, or else on threads.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from skim import ALTBIDetector
    >>> from skim.distributed import DaskDetector
    >>> X = np.random.default_rng(0).normal(size=(1000, 4))
    >>> X[-5:] += 20
    >>> parts = da.from_array(X, chunks=(100, 4))
    >>> detector = DaskDetector(
    ...     ALTBIDetector(epochs=10, random_state=0), n_rows=500, random_state=0
    ... )
    >>> labels = detector.fit(parts).predict(parts)  # nothing is scored yet
    >>> labels.numblocks
    (10,)
    >>> labels[-5:].compute()
    array([-1, -1, -1, -1, -1])
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"])],
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
            The fitted detector.
        """
        X, is_frame = _checked(X)
        delayed = _import_dask().delayed
        seed = int(own_random_state(self.random_state).randint(2**31 - 1))
        parts = np.ravel(X.to_delayed())
        samples = [
            delayed(draw, pure=True)(part, number, seed, self.n_rows)
            for number, part in enumerate(parts)
        ]
        while len(samples) > 1:
            groups = [samples[i : i + MERGED] for i in range(0, len(samples), MERGED)]
            samples = [delayed(merge, pure=True)(few, self.n_rows) for few in groups]
        sample = samples[0].compute()
        if sample.n_seen < 2:
            raise ValueError(f"X has {sample.n_seen} row(s); at least two are needed.")
        rows = sampled_rows(sample).reset_index(drop=True)
        self.estimator_ = clone(self.estimator).fit(
            rows if is_frame else rows.to_numpy()
        )
        self.n_samples_seen_ = sample.n_seen
        self.n_samples_fit_ = len(rows)
        self.n_features_in_ = rows.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        names = getattr(self.estimator_, "feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names
        return self

    @property
    def offset_(self):
        """The threshold of the detector."""
        check_is_fitted(self)
        last = getattr(self.estimator_, "steps", [(None, self.estimator_)])[-1][1]
        return last.offset_

    @_has("score_samples")
    def score_samples(self, X: Any) -> Any:
        """Score rows: the lower, the more abnormal.

        Parameters
        ----------
        X : dask DataFrame or Array of shape (n_samples, n_features)
            Rows with the columns seen during `fit`, in any order.

        Returns
        -------
        scores : dask Series or Array of shape (n_samples,)
            What ``estimator_.score_samples`` gives for these rows. A Series, unless
            `X` is an Array.
        """
        return self._lazy("score_samples", X, "score", np.float64)

    @_has("decision_function")
    def decision_function(self, X: Any) -> Any:
        """Score rows relative to the threshold.

        Parameters
        ----------
        X : dask DataFrame or Array of shape (n_samples, n_features)
            Rows with the columns seen during `fit`, in any order.

        Returns
        -------
        decision : dask Series or Array of shape (n_samples,)
            ``score_samples(X) - offset_``; negative for outliers.
        """
        return self._lazy("decision_function", X, "decision", np.float64)

    def predict(self, X: Any) -> Any:
        """Label rows as inliers or outliers.

        Parameters
        ----------
        X : dask DataFrame or Array of shape (n_samples, n_features)
            Rows with the columns seen during `fit`, in any order.

        Returns
        -------
        labels : dask Series or Array of shape (n_samples,)
            +1 for inliers, -1 for outliers.
        """
        return self._lazy("predict", X, "label", np.int64)

    @_has("outlier_probability")
    def outlier_probability(self, X: Any) -> Any:
        """Map the scores of rows to [0, 1], with one half at the threshold.

        Parameters
        ----------
        X : dask DataFrame or Array of shape (n_samples, n_features)
            Rows with the columns seen during `fit`, in any order.

        Returns
        -------
        probability : dask Series or Array of shape (n_samples,)
            Above one half for outliers, below for inliers.
        """
        return self._lazy("outlier_probability", X, "probability", np.float64)

    def _lazy(self, method, X, name, dtype):
        """Return the lazy result of a method.

        The estimator is a single task of the graph, so that it is sent to each worker
        once.
        """
        check_is_fitted(self)
        dask = _import_dask()
        X, is_frame = _checked(X)
        token = dask.base.tokenize(self.estimator_)
        model = dask.delayed(self.estimator_, name=f"model-{token}", traverse=False)
        if not is_frame:
            empty = np.empty(0, dtype)
            return X.map_blocks(
                _score, model, method, name, dtype, dtype=dtype, meta=empty, drop_axis=1
            )
        names = list(getattr(self, "feature_names_in_", X.columns))
        missing = [repr(column) for column in names if column not in X.columns]
        if missing:
            raise ValueError(f"X lacks {', '.join(missing[:3])} of the training data.")
        index = X.head(0, npartitions=-1).index
        pd = import_pandas()
        return X[names].map_partitions(
            _score,
            *(model, method, name, dtype),
            meta=pd.Series(np.empty(0, dtype), index=index, name=name),
            enforce_metadata=False,
        )


def _score(part, model, method, name, dtype):
    found = getattr(model, method)(part) if len(part) else []
    found = np.asarray(found, dtype=dtype)
    if not hasattr(part, "iloc"):
        return found
    return import_pandas().Series(found, index=part.index, name=name)


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
