"""The conversation of ``skim review``: rows to look at, and answers."""

import copy
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from skim.cli import _work
from skim.cli._files import check_writable
from skim.cli._keys import Keys
from skim.cli._labels import agreement, counted, find_labels
from skim.cli._reporter import make_console, plain
from skim.cli._results import Results, as_text
from skim.cli._screen import MARK

MAX_NAME, MAX_VALUE = 24, 36  # characters of a column's name and of a cell
MIN_CELLS, N_OTHER_LINES = 8, 9  # lines for cells at least, and for all else
EVERY = 3  # answers that are worth another fit
PATIENCE = 2.0  # seconds for a fit between two questions
STRANGEST = "strangest"  # first, without regard to what an answer teaches
ANSWERS = {"y": 1, "n": 0, "s": None}
SAID = {"y": "yes", "n": "no", "s": "skipped", "u": "undone", "q": "quit", "": "quit"}
PROMPT = "Is it an outlier? (y)es (n)o (s)kip (u)ndo (q)uit: "


class Request(NamedTuple):
    """What to review: the table's name, the labels file, and how to ask."""

    source: str
    labels: Path
    ids: list
    n_reasons: int
    jobs: int
    ask: str


def review(request, table, reporter, *, new_model):
    """Ask about rows until the user has had enough, and say what has changed.

    `new_model` is the keyword arguments of `_work.new_model`.
    """
    check_writable(request.labels)
    detector = _work.new_model(**new_model, has_labels=True)
    detector.set_params(
        detector__n_jobs=request.jobs,
        query_strategy="informative" if request.ask == STRANGEST else request.ask,
    )
    _work.fit(detector, table, reporter)
    labels = find_labels(
        *(request.labels, table, _work.found_ids(_work.encoder_of(detector))),
        ids=request.ids,
        source=request.source,
    )
    conversation = Conversation(request, table, detector, labels, reporter)
    if labels.is_seen.any():
        with reporter.step(f"Learning {counted(labels.values)}"):
            conversation.learn()
    before = conversation.results
    try:
        with Keys() as keys:
            conversation.run(keys)
        if conversation.has_news:
            with reporter.step("Learning from all answers"):
                conversation.learn()
    except KeyboardInterrupt:
        reporter.say(f"Interrupted; all answers are in {request.labels}.")
        raise typer.Exit(130) from None
    conversation.tell_changes(before)


