"""What answers have changed: the rows flagged, and the order of the strangest."""

import numpy as np
from rich.table import Table

from skim.cli._labels import agreement, counted

N_TOP = 10
MAX_NAME = 40  # characters of a name
SAID = {1: "outlier", 0: "inlier"}


def tell_changes(before, after, labels, conversation, request):
    """Print what has changed from one result to another.

    Parameters
    ----------
    before, after : Results
    labels : Labels
    conversation : Conversation
    request : Request
    """
    console, tally = conversation.console, conversation.tally
    n_taken_back = conversation.n_taken_back
    if not tally and not n_taken_back:
        console.print("\nNo answers, so nothing has changed.")
        return
    answers = [label for label in tally.values() if label is not None]
    skipped = len(tally) - len(answers)
    plural = "s" * (len(answers) != 1)
    skips = f" and {skipped:,} skipped" if skipped else ""
    skips += f", {n_taken_back:,} earlier taken back" if n_taken_back else ""
    console.print(
        f"\n{len(answers):,} answer{plural}{skips}; {request.labels} now has "
        f"{counted(labels.values)}.",
        soft_wrap=True,
    )
    if np.isnan(labels.values).all():
        return
    _tell_flags(console, before.is_outlier, after.is_outlier)
    _tell_order(console, before, after, labels.values)
    console.print(agreement(labels.values, after.is_outlier), soft_wrap=True)
    console.print(
        f"To use the labels: skim detect {request.source} --labels {request.labels}",
        soft_wrap=True,
    )


def _tell_flags(console, before, after):
    n_new, n_gone = int((after & ~before).sum()), int((before & ~after).sum())
    n_now, n_rows = int(after.sum()), len(after)
    new = f"{n_new:,} row{'s are' if n_new != 1 else ' is'} newly flagged"
    console.print(
        f"{new}, {n_gone:,} no longer; now {n_now:,} of {n_rows:,} are "
        f"({n_now / n_rows:.1%}).",
        soft_wrap=True,
    )


def _tell_order(console, before, after, labels):
    """Print the strangest rows, with the places that they had before."""
    top = after.strangest(N_TOP)
    earlier = np.empty(len(before.losses), dtype=np.intp)
    earlier[before.strangest(None)] = np.arange(len(before.losses)) + 1
    n_same = int((earlier[top] <= len(top)).sum())
    console.print(
        f"Of the {len(top):,} strangest rows, {n_same:,} "
        f"{'was' if n_same == 1 else 'were'} among the strangest {len(top):,} before:",
        soft_wrap=True,
    )
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("now", justify="right")
    table.add_column("before", justify="right")
    names = after.names(top)
    for name in names:
        table.add_column(name, overflow="ellipsis", no_wrap=True, max_width=MAX_NAME)
    table.add_column("label")
    for k, row in enumerate(top):
        said = SAID.get(labels[row], "")
        cells = [texts[k] for texts in names.values()]
        table.add_row(f"{k + 1}", f"{earlier[row]:,}", *cells, said)
    console.print(table)
