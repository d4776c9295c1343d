"""From a table of anything to numbers a detector can use."""

from numbers import Integral

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.compose import ColumnTransformer
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_is_fitted,
    validate_data,
)

from skim._utils import import_pandas
from skim.tables._columns import (
    CategoryEncoder,
    DateEncoder,
    FrequencyEncoder,
    NumberEncoder,
)
from skim.tables._decide import ColumnDecision, Outcome, decide, decide_category


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode the columns of a table as numbers without gaps.

    What becomes of a column is decided in `fit`, by rules that do not depend on
    the order of the rows; the first that fits is taken:

    - no values at all, or the same value everywhere: left out.
    - booleans, numbers, and text of which nine in ten values are numbers: a number.
      Decimal commas, thousands separators, currency and percent signs are
      understood. Missing values are filled with the median and flagged by a feature
      of their own; what is not a number, or infinite, counts as missing.
    - integers that count up, each once, and columns with "id", "uuid" or "guid" in
      their name in which hardly any value occurs twice: identifiers, left out. An
      integer column of such a name whose values do repeat is one of categories.
    - dates, and text of which nine in ten values are dates: the day, the day of the
      week and the hour, as far as they vary.
    - text that is different in every row: an identifier, left out.
    - other text: the logarithm of the frequency of its values, missing ones included.
      If there are no more levels than `max_levels`, one feature for each level instead,
      with the levels that less than one row in a hundred has taken together, and one
      for missing values.

    What was never there in `fit` looks strange to a detector: an unknown level counts
    as one that was seen once (or as a rare one; if there are none, all features of its
    column are -1), and a missing number in a column without any as one beyond the
    largest. Only dates are given some leeway, because new rows tend to be later
    than the old ones: a day after the last one counts as the last one, unless it is
    further away than the first is.

    Read more in :doc:`the command line's page </command_line>`.

    Parameters
    ----------
    drop : sequence of str or int, default=()
        Columns to leave out, by name, or by position if the table has no names.

    categorical : sequence of str or int, default=()
        Columns whose values are categories, even if they look like numbers.

    ids : sequence of str or int, default=()
        Columns that identify rows, and are left out as features.

    max_levels : int, default=0
        Largest number of levels of text that get a feature each. A detector of
        outliers is easily distracted by such features: with them, rows of an ordinary
        category may look stranger than a row with an absurd number.

    Attributes
    ----------
    decisions_ : list of ColumnDecision
        For each column, its name, its treatment ("number", "category", "frequency",
        "date", "identifier" or "dropped") and the reason.

    transformer_ : ColumnTransformer
        What encodes the columns, after they have been given their positions as
        names.

    origins_ : ndarray of shape (n_features_out,)
        For each feature that comes out, the name of the column that it is made of.

    n_features_in_ : int
        Number of columns seen during `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of columns seen during `fit`. Defined only when `X` has names that
        are all strings.

    See Also
    --------
    read_table : Read a file into a table.

    Examples
    --------
    >>> import pandas as pd
    >>> from skim.tables import TableEncoder
    >>> table = pd.DataFrame(
    ...     {
    ...         "order": [101, 102, 103, 104, 105],
    ...         "country": ["DE", "FR", "DE", "FR", "DE"],
    ...         "price": ["1,50", "2,00", None, "1,75", "980,00"],
    ...     }
    ... )
    >>> encoder = TableEncoder().set_output(transform="pandas")
    >>> encoder.fit_transform(table).round(2)
        price  price_missing  country_frequency
    0    1.50            0.0              -0.51
    1    2.00            0.0              -0.92
    2    1.88            1.0              -0.51
    3    1.75            0.0              -0.92
    4  980.00            0.0              -0.51
    >>> for decision in encoder.decisions_:
    ...     print(*decision, sep=" | ")
    order | identifier | counts up
    country | frequency | 2 levels
    price | number | numbers in text with a decimal comma; 20.0% missing
    """

    _parameter_constraints: dict = {
        "drop": ["array-like"],
        "categorical": ["array-like"],
        "ids": ["array-like"],
        "max_levels": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(self, *, drop=(), categorical=(), ids=(), max_levels=0):
        self.drop = drop
        self.categorical = categorical
        self.ids = ids
        self.max_levels = max_levels

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Decide what becomes of the columns, and learn what that takes.

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
        self.__dict__.pop("transformer_", None)
        table = self._frame(X, reset=True)
        names = [str(name) for name in self._names_in()]
        asked = self._asked_for(names)
        outcomes = [
            asked.get(name) or decide(table.iloc[:, j], name, self.max_levels)
            for j, name in enumerate(names)
        ]
        for j in self._positions(self.categorical, names, "categorical"):
            if names[j] not in asked:
                outcomes[j] = decide_category(table.iloc[:, j], self.max_levels)
        self.decisions_ = [
            ColumnDecision(name, outcome.treatment, outcome.reason)
            for name, outcome in zip(names, outcomes, strict=True)
        ]
        transformer = _column_transformer(outcomes, names)
        if not transformer.transformers:
            told = "; ".join(f"{d.column}: {d.reason}" for d in self.decisions_[:5])
            more = "; ..." if len(self.decisions_) > 5 else ""
            raise ValueError(f"No column is left to work with ({told}{more}).")
        self.transformer_ = transformer.fit(table)
        self.origins_ = np.array(
            [names[j] for j, suffixes in self._columns() for _ in suffixes],
            dtype=object,
        )
        return self

    def transform(self, X):
        """Encode a table.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            A table with the columns seen during `fit`.

        Returns
        -------
        X_out : ndarray or DataFrame of shape (n_samples, n_features_out)
            Finite numbers.
        """
        check_is_fitted(self)
        return self.transformer_.transform(self._frame(X, reset=False))

    def _parsed(self, X):
        """Return the table with numbers and dates in text read as what they are."""
        table = self._frame(X, reset=False)
        for name, _, positions in self.transformer_.transformers:
            step = self.transformer_.named_transformers_[name]
            for k, j in enumerate(positions):
                table[j] = step.parsed(table.iloc[:, j], k)
        table.columns = [str(name) for name in self._names_in()]
        return table

    def get_feature_names_out(self, input_features=None):
        """Return the names of the features that come out.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns; by default, those seen during `fit`.

        Returns
        -------
        feature_names_out : ndarray of str
            The column's name, with the level or the part of the date where there is
            one. Where two would be the same, a number is added.
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        taken: set = set()
        features = []
        for j, suffixes in self._columns():
            for suffix in suffixes:
                features.append(_unique(f"{names[j]}{suffix}", taken))
        return np.array(features, dtype=object)

    def _columns(self):
        """Yield each used column's position and suffixes, in the output's order."""
        for name, _, positions in self.transformer_.transformers:
            step = self.transformer_.named_transformers_[name]
            yield from zip(positions, step.suffixes_, strict=True)

    def _names_in(self):
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"x{j}" for j in range(self.n_features_in_)]
        return names

    def _asked_for(self, names):
        """Return what is to become of columns, by name, as the parameters say."""
        asked = {}
        for j in self._positions(self.ids, names, "ids"):
            asked[names[j]] = Outcome("identifier", "as asked")
        for j in self._positions(self.drop, names, "drop"):
            asked[names[j]] = Outcome("dropped", "as asked")
        return asked

    def _positions(self, columns, names, parameter):
        positions = []
        for column in columns:
            if column in names:
                positions.append(names.index(column))
            elif not isinstance(column, str) and 0 <= column < len(names):
                positions.append(int(column))
            else:
                known = ", ".join(names[:10]) + ", ..." * (len(names) > 10)
                raise ValueError(
                    f"There is no column {column!r} for {parameter}; there are {known}."
                )
        return positions

    def _frame(self, X, *, reset):
        """Return the table as a DataFrame whose columns have no names."""
        pd = import_pandas("Tables need pandas: pip install 'skim[cli]'")
        if hasattr(X, "to_pandas"):  # polars, pyarrow
            X = X.to_pandas()
        if isinstance(X, pd.DataFrame):
            _check_frame(X)
            # Values are checked column by column; here, only names and number.
            validate_data(self, X, reset=reset, skip_check_array=True)
            minimum = 2 if reset else 1
            if len(X) < minimum:
                raise ValueError(
                    f"Found array with {len(X)} sample(s) (shape={X.shape}) while a "
                    f"minimum of {minimum} is required by TableEncoder."
                )
            frame = X.copy(deep=False)
        else:
            if sparse.issparse(X):
                raise TypeError("Sparse data is not accepted; pass a dense table.")
            array = validate_data(
                self,
                X,
                reset=reset,
                dtype=None,
                ensure_all_finite=False,
                ensure_min_samples=2 if reset else 1,
            )
            frame = pd.DataFrame(array)
            if array.dtype == object:
                frame = frame.infer_objects()
        frame.columns = range(frame.shape[1])
        return frame

    def __sklearn_is_fitted__(self):
        return hasattr(self, "transformer_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _column_transformer(outcomes, names):
    def positions(treatment):
        return [j for j, o in enumerate(outcomes) if o.treatment == treatment]

    numbers, dates = positions("number"), positions("date")
    steps = [
        (
            "numbers",
            NumberEncoder(
                [outcomes[j].written for j in numbers], [names[j] for j in numbers]
            ),
            numbers,
        ),
        ("dates", DateEncoder([outcomes[j].written for j in dates]), dates),
        ("categories", CategoryEncoder(), positions("category")),
        ("frequencies", FrequencyEncoder(), positions("frequency")),
    ]
    transformer = ColumnTransformer([step for step in steps if step[2]])
    return transformer.set_output(transform="default")


def _unique(name, taken):
    """Return the name, or the name and a number if it is taken already."""
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name}_{number}", number + 1
    taken.add(candidate)
    return candidate


def _check_frame(X):
    if X.columns.has_duplicates:
        twice = X.columns[X.columns.duplicated()][0]
        raise ValueError(f"Two columns have the same name: {twice!r}. Rename one.")
    complex_ = [name for name in X.columns if X[name].dtype.kind == "c"]
    if complex_:
        raise ValueError(f"Complex data not supported: column {complex_[0]!r}.")
