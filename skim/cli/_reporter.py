"""Messages on standard error."""

import time
import warnings
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

MANY_COLUMNS = 40


class Reporter:
    """Prints messages and progress on standard error, unless quiet.

    Parameters
    ----------
    quiet : bool
    """

    def __init__(self, quiet):
        # Column names are plain text, even with brackets and colons in them.
        self.console = Console(
            stderr=True, quiet=quiet, markup=False, emoji=False, highlight=False
        )
        if not self.console.is_terminal:
            self.console.width = 160

    def say(self, text):
        """Print a message."""
        self.console.print(text, soft_wrap=True)

    def note(self, text):
        """Print something the user should know about the data, on one line."""
        self.say(f"Note: {' '.join(str(text).split())}")

    @contextmanager
    def warnings(self):
        """Print warnings for users as notes, each of them once."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            yield
        for text in dict.fromkeys(str(warning.message) for warning in caught):
            self.note(text)

    @contextmanager
    def step(self, doing):
        """Show that a step is running, and print how long it took."""
        start = time.perf_counter()
        with self.console.status(f"{doing} ..."):
            yield
        self.say(f"{doing}: {time.perf_counter() - start:.1f} s")

    @contextmanager
    def progress(self, doing, total):
        """Show a progress bar; yield a function that advances it."""
        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        start = time.perf_counter()
        with bar:
            task = bar.add_task(doing, total=total)
            yield lambda n: bar.advance(task, n)
        self.say(f"{doing}: {time.perf_counter() - start:.1f} s")

    def decisions(self, decisions):
        """Print how the columns are treated."""
        table = Table(box=None, padding=(0, 2, 0, 0))
        for name in ("column", "treatment", "reason"):
            table.add_column(name, overflow="fold")
        for row in _grouped(decisions) if len(decisions) > MANY_COLUMNS else decisions:
            table.add_row(*row)
        self.console.print(table)


def _grouped(decisions):
    """Yield one row per treatment and reason."""
    groups: dict = {}
    for column, treatment, reason in decisions:
        groups.setdefault((treatment, reason), []).append(column)
    for (treatment, reason), columns in groups.items():
        more = f" and {len(columns) - 3:,} more" if len(columns) > 3 else ""
        yield ", ".join(columns[:3]) + more, treatment, reason
