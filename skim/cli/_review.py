"""The conversation of ``skim review``: rows to look at, and answers."""

import sys

import numpy as np
import typer
from rich.prompt import Prompt
from rich.table import Table

from skim.cli import _work
from skim.cli._labels import Labels, summary
from skim.cli._reporter import make_console, plain
from skim.cli._results import Results
from skim.report._summary import agreement, share_of_outliers
from skim.tables._reasons import cell_text

MAX_NAME = 24  # characters of a column's name
MIN_CELLS, N_OTHER_LINES = 8, 9  # lines for cells at least, and for all else
EVERY = 3  # answers that are worth another fit
MARK = "*"  # before the cells that are reasons
ANSWERS = {"y": 1, "n": 0, "s": None}
KEYS = [*ANSWERS, "u", "q"]
PROMPT = "Is it an outlier? (y)es (n)o (s)kip (u)ndo (q)uit"


class Review:
    """Questions about rows, and the answers to them.

    `detector` is an IMBoostDetector that was fitted without labels; other labels do
    not train its networks again.
    """

    def __init__(self, detector, table, reporter, source, path, ids, strangest):
        self.detector = detector
        self.table = table
        self.reporter = reporter
        self.source = source
        self.strangest = strangest
        self.console = make_console(file=sys.stdout)
        found = _work.found_ids(detector)
        self.labels = Labels(path, table, found, ids=ids, source=source)
        self._ids = _work.id_columns(table, detector, ids)
        self._n_answers = 0
        self._set_results()

    def run(self):
        """Ask about rows until the user has had enough, and say what has changed."""
        if self.labels.is_seen.any():
            with self.reporter.step(f"Learning {summary(self.labels.values)}"):
                self._learn()
        was_outlier = self.results.is_outlier
        try:
            self._converse()
            if self._n_answers:
                with self.reporter.step("Learning from all answers"):
                    self._learn()
        except KeyboardInterrupt:
            self.console.print()
            self.reporter.say(f"Interrupted; all answers are in {self.labels.path}.")
            raise typer.Exit(130) from None
        values, is_outlier = self.labels.values, self.results.is_outlier
        lines = [f"{self.labels.path} has {summary(values)}."]
        if not np.isnan(values).all():
            n_new = int((is_outlier & ~was_outlier).sum())
            n_gone = int((was_outlier & ~is_outlier).sum())
            share = share_of_outliers(is_outlier.sum(), len(is_outlier))
            lines += [
                f"{share}; {n_new:,} of them were not before, and {n_gone:,} no longer "
                "are.",
                agreement(values, is_outlier),
                f"To use the labels: skim detect {self.source} --labels "
                f"{self.labels.path}",
            ]
        self.console.print()
        for line in lines:
            self.console.print(plain(line), soft_wrap=True)

    def _learn(self):
        """Fit the detector to the answers so far."""
        values = self.labels.values
        labels = None if np.isnan(values).all() else values.copy()
        self.detector.fit(self.table, labels=labels)
        self._set_results()

    def _set_results(self):
        scores = self.detector.training_scores_
        self.results = Results(self.detector, self.table, self._ids, scores=scores)

    def _converse(self):
        """Ask until the user quits, or there is nothing left to ask."""
        row = self._next_row()
        while row is not None:
            self._show(row)
            try:
                key = Prompt.ask(
                    PROMPT, console=self.console, choices=KEYS, show_choices=False
                )
            except EOFError:
                return
            if key == "q":
                return
            self._n_answers += 1
            if key == "u":
                row = self.labels.take_back() if self.labels.answered else row
                continue
            self.labels.answer(row, ANSWERS[key])
            if self._n_answers % EVERY == 0:
                self._learn()
            row = self._next_row()
        self.console.print("Every row has been asked about.")

    def _next_row(self):
        """Return the row most worth asking about, by the newest fit."""
        is_seen = self.labels.is_seen
        if self.strangest:
            rows = self.results.strangest()
        else:
            is_new = ~np.isnan(self.labels.values) & np.isnan(self.detector.labels_)
            # Rows are chosen with regard to each other, so answers that the newest fit
            # has not learned yet count as questions.
            rows = self.detector.query(is_new.sum() + 1, among=is_new | ~is_seen)
        rows = rows[~is_seen[rows]]
        return int(rows[0]) if len(rows) else None

    def _show(self, row):
        """Print a row, its place among the others, and the reasons."""
        results = self.results
        place = int((results.losses > results.losses[row]).sum()) + 1
        names = zip(["row", *results.ids], results.name(row), strict=True)
        flagged = "flagged" if results.is_outlier[row] else "not flagged"
        (reasons,) = results.explain([row])
        whole = [str(cell) for cell in reasons.cells if cell.kind == "combination"]
        about = f"number {place:,} of {len(results.losses):,} by loss"
        self.console.print()
        self.console.rule(f"Question {self._n_answers + 1}", align="left")
        self.console.print(plain(", ".join(map(" ".join, names))), style="bold")
        self.console.print(
            plain(", ".join(filter(None, [about, flagged, *whole, reasons.like])))
        )
        self.console.print(self._cells(row, reasons.cells))

    def _cells(self, row, reasons):
        """Return the cells of a row as a table, those that are reasons first."""
        blamed = {cell.column: cell for cell in reasons if cell.kind != "combination"}
        names = [name for name in self.table if name not in self._ids]
        names.sort(key=lambda name: name not in blamed)
        room = max(self.console.height - N_OTHER_LINES, MIN_CELLS)
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
        for title in ("", "column", "value", "expected"):
            table.add_column(title, overflow="fold")
        for name in names[:room]:
            cells = [cell_text(name, MAX_NAME), cell_text(self.table[name].iloc[row])]
            if name in blamed:
                expected = plain(blamed[name].expected or "something else")
                table.add_row(MARK, *cells, expected, style="bold")
            else:
                table.add_row("", *cells)
        if len(names) > room:
            table.add_row("", f"and {len(names) - room:,} more")
        return table
