"""Real tables as they are: the errors they have, and one cell made wrong at a time."""

import zlib

import numpy as np
from scipy.stats import spearmanr

from benchmarks.tables._detectors import recall
from benchmarks.tables._errors import Columns, plant
from benchmarks.tables._sources import load, typed
from skim import TableDetector

N_FIRST = 30
GAPS = 0.3  # share of the cells of a table with gaps
DIMENSIONS = ["x", "y", "z"]  # of diamonds, in millimetres
ANY = "any"  # value of a cell before it is changed
# Rows with an error, counted from 1 (of tables as they are, before sampling).
ERRORS = {
    "coffee": (897, 1145),
    "ikea": (2885,),
    "saferparks": (8142,),
    "tortoise": (10048, 10049),
    "trashwheel": (607, 864, 873),
}
# One cell is changed: its table, column, value before and after.
CHANGES = (
    ("diamonds", "cut", "Ideal", "Idael"),
    ("diamonds", "price", ANY, "-326"),
    ("diamonds", "carat", ANY, "#REF!"),
    ("diamonds", "x", ANY, "57.3"),
    ("flights", "carrier", "UA", "ua"),
    ("flights", "distance", ANY, "-1400"),
    ("flights", "hour", ANY, "12.5.1"),
    ("flights", "origin", "JFK", "JFKK"),
    ("palmtrees", "palm_tribe", "Areceae", "Areceea"),
    ("palmtrees", "max_stem_height_m", ANY, "-12"),
    ("penguins", "Island", "Biscoe", "Bisoce"),
    ("penguins", "Body Mass (g)", ANY, "37.5"),
    ("penguins", "Date Egg", ANY, "1908-11-11"),
    ("penguins", "Culmen Length (mm)", ANY, "#REF!"),
    ("saferparks", "acc_state", "CA", "CAA"),
    ("saferparks", "age_youngest", ANY, "-4"),
    ("saferparks", "acc_date", ANY, "1908-05-04"),
    ("saferparks", "gender", "F", "Femal"),
    ("tips", "total_bill", ANY, "seven"),
    ("tips", "size", ANY, "-2"),
    ("weather", "temp", ANY, "390"),
    ("weather", "humid", ANY, "-59"),
)


def wrong_rows(name, table):
    """Return the positions of the rows with known errors."""
    if name == "diamonds":
        sizes = table[DIMENSIONS]
        return np.flatnonzero(((sizes == 0) | (sizes > 20)).any(axis=1))
    return np.array(ERRORS.get(name, ()), dtype=int) - 1


def rank_of(detector, row):
    """Return the place of a row of the training data among the strangest, from 1."""
    scores = detector.training_scores_
    return int((scores < scores[row]).sum()) + 1


def findings(name, folder=None):
    """Yield what skim makes of a table as it is: a name and a number each."""
    table = typed(load(name, folder, max_rows=None))
    detector = TableDetector(random_state=0).fit(table)
    flagged = detector.training_scores_ < detector.offset_
    yield "share flagged", round(float(flagged.mean()), 4)
    wrong = wrong_rows(name, table)
    if len(wrong):
        ranks = [rank_of(detector, row) for row in wrong]
        yield "known errors", len(wrong)
        yield f"known errors in the first {N_FIRST}", int(np.sum(np.less(ranks, 31)))
        yield "lowest rank of a known error", max(ranks)
    first = detector.reasons(table[flagged], n_reasons=1)["kind"]
    yield "flagged as a combination", round(float((first == "combination").mean()), 3)
    other = TableDetector(random_state=1).fit(table)
    both = flagged & (other.training_scores_ < other.offset_)
    either = max(flagged.sum(), (other.training_scores_ < other.offset_).sum(), 1)
    yield "flagged with another seed as well", round(float(both.sum() / either), 3)
    found, correlation = with_gaps(name, folder)
    yield "recall with 30 % gaps", round(found, 3)
    yield "correlation with the number of gaps", round(correlation, 3)


def with_gaps(name, folder=None):
    """Return the recall of errors in a table with gaps, and who else is strange.

    The second number is the rank correlation of surprise with the number of gaps.
    """
    text = load(name, folder)
    is_gap = np.random.default_rng(0).random(text.shape) < GAPS
    text = text.mask(is_gap, "")
    text, planted = plant(text, "mixed", 0, name, Columns.of(text))
    surprise = -TableDetector(random_state=0).fit(typed(text)).training_scores_
    others = np.setdiff1d(np.arange(len(text)), planted)
    n_gaps = (text == "").sum(axis=1)
    return recall(surprise, planted), spearmanr(surprise[others], n_gaps[others])[0]


def changed(change, folder=None):
    """Return the rank of a row with one cell made wrong, and whether it is flagged."""
    name, column, before, after = change
    text = load(name, folder).copy()
    is_old = text[column] == before if before != ANY else text[column] != ""
    rng = np.random.default_rng(zlib.crc32(" ".join(change).encode()))
    row = int(rng.choice(np.flatnonzero(is_old)))
    text.loc[row, column] = after
    detector = TableDetector(random_state=0).fit(typed(text))
    return rank_of(detector, row), detector.training_scores_[row] < detector.offset_
