"""Losses, labels and reasons for the rows of a table."""

import contextlib
import csv
import io
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np

from skim._model._reasons import deciding_labels, row_reasons
from skim._model._threshold import probability

CHUNK = 20_000  # rows processed at a time
MIN_EXPLAINED = 50  # rows with full reasons, as many as a report lists
MAX_EXPLAINED = 250_000  # cells compared with what to expect, unless that is fewer rows
MAX_COMPARED = 50_000  # cells compared at a time
SHARE = 0.25  # of the largest contribution of a row that makes a column worth naming
MAX_LENGTH = 60  # of a value in the reasons


class Results:
    """The results of a model on the rows of a table.

    The outliers, as far as they have no more than 250,000 cells, and the 50 strangest
    rows in any case, have full reasons: the cells to blame, with what was expected in
    them. For other rows, only the columns that contribute most to the loss are named.

    Parameters
    ----------
    model : Pipeline
        A fitted encoder and detector.
    table : DataFrame
        The columns of the model.
    ids : DataFrame
        The columns that identify rows, in the same order; possibly none.
    kept : DataFrame
        Other columns to write.
    scores : ndarray of shape (n_rows,) or None
        The result of `score_samples` for all rows. None means to compute it.
    top : int or None
        Number of rows to write, strangest first. None means all rows, in their
        original order.
    n_reasons : int
        Maximum number of reasons for a row.
    n_jobs : int
        Number of threads.
    numbers : ndarray of int of shape (n_rows,), default=None
        Numbers of the rows, if the table is part of a larger one. By default, they
        are counted from 1.
    max_explained : int, default=250_000
        Number of cells compared with what to expect, unless that is fewer than 50 rows.

    Attributes
    ----------
    losses : ndarray of shape (n_rows,)
        How strange each row is.
    is_outlier : ndarray of bool of shape (n_rows,)
    rows : ndarray of int
        Positions of the rows to write.
    """

    def __init__(
        self,
        model,
        table,
        *,
        ids,
        kept,
        scores,
        top,
        n_reasons,
        n_jobs,
        numbers=None,
        max_explained=MAX_EXPLAINED,
    ):
        self.encoder, self.detector = model
        self.table = table
        self.ids = ids
        self.kept = kept
        self.n_reasons = n_reasons
        self.n_jobs = n_jobs
        self.numbers = np.arange(len(table)) + 1 if numbers is None else numbers
        self.max_explained = max_explained
        if scores is None:
            chunks = self._in_chunks(np.arange(len(table)), self._score, CHUNK)
            scores = np.concatenate(list(chunks))
        self.losses = -scores
        self.is_outlier = scores < self.detector.offset_
        self.n_decimals = _n_decimals(self.detector.training_scores_)
        self.rows = np.arange(len(table)) if top is None else self.strangest(top)
        self.min_explained = max(MIN_EXPLAINED, top or 0)

    def strangest(self, n_rows):
        """Return the positions of the strangest rows, strangest first."""
        return np.argsort(-self.losses, kind="stable")[:n_rows]

    def names(self, rows):
        """Return the names of rows, one list of texts for each column of names."""
        names = {self._name("row"): [str(self.numbers[row]) for row in rows]}
        for name in self.ids:
            names[str(name)] = [as_text(value) for value in self.ids[name].iloc[rows]]
        return names

    # Reasons -------------------------------------------------------------------

    @cached_property
    def explained(self):
        """Positions of the rows with full reasons, strangest first."""
        n_rows = self.max_explained // len(self._feature_names)
        n_rows = min(self.is_outlier.sum(), n_rows)
        return self.strangest(max(self.min_explained, n_rows))

    def explain(self, rows):
        """Return the full reasons of rows, a list of RowReasons."""
        # A chunk of a wide table costs as much for few rows as for many.
        size = max(MAX_COMPARED // len(self._feature_names), MIN_EXPLAINED)
        chunks = self._in_chunks(rows, self._explain, size)
        return [reasons for chunk in chunks for reasons in chunk]

    def _explain(self, rows):
        names, features = self._feature_names, self._features(rows)
        reasons = self.detector.reasons(features, n_reasons=None)
        given = getattr(self.detector, "feature_names_in_", None)
        if given is None:
            known = {f"x{j}": name for j, name in enumerate(names)}
            reasons["feature"] = reasons["feature"].map(known)
        found = row_reasons(
            reasons,
            len(rows),
            max_reasons=self.n_reasons,
            columns=dict(zip(names, self.encoder.origins_, strict=True)),
            levels=self._levels,
            describe=self._describe,
            written=lambda i, column, feature: self._written(rows[i], column, feature),
        )
        # A row that its loss does not make an outlier is not strange as a whole, though
        # a cell of it may be.
        likes = deciding_labels(
            self.detector,
            features,
            self.losses[rows],
            lambda row: f"training row {row + 1:,}",
        )
        return [
            reasons._replace(
                is_whole=reasons.is_whole and bool(self.is_outlier[row]) and not like,
                like=like,
            )
            for row, reasons, like in zip(rows, found, likes, strict=True)
        ]

    @cached_property
    def _feature_names(self):
        return self.encoder.get_feature_names_out().tolist()

    @cached_property
    def _treatments(self):
        return {d.column: d.treatment for d in self.encoder.decisions_}

    @cached_property
    def _levels(self):
        """Features that encode levels, which have no order."""
        return {
            feature
            for feature, column in zip(
                self._feature_names, self.encoder.origins_, strict=True
            )
            if self._treatments[column] in ("category", "frequency")
            and feature != f"{column}_missing"
        }

    @cached_property
    def _place(self):
        return {name: place for place, name in enumerate(self._feature_names)}

    def _describe(self, feature, value):
        return self.encoder.describe(self._place[feature], value)

    def _written(self, row, column, feature):
        """Return a cell as in the table, None if a feature is only part of it."""
        is_day = self._treatments[column] != "date" or feature.endswith("_day")
        if not is_day or (feature != column and feature == f"{column}_missing"):
            return None
        return as_text(self.table[column].iloc[row])

    def _named(self, rows):
        """Return the columns that contribute most, as an Arrow array of text."""
        import pyarrow as pa
        from pyarrow import compute

        contributions = self.detector.explain(self._features(rows), relative=True)
        names, origin = np.unique(
            self.encoder.origins_.astype(str), return_inverse=True
        )
        by_column = np.zeros((len(rows), len(names)))
        for j, column in enumerate(origin):
            by_column[:, column] += contributions[:, j]
        order = np.argsort(-by_column, axis=1, kind="stable")[:, : self.n_reasons]
        strongest = np.take_along_axis(by_column, order, axis=1)
        least = np.maximum(SHARE * strongest[:, :1], 0.5 * 10.0**-self.n_decimals)
        order[strongest < least] = len(names)
        texts = []
        for k, comma in enumerate(["", *[", "] * (order.shape[1] - 1)]):
            named = pa.array([*(f"{comma}{name}" for name in names), ""])
            texts.append(named.take(pa.array(order[:, k])))
        return compute.binary_join_element_wise(*texts, "")

    # Writing -------------------------------------------------------------------

    def write(self, path, *, as_parquet, advance):
        """Write Parquet or CSV, calling `advance` with the number of rows done."""
        import pyarrow as pa
        from pyarrow import compute

        known = self._known_columns()
        schema = known.schema.append(pa.field(self._name("reasons"), pa.string()))
        is_written = np.zeros(len(self.table), dtype=bool)
        is_written[self.rows] = True
        explained = self.explained[is_written[self.explained]]
        texts = np.full(len(self.table), None, dtype=object)
        texts[explained] = [str(row) or None for row in self.explain(explained)]
        with _writer(path, schema, as_parquet) as writer:
            start = 0
            for named in self._in_chunks(self.rows, self._named, CHUNK):
                part = known.slice(start, CHUNK)
                full = pa.array(texts[self.rows[start : start + CHUNK]], pa.string())
                reasons = compute.coalesce(full, named)
                writer.write_table(part.append_column(schema.field(-1), reasons))
                start += len(part)
                advance(len(part))

    def _known_columns(self):
        """Return all columns but the reasons, as an Arrow table."""
        import pyarrow as pa

        scores = -self.losses[self.rows]
        columns = {self._name("row"): pa.array(self.numbers[self.rows])}
        for frame in (self.ids, self.kept):
            for name in frame:
                columns[str(name)] = _arrow(frame[name].iloc[self.rows])
        chances = probability(
            scores, self.detector.offset_, self.detector.training_scores_
        )
        columns[self._name("loss")] = pa.array((-scores).round(self.n_decimals + 4))
        columns[self._name("probability")] = pa.array(chances.round(6))
        columns[self._name("outlier")] = pa.array(
            self.is_outlier[self.rows].astype(np.int8)
        )
        return pa.table(columns)

    def _name(self, column):
        """Return the name of an output column, with a prefix if it is taken."""
        taken = column in self.ids or column in self.kept
        return f"skim_{column}" if taken else column

    # The model -----------------------------------------------------------------

    def _in_chunks(self, rows, function, size):
        """Apply a function to chunks of the rows and yield the results in order."""
        chunks = [rows[i : i + size] for i in range(0, len(rows), size)]
        pool = ThreadPoolExecutor(self.n_jobs)
        try:
            yield from pool.map(function, chunks)
        finally:
            pool.shutdown(cancel_futures=True)

    def _score(self, rows):
        return self.detector.score_samples(self._features(rows))

    def _features(self, rows):
        return np.asarray(self.encoder.transform(self.table.iloc[rows]))


def as_text(value, length=MAX_LENGTH):
    """Return a cell as text for reading: short, on one line, without control codes."""
    import pandas as pd

    if pd.api.types.is_scalar(value) and pd.isna(value):
        return "missing"
    text = f"{value:.15g}" if isinstance(value, float) else str(value)
    text = "".join(c if c.isprintable() else " " for c in text)
    text = text.removesuffix(" 00:00:00")
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _n_decimals(scores):
    """Return the decimals needed to show a hundredth of the spread of the scores."""
    spread = np.subtract(*np.quantile(scores, [0.95, 0.05]))
    return int(np.clip(2 - np.floor(np.log10(spread or 1.0)), 1, 12))


def _arrow(values):
    import pyarrow as pa

    try:
        return pa.Array.from_pandas(values)
    except pa.ArrowException:  # mixed types
        return pa.Array.from_pandas(values.astype(str))


def _writer(path, schema, as_parquet):
    if as_parquet:
        from pyarrow import parquet

        return parquet.ParquetWriter(path, schema)
    return _csv_writer(path, schema)


@contextlib.contextmanager
def _csv_writer(path, schema):
    from pyarrow import csv as arrow_csv

    header = io.StringIO()  # Arrow would quote every name
    csv.writer(header, lineterminator="\n").writerow(schema.names)
    options = arrow_csv.WriteOptions(include_header=False)
    with open(path, "wb") as sink:
        sink.write(header.getvalue().encode())
        with arrow_csv.CSVWriter(sink, schema, write_options=options) as writer:
            yield writer