class Conversation:
    """Questions about rows, and the answers to them.

    Parameters
    ----------
    request : Request
    table : DataFrame
    detector : IMBoostDetector
        Fitted without labels; other labels do not train its networks again.
    labels : Labels
    reporter : Reporter

    Attributes
    ----------
    results : Results
        Of the newest fit.
    """

    def __init__(self, request, table, detector, labels, reporter):
        self.request = request
        self.table = table
        self.labels = labels
        self.reporter = reporter
        self.console = make_console(file=sys.stdout)
        self._without_labels = detector
        columns = _work.row_columns(table, _work.encoder_of(detector), ids=request.ids)
        self._ids = columns.ids
        self._answers: dict[int, int | None] = {}
        self._done = list(labels.answered)
        self._n_taken_back = self._n_new = 0
        self._seconds = 0.0
        self._use(detector)

    @property
    def has_news(self):
        """Whether anything was answered, or taken back."""
        return bool(self._answers or self._n_taken_back)

    def learn(self):
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
            *(detector, self.table),
            ids=self._ids,
            scores=detector.training_scores_,
            n_reasons=self.request.n_reasons,
        )

    def run(self, keys):
        """Ask until the user quits, or there is nothing left to ask."""
        row = None
        while True:
            if row is None:
                row = self._next_row()
            if row is None:
                self.console.print("Every row has been asked about.")
                return
            self._show(row)
            key = self._ask(keys)
            if key in ("q", ""):
                return
            if key == "u":
                row = self._done.pop()
                self.labels.forget(row)
                self._n_taken_back += row not in self._answers
                self._answers.pop(row, None)
            else:
                self.labels.answer(row, ANSWERS[key])
                self._answers[row] = ANSWERS[key]
                self._done.append(row)
                row = None
            self._n_new += key != "s"
            # People do not wait for long fits; elsewhere, questions must not depend
            # on the time that fits take.
            is_quick = self._seconds < PATIENCE or not keys.is_terminal
            if self._n_new >= EVERY and is_quick:
                self.learn()

    def _next_row(self):
        """Return the row most worth asking about, by the newest fit."""
        newest, is_seen = self.results.detector, self.labels.is_seen
        if self.request.ask == STRANGEST:
            rows = self.results.strangest(None)
        else:
            is_new = ~np.isnan(self.labels.values)
            if newest.labels_ is not None:
                is_new &= np.isnan(newest.labels_)
            # Rows are chosen with regard to each other, so answers that the newest fit
            # has not learned yet count as questions.
            rows = newest.query(is_new.sum() + 1, among=is_new | ~is_seen)
        rows = rows[~is_seen[rows]]
        return int(rows[0]) if len(rows) else None

    def _ask(self, keys):
        """Return the key of an answer that makes sense."""
        while True:
            keys.drop()
            self.console.print(PROMPT, end="", soft_wrap=True)
            self.console.file.flush()
            key = keys.read()
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
        self.console.print()
        self.console.rule(f"Question {len(self._answers) + 1}", align="left")
        self.console.print(plain(", ".join(names)), style="bold")
        whole = "".join(f", {c}" for c in reasons.cells if c.kind == "combination")
        like = f", {reasons.like}" if reasons.like else ""
        n_rows = len(results.losses)
        self.console.print(
            plain(f"number {place:,} of {n_rows:,} by loss, {flagged}{whole}{like}")
        )
        room = max(self.console.height - N_OTHER_LINES, MIN_CELLS)
        single = [cell for cell in reasons.cells if cell.kind != "combination"]
        self.console.print(_cells(results, row, single, room))

    def tell_changes(self, before):
        """Print what the answers have changed, compared with other results."""
        if not self.has_news:
            self.console.print("\nNo answers, so nothing has changed.")
            return
        n_skipped = list(self._answers.values()).count(None)
        more = f" and {n_skipped:,} skipped" if n_skipped else ""
        if self._n_taken_back:
            more += f", {self._n_taken_back:,} earlier taken back"
        answers = _work.counted(len(self._answers) - n_skipped, "answer")
        values, after = self.labels.values, self.results.is_outlier
        file, source = self.request.labels, self.request.source
        lines = ["", f"{answers}{more}; {file} now has {counted(values)}."]
        if not np.isnan(values).all():
            n_new = int((after & ~before.is_outlier).sum())
            n_gone = int((before.is_outlier & ~after).sum())
            new = f"{_work.counted(n_new, 'row')} {'is' if n_new == 1 else 'are'}"
            lines += [
                f"{new} newly flagged, {n_gone:,} no longer; now {after.sum():,} of "
                f"{len(after):,} are ({after.mean():.1%}).",
                agreement(values, after),
                f"To use the labels: skim detect {source} --labels {file}",
            ]
        for line in lines:
            self.console.print(plain(line), soft_wrap=True)


def _cells(results, row, reasons, room):
    """Return the cells of a row as a table, those that are reasons in any case."""
    blamed = {reason.column: reason for reason in reasons}
    names = [name for name in results.table if name not in results.ids]
    others = [name for name in names if name not in blamed]
    if len(names) > room:
        others = others[: max(room - 1 - len(blamed), 0)]
    shown = [name for name in names if name in {*blamed, *others}]
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("", min_width=len(MARK))
    for name in ("column", "value", "expected"):
        table.add_column(name, overflow="fold")
    for name in shown:
        value, mark, style, expected = results.table[name].iloc[row], "", "", ""
        value = as_text(value, MAX_VALUE)
        if name in blamed:
            mark, style = MARK, "bold red"
            expected = plain(blamed[name].expected or "something else")
            told = as_text(blamed[name].value, MAX_VALUE)
            value += f" ({told})" if told != value else ""
        table.add_row(mark, as_text(name, MAX_NAME), Text(value, style), expected)
    if len(shown) < len(names):
        table.add_row("", f"and {len(names) - len(shown):,} more")
    return table
