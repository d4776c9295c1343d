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
from sklearn.pipeline import Pipeline
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skim._utils import feature_names, own_random_state
from skim.distributed._collections import Collection
from skim.distributed._sample import checked, draw, merge, with_rare_values
from skim.distributed._scheduler import compute, import_dask
from skim.distributed._scoring import Scoring, detector_of
from skim.tables import TableEncoder

MERGED = 4  # samples at a time


def _has(method):
    """Return a check of whether the detector has a method."""

    def check(self):
        estimator = getattr(self, "estimator_", self.estimator)
        getattr(detector_of(estimator), method)  # the AttributeError tells
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
        An outlier detector, or a :class:`~sklearn.pipeline.Pipeline` that ends with
        one. It may start with a :class:`~skim.tables.TableEncoder`.

    n_rows : int, default=200_000
        Number of rows to train on. If there are no more, all of them are used, in
        their order, and `estimator_` is what a fit to the whole table would be.

    random_state : int, RandomState instance or None, default=None
        Seed of the sample. An int gives the same sample for the same partitions,
        whatever the scheduler and the order in which it works. `estimator` has a
        `random_state` of its own.

    scheduler : None, str, Client or cluster, default=None
        Where `fit` draws the sample: None means the current
        :class:`distributed.Client`, if there is one, or else Dask's default, which is
        threads. Otherwise, "threads", "processes" or "synchronous", the address of a
        scheduler such as "tcp://10.0.0.1:8786", a client, or a cluster such as
        :class:`distributed.LocalCluster`. Clients and clusters cannot be cloned;
        use an address in a detector that will be. Results are computed where Dask is
        told to.

    storage_options : dict, default=None
        Options of fsspec for data given by its path, such as credentials.

    verbose : int, default=0
        Whether to show the progress of sampling.

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
    skim.tables.TableEncoder : Encode text, dates and categories as numbers.

    Notes
    -----
    The threshold is that of the sample. If it flags a share p of n sampled rows, the
    share that it flags in all data has a standard error of about
    ``sqrt(p * (1 - p) / n)``: at 1.25 % of 200,000 rows, 0.025 percentage points.

    Values that the sample missed are no error: those far from all others, and levels
    that a :class:`~skim.tables.TableEncoder` did not see, make their rows strange. If a
    column of a DataFrame is constant in the sample, but not in the data, a row with
    another value is added to the sample, or an encoder would ignore the column.
    Infinite values raise an error that names the partition, unless a
    :class:`~skim.tables.TableEncoder` comes first, which takes them for very large.

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
        "scheduler": "no_validation",
        "storage_options": [dict, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        n_rows: int = 200_000,
        random_state: int | np.random.RandomState | None = None,
        scheduler: Any = None,
        storage_options: dict[str, Any] | None = None,
        verbose: int = 0,
    ):
        self.estimator = estimator
        self.n_rows = n_rows
        self.random_state = random_state
        self.scheduler = scheduler
        self.storage_options = storage_options
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: object = None) -> Self:
        """Draw a sample of the data and fit the estimator to it.

        Parameters
        ----------
        X : dask DataFrame, dask Array, str or path-like
            The data, or a file, folder or pattern of Parquet or CSV files, local or at
            an address that fsspec knows, such as "s3://bucket/orders/*.parquet". Every
            file is a partition; large ones are several.

        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            The fitted detector.
        """
        import_dask()
        data = Collection.of(X, self.storage_options)
        seed = int(own_random_state(self.random_state).randint(2**31 - 1))
        sample = compute(self._sample(data, seed), self.scheduler, self.verbose)
        sample = with_rare_values(sample)
        if sample.n_seen < 2:
            rows = f"{sample.n_seen} row{'s' * (sample.n_seen != 1)}"
            raise ValueError(f"{data.name} has {rows}; at least two are needed.")
        self.estimator_ = clone(self.estimator).fit(sample.rows)
        self.n_samples_seen_ = sample.n_seen
        self.n_samples_fit_ = len(sample.rows)
        self._kinds = {
            column: (kind, "the training data")
            for column, (kind, _) in sample.kinds.items()
        }
        self.n_features_in_ = sample.rows.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        names = getattr(self.estimator_, "feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names
        return self

    def _sample(self, data, seed):
        """Return a delayed sample of the data."""
        from dask import delayed

        rules = {"columns": data.columns, "other": data.names[0]}
        rules["allow_infinite"] = _takes_infinity(self.estimator)
        how = {"seed": seed, "n_rows": self.n_rows}
        samples = [
            delayed(_draw, pure=True)(part, name, number, rules, how)
            for number, (part, name) in enumerate(
                zip(data.delayed(), data.names, strict=True)
            )
        ]
        while len(samples) > 1:
            groups = [samples[i : i + MERGED] for i in range(0, len(samples), MERGED)]
            samples = [delayed(merge, pure=True)(few, self.n_rows) for few in groups]
        return samples[0]

    @property
    def offset_(self):
        """The threshold of the detector."""
        check_is_fitted(self)
        return detector_of(self.estimator_).offset_

    @_has("score_samples")
    def score_samples(self, X: Any) -> Any:
        """Score rows: the lower, the more abnormal.

        Parameters
        ----------
        X : dask DataFrame, dask Array, str or path-like
            Rows to score, in one of the forms that `fit` takes.

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
        X : dask DataFrame, dask Array, str or path-like
            Rows to score, in one of the forms that `fit` takes.

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
        X : dask DataFrame, dask Array, str or path-like
            Rows to label, in one of the forms that `fit` takes.

        Returns
        -------
        labels : dask Series or Array of shape (n_samples,)
            +1 for inliers, -1 for outliers.
        """
        return self._lazy("predict", X, "label", np.int64)

    def fit_predict(self, X: Any, y: object = None) -> Any:
        """Fit the detector and label the data.

        Parameters
        ----------
        X : dask DataFrame, dask Array, str or path-like
            The data, as in `fit`.

        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        labels : dask Series or Array of shape (n_samples,)
            +1 for inliers, -1 for outliers.
        """
        return self.fit(X, y).predict(X)

    @_has("outlier_probability")
    def outlier_probability(self, X: Any) -> Any:
        """Map the scores of rows to [0, 1], with one half at the threshold.

        Parameters
        ----------
        X : dask DataFrame, dask Array, str or path-like
            Rows to judge, in one of the forms that `fit` takes.

        Returns
        -------
        probability : dask Series or Array of shape (n_samples,)
            Above one half for outliers, below for inliers.
        """
        return self._lazy("outlier_probability", X, "probability", np.float64)

    @_has("explain")
    def explain(self, X: Any, *, relative: bool = False) -> Any:
        """Split each row's score over the features of the detector.

        Parameters
        ----------
        X : dask DataFrame, dask Array, str or path-like
            Rows to explain, in one of the forms that `fit` takes.

        relative : bool, default=False
            Whether to subtract what each feature contributes in an ordinary row.

        Returns
        -------
        contributions : dask DataFrame or Array of shape (n_samples, n_features)
            What each feature adds to the loss. A DataFrame, unless `X` is an Array.
        """
        check_is_fitted(self)
        detector = detector_of(self.estimator_)
        names = None
        if isinstance(self.estimator_, Pipeline):
            names = feature_names(self.estimator_[:-1], detector)
        if names is None:
            default = [f"x{j}" for j in range(detector.n_features_in_)]
            names = getattr(detector, "feature_names_in_", default)
        return self._lazy("explain", X, list(names), np.float64, relative=relative)

    def _lazy(self, method, X, name, dtype, **params):
        """Return the lazy result of a method; `name` is a list of columns for a frame.

        The estimator is a single task of the graph, so that it is sent to each worker
        once.
        """
        check_is_fitted(self)
        import_dask()
        data = Collection.of(X, self.storage_options)
        columns = None if data.columns is None else self._columns(data.columns)
        scoring = Scoring(
            method,
            params,
            name,
            np.dtype(dtype),
            columns,
            self._kinds,
            _takes_infinity(self.estimator_),
        )
        return data.map(scoring, self.estimator_)

    def _columns(self, given):
        """Return the columns that the parts should have."""
        names = getattr(self, "feature_names_in_", None)
        return list(given) if names is None else list(names)


def _draw(part, name, number, rules, how):
    return draw(checked(part, name, **rules), name, number, **how)


def _takes_infinity(estimator):
    """Whether infinite values are for the estimator to deal with."""
    return isinstance(estimator, Pipeline) and isinstance(estimator[0], TableEncoder)
