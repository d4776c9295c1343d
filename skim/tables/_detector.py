"""The detector for tables as they are."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import _num_samples, check_is_fitted

from skim import _nets as nets
from skim._detectors._altbi import ALTBIDetector
from skim._detectors._threshold_mixin import (
    CONTAMINATION,
    ThresholdMixin,
    set_verdict,
)
from skim.tables._drift import summarise
from skim.tables._encoder import TableEncoder, as_frame, position_of
from skim.tables._reasons import COLUMNS, table_reasons
from skim.tables._table_model import CHUNK, fit_model

if TYPE_CHECKING:
    import pandas as pd


class TableDetector(ThresholdMixin, BaseEstimator):
    """Detect outliers in a table as it is: numbers, text, dates and gaps.

    A row is judged in three ways, all on one scale of surprise, the negative logarithm
    of how rare it would be among ordinary rows:

    - **cells**: the strangest value of the row against its column. Numbers and dates
      are compared with each of the two tails of their column, and numbers also with
      those of rows that have the same level of another column; levels are judged by
      how rare they are. Misspellings of a frequent level, signs that no other number
      has, cells that cannot be read, and dates in an impossible order are stranger
      than what is merely rare.
    - **neighbours**: the distance of each row from the nearest quarter of the others.
    - **networks**: the loss of each row by a detector of skim on the encoded columns.

    :meth:`reasons` says in words what is strange about a row.

    Read more in the :doc:`user guide </tables>`.

    Parameters
    ----------
    detector : object, default=None
        A detector of skim for numbers, which sees the columns as encoded by
        :class:`~skim.tables.TableEncoder`. None means an
        :class:`~skim.ALTBIDetector` of eight networks, so that the verdict depends
        little on the seed.

    by : str or int, default=None
        A column whose values are groups, such as the store in a table of sales.
        Numbers are judged within their group: by its location and scale, which are
        shrunk towards those of the whole table where a group is small. Rows of new
        groups are judged by the whole table.

    contamination : "auto" or float, default="auto"
        Share of outliers in the training data, in [0, 0.5], which sets the threshold;
        as in :class:`~skim.ALTBIDetector`. 0 means that the training data is clean:
        the nearest rows then count most, and about 1 % of new clean rows are flagged.

    drop, categorical, ids : sequence of str or int, default=()
        Columns to leave out, to treat as levels even if they look numeric, and that
        identify rows; by name, or by position if the table has no column names.

    dates : {"auto", "day first", "month first"}, default="auto"
        How to read dates such as 3/4/2024.

    random_state : int, RandomState instance or None, default=None
        Controls the training of the networks, unless `detector` has a seed of its own.

    n_jobs : int, default=None
        Number of threads that score rows; in the networks, unless `detector` has a
        number of its own.

    Attributes
    ----------
    offset_ : float
        Threshold: ``decision_function = score_samples - offset_``.

    training_scores_ : ndarray of shape (n_samples,)
        Scores of the training data; if `contamination` is 0, those that each row would
        have if it were new.

    training_summary_ : dict
        What each column of the training data looked like, with which `skim score`
        compares new tables.

    encoder_ : TableEncoder
        The fitted encoder of the columns; its `decisions_` say how each is treated.

    detector_ : object
        The fitted detector of the encoded columns.

    n_features_in_ : int
        Number of columns seen during `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of columns seen during `fit`. Defined only when `X` has column names
        that are all strings.

    See Also
    --------
    ALTBIDetector : The detector for numbers.
    IMBoostDetector : Learns from a few labels, also about tables.

    Examples
    --------
    >>> import pandas as pd
    >>> from skim import TableDetector
    >>> table = pd.DataFrame(
    ...     {
    ...         "country": ["Germany", "France"] * 30,
    ...         "price": [10.0 + i % 7 for i in range(60)],
    ...     }
    ... )
    >>> table.loc[7, "country"], table.loc[20, "price"] = "Farnce", -12.0
    >>> detector = TableDetector(random_state=0).fit(table)
    >>> detector.reasons(table.iloc[[7, 20]])[["row", "kind", "value", "expected"]]
       row         kind   value  expected
    0    7  misspelling  Farnce    France
    1   20         sign     -12  10 to 16
    """

    _parameter_constraints: dict = {
        "detector": [HasMethods(["fit", "score_samples", "feature_space"]), None],
        "by": [str, Integral, None],
        "contamination": CONTAMINATION,
        "drop": ["array-like"],
        "categorical": ["array-like"],
        "ids": ["array-like"],
        "dates": [StrOptions({"auto", "day first", "month first"})],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        detector=None,
        *,
        by=None,
        contamination="auto",
        drop=(),
        categorical=(),
        ids=(),
        dates="auto",
        random_state=None,
        n_jobs=None,
    ):
        self.detector = detector
        self.by = by
        self.contamination = contamination
        self.drop = drop
        self.categorical = categorical
        self.ids = ids
        self.dates = dates
        self.random_state = random_state
        self.n_jobs = n_jobs

    # Fitting -------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike | pd.DataFrame, y: object = None) -> Self:
        """Fit the detector to a table.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            The table, outliers included.

        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            The fitted detector.
        """
        checked = clone(self)  # takes the names of the columns
        frame = as_frame(checked, X, reset=True)
        names = frame.columns.tolist()
        by = None if self.by is None else names[position_of(self.by, names, "by")]
        encoder = TableEncoder(
            drop=[*self.drop, *([] if by is None else [by])],
            categorical=self.categorical,
            ids=self.ids,
            dates=self.dates,
        )
        detector = ALTBIDetector(n_estimators=8)
        if self.detector is not None:
            detector = clone(self.detector)
        known = detector.get_params(deep=False)
        for name in ("random_state", "n_jobs"):
            if known.get(name, 0) is None:
                detector.set_params(**{name: getattr(self, name)})
        if self.contamination == 0 and "contamination" in known:
            detector.set_params(contamination=0.0)
        with nets.compute():
            model, scores, is_ordinary = fit_model(
                frame,
                encoder,
                detector,
                by=by,
                is_clean=self.contamination == 0,
                n_jobs=self.n_jobs,
            )
        summary = summarise(model.encoder, frame, by)
        held_out = scores if self.contamination == 0 else None
        set_verdict(self, checked, scores, held_out, is_ordinary)
        self.model_, self.training_summary_ = model, summary
        return self

    @property
    def encoder_(self) -> TableEncoder:
        """The fitted encoder of the columns."""
        return self.model_.encoder

    @property
    def detector_(self):
        """The fitted detector of the encoded columns."""
        return self.model_.detector

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    # Scoring -------------------------------------------------------------------

    def score_samples(self, X: ArrayLike | pd.DataFrame) -> NDArray[np.float64]:
        """Score rows: the lower, the more abnormal.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            A table with the columns seen during `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The negated surprise of each row.
        """
        check_is_fitted(self)
        frame, model = as_frame(self, X, reset=False), self.model_
        chunks = (frame.iloc[i : i + CHUNK] for i in range(0, len(frame), CHUNK))
        with nets.compute():
            return -np.concatenate(
                [
                    model.total(model.judge(chunk, n_jobs=self.n_jobs))
                    for chunk in chunks
                ]
            )

    def feature_space(self, X: ArrayLike | pd.DataFrame) -> NDArray[np.float32]:
        """Return the scaled features of the encoded columns.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            A table with the columns seen during `fit`.

        Returns
        -------
        values : ndarray of shape (n_samples, n_scaled)
        """
        check_is_fitted(self)
        frame = as_frame(self, X, reset=False)
        return self.detector_.feature_space(self.model_.columns(frame).features)

    def reasons(
        self, X: ArrayLike | pd.DataFrame, *, n_reasons: int | None = 3
    ) -> pd.DataFrame:
        """Say what is strange about rows, and what was expected.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            Rows to explain, usually those that :meth:`predict` flags.

        n_reasons : int or None, default=3
            Largest number of reasons per row; None means all.

        Returns
        -------
        reasons : DataFrame
            One line per reason, the most important one of a row first, with the
            columns "row" (its index, or its number), "kind", "column", "value" (as it
            is written), "expected" and "surprise". The kinds are "high", "low",
            "sign", "code" (of a missing value), "unreadable", "misspelling", "rare",
            "missing", "order" (of dates), "conflict" (with another column),
            "context" (unlike similar rows, or rows with the same level), and
            "combination", whose "column" and "value" name several.
        """
        check_is_fitted(self)
        if not _num_samples(X):
            import pandas as pd

            return pd.DataFrame(columns=COLUMNS)
        frame = as_frame(self, X, reset=False)
        with nets.compute():
            return table_reasons(self.model_, frame, n_reasons)
