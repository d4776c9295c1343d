"""Losses, labels and reasons for the rows of a table."""

import sys
from functools import cached_property

import numpy as np
import pandas as pd
from rich.table import Table

from skim._model._threshold import probability
from skim.cli._reporter import make_console, plain
from skim.tables._causes import row_reasons
from skim.tables._reasons import cell_text

MIN_EXPLAINED = 50  # rows with reasons, as many as a report lists
MAX_EXPLAINED = 2_000  # outliers with reasons, unless that is fewer rows
FORMULA = ("=", "+", "-", "@")  # with which spreadsheets take text for a formula
MAX_CELL = 24  # characters of an identifier on the terminal
N_NAMED = 5  # rows of an entry on the terminal


class Results:
    """The results of a detector, which may have learned labels, on a table.

    `ids` is a frame of the columns that identify rows. `top` is the number of rows to
    write, strangest first; None means all rows, in their order. `numbers` are those of
    the rows if the table is part of a larger one.
    """

    def __init__(self, detector, table, ids, *, scores=None, top=None, numbers=None):
        self.detector = detector
        self.table = table
        self.ids = ids
        self.top = top
        self.numbers = np.arange(len(table)) + 1 if numbers is None else numbers
        self.scores = detector.score_samples(table) if scores is None else scores
        self.losses = -self.scores
        self.n_rows = len(table)
        self.is_outlier = self.scores < detector.offset_

    def strangest(self, n_rows=None):
        """Return the positions of the strangest rows, strangest first."""
        return np.argsort(-self.losses, kind="stable")[:n_rows]

    def name(self, row):
        """Return the number of a row, and the cells that identify it, as texts."""
        return [
            str(self.numbers[row]),
            *(cell_text(c.iloc[row]) for _, c in self.ids.items()),
        ]

    def explain(self, rows):
        """Return the reasons of rows, a list of RowReasons."""
        chosen = self.table.iloc[rows].reset_index(drop=True)
        found = self.detector.reasons(chosen)
        return row_reasons(self.detector, chosen, self.scores[rows], found)

    @cached_property
    def reasons(self):
        """The reasons of the outliers and other strange rows, strangest first."""
        n_outliers = min(self.is_outlier.sum(), MAX_EXPLAINED)
        rows = self.strangest(max(MIN_EXPLAINED, self.top or 0, n_outliers))
        return dict(zip(rows.tolist(), self.explain(rows), strict=True))

    def write(self, sink, *, as_parquet):
        """Write Parquet, or else CSV, to a file or path."""
        rows = np.arange(len(self.table))
        if self.top is not None:
            rows = self.strangest(self.top)
        reasons = pd.Series(None, range(len(self.table)), dtype="string")
        texts = {row: plain(own) for row, own in self.reasons.items() if str(own)}
        for row, text in texts.items():
            texts[row] = f"'{text}" if text.startswith(FORMULA) else text
        reasons[list(texts)] = list(texts.values())
        chances = probability(
            self.scores[rows], self.detector.offset_, self.detector.training_scores_
        )
        ids = self.ids.iloc[rows].reset_index(drop=True).rename(columns=str)
        mixed = [name for name in ids if ids[name].dtype.kind == "O"]
        frame = ids.astype(dict.fromkeys(mixed, "string"))
        frame.insert(0, output_name("row", ids), self.numbers[rows])
        frame[output_name("loss", ids)] = self.losses[rows].round(6)
        frame[output_name("probability", ids)] = chances.round(6)
        frame[output_name("outlier", ids)] = self.is_outlier[rows].astype(np.int8)
        frame[output_name("reasons", ids)] = reasons[rows].array
        if as_parquet:
            frame.to_parquet(sink, index=False)
        else:
            frame.to_csv(sink, index=False, mode="wb", lineterminator="\n")


def output_name(column, ids):
    """Return the name of an output column, with a prefix if an identifier has it."""
    return f"skim_{column}" if column in ids else column


def print_rows(results, n_entries):
    """List the strangest rows; return whether an entry stands for several of them.

    Rows with the same cause are one entry.
    """
    groups: dict = {}
    for row, reasons in results.reasons.items():
        is_outlier = bool(results.is_outlier[row])
        if len(groups) >= n_entries and not is_outlier:
            break
        groups.setdefault((reasons.cause or row, is_outlier), []).append(row)
    entries = list(groups.values())[:n_entries]
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    row = output_name("row", results.ids)
    table.add_column(row, justify="right", no_wrap=True)
    for name in results.ids:
        table.add_column(plain(name), no_wrap=True)
    table.add_column("loss", justify="right", no_wrap=True)
    table.add_column("outlier", no_wrap=True)
    table.add_column("reasons", overflow="fold")
    for rows in entries:
        first = rows[0]
        names = [cell_text(name, MAX_CELL) for name in results.name(first)]
        flag = "yes" if results.is_outlier[first] else ""
        reasons = plain(_reasons(results, rows))
        table.add_row(*names, f"{results.losses[first]:.1f}", flag, reasons)
    make_console(file=sys.stdout).print(table)
    return any(len(rows) > 1 for rows in entries)


def _reasons(results, rows):
    """Return the reasons of a row, or the cause of several."""
    reasons = results.reasons[rows[0]]
    if len(rows) == 1:
        return reasons
    numbers = [f"{results.numbers[row]}" for row in rows[:N_NAMED]]
    numbers += ["…"] if len(rows) > N_NAMED else []
    return f"{len(rows):,} rows: {reasons.cause} (rows {', '.join(numbers)})"
