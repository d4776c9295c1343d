"""Losses, labels and reasons for the rows of a table."""

import contextlib
import csv
import io
from functools import cached_property

import numpy as np

from skim._model._reasons import Reason, RowReasons, deciding_labels
from skim._model._threshold import probability
from skim.cli._reporter import plain
from skim.tables import list_causes

MIN_EXPLAINED = 50  # rows with reasons, as many as a report lists
MAX_EXPLAINED = 2_000  # outliers with reasons, unless that is fewer rows
CHUNK = 20_000  # rows written at a time
MAX_LENGTH = 60  # of a value in the reasons
FORMULA = ("=", "+", "-", "@")  # with which spreadsheets take text for a formula


class Results:
    """The results of a detector on the rows of a table.

    The outliers, as far as they are not too many, and the 50 strangest rows in any
    case, have reasons.

    Parameters
    ----------
    detector : TableDetector, or IMBoostDetector of one
        Fitted.
    table : DataFrame
        The columns of the detector.
    ids : DataFrame
        The columns that identify rows, in the same order; possibly none.
    kept : DataFrame, default=None
        Other columns to write.
    scores : ndarray of shape (n_rows,), default=None
        The result of `score_samples` for all rows. None means to compute it.
    top : int, default=None
        Number of rows to write, strangest first. None means all rows, in their
        original order.
    n_reasons : int, default=3
        Maximum number of reasons for a row; 0 for none.
    numbers : ndarray of int of shape (n_rows,), default=None
        Numbers of the rows, if the table is part of a larger one. By default, they
        are counted from 1.

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
        detector,
        table,
        *,
        ids,
        kept=None,
        scores=None,
        top=None,
        n_reasons=3,
        numbers=None,
    ):
        self.detector = detector
        self.table = table
        self.ids = ids
        self.kept = table[[]] if kept is None else kept
        self.n_reasons = n_reasons
        self.numbers = np.arange(len(table)) + 1 if numbers is None else numbers
        if scores is None:
            scores = detector.score_samples(table)
        self.losses = -scores
        self.is_outlier = scores < detector.offset_
        self.n_decimals = _n_decimals(detector.training_scores_)
        self.rows = np.arange(len(table)) if top is None else self.strangest(top)
        self.min_explained = max(MIN_EXPLAINED, top or 0)
        self._reasons: dict[int, RowReasons] = {}

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
        """Positions of the rows with reasons, strangest first."""
        n_rows = min(self.is_outlier.sum(), MAX_EXPLAINED)
        return self.strangest(max(self.min_explained, n_rows))

    def explain(self, rows):
        """Return the reasons of rows, a list of RowReasons."""
        new = np.array([row for row in rows if row not in self._reasons], dtype=np.intp)
        if len(new):
            self._reasons.update(zip(new.tolist(), self._explain(new), strict=True))
        return [self._reasons[row] for row in rows]

    def _explain(self, rows):
        if not self.n_reasons:
            return [RowReasons([]) for _ in rows]
        chosen = self.table.iloc[rows].reset_index(drop=True)
        reasons = self.detector.reasons(chosen, n_reasons=self.n_reasons)
        is_said = reasons["kind"] != "combination"
        is_said |= self.is_outlier[rows[reasons["row"].to_numpy(np.intp)]]
        reasons = reasons[is_said]
        likes = deciding_labels(self.detector, chosen, self.losses[rows], _training_row)
        cells: list[list] = [[] for _ in rows]
        for line in reasons.itertuples(index=False):
            reason = Reason(line.kind, line.column, line.value, line.expected)
            cells[line.row].append(reason)
        causes = [""] * len(rows)
        for cause, own in list_causes(reasons)[["cause", "rows"]].itertuples(
            index=False
        ):
            for row in own:
                causes[row] = cause
        return [RowReasons(*row) for row in zip(cells, likes, causes, strict=True)]

    # Writing -------------------------------------------------------------------

    def write(self, path, *, as_parquet, advance):
        """Write Parquet or CSV, calling `advance` with the number of rows done."""
        import pyarrow as pa

        known = self._known_columns()
        schema = known.schema.append(pa.field(self._name("reasons"), pa.string()))
        is_written = np.zeros(len(self.table), dtype=bool)
        is_written[self.rows] = True
        explained = self.explained[is_written[self.explained]]
        texts = np.full(len(self.table), None, dtype=object)
        for row, reasons in zip(explained, self.explain(explained), strict=True):
            text = plain(reasons)
            texts[row] = f"'{text}" if text.startswith(FORMULA) else text or None
        with _writer(path, schema, as_parquet) as writer:
            for start in range(0, len(self.rows), CHUNK):
                part = known.slice(start, CHUNK)
                reasons = pa.array(texts[self.rows[start : start + CHUNK]], pa.string())
                writer.write_table(part.append_column(schema.field(-1), reasons))
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
        is_outlier = self.is_outlier[self.rows].astype(np.int8)
        columns[self._name("outlier")] = pa.array(is_outlier)
        return pa.table(columns)

    def _name(self, column):
        """Return the name of an output column, with a prefix if it is taken."""
        taken = column in self.ids or column in self.kept
        return f"skim_{column}" if taken else column


def _training_row(row):
    return f"training row {row + 1:,}"


def as_text(value, length=MAX_LENGTH):
    """Return a cell as text for reading: short, on one line, without control codes."""
    import pandas as pd

    if pd.api.types.is_scalar(value) and pd.isna(value):
        return "missing"
    text = plain(f"{value:.15g}" if isinstance(value, float) else value)
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
