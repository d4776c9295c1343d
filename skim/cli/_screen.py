"""The strangest rows as a table on the terminal, one entry for every cause."""

import sys

from skim.cli._reporter import make_console, plain
from skim.cli._results import as_text

MIN_REASONS = 40  # characters per line of reasons beside all other columns
MAX_CELL = 24  # characters of a cell
PADDING = 2
MARK = "*"  # follows the cells that are reasons, whatever the colours
MAX_DECIMALS = 3  # of a loss
MAX_COLUMNS = 30  # more never fit, and are not worth measuring
N_NAMED = 5  # rows of an entry


class Listing:
    """A list of rows with reasons, in which rows with the same cause are one entry.

    All columns of the table are shown, with the reasons' cells marked, if there is
    room for them.

    Parameters
    ----------
    results : Results
    rows : ndarray of int
        Positions of the rows, strangest first.
    n_entries : int, default=None
        Number of entries to show, all by default.
    """

    def __init__(self, results, rows, n_entries=None):
        self.results = results
        reasons = dict(zip(rows, results.explain(rows), strict=True))
        groups: dict = {}
        for row in rows:
            cause = reasons[row].cause or row
            groups.setdefault((cause, bool(results.is_outlier[row])), []).append(row)
        self.entries = list(groups.values())[:n_entries]
        self.rows = [entry[0] for entry in self.entries]
        self.reasons = [reasons[row] for row in self.rows]

    @property
    def has_groups(self):
        """Whether an entry stands for several rows."""
        return any(len(entry) > 1 for entry in self.entries)

    def print(self):
        """Print the list on standard output."""
        console = make_console(file=sys.stdout)
        console.print(self.table(console.width))

    def table(self, width):
        """Return a table that fits into so many characters."""
        from rich.cells import cell_len
        from rich.table import Table
        from rich.text import Text

        results, rows = self.results, self.rows
        before = results.names(rows)
        n_decimals = min(results.n_decimals, MAX_DECIMALS)
        before["loss"] = [f"{results.losses[i]:.{n_decimals}f}" for i in rows]
        before["outlier"] = ["yes" if results.is_outlier[i] else "" for i in rows]
        texts = [
            self._text(*both) for both in zip(self.entries, self.reasons, strict=True)
        ]
        longest = max(map(cell_len, ["reasons", *texts]))
        room = width - _width(before) - min(longest, MIN_REASONS)
        blamed = [{cell.column for cell in row.cells} for row in self.reasons]
        own = _own_columns(results, rows, blamed, room)
        table = Table(box=None, padding=(0, PADDING, 0, 0), pad_edge=False)
        for name in before:
            right = name in ("row", "skim_row", "loss")
            table.add_column(plain(name), justify="right" if right else "left")
        for name in own:
            right = results.table[name].dtype.kind in "iuf"
            table.add_column(
                plain(name), justify="right" if right else "left", no_wrap=True
            )
        table.add_column("reasons", ratio=1)
        for k, text in enumerate(texts):
            cells = [
                Text(column[k], "bold red") if name in blamed[k] else column[k]
                for name, column in own.items()
            ]
            table.add_row(*(column[k] for column in before.values()), *cells, text)
        return table

    def _text(self, entry, reasons):
        """Return the reasons of a row, or the cause of several."""
        if len(entry) == 1:
            return plain(reasons)
        numbers = [f"{self.results.numbers[row]}" for row in entry[:N_NAMED]]
        numbers += ["…"] if len(entry) > N_NAMED else []
        return plain(
            f"{len(entry):,} rows: {reasons.cause} (rows {', '.join(numbers)})"
        )


def _own_columns(results, rows, blamed, room):
    """Return the cells of the table's own columns, none if there is no room."""
    names = [name for name in results.table if name not in results.ids]
    own: dict = {}
    for name in names[:MAX_COLUMNS]:
        values = results.table[name].iloc[rows]
        cells = [as_text(value, MAX_CELL) for value in values]
        own[name] = [
            f"{cell}{MARK}" if name in mine else cell
            for cell, mine in zip(cells, blamed, strict=True)
        ]
        if _width(own) > room:
            return {}
    return own if len(names) <= MAX_COLUMNS else {}


def _width(columns):
    """Return the characters that columns take up."""
    from rich.cells import cell_len

    return sum(
        max(map(cell_len, [plain(name), *cells])) + PADDING
        for name, cells in columns.items()
    )
