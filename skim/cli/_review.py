"""The conversation of ``skim review``: rows to look at, and answers."""

import copy
import sys
import time

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from skim.cli import _work
from skim.cli._labels import find_labels, summary
from skim.cli._reporter import make_console, plain
from skim.cli._results import Results
from skim.cli._screen import MARK
from skim.report._summary import agreement, counted
from skim.tables._reasons import cell_text

MAX_NAME, MAX_VALUE = 24, 36  # characters of a column's name and of a cell
MIN_CELLS, N_OTHER_LINES = 8, 9  # lines for cells at least, and for all else
EVERY = 3  # answers that are worth another fit
PATIENCE = 2.0  # seconds for a fit between two questions
ANSWERS = {"y": 1, "n": 0, "s": None}
SAID = {"y": "yes", "n": "no", "s": "skipped", "u": "undone", "q": "quit", "": "quit"}
PROMPT = "Is it an outlier? (y)es (n)o (s)kip (u)ndo (q)uit: "


class Review:
    """Questions about rows, and the answers to them.

    `detector` is an IMBoostDetector that was fitted without labels; other labels do
    not train its networks again.
    """

    def __init__(self, detector, table, reporter, source, path, ids, n_reasons, ask):
        self.table = table
        self.reporter = reporter
        self.source = source
        self.ask = ask
        self.console = make_console(file=sys.stdout)
        found = _work.found_ids(detector)
        self.labels = find_labels(path, table, found, ids=ids, source=source)
        self._ids = _work.id_columns(table, detector, ids)
        self._n_reasons = n_reasons
        self._without_labels = detector
        self._answers: dict[int, int | None] = {}
        self._done = list(self.labels.answered)
        self._n_taken_back = self._n_new = 0
        self._seconds = 0.0
        self._use(detector)

    def run(self):
        """Ask about rows until the user has had enough, and say what has changed."""
        if self.labels.is_seen.any():
            with self.reporter.step(f"Learning {summary(self.labels.values)}"):
                self._learn()
        was_outlier = self.results.is_outlier
        try:
            self._converse()
            if self._answers or self._n_taken_back:
                with self.reporter.step("Learning from all answers"):
                    self._learn()
        except KeyboardInterrupt:
            self.console.print()
            self.reporter.say(f"Interrupted; all answers are in {self.labels.path}.")
            raise typer.Exit(130) from None
        self._tell_changes(was_outlier)

    def _learn(self):
        """Fit the detector to the answers so far; say it if that fails."""
        start, self._n_new = time.perf_counter(), 0
        # Always from the fit without labels: what was taken back leaves no trace.
        detector = copy.copy(self._without_labels)
        try:
            if not np.isnan(self.labels.values).all():
                detector.fit(self.table, labels=self.labels.values)
        except Exception as error:  # whatever it is, the answers are worth more
            reason = str(error) or type(error).__name__
            self.reporter.note(
                f"The answers are kept, but learning them failed: {reason}"
            )
            return
        self._seconds = time.perf_counter() - start
        self._use(detector)

    def _use(self, detector):
        self.results = Results(
            *(detector, self.table, self._ids),
            scores=detector.training_scores_,
            n_reasons=self._n_reasons,
        )

    def _converse(self):
        """Ask until the user quits, or there is nothing left to ask."""
        row = self._next_row()
        while row is not None:
            self._show(row)
            key = self._ask()
            if key in ("q", ""):
                return
            last = row
            if key == "u":
                last = self._done.pop()
                self.labels.forget(last)
                self._n_taken_back += last not in self._answers
                self._answers.pop(last, None)
            else:
                self.labels.answer(row, ANSWERS[key])
                self._answers[row] = ANSWERS[key]
                self._done.append(row)
            self._n_new += key != "s"
            # People do not wait for long fits; elsewhere, questions must not depend
            # on the time that fits take.
            is_quick = self._seconds < PATIENCE or not sys.stdin.isatty()
            if self._n_new >= EVERY and is_quick:
                self._learn()
            row = last if key == "u" else self._next_row()
        self.console.print("Every row has been asked about.")

    def _next_row(self):
        """Return the row most worth asking about, by the newest fit."""
        newest, is_seen = self.results.detector, self.labels.is_seen
        if self.ask == "strangest":
            rows = self.results.strangest(None)
        else:
            is_new = ~np.isnan(self.labels.values)
            is_new &= np.isnan(newest.labels_)
            # Rows are chosen with regard to each other, so answers that the newest fit
            # has not learned yet count as questions.
            rows = newest.query(is_new.sum() + 1, among=is_new | ~is_seen)
        rows = rows[~is_seen[rows]]
        return int(rows[0]) if len(rows) else None

    def _ask(self):
        """Return the key of an answer that makes sense."""
        while True:
            self.console.print(PROMPT, end="", soft_wrap=True)
            self.console.file.flush()
            key = read_key()
            if key == "u" and not self._done:
                self.console.print("\nThere is nothing to undo.")
            elif key in SAID:
                self.console.print(SAID[key])
                return key
            else:
                self.console.print("\nAnswer with one of y, n, s, u and q.")

    def _show(self, row):
        """Print a row, its place among the others, and the reasons."""
        results = self.results
        place = int((results.losses > results.losses[row]).sum()) + 1
        names = [f"{name} {text[0]}" for name, text in results.names([row]).items()]
        flagged = "flagged" if results.is_outlier[row] else "not flagged"
        (reasons,) = results.explain([row])
        whole = [str(cell) for cell in reasons.cells if cell.kind == "combination"]
        about = f"number {place:,} of {len(results.losses):,} by loss"
        self.console.print()
        self.console.rule(f"Question {len(self._answers) + 1}", align="left")
        self.console.print(plain(", ".join(names)), style="bold")
        self.console.print(
            plain(", ".join(filter(None, [about, flagged, *whole, reasons.like])))
        )
        self.console.print(self._cells(row, reasons.cells))

    def _cells(self, row, reasons):
        """Return the cells of a row as a table, those that are reasons in any case."""
        results = self.results
        blamed = {cell.column: cell for cell in reasons if cell.kind != "combination"}
        names = [name for name in results.table if name not in results.ids]
        others = [name for name in names if name not in blamed]
        room = max(self.console.height - N_OTHER_LINES, MIN_CELLS)
        if len(names) > room:
            others = others[: max(room - 1 - len(blamed), 0)]
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
        table.add_column("", min_width=len(MARK))
        for title in ("column", "value", "expected"):
            table.add_column(title, overflow="fold")
        for name in names:
            value, mark, style, expected = results.table[name].iloc[row], "", "", ""
            value = cell_text(value, MAX_VALUE)
            if name in blamed:
                mark, style = MARK, "bold red"
                expected = plain(blamed[name].expected or "something else")
                told = cell_text(blamed[name].value, MAX_VALUE)
                value += f" ({told})" if told != value else ""
            if name in blamed or name in others:
                name = cell_text(name, MAX_NAME)
                table.add_row(mark, name, Text(value, style), expected)
        if n_left := len(names) - table.row_count:
            table.add_row("", f"and {n_left:,} more")
        return table

    def _tell_changes(self, was_outlier):
        """Print what the answers have changed."""
        if not self._answers and not self._n_taken_back:
            self.console.print("\nNo answers, so nothing has changed.")
            return
        n_skipped = list(self._answers.values()).count(None)
        answers = counted(len(self._answers) - n_skipped, "answer")
        answers += f" and {n_skipped:,} skipped" if n_skipped else ""
        if self._n_taken_back:
            answers += f", {counted(self._n_taken_back, 'earlier answer')} taken back"
        path, values = self.labels.path, self.labels.values
        lines = ["", f"{answers}; {path} now has {summary(values)}."]
        if not np.isnan(values).all():
            is_outlier = self.results.is_outlier
            n_new = int((is_outlier & ~was_outlier).sum())
            n_gone = int((was_outlier & ~is_outlier).sum())
            lines += [
                f"{counted(n_new, 'row')} {'is' if n_new == 1 else 'are'} newly "
                f"flagged, {n_gone:,} no longer; now {is_outlier.sum():,} of "
                f"{len(is_outlier):,} are ({is_outlier.mean():.1%}).",
                agreement(values, is_outlier),
                f"To use the labels: skim detect {self.source} --labels {path}",
            ]
        for line in lines:
            self.console.print(plain(line), soft_wrap=True)


def read_key():
    """Return an answer: a key on a terminal, or else the first letter of a line.

    It is in lower case, and "" at the end of the input.
    """
    if not sys.stdin.isatty():
        line = sys.stdin.readline()
        return line.strip()[:1].lower() or ("\n" if line else "")
    try:
        return typer.getchar()[:1].lower()
    except EOFError:  # Ctrl-D
        return ""
