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


def print_rows(results, rows, n_entries=None):
    """List rows with reasons; return whether an entry stands for several of them.

    Rows, the strangest first, are one entry if they have the same cause. Without
    `n_entries`, all are shown. All columns of the table are shown, with the cells of
    the reasons marked, if there is room.
    """
    console = make_console(file=sys.stdout)
    reasons = dict(zip(rows, results.explain(rows), strict=True))
    groups: dict = {}
    for row in rows:
        if n_entries and len(groups) >= n_entries and not results.is_outlier[row]:
            break
        cause = reasons[row].cause or row
        groups.setdefault((cause, bool(results.is_outlier[row])), []).append(row)
    entries = {own[0]: own for own in list(groups.values())[:n_entries]}
    texts = [_text(results, own, reasons[row]) for row, own in entries.items()]
    shown = {row: {cell.column for cell in reasons[row].cells} for row in entries}
    console.print(_table(results, shown, texts, console.width))
    return any(len(own) > 1 for own in entries.values())


def _text(results, rows, reasons):
    """Return the reasons of a row, or the cause of several."""
    if len(rows) == 1:
        return plain(reasons)
    numbers = [f"{results.numbers[row]}" for row in rows[:N_NAMED]]
    numbers += ["…"] if len(rows) > N_NAMED else []
    return plain(f"{len(rows):,} rows: {reasons.cause} (rows {', '.join(numbers)})")


def _table(results, blamed, texts, width):
    """Return rows, given with the columns of their reasons, as a table of a width."""
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    rows = list(blamed)
    before = results.names(rows)
    n_decimals = min(results.n_decimals, MAX_DECIMALS)
    before["loss"] = [f"{results.losses[i]:.{n_decimals}f}" for i in rows]
    before["outlier"] = ["yes" if results.is_outlier[i] else "" for i in rows]
    longest = max(map(cell_len, ["reasons", *texts]))
    room = width - _width(before) - min(longest, MIN_REASONS)
    own = _own_columns(results, blamed, room)
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
    for k, row in enumerate(rows):
        cells = [
            Text(column[k], "bold red" if name in blamed[row] else "")
            for name, column in own.items()
        ]
        table.add_row(*(column[k] for column in before.values()), *cells, texts[k])
    return table


def _own_columns(results, blamed, room):
    """Return the cells of the table's own columns, none if there is no room."""
    names = [name for name in results.table if name not in results.ids]
    if len(names) > MAX_COLUMNS:
        return {}
    own = {
        name: [
            as_text(results.table[name].iloc[row], MAX_CELL) + MARK * (name in columns)
            for row, columns in blamed.items()
        ]
        for name in names
    }
    return own if _width(own) <= room else {}


def _width(columns):
    """Return the characters that columns take up."""
    from rich.cells import cell_len

    return sum(
        max(map(cell_len, [plain(name), *cells])) + PADDING
        for name, cells in columns.items()
    )
