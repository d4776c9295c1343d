"""The strangest rows as a table on the terminal, one entry for every cause."""

import sys

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from skim.cli._reporter import make_console, plain
from skim.tables._reasons import cell_text

MIN_REASONS = 40  # characters per line of reasons beside all other columns
MAX_CELL = 24  # characters of a cell
PADDING = 2
MARK = "*"  # follows the cells that are reasons, whatever the colours
MAX_DECIMALS = 3  # of a loss
MAX_COLUMNS = 30  # more never fit, and are not worth measuring
N_NAMED = 5  # rows of an entry


def print_rows(results, rows, n_entries):
    """List rows with reasons; return whether an entry stands for several of them.

    Rows, the strangest first, are one entry if they have the same cause. All columns
    of the table are shown, with the cells of the reasons marked, if there is room.
    """
    console = make_console(file=sys.stdout)
    reasons = dict(zip(rows, results.explain(rows), strict=True))
    groups: dict = {}
    for row in rows:
        if len(groups) >= n_entries and not results.is_outlier[row]:
            break
        cause = reasons[row].cause or row
        groups.setdefault((cause, bool(results.is_outlier[row])), []).append(row)
    entries = {own[0]: own for own in list(groups.values())[:n_entries]}
    texts = [_reasons(results, own, reasons[row]) for row, own in entries.items()]
    shown = {row: {cell.column for cell in reasons[row].cells} for row in entries}
    columns, own_columns = _names_and_losses(results, list(entries)), []
    if results.table.shape[1] <= MAX_COLUMNS:
        own_columns = _own_columns(results, shown)
    longest = max(map(cell_len, ["reasons", *texts]))
    room = console.width - min(longest, MIN_REASONS)
    while len(columns) > 4 and _width(columns) > room:
        columns.pop(-3)  # the last identifier, but for the first
    if _width(columns + own_columns) <= room:
        columns += own_columns
    table = Table(box=None, padding=(0, PADDING, 0, 0), pad_edge=False)
    columns.append(("reasons", texts, {"overflow": "fold"}))
    for name, _, options in columns:
        table.add_column(name, **options)
    for cells in zip(*(cells for _, cells, _ in columns), strict=True):
        table.add_row(*cells)
    console.print(table)
    return any(len(own) > 1 for own in entries.values())


def _reasons(results, rows, reasons):
    """Return the reasons of a row, or the cause of several."""
    if len(rows) == 1:
        return plain(reasons)
    numbers = [f"{results.numbers[row]}" for row in rows[:N_NAMED]]
    numbers += ["…"] if len(rows) > N_NAMED else []
    return plain(f"{len(rows):,} rows: {reasons.cause} (rows {', '.join(numbers)})")


def _names_and_losses(results, rows):
    """Return columns that every table begins with: name, cells and how they look."""
    right: dict = {"justify": "right"}
    row, *ids = results.names(rows).items()
    n_decimals = min(results.n_decimals, MAX_DECIMALS)
    losses = [f"{results.losses[i]:.{n_decimals}f}" for i in rows]
    flags = ["yes" if results.is_outlier[i] else "" for i in rows]
    return [
        (*row, right),
        *((plain(n), [cell_text(c, MAX_CELL) for c in cells], {}) for n, cells in ids),
        ("loss", losses, right),
        ("outlier", flags, {}),
    ]


def _own_columns(results, shown):
    """Return the table's own columns; `shown` has those of each row's reasons."""
    columns = []
    for name in results.table.columns.difference(results.ids.columns, sort=False):
        values = results.table[name]
        cells = [
            Text(f"{cell_text(values.iloc[row], MAX_CELL)}{MARK}", "bold red")
            if name in blamed
            else Text(cell_text(values.iloc[row], MAX_CELL))
            for row, blamed in shown.items()
        ]
        side = "right" if values.dtype.kind in "iuf" else "left"
        columns.append((plain(name), cells, {"justify": side, "no_wrap": True}))
    return columns


def _width(columns):
    """Return the characters that columns take up."""
    return sum(
        max(map(cell_len, [name, *map(str, cells)])) + PADDING
        for name, cells, _ in columns
    )
