"""The conversation of ``skim review``: rows to look at, and answers."""

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from skim.cli import _work
from skim.cli._changes import tell_changes
from skim.cli._files import check_writable
from skim.cli._keys import Keys
from skim.cli._labels import counted, find_labels
from skim.cli._refits import Refits
from skim.cli._results import Results, as_text
from skim.cli._screen import MARK

MAX_NAME, MAX_VALUE = 24, 36  # characters of a column's name and of a cell
MIN_CELLS, N_OTHER_LINES = 8, 9  # lines for cells at least, and for all else
STRANGEST = "strangest"  # first, without regard to what an answer teaches
ANSWERS = {"y": 1, "n": 0, "s": None}
SAID = {"y": "yes", "n": "no", "s": "skipped", "u": "undone", "q": "quit", "": "quit"}
PROMPT = "Is it an outlier? (y)es (n)o (s)kip (u)ndo (q)uit: "


class Request(NamedTuple):
    """What to review.

    Attributes
    ----------
    source : str
        What the table is called.
    labels : Path
        The labels file.
    ids : list of str
        Columns that identify rows.
    n_reasons : int
    jobs : int
        Number of threads.
    ask : str
        The strategy by which rows are chosen.
    """

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
    detector = _work.new_model(**new_model, detector="imboost")
    detector.set_params(
        detector__n_jobs=request.jobs,
        query_strategy="informative" if request.ask == STRANGEST else request.ask,
    )
    _work.fit(detector, table, reporter)
    encoder = _work.encoder_of(detector)
    found = _work.row_columns(table, encoder, ids=[], keep=[]).ids.columns.tolist()
    labels = find_labels(
        request.labels, table, found, ids=request.ids, source=request.source
    )
    names = _work.row_columns(table, encoder, ids=request.ids, keep=[]).ids

    def results_of(detector):
        return Results(
            detector,
            table,
            ids=names,
            kept=table[[]],
            scores=detector.training_scores_,
            top=None,
            n_reasons=request.n_reasons,
        )

    with Refits(detector, table) as refits:
        if labels.is_seen.any():
            with reporter.step(f"Learning {counted(labels.values)}"):
                refits.finish(labels.values)
        before = results_of(refits.newest)
        conversation = Conversation(labels, refits, results_of, reporter, request.ask)
        try:
            with Keys() as keys:
                conversation.run(keys)
            if conversation.tally or conversation.n_taken_back:
                with reporter.step("Learning from all answers"):
                    conversation.refit(refits.finish)
        except KeyboardInterrupt:
            reporter.say(f"\nInterrupted; all answers are in {request.labels}.")
            raise typer.Exit(130) from None
        after = results_of(refits.newest)
    tell_changes(before, after, labels, conversation, request)


class Conversation:
    """Questions about rows, and the answers to them.

    Parameters
    ----------
    labels : Labels
    refits : Refits
    results_of : callable
        Makes Results of a fitted detector.
    reporter : Reporter
    ask : str
        "strangest", or a strategy of the detector.

    Attributes
    ----------
    tally : dict of int to (int or None)
        The answers so far, by row.
    n_taken_back : int
        Number of answers of earlier reviews that were undone.
    """

    def __init__(self, labels, refits, results_of, reporter, ask):
        self.labels = labels
        self.refits = refits
        self.results_of = results_of
        self.reporter = reporter
        self.ask = ask
        self.console = Console(
            file=sys.stdout, markup=False, emoji=False, highlight=False
        )
        self.tally: dict[int, int | None] = {}
        self.n_taken_back = 0
        self._done = list(labels.answered)
        self._results = None

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
                self.n_taken_back += row not in self.tally
                self.tally.pop(row, None)
            else:
                self.labels.answer(row, ANSWERS[key])
                self.tally[row] = ANSWERS[key]
                self._done.append(row)
                row = None
            self.refit(self.refits.offer)

    def refit(self, function):
        """Offer the labels to `function`; say it if a fit has failed."""
        try:
            self.refits.collect()
            function(self.labels.values)
        except Exception as error:  # whatever it is, the answers are worth more
            reason = " ".join(str(error).split()) or type(error).__name__
            self.reporter.note(
                f"The answers are kept, but learning them failed: {reason}"
            )

    def _next_row(self):
        """Return the row most worth asking about, by the newest fit."""
        self.refit(lambda labels: None)
        newest = self.refits.newest
        if self.ask == STRANGEST:
            rows = np.argsort(newest.training_scores_, kind="stable")
            rows = rows[~self.labels.is_seen[rows]]
            return int(rows[0]) if len(rows) else None
        is_new = ~np.isnan(self.labels.values)
        if newest.labels_ is not None:
            is_new &= np.isnan(newest.labels_)
        # Rows are chosen with regard to each other, so answers that the newest fit has
        # not learned yet count as questions.
        rows = newest.query(is_new.sum() + 1, among=is_new | ~self.labels.is_seen)
        rows = rows[~self.labels.is_seen[rows]]
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
        if self._results is None or self._results.detector is not self.refits.newest:
            self._results = self.results_of(self.refits.newest)
        results = self._results
        place = int((results.losses > results.losses[row]).sum()) + 1
        names = [f"{name} {text[0]}" for name, text in results.names([row]).items()]
        flagged = "flagged" if results.is_outlier[row] else "not flagged"
        (reasons,) = results.explain(np.array([row]))
        self.console.print()
        self.console.rule(f"Question {len(self.tally) + 1}", align="left")
        self.console.print(", ".join(names), style="bold")
        whole = "".join(f", {c}" for c in reasons.cells if c.kind == "combination")
        like = f", {reasons.like}" if reasons.like else ""
        n_rows = len(results.losses)
        self.console.print(
            f"number {place:,} of {n_rows:,} by loss, {flagged}{whole}{like}"
        )
        room = max(self.console.height - N_OTHER_LINES, MIN_CELLS)
        single = [cell for cell in reasons.cells if cell.kind != "combination"]
        self.console.print(_cells(results, row, single, room))


def _cells(results, row, reasons, room):
    """Return the cells of a row as a table, those that are reasons in any case."""
    blamed = {reason.column: reason for reason in reasons}
    names = [name for name in results.table if name not in results.ids]
    if len(names) > room:
        others = [name for name in names if name not in blamed]
        kept = {*blamed, *others[: max(room - 1 - len(blamed), 0)]}
        shown = [name for name in names if name in kept]
    else:
        shown = names
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("", min_width=len(MARK))
    for name in ("column", "value", "expected"):
        table.add_column(name, overflow="fold")
    for name in shown:
        reason = blamed.get(name)
        value = as_text(results.table[name].iloc[row], MAX_VALUE)
        if reason is not None and as_text(reason.value, MAX_VALUE) != value:
            value = f"{value} ({reason.value})"
        style = "" if reason is None else "bold red"
        table.add_row(
            "" if reason is None else MARK,
            as_text(name, MAX_NAME),
            Text(value, style),
            "" if reason is None else reason.expected or "something else",
        )
    if len(shown) < len(names):
        table.add_row("", f"and {len(names) - len(shown):,} more")
    return table
