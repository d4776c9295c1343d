"""Scores, labels and reasons for the rows of a table."""

import contextlib
import csv
import io
from concurrent.futures import ThreadPoolExecutor

import numpy as np

CHUNK = 20_000  # rows processed at a time


class Results:
    """The results of a model on the rows of a table.

    Parameters
    ----------
    model : Pipeline
        A fitted encoder and detector.
    table : DataFrame
    scores : ndarray of shape (n_rows,) or None
        The result of `score_samples` for all rows. None means to compute it.
    top : int or None
        Number of rows to write, strangest first. None means all rows, in their
        original order.
    n_reasons : int
        Maximum number of reasons for a row.
    n_jobs : int
        Number of threads.

    Attributes
    ----------
    scores : ndarray of shape (n_rows,)
        How strange each row is; above 0 for outliers.
    """

    def __init__(self, model, table, *, scores, top, n_reasons, n_jobs):
        self.encoder, self.detector = model
        self.table = table
        self.n_reasons = n_reasons
        self.n_jobs = n_jobs
        if scores is None:
            chunks = self._in_chunks(np.arange(len(table)), self._score)
            scores = np.concatenate(list(chunks))
        self.scores = self.detector.offset_ - scores
        self.n_decimals = _n_decimals(self.detector.training_scores_)
        self.rows = np.arange(len(table)) if top is None else self._strangest(top)

    @property
    def id_columns(self):
        """Names of the columns that identify rows."""
        return id_columns(self.encoder)

    def write(self, path, *, as_parquet, advance):
        """Write Parquet or CSV, calling `advance` with the size of each chunk."""
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
        """Return a list of positions, scores and reasons of the strangest rows."""
        rows = self._strangest(n_rows)
        reasons = self._reasons(rows).to_pylist()
        return list(
            zip(rows.tolist(), self.scores[rows].tolist(), reasons, strict=True)
        )

    def _strangest(self, n_rows):
        return np.argsort(-self.scores, kind="stable")[:n_rows]

    def _known_columns(self):
        """Return all columns but the reasons, as an Arrow table."""
        import pyarrow as pa

        scores = self.scores[self.rows]
        columns = {}
        for name in self.id_columns:
            values = self.table[name].iloc[self.rows]
            try:
                columns[name] = pa.Array.from_pandas(values)
            except pa.ArrowException:  # mixed types
                columns[name] = pa.Array.from_pandas(values.astype(str))
        if not columns:
            columns["row"] = pa.array(self.rows + 1)
        columns[self._name("score")] = pa.array(scores.round(self.n_decimals + 4))
        columns[self._name("outlier")] = pa.array((scores > 0).astype(np.int8))
        return pa.table(columns)

    def _name(self, column):
        """Return the name of an output column, with a prefix if it is taken."""
        return f"skim_{column}" if column in self.id_columns else column

    def _in_chunks(self, rows, function):
        """Apply a function to chunks of the rows and yield the results in order."""
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
        """Return the columns that make rows strange, as an Arrow array of text."""
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
        # A contribution that rounds to 0 is not a reason and adds no text.
        order[units == 0] = len(names)
        added = [f" (+{n / unit:.{self.n_decimals}f})" if n else "" for n in amounts]
        texts = []
        for k, comma in enumerate(["", *[", "] * (order.shape[1] - 1)]):
            present = [f"{comma}{name}" for name in names]
            absent = [f"{comma}{name} missing" for name in names]
            named = pa.array([*present, "", *absent])
            texts += [named.take(pa.array(order[:, k]))]
            texts += [pa.array(added).take(pa.array(amount[:, k]))]
        return compute.binary_join_element_wise(*texts, "")


def _n_decimals(scores):
    """Return the decimals needed to show a hundredth of the spread of the scores."""
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

    header = io.StringIO()  # Arrow would quote every name
    csv.writer(header, lineterminator="\n").writerow(schema.names)
    options = arrow_csv.WriteOptions(include_header=False)
    with open(path, "wb") as sink:
        sink.write(header.getvalue().encode())
        with arrow_csv.CSVWriter(sink, schema, write_options=options) as writer:
            yield writer
