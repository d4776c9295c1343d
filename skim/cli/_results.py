"""Losses, labels and reasons for the rows of a table."""

import csv
import io
from functools import cached_property

import numpy as np

from skim._model._reasons import RowReasons
from skim._model._threshold import probability
from skim.cli._reporter import plain
from skim.tables._causes import row_reasons
from skim.tables._reasons import cell_text

MIN_EXPLAINED = 50  # rows with reasons, as many as a report lists
MAX_EXPLAINED = 2_000  # outliers with reasons, unless that is fewer rows
FORMULA = ("=", "+", "-", "@")  # with which spreadsheets take text for a formula


class Results:
    """The results of a detector, which may have learned labels, on a table.

    `ids` is a frame of the columns that identify rows. `top` is the number of rows to
    write, strangest first; None means all rows, in their order. `numbers` are those of
    the rows if the table is part of a larger one. The outliers, as far as they are not
    too many, and the 50 strangest rows in any case, have reasons.
    """

    def __init__(
        self, detector, table, ids, *, scores=None, top=None, n_reasons=3, numbers=None
    ):
        self.detector = detector
        self.table = table
        self.ids = ids
        self.n_reasons = n_reasons
        self.numbers = np.arange(len(table)) + 1 if numbers is None else numbers
        self.scores = detector.score_samples(table) if scores is None else scores
        self.losses = -self.scores
        self.is_outlier = self.scores < detector.offset_
        self.n_decimals = _n_decimals(detector.training_scores_)
        self.rows = np.arange(len(table)) if top is None else self.strangest(top)
        self.min_explained = max(MIN_EXPLAINED, top or 0)
        self._reasons: dict[int, RowReasons] = {}

    def strangest(self, n_rows):
        """Return the positions of the strangest rows, strangest first."""
        return np.argsort(-self.losses, kind="stable")[:n_rows]

    def names(self, rows):
        """Return the names of rows, one list of texts for each column of names."""
        names = {output_name("row", self.ids): [str(self.numbers[row]) for row in rows]}
        for name in self.ids:
            names[str(name)] = [cell_text(value) for value in self.ids[name].iloc[rows]]
        return names

    @cached_property
    def explained(self):
        """Positions of the rows with reasons, strangest first."""
        n_rows = min(self.is_outlier.sum(), MAX_EXPLAINED)
        return self.strangest(max(self.min_explained, n_rows))

    def explain(self, rows):
        """Return the reasons of rows, a list of RowReasons."""
        if not self.n_reasons:
            return [RowReasons([]) for _ in rows]
        new = np.array([row for row in rows if row not in self._reasons], dtype=np.intp)
        if len(new):
            chosen = self.table.iloc[new].reset_index(drop=True)
            found = self.detector.reasons(chosen, n_reasons=self.n_reasons)
            reasons = row_reasons(self.detector, chosen, self.scores[new], found)
            self._reasons.update(zip(new.tolist(), reasons, strict=True))
        return [self._reasons[row] for row in rows]

    def write(self, sink, *, as_parquet):
        """Write Parquet, or else CSV, to a file or path."""
        import pyarrow as pa

        rows, detector = self.rows, self.detector
        explained = self.explained[np.isin(self.explained, rows)]
        reasons = np.full(len(self.table), None, dtype=object)
        for row, own in zip(explained, self.explain(explained), strict=True):
            text = plain(own)
            reasons[row] = f"'{text}" if text.startswith(FORMULA) else text or None
        chances = probability(
            self.scores[rows], detector.offset_, detector.training_scores_
        )
        own_columns = {
            "loss": self.losses[rows].round(self.n_decimals + 4),
            "probability": chances.round(6),
            "outlier": self.is_outlier[rows].astype(np.int8),
            "reasons": pa.array(reasons[rows], pa.string()),
        }
        columns = {output_name("row", self.ids): self.numbers[rows]}
        columns |= {str(name): _arrow(self.ids[name].iloc[rows]) for name in self.ids}
        for name, values in own_columns.items():
            columns[output_name(name, self.ids)] = values
        _write(pa.table(columns), sink, as_parquet)


def output_name(column, ids):
    """Return the name of an output column, with a prefix if an identifier has it."""
    return f"skim_{column}" if column in ids else column


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


def _write(table, sink, as_parquet):
    if as_parquet:
        from pyarrow import parquet

        parquet.write_table(table, sink)
        return
    from pyarrow import csv as arrow_csv

    header = io.StringIO()  # Arrow would quote every name
    csv.writer(header, lineterminator="\n").writerow(table.column_names)
    with open(sink, "wb") as file:
        file.write(header.getvalue().encode())
        options = arrow_csv.WriteOptions(include_header=False)
        arrow_csv.write_csv(table, file, options)
