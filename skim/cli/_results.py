"""Scores, labels and reasons of the rows of a table, and writing them."""

import contextlib
import csv
import io
from concurrent.futures import ThreadPoolExecutor

import numpy as np

CHUNK = 20_000  # rows that are looked at together
ROW = "row"


class Results:
    """What a model says about the rows of a table.

    Parameters
    ----------
    model : Pipeline
        Fitted, of an encoder and a detector.
    table : DataFrame
    scores : ndarray of shape (n_rows,) or None
        Of all rows, as `score_samples` gives them, if they are known.
    top : int or None
        Number of rows to tell about, the strangest first. None means all rows, in
        their own order.
    n_reasons : int
        Largest number of columns to name for a row.
    n_jobs : int
        Number of threads.

    Attributes
    ----------
    scores : ndarray of shape (n_rows,)
        How strange each row of the table is; above 0 for outliers.
    """

    def __init__(self, model, table, *, scores, top, n_reasons, n_jobs):
        self.encoder, self.detector = model
        self.table = table
        self.n_reasons = n_reasons
        self.n_jobs = n_jobs
        if scores is None:
            chunks = list(self._in_chunks(np.arange(len(table)), self._score))
            scores = np.concatenate(chunks)
        self.scores = self.detector.offset_ - scores
        self.n_decimals = _n_decimals(self.detector.training_scores_)
        self.rows = np.arange(len(table))
        if top is not None:
            self.rows = np.argsort(-self.scores, kind="stable")[:top]

    @property
    def id_columns(self):
        """Names of the columns that identify rows."""
        return id_columns(self.encoder)

    def write(self, path, *, as_parquet, advance):
        """Write a row for each of the rows.

        Parameters
        ----------
        path : Path
        as_parquet : bool
            Whether to write Parquet, and not CSV.
        advance : callable
            Told the number of rows as they are done.
        """
        import pyarrow as pa

        known = self._known_columns()
        schema = known.schema.append(pa.field(self._name("reasons"), pa.string()))
        with _writer(path, schema, as_parquet) as writer:
            start = 0
            for reasons in self._in_chunks(self.rows, self._reasons):
                part = known.slice(start, CHUNK)
                writer.write_table(part.append_column(schema.field(-1), reasons))
                start += len(part)
                advance(len(part))

    def strangest(self, n_rows):
        """Return positions, scores and reasons of the strangest rows, as lists."""
        rows = np.argsort(-self.scores, kind="stable")[:n_rows]
        reasons = self._reasons(rows).to_pylist()
        return list(
            zip(rows.tolist(), self.scores[rows].tolist(), reasons, strict=True)
        )

    def _known_columns(self):
        """Return what is there before the reasons, as an Arrow table."""
        import pyarrow as pa

        scores = self.scores[self.rows]
        columns = {}
        for name in self.id_columns:
            values = self.table[name].iloc[self.rows]
            try:
                columns[name] = pa.Array.from_pandas(values)
            except pa.ArrowException:  # values of several types
                columns[name] = pa.Array.from_pandas(values.astype(str))
        if not columns:
            columns[ROW] = pa.array(self.rows + 1)
        columns[self._name("score")] = pa.array(scores.round(self.n_decimals + 4))
        columns[self._name("outlier")] = pa.array((scores > 0).astype(np.int8))
        return pa.table(columns)

    def _name(self, column):
        """Return the name of one of our columns, beside those of the table."""
        return f"skim_{column}" if column in self.id_columns else column

    def _in_chunks(self, rows, function):
        """Yield the function's results for the rows, chunk by chunk."""
        chunks = [rows[i : i + CHUNK] for i in range(0, len(rows), CHUNK)]
        pool = ThreadPoolExecutor(self.n_jobs)
        try:
            yield from pool.map(function, chunks)
        finally:
            pool.shutdown(cancel_futures=True)

    def _score(self, rows):
        return self.detector.score_samples(self._features(rows))

    def _features(self, rows):
        return np.asarray(self.encoder.transform(self.table.iloc[rows]))

    def _reasons(self, rows):
        """Name the columns that make rows strange, as an Arrow array of text."""
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
        unit = 10.0**self.n_decimals
        units = np.rint(np.clip(strongest * unit, 0, 1e15)).astype(np.int64)
        amounts, amount = np.unique(units, return_inverse=True)
        amount = amount.reshape(units.shape)
        missing = self.table[names.tolist()].iloc[rows].isna().to_numpy()
        order += (len(names) + 1) * np.take_along_axis(missing, order, axis=1)
        # What rounds to nothing is no reason, and adds no text.
        order[units == 0] = len(names)
        told = [f" (+{n / unit:.{self.n_decimals}f})" if n else "" for n in amounts]
        texts = []
        for k, comma in enumerate(["", *[", "] * (order.shape[1] - 1)]):
            present = [f"{comma}{name}" for name in names]
            absent = [f"{comma}{name} missing" for name in names]
            named = pa.array([*present, "", *absent])
            texts += [named.take(pa.array(order[:, k]))]
            texts += [pa.array(told).take(pa.array(amount[:, k]))]
        return compute.binary_join_element_wise(*texts, "")


def _n_decimals(scores):
    """Return how many decimals tell differences of a hundredth of the usual spread."""
    spread = np.subtract(*np.quantile(scores, [0.95, 0.05]))
    return int(np.clip(2 - np.floor(np.log10(spread or 1.0)), 1, 12))


def id_columns(encoder):
    """Return the names of the columns that identify rows."""
    return [d.column for d in encoder.decisions_ if d.treatment == "identifier"]


def _writer(path, schema, as_parquet):
    if as_parquet:
        from pyarrow import parquet

        return parquet.ParquetWriter(path, schema)
    return _csv_writer(path, schema)


@contextlib.contextmanager
def _csv_writer(path, schema):
    from pyarrow import csv as arrow_csv

    header = io.StringIO()  # our own, because Arrow puts every name in quotes
    csv.writer(header, lineterminator="\n").writerow(schema.names)
    options = arrow_csv.WriteOptions(include_header=False)
    with open(path, "wb") as sink:
        sink.write(header.getvalue().encode())
        with arrow_csv.CSVWriter(sink, schema, write_options=options) as writer:
            yield writer
