"""Messages on standard error, and text that is safe to print."""

import re
import time
import warnings
from contextlib import contextmanager

MAX_COLUMNS = 40  # whose treatment is shown
READ = ["skip_rows", "delimiter", "encoding", "skip_bad_lines", "sheet", "dates"]
ADVICE = re.compile(rf"\bset ({'|'.join(READ)})\b(?:=('[^']*'|[^\s;,()]*[^\s;,().]))?")
PARAMETER = re.compile(
    r"^(drop|categorical|by)(?= names )|(?<=as set by )(contamination)"
)


def plain(text):
    """Return text on one line, without characters that steer a terminal."""
    return "".join(c if c.isprintable() else " " for c in str(text))


def in_options(message):
    """Return a message of the library with options in place of parameters."""
    message = PARAMETER.sub(r"--\g<0>", " ".join(str(message).split()))
    return ADVICE.sub(
        lambda found: f"use --read {found[1]}={found[2] or 'VALUE'}", message
    )


def make_console(**options):
    """Return a console that prints text as it is."""
    from rich.console import Console

    return Console(markup=False, emoji=False, highlight=False, **options)


class Reporter:
    """Prints messages and progress on standard error, unless quiet."""

    def __init__(self, quiet=False):
        self.console = make_console(stderr=True, quiet=quiet)
        if not self.console.is_terminal:
            self.console.width = 160

    def say(self, text):
        """Print a message on a line."""
        self.console.print(plain(text), soft_wrap=True)

    def note(self, text):
        """Print something the user should know about the data."""
        self.say(f"Note: {in_options(text)}")

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
        """Show that a step is running, and print how long it took.

        Yields a function that shows a number of rows.
        """
        from rich.text import Text

        def show(n_rows):
            status.update(Text(f"{plain(doing)}: {n_rows:,} rows ..."))

        start = time.perf_counter()
        with self.console.status(Text(f"{plain(doing)} ...")) as status:
            yield show
        self.say(f"{doing}: {time.perf_counter() - start:.1f} s")

    def decisions(self, decisions):
        """Print how the columns are treated."""
        from rich.table import Table

        table = Table(box=None, padding=(0, 2, 0, 0))
        for name in ("column", "treatment", "reason"):
            table.add_column(name, overflow="fold")
        for row in decisions[:MAX_COLUMNS]:
            table.add_row(*map(plain, row))
        if len(decisions) > MAX_COLUMNS:
            table.add_row(f"and {len(decisions) - MAX_COLUMNS:,} more")
        self.console.print(table)
