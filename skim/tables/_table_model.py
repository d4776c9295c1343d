"""What a table detector has learned: columns, neighbours and networks."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from skim._utils import Stored
from skim.tables._cells import (
    KIND,
    KINDS,
    MANY_TIMES,
    OUTER,
    RARE_GAP,
    LevelCells,
    NumberCells,
    dependencies,
    misordered,
)
from skim.tables._columns import is_missing, to_days, to_numbers
from skim.tables._groups import Groups, contexts
from skim.tables._neighbours import Neighbours
from skim.tables._text import ISO_DATES, on_unique, to_text

# How much each part of a row's surprise counts, by `python -m benchmarks tables` and
# `python -m benchmarks accuracy`.
WEIGHTS = 2.5, 2.5  # of neighbours and networks
CLEAN_WEIGHTS = 6.0, 1.0
LINEAR = 5.0  # surprise of one of these up to which it counts in full
ERROR = 8.0  # weight of the cell that looks most like an error
EXTREME = 0.8  # of the most extreme or rarest cell, where it does not
CONTEXT = 1.0  # of the most extreme one beside those with the same level
CLEAN_ERROR = 20.0  # of what clean data never or hardly ever had
IS_TAIL = np.isin(KINDS, ("high", "low", "context"))  # by kind
IS_ERROR = np.isin(
    KINDS, ("sign", "code", "unreadable", "misspelling", "order", "conflict")
)
IS_NOVEL = IS_ERROR | np.isin(KINDS, ("rare", "missing"))
FAR = 1e150  # size of numbers, whose squares must be finite
CHUNK = 20_000  # rows judged at a time


@dataclass(frozen=True)
class Scale(Stored):
    """Puts scores on the scale of surprise, as if they fell off exponentially.

    Attributes
    ----------
    middle, unit : float
        The median of the scores of ordinary rows, and how much more is e times rarer.
    """

    middle: float
    unit: float

    @classmethod
    def of(cls, scores):
        """Learn from the scores of the training data."""
        middle, high = np.quantile(scores, [0.5, 0.95])
        unit = float(high / 2 - middle / 2) * 2 / np.log(10)
        return cls(float(middle), unit if unit > 0 else 1.0)

    def __call__(self, scores):
        """Return the surprise of scores; what is beyond comparison counts less."""
        with np.errstate(over="ignore"):
            surprise = np.minimum((scores - self.middle) / self.unit, 1e300)
        beyond = np.maximum(surprise - LINEAR, 0)
        return np.minimum(surprise, LINEAR) + 2 * np.log1p(beyond / 2)


@dataclass(frozen=True)
class Columns:
    """The columns of a table that are judged, as arrays.

    Attributes
    ----------
    numbers : ndarray of shape (n, p)
        Numbers, and dates as days; NaN where missing or unreadable.
    texts : list of Series of shape (n,)
        Levels.
    missing : ndarray of bool of shape (n, p + q)
    features : ndarray of shape (n, n_features)
        What the networks see.
    """

    numbers: np.ndarray
    texts: list
    missing: np.ndarray
    features: np.ndarray


@dataclass(frozen=True)
class Judged:
    """What is surprising about rows.

    Attributes
    ----------
    cells : ndarray of shape (n, p + q)
        Surprise of each cell.
    kinds : ndarray of int of shape (n, p + q)
        What kind of surprise it is, as its place in `KINDS`.
    neighbours, networks : ndarray of shape (n,)
        Distance from the nearest rows, and loss of the networks.
    """

    cells: np.ndarray
    kinds: np.ndarray
    neighbours: np.ndarray | None = None
    networks: np.ndarray | None = None


@dataclass(frozen=True)
class TableModel(Stored):
    """A fitted model of a table.

    Attributes
    ----------
    encoder : TableEncoder
    detector : object
        Fitted to the encoded columns.
    numbers, levels : dict of str to NumberCells and of str to LevelCells
        By column.
    dates : list of str
        The columns among `numbers` that are dates.
    by : str or None
        The column of the groups.
    n_rows : int
        Of the training data.
    is_clean : bool
    marks : dict of str to frozenset of str
        Text that many cells of a column of numbers have instead, such as "sold out".
    groups : Groups or None
    group_codes : dict of str to int
        The groups by name.
    orders : list of (str, str, float)
        Date columns of which one comes before the other.
    rules : list of (str, str, ndarray, float)
        Columns of levels of which one determines the other.
    contexts : dict of str to Context
        What levels tell about columns of numbers.
    neighbours : Neighbours or None
        None while the model is being fitted.
    scales : tuple of Scale
        Of neighbours and networks.
    """

    encoder: Any
    detector: Any
    numbers: dict
    levels: dict
    dates: list
    by: str | None
    n_rows: int
    is_clean: bool
    marks: dict = field(default_factory=dict)
    groups: Groups | None = None
    group_codes: dict = field(default_factory=dict)
    orders: list = field(default_factory=list)
    rules: list = field(default_factory=list)
    contexts: dict = field(default_factory=dict)
    neighbours: Any = None
    scales: tuple = ()

    @property
    def usual(self):
        """Surprise of a cell up to which it says nothing by itself."""
        return max(np.log(self.n_rows) / 2, -np.log(OUTER))

    @property
    def names(self):
        """The columns that are judged, numbers first."""
        return [*self.numbers, *self.levels]

    def columns(self, frame):
        """Return the columns of a table as arrays."""
        parsed = self.encoder.parse(frame)
        numbers = np.empty((len(frame), len(self.numbers)))
        for j, name in enumerate(self.numbers):
            read = to_days if name in self.dates else to_numbers
            options = [ISO_DATES] if name in self.dates else []
            numbers[:, j] = read(parsed[name], *options)
        numbers = np.where(np.isinf(numbers), numbers, np.clip(numbers, -FAR, FAR))
        if self.groups is not None:
            numbers = self.groups.adjust(numbers, self.groups_of(frame))
            for j, name in enumerate(self.numbers):
                if name not in self.dates:
                    parsed[name] = numbers[:, j]
        texts = [to_text(frame[name]) for name in self.levels]
        features = self.encoder.transform(parsed)
        return Columns(numbers, texts, self.missing(frame), features)

    def missing(self, frame):
        """Return which cells are missing, of shape (n, p + q)."""
        missing = np.empty((len(frame), len(self.names)), dtype=bool)
        for j, name in enumerate(self.names):
            missing[:, j] = is_missing(frame[name])
            if name in self.marks:
                missing[:, j] |= to_text(frame[name]).isin(self.marks[name])
        return missing

    def comparable(self, numbers):
        """Return numbers with gaps for dates a little later than nearly all others."""
        found = numbers.copy()
        for j, cells in enumerate(self.numbers.values()):
            found[cells.is_late(numbers[:, j]), j] = np.nan
        return found

    def groups_of(self, frame):
        """Return the group of each row as a number, -1 if it is new."""
        names = to_text(frame[self.by]).fillna("")
        get = self.group_codes.get
        return on_unique(names, lambda names: [get(name, -1) for name in names], -1)

    def codes(self, texts, n_rows):
        """Return the levels of rows as numbers, of shape (n_rows, q), -1 if missing."""
        codes = np.empty((n_rows, len(self.levels)), dtype=np.int32)
        for k, (text, cells) in enumerate(
            zip(texts, self.levels.values(), strict=True)
        ):
            codes[:, k] = on_unique(text, cells.codes_of, -1)
        return codes

    def judge(self, frame, n_jobs=None):
        """Return what is surprising about rows."""
        columns = self.columns(frame)
        codes = self.codes(columns.texts, len(frame))
        losses = -self.detector.score_samples(columns.features)
        return self.judge_columns(columns, codes, losses, n_jobs)

    def judge_columns(self, columns, codes, losses, n_jobs=None, is_training=False):
        """Return what is surprising about rows, given the losses of the networks."""
        numbers = self.comparable(columns.numbers)
        distances = self.neighbours.distances(numbers, codes, is_training, n_jobs)
        return replace(
            self.judge_cells(columns, codes), neighbours=distances, networks=losses
        )

    def judge_cells(self, columns, codes):
        """Return what is surprising about the cells of rows."""
        own = [*columns.numbers.T, *columns.texts]
        cells = np.empty((len(codes), len(own)))
        kinds = np.empty((len(codes), len(own)), dtype=np.int8)
        for j, model in enumerate([*self.numbers.values(), *self.levels.values()]):
            cells[:, j], kinds[:, j] = model.judge(own[j], columns.missing[:, j])

        def add(name, surprise, kind):
            j = self.names.index(name)
            worse = surprise > cells[:, j]
            cells[worse, j], kinds[worse, j] = surprise[worse], KIND[kind]

        numbers = dict(zip(self.numbers, columns.numbers.T, strict=True))
        codes_of = dict(zip(self.levels, codes.T, strict=True))
        for first, second, surprise in self.orders:
            add(first, surprise * (numbers[first] > numbers[second]), "order")
        for name, context in self.contexts.items():
            surprise = context.surprise(numbers[name], codes_of[context.level])
            add(name, surprise, "context")
        for first, second, usual, surprise in self.rules:
            a, b = codes_of[first], codes_of[second]
            expected = np.r_[usual, -1, -1][np.where(a < len(usual), a, -1)]
            is_wrong = (expected >= 0) & (b >= 0) & (b != expected)
            add(second, surprise * is_wrong, "conflict")
        return Judged(cells, kinds)

    def excess(self, judged):
        """Return what each cell adds to its row by itself.

        A number must be further out than any to expect in such a table; for other
        kinds of surprise it is enough to be rare.
        """
        n_varying = sum(not cells.is_constant for cells in self.levels.values())
        extreme = np.log(self.n_rows * max(len(self.numbers) + n_varying, 1))
        usual = np.where(IS_TAIL, extreme, self.usual)[judged.kinds]
        weights = np.where(IS_ERROR, ERROR, EXTREME)
        weights[KIND["context"]] = CONTEXT
        if self.is_clean:
            weights[IS_NOVEL] = CLEAN_ERROR
        weight = weights[judged.kinds]
        return weight * np.maximum(judged.cells - usual, 0)

    def has_error(self, judged):
        """Whether a cell of a row looks like an error."""
        is_error = IS_ERROR[judged.kinds] & (self.excess(judged) > 0)
        return is_error.any(axis=1)

    def total(self, judged):
        """Return the surprise of rows."""
        weights = CLEAN_WEIGHTS if self.is_clean else WEIGHTS
        parts = judged.neighbours, judged.networks
        total = self.excess(judged).max(axis=1)
        for weight, scale, part in zip(weights, self.scales, parts, strict=True):
            total += weight * scale(part)
        return total


def frequent_text(frame, columns, names):
    """Find text that many cells of columns of numbers or dates have instead."""
    found = {}
    for j, name in enumerate(names):
        is_text = np.isnan(columns.numbers[:, j]) & ~columns.missing[:, j]
        counts = to_text(frame[name][is_text]).value_counts()
        many = counts.index[counts >= max(MANY_TIMES, RARE_GAP * len(frame))]
        if len(many):
            found[name] = frozenset(many)
    return found


def fit_model(frame, encoder, detector, *, by, is_clean, n_jobs):
    """Fit a model to a table.

    Parameters
    ----------
    frame : DataFrame
    encoder, detector : estimators to fit
    by : str or None
    is_clean : bool
    n_jobs : int or None

    Returns
    -------
    model : TableModel
    scores : ndarray of shape (n,)
        Of the rows of the table; if it is clean, by what has not seen the row.
    is_ordinary : ndarray of bool of shape (n,)
        Which rows have no cell that looks like an error.
    """
    encoder.fit(frame)
    treated = {d.column: d.treatment for d in encoder.decisions_}
    dates = [name for name, how in treated.items() if how == "date"]
    numeric = [name for name, how in treated.items() if how in ("number", "date")]
    levels = [name for name, how in treated.items() if how == "frequency"]
    levels += [d.column for d in encoder.decisions_ if d.reason.startswith("constant")]
    levels += [] if by is None or by in levels else [by]
    by_name = dict.fromkeys(numeric), dict.fromkeys(levels)
    model = TableModel(encoder, detector, *by_name, dates, by, len(frame), is_clean)
    if by is not None:
        names = to_text(frame[by]).fillna("").unique().tolist()
        ungrouped = model.columns(frame).numbers
        model = replace(model, group_codes={name: k for k, name in enumerate(names)})
        model = replace(model, groups=Groups.of(ungrouped, model.groups_of(frame)))
    columns = model.columns(frame)
    model = replace(model, marks=frequent_text(frame, columns, numeric))
    missing = model.missing(frame)
    columns = replace(columns, missing=missing)
    detector.fit(columns.features)
    numbers = dict(zip(numeric, columns.numbers.T, strict=True))
    cells = {
        name: NumberCells.of(own, missing[:, j], name in dates)
        for j, (name, own) in enumerate(numbers.items())
    }
    texts = {
        name: LevelCells.of(text, missing[:, len(numeric) + k])
        for k, (name, text) in enumerate(zip(levels, columns.texts, strict=True))
    }
    model = replace(model, numbers=cells, levels=texts)
    codes = model.codes(columns.texts, len(frame))
    codes_of = dict(zip(levels, codes.T, strict=True))
    days = {name: numbers.pop(name) for name in dates}
    model = replace(
        model,
        orders=misordered(days),
        rules=dependencies(codes_of),
        contexts=contexts(numbers, codes_of),
        neighbours=Neighbours.of(model.comparable(columns.numbers), codes, is_clean),
    )
    losses = -detector.training_scores_
    if getattr(detector, "training_rows_", None) is not None:
        losses = -detector.score_samples(columns.features)
    elif is_clean and getattr(detector, "held_out_scores_", None) is not None:
        losses = -detector.held_out_scores_
    judged = model.judge_columns(columns, codes, losses, n_jobs, is_training=True)
    scales = Scale.of(judged.neighbours), Scale.of(judged.networks)
    model = replace(model, scales=scales)
    return model, -model.total(judged), ~model.has_error(judged)
