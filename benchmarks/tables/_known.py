"""Errors and traps that real tables have by themselves, and what skim makes of them."""

import numpy as np
from sklearn.pipeline import make_pipeline

from benchmarks.tables._sources import load, typed
from skim import ALTBIDetector
from skim.tables import TableEncoder

N_FIRST = 10
N_REASONS = 3
DIMENSIONS = ["x", "y", "z"]
MAX_MILLIMETRES = 20
MAX_WIND = 200  # miles per hour


class Fitted:
    """A table that skim was fitted to, as `skim detect` does it."""

    def __init__(self, table, seed):
        self.table = table
        encoder = TableEncoder().set_output(transform="pandas")
        model = make_pipeline(encoder, ALTBIDetector(random_state=seed)).fit(table)
        self.encoder, self.detector = model[0], model[1]
        self.features = encoder.transform(table)
        scores = self.detector.training_scores_
        self.order = np.argsort(scores, kind="stable")
        self.is_flagged = scores < self.detector.offset_

    def reasons(self, rows):
        """Return the first reasons of each row: a column, and if it is outside."""
        if not len(rows):
            return []
        names = self.encoder.get_feature_names_out()
        origin = dict(zip(names, self.encoder.origins_, strict=True))
        told = self.detector.reasons(self.features.iloc[rows], n_reasons=N_REASONS)
        cells = list(zip(told["feature"].map(origin), told["is_outside"], strict=True))
        size = len(cells) // len(rows)
        return [cells[i : i + size] for i in range(0, len(cells), size)]

    def rank(self, row):
        """Return the place of a row among the strangest, from 1 on."""
        return int(np.flatnonzero(self.order == row)[0]) + 1


def wrong_dimensions(table):
    """Return which dimensions of which diamonds are 0 or above 20 mm."""
    sizes = table[DIMENSIONS]
    return (sizes == 0) | (sizes > MAX_MILLIMETRES)


def diamonds(fitted):
    """Rows with an impossible dimension: flagged, and blamed on it."""
    wrong = wrong_dimensions(fitted.table)
    rows = np.flatnonzero(wrong.any(axis=1))
    blamed = sum(
        any(wrong[column].iloc[row] for column, _ in cells if column in DIMENSIONS)
        for row, cells in zip(rows, fitted.reasons(rows), strict=True)
    )
    return {
        "rows with a wrong dimension": len(rows),
        "of them flagged": int(fitted.is_flagged[rows].sum()),
        "of them blamed on it": blamed,
        "lowest rank of them": max(fitted.rank(row) for row in rows),
        "share flagged": float(fitted.is_flagged.mean()),
    }


def gaps(fitted):
    """How many of the ten strangest rows have only a gap to show for it."""
    rows = fitted.order[:N_FIRST]
    is_gap = fitted.table.isna()
    only = 0
    for row, cells in zip(rows, fitted.reasons(rows), strict=True):
        outside = [column for column, is_outside in cells if is_outside]
        present = [column for column in outside if not is_gap[column].iloc[row]]
        only += bool(is_gap.iloc[row].any()) and not present
    return {
        f"of the first {N_FIRST}, only a gap": only,
        f"of the first {N_FIRST}, with a gap": int(is_gap.iloc[rows].any(axis=1).sum()),
        "share flagged": float(fitted.is_flagged.mean()),
    }


def titanic(fitted):
    """How many rows name the name among their reasons."""
    rows = np.union1d(fitted.order[:N_FIRST], np.flatnonzero(fitted.is_flagged))
    named = [any(column == "name" for column, _ in r) for r in fitted.reasons(rows)]
    return {
        "flagged or first rows": len(rows),
        "of them blamed on the name": sum(named),
        "share flagged": float(fitted.is_flagged.mean()),
    }


def weather(fitted):
    """Find the hour with a wind of 1048 miles per hour."""
    rows = np.flatnonzero(fitted.table["wind_speed"] > MAX_WIND)
    return {
        "lowest rank of an impossible wind": max(map(fitted.rank, rows)),
        "share flagged": float(fitted.is_flagged.mean()),
    }


FINDINGS = {
    "diamonds": diamonds,
    "penguins": gaps,
    "cars": gaps,
    "titanic": titanic,
    "weather": weather,
}


def findings(name, seed, folder=None):
    """Yield what skim makes of a table as it is, all rows of it."""
    fitted = Fitted(typed(load(name, folder, max_rows=None)), seed)
    yield from FINDINGS[name](fitted).items()
