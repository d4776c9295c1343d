"""Encoding tables of mixed types as numbers for a detector."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_is_fitted,
    validate_data,
)

from skim._utils import Versioned, import_pandas, unmasked
from skim.tables._columns import (
    DateEncoder,
    FrequencyEncoder,
    NumberEncoder,
)
from skim.tables._decide import ColumnDecision, Outcome, decide, decide_category
from skim.tables._text import unique_names

if TYPE_CHECKING:
    import pandas as pd

ENCODERS: dict[str, Any] = {
    "number": NumberEncoder,
    "date": DateEncoder,
    "frequency": FrequencyEncoder,
}


class TableEncoder(Versioned, TransformerMixin, BaseEstimator):
    r"""Encode the columns of a table as numbers.

    How a column is encoded is decided in `fit`. The rules do not depend on the order
    of the rows, and the first one that applies wins:

    - No values, or a single value: dropped.
    - Consecutive integers without repetition, and columns with "id", "uuid" or "guid"
      in their name whose values hardly ever repeat: an identifier, which is not a
      feature. Integers with such a name whose values do repeat are categories.
    - Booleans, numbers, durations, and text with numbers in at least 90% of the
      cells with a value: a number. Decimal commas, thousands separators, percent
      signs, currencies, units and negative numbers in parentheses are understood.
      Units are converted if a column has several that measure the same; where hardly
      any number has a unit, the cells that have one are unreadable. An infinite number
      becomes one far beyond all others, and other text counts as missing.
    - Dates, and text with dates in at least 90% of the cells with a value: the day,
      the weekday and the hour, unless constant. A day after the last one of `fit`
      counts as the last one, unless it is further away than the training period is
      long.
    - Text most of whose rows have a value that occurs only once, or at most
      :math:`\log_{10} n` times in `n` rows: an identifier, or, if it is long, free
      text, which is dropped.
    - Other text: the logarithm of the frequency of each value, and less for new ones.
      One feature per level would make smaller groups more unusual than absurd numbers.

    Missing values are NaN, which the detectors of skim treat as unknown.

    Read more in the :doc:`User Guide </command_line>`.

    Parameters
    ----------
    drop : sequence of str or int, default=()
        Columns to drop, by name, or by position if the table has no column names.

    categorical : sequence of str or int, default=()
        Columns to treat as categorical even if they look numeric.

    ids : sequence of str or int, default=()
        Columns that identify rows and are not features.

    dates : {"auto", "day first", "month first"}, default="auto"
        How to read dates such as 3/4/2024. If "auto", the order is inferred from the
        column; if it cannot be told, there is a warning.

    Attributes
    ----------
    decisions_ : list of ColumnDecision
        The name, the treatment ("number", "frequency", "date", "identifier" or
        "dropped") and the reason for each column.

    encoders_ : dict of int to object
        The fitted encoder of each column that is a feature, by position.

    n_features_in_ : int
        Number of columns seen during `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of columns seen during `fit`. Defined only when `X` has column names
        that are all strings.

    See Also
    --------
    read_table : Read a table from a file.

    Examples
    --------
    >>> import pandas as pd
    >>> from skim.tables import TableEncoder
    >>> table = pd.DataFrame(
    ...     {
    ...         "order": [101, 102, 103, 104, 105],
    ...         "country": ["DE", "FR", "DE", "FR", "DE"],
    ...         "price": ["€1,50", "€2,00", None, "€1,75", "€980,00"],
    ...     }
    ... )
    >>> encoder = TableEncoder().set_output(transform="pandas")
    >>> encoder.fit_transform(table).round(2)
        price  country_frequency
    0    1.50              -0.51
    1    2.00              -0.92
    2     NaN              -0.51
    3    1.75              -0.92
    4  980.00              -0.51
    >>> for decision in encoder.decisions_:
    ...     print(*decision, sep=" | ")
    order | identifier | counts up
    country | frequency | 2 levels
    price | number | numbers in text with a decimal comma in €; 20.0% missing
    >>> encoder.describe("price", 1.5)
    '€1,5'
    """

    _parameter_constraints: dict = {
        "drop": ["array-like"],
        "categorical": ["array-like"],
        "ids": ["array-like"],
        "dates": [StrOptions({"auto", "day first", "month first"})],
    }

    def __init__(
        self,
        *,
        drop: Sequence[str | int] = (),
        categorical: Sequence[str | int] = (),
        ids: Sequence[str | int] = (),
        dates: Literal["auto", "day first", "month first"] = "auto",
    ):
        self.drop = drop
        self.categorical = categorical
        self.ids = ids
        self.dates = dates

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike | pd.DataFrame, y: object = None) -> Self:
        """Decide how to encode each column and fit the encoders.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            The table.

        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            The fitted encoder.
        """
        self.__dict__.pop("encoders_", None)
        table = self._frame(X, reset=True)
        names = self._names_in()
        outcomes: dict[int, Outcome] = {}
        for column in self.categorical:
            j = position_of(column, names, "categorical")
            outcomes[j] = decide_category(table[j])
        for parameter, treatment in (("ids", "identifier"), ("drop", "dropped")):
            for column in getattr(self, parameter):
                j = position_of(column, names, parameter)
                outcomes[j] = Outcome(treatment, "as requested")
        for j, name in enumerate(names):
            if j not in outcomes:
                outcomes[j] = decide(table[j], name, self.dates)
            if outcomes[j].warning:
                warnings.warn(f"Column {name!r}: {outcomes[j].warning}.", stacklevel=3)
        self.decisions_ = [
            ColumnDecision(name, outcomes[j].treatment, outcomes[j].reason)
            for j, name in enumerate(names)
        ]
        encoders = {
            j: encoder(outcomes[j].form, table[j])
            for treatment, encoder in ENCODERS.items()
            for j in range(len(names))
            if outcomes[j].treatment == treatment
        }
        if not encoders:
            why = "; ".join(f"{d.column}: {d.reason}" for d in self.decisions_[:5])
            raise ValueError(f"No column can be used as a feature ({why}).")
        self.encoders_ = encoders
        return self

    def transform(
        self, X: ArrayLike | pd.DataFrame
    ) -> NDArray[np.float64] | pd.DataFrame:
        """Encode a table.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            A table with the columns seen during `fit`.

        Returns
        -------
        X_out : ndarray or DataFrame of shape (n_samples, n_features_out)
            Finite numbers, and NaN for missing values.
        """
        check_is_fitted(self)
        table = self._frame(X, reset=False)
        features = [own.transform(table[j]) for j, own in self.encoders_.items()]
        return np.concatenate(features, axis=1)

    def describe(self, column: str | int, value: float) -> str:
        """Write a number as a column of numbers would have it.

        Parameters
        ----------
        column : str or int
            Name or position of a column that is treated as a number.

        value : float
            A number, such as an expected value.

        Returns
        -------
        text : str
            The number with the decimals and the unit of the column; "missing" for NaN.
        """
        check_is_fitted(self)
        own = self.encoders_.get(position_of(column, self._names_in(), "describe"))
        if not isinstance(own, NumberEncoder):
            raise ValueError(f"Column {column!r} is not treated as a number.")
        return "missing" if np.isnan(value) else own.describe(float(value))

    def parse(self, X):
        """Return the table with numbers and dates in text parsed."""
        table = self._frame(X, reset=False)
        for j, own in self.encoders_.items():
            table[j] = own.parsed(table[j])
        table.columns = self._names_in()
        return table

    def get_feature_names_out(
        self, input_features: ArrayLike | None = None
    ) -> NDArray[np.object_]:
        """Get the names of the output features.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns; by default, those seen during `fit`.

        Returns
        -------
        feature_names_out : ndarray of str
            The column names, followed by "_frequency" or the date part.
            Duplicates are numbered.
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        features = [
            f"{names[j]}{suffix}"
            for j, own in self.encoders_.items()
            for suffix in own.suffixes
        ]
        return np.array(unique_names(features, "{}_{}"), dtype=object)

    def _names_in(self):
        default = [f"x{j}" for j in range(self.n_features_in_)]
        return list(map(str, getattr(self, "feature_names_in_", default)))

    def _frame(self, X, *, reset):
        """Return the table as a DataFrame with positions as column names."""
        frame = as_frame(self, X, reset=reset)
        complex_ = [name for name, dtype in frame.dtypes.items() if dtype.kind == "c"]
        if complex_:
            raise ValueError(f"Complex data not supported: column {complex_[0]!r}.")
        frame.columns = range(frame.shape[1])
        return frame

    def __sklearn_is_fitted__(self):
        return hasattr(self, "encoders_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def as_frame(estimator, X, *, reset):
    """Check a table against an estimator; return it as a DataFrame with text names."""
    pd = import_pandas("Tables need pandas: pip install 'skim-od[cli]'")
    X = unmasked(X)
    if isinstance(X, str | os.PathLike):
        raise TypeError(
            f"{type(estimator).__name__} takes a table, not the name of a file; "
            "read it with skim.tables.read_table."
        )
    if hasattr(X, "to_pandas"):  # polars, pyarrow
        X = X.to_pandas()
    if isinstance(X, pd.DataFrame):
        if X.columns.has_duplicates:
            twice = X.columns[X.columns.duplicated()][0]
            raise ValueError(
                f"Duplicate column name {twice!r}; rename one of the columns."
            )
        # Only the column names and their number; values are checked later.
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        frame = X.copy(deep=False)
        frame.columns = [str(name) for name in X.columns]
    else:
        if sparse.issparse(X):
            raise TypeError("Sparse data is not supported; pass a dense table.")
        array = validate_data(
            estimator, X, reset=reset, dtype=None, ensure_all_finite=False
        )
        frame = pd.DataFrame(array, columns=[f"x{j}" for j in range(array.shape[1])])
        if array.dtype == object:
            frame = frame.infer_objects()
    minimum = 2 if reset else 1
    if len(frame) < minimum:
        raise ValueError(
            f"Found array with {len(frame)} sample(s) (shape={frame.shape}) while a "
            f"minimum of {minimum} is required by {type(estimator).__name__}."
        )
    return frame


def position_of(column, names, parameter):
    """Return the position of a column that is given by its name or position."""
    if column in names:
        return names.index(column)
    if not isinstance(column, str) and 0 <= column < len(names):
        return int(column)
    close = get_close_matches(str(column), names, 1, cutoff=0.75)
    known = ", ".join(names[:10]) + ", …" * (len(names) > 10)
    advice = f"did you mean {close[0]!r}?" if close else f"the columns are {known}."
    raise ValueError(f"{parameter} names an unknown column {column!r}; {advice}")
