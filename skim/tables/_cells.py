"""How surprising each cell of a table is beside the others of its column.

Surprise is the negative logarithm of how rare such a cell is among ordinary ones.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from skim._utils import Stored
from skim.tables._text import on_unique

OUTER = 0.01  # share of a column beyond which a tail is extrapolated
MIN_OUTER = 10  # rows there
HEAVIEST = 1.0  # tail index: the tail of a power law with infinite mean
MAX_SURPRISE = 50.0  # beyond any comparison
UNUSUAL = 0.02  # share of a column whose cells may be named if none is stranger

RARE_SIGN = 0.01  # largest share of a sign that surprises
MIN_SIGNED = 20  # numbers that can be said to have one sign
RARE_GAP = 0.01  # and of gaps
CODES = {s * (10.0**k - 1) for k in range(1, 7) for s in (1, -1)} | {-1.0}
CODE_DISTANCE = 1.0  # of a code from the other values, in ranges of theirs
MAX_CODE_SHARE = 0.2

KINDS = (
    "", "high", "low", "sign", "code", "unreadable", "rare", "misspelling", "missing",
    "order", "conflict", "context",
)  # fmt: skip
KIND = {kind: np.int8(code) for code, kind in enumerate(KINDS)}

# Odds that a cell of such a kind is an error, beside one that is merely rare.
ODDS = {
    "unreadable": 1000.0,
    "misspelling": 30.0,
    "sign": 30.0,
    "order": 100.0,
    "conflict": 30.0,
}
MANY_TIMES = 10  # as frequent as its misspellings is the level that is meant
MIN_LETTERS = 4  # of a word that can be told from a misspelling
TWO_TYPOS = 9  # letters of a word that may have two
SEPARATORS = re.compile(r"[\s_-]+")
MAX_RARE_LEVELS = 2_000  # that are compared with the frequent ones
MAX_FREQUENT_LEVELS = 500
MIN_ORDERED = 0.99  # share of rows in which one date comes before another
MIN_AGREEING = 0.99  # share of rows with the usual level of their group
MIN_GROUP = 3  # rows of a group that has a usual level
MAX_TABLE = 2**22  # cells of a table of two columns' levels
MAX_GROUPING = 30  # columns that are compared with each other


@dataclass(frozen=True)
class Tail(Stored):
    """The upper tail of a distribution, extrapolated as a generalised Pareto one.

    Attributes
    ----------
    values : ndarray
        Sorted values of ordinary rows.
    start, scale, index : float
        Where the extrapolation starts, and the scale and heaviness of the tail there.
    log_share : float
        Surprise at the start.
    """

    values: np.ndarray
    start: float
    scale: float
    index: float
    log_share: float

    @classmethod
    def of(cls, values):
        """Learn the tail of values, at least one, none of them NaN."""
        values = np.sort(values)
        n = len(values)
        outer = np.clip(MIN_OUTER / n, OUTER, 0.1)
        # Quantiles at equal steps of the logarithm of the share beyond them.
        step = np.sqrt(0.5 / outer)
        with np.errstate(over="ignore", invalid="ignore"):
            quantiles = np.quantile(values, 1 - np.array([0.5, 0.5 / step, outer]))
            inner, last = np.diff(quantiles)
        start = quantiles[-1]
        beyond = values[values > start]
        log_share = -np.log((len(beyond) + 1) / (n + 1))
        if last > 0 and np.isfinite(last):
            ratio = last / inner if inner > 0 else np.inf
            index = float(np.clip(np.log(ratio) / np.log(step), 0, HEAVIEST))
            growth = step**index
            spread = (growth - 1) / index if index > 1e-6 else np.log(step)
            scale = last / spread * growth
        else:  # most values are the same, and nothing is known of the others' tail
            index = HEAVIEST
            near, far = np.quantile(values, 0.25), start  # the spread on the other side
            if near == far and len(beyond):
                far = np.median(beyond)
            scale = float(far / 2 - near / 2) * 2 if near < far else 1.0
        limits = np.finfo(float)
        scale = float(np.clip(scale, limits.tiny, limits.max))
        step_size = max(n // 2000, 1)  # ranks need not be exact
        return cls(values[::step_size], float(start), scale, index, float(log_share))

    @property
    def usual(self):
        """The largest value that is neither in the tail nor unusual."""
        n_below = int(np.searchsorted(self.values, self.start, "right"))
        n_usual = min(n_below, int((1 - UNUSUAL) * len(self.values)))
        return float(self.values[max(n_usual, 1) - 1])

    def surprise(self, values):
        """Return the negative logarithm of the share of values beyond these."""
        n = len(self.values)
        n_below = np.searchsorted(self.values, values, "left")
        surprise = -np.log(np.maximum(n - n_below, 1) / n)
        surprise = np.minimum(surprise, self.log_share)
        is_beyond = values > self.start
        with np.errstate(over="ignore"):
            distance = (values[is_beyond] - self.start) / self.scale
            distance = np.minimum(distance, 1e300)
        if self.index > 1e-6:
            distance = np.log1p(self.index * distance) / self.index
        surprise[is_beyond] = self.log_share + distance
        return np.minimum(surprise, MAX_SURPRISE)


@dataclass(frozen=True)
class NumberCells(Stored):
    """Numbers, or dates as days, against the two tails of their column.

    Attributes
    ----------
    lower, upper : Tail
    gap, unreadable : float
        Surprise of a missing cell, and of one that cannot be read.
    rare_sign : int
        The sign that hardly any value has; 0 if there is none.
    sign : float
        Surprise of that sign.
    codes : dict of float to float
        Values that stand for a missing one, and how surprising they are.
    leeway : float
        How much later than all others a date may be without surprise.
    """

    lower: Tail
    upper: Tail
    gap: float
    unreadable: float
    rare_sign: int
    sign: float
    codes: dict = field(default_factory=dict)
    leeway: float = 0.0

    @classmethod
    def of(cls, values, is_missing, is_date=False):
        """Learn from the values of a column, NaN where missing or unreadable."""
        n = len(values)
        known = values[np.isfinite(values)]
        codes = {} if is_date else _codes(known)
        known = known[~np.isin(known, list(codes))]
        n_unreadable = int((np.isnan(values) & ~is_missing).sum())
        signs = np.array([(known < 0).sum(), (known > 0).sum()])
        rare_sign, sign = 0, 0.0
        enough = signs.sum() >= MIN_SIGNED and signs.min() <= max(
            RARE_SIGN * signs.sum(), 1
        )
        if not is_date and enough:
            rare_sign = -1 if signs.argmin() == 0 else 1
            sign = _surprise_of(signs.min(), n) + np.log(ODDS["sign"])
        leeway = 0.0
        if is_date:  # as long as the table, whose ends the quantiles cut off
            leeway = 1.05 * float(np.subtract(*np.quantile(known, [0.99, 0.01])))
        return cls(
            Tail.of(-known),
            Tail.of(known),
            gap_surprise(is_missing),
            _surprise_of(n_unreadable, n) + np.log(ODDS["unreadable"]),
            rare_sign,
            sign,
            {code: _surprise_of(count, n) for code, count in codes.items()},
            leeway,
        )

    def is_late(self, values):
        """Whether values are dates after the usual ones, but within the leeway."""
        start = self.upper.start
        return (values > start) & (values <= start + self.leeway)

    def judge(self, values, is_missing):
        """Return the surprise of cells, and its kind as a place in `KINDS`."""
        n = len(values)
        known = np.isfinite(values)
        surprise, kind = np.zeros(n), np.zeros(n, dtype=np.int8)
        x = values[known]
        low = self.lower.surprise(-x)
        high = self.upper.surprise(np.where(self.is_late(x), self.upper.start, x))
        surprise[known] = np.maximum(low, high)
        kind[known] = np.where(high >= low, KIND["high"], KIND["low"])
        if self.rare_sign:
            is_sign = known & (np.sign(values) == self.rare_sign)
            surprise[is_sign] = np.maximum(surprise[is_sign], self.sign)
            kind[is_sign] = KIND["sign"]
        for code, found in self.codes.items():
            is_code = values == code
            surprise[is_code], kind[is_code] = found, KIND["code"]
        is_unreadable = np.isinf(values) | (np.isnan(values) & ~is_missing)
        surprise[is_unreadable] = self.unreadable
        kind[is_unreadable] = KIND["unreadable"]
        surprise[is_missing], kind[is_missing] = self.gap, KIND["missing"]
        return surprise, kind


@dataclass(frozen=True)
class LevelCells(Stored):
    """Levels by how rare they are, and misspellings of frequent ones.

    Attributes
    ----------
    surprise : dict of str to float
        By level.
    meant : dict of str to str
        Misspelt levels, and what they mean.
    frequent : list of str
        Levels that new ones may be misspellings of.
    new, misspelt, gap : float
        Surprise of a new level, of a new misspelling, and of a missing cell.
    codes : dict of str to int
        Levels by number, the most frequent one first.
    """

    surprise: dict
    meant: dict
    frequent: list
    new: float
    misspelt: float
    gap: float
    codes: dict

    @classmethod
    def of(cls, text, is_missing):
        """Learn from the levels of a column."""
        counts = text[~is_missing].value_counts()
        n = len(text)
        sizes = counts.to_numpy()
        # The share of the cells whose level is as rare or rarer.
        share = np.array([sizes[sizes <= size].sum() for size in np.unique(sizes)]) / n
        by_size = dict(zip(np.unique(sizes).tolist(), -np.log(share), strict=True))
        surprise = {level: by_size[size] for level, size in counts.items()}
        meant = _misspellings(counts)
        n_misspelt = sum(int(counts[level]) for level in meant)
        misspelt = _surprise_of(n_misspelt, n) + np.log(ODDS["misspelling"])
        for level in meant:
            surprise[level] = max(surprise[level], misspelt)
        n_once = int((sizes == 1).sum())
        frequent = counts.index[counts >= MANY_TIMES][:MAX_FREQUENT_LEVELS].tolist()
        return cls(
            surprise,
            meant,
            frequent,
            _surprise_of(n_once, n),
            misspelt,
            gap_surprise(is_missing),
            {level: code for code, level in enumerate(counts.index)},
        )

    def judge(self, text, is_missing):
        """Return the surprise of cells, and its kind as a place in `KINDS`."""
        is_misspelt = on_unique(
            text, lambda levels: [self.meaning(v) is not None for v in levels], False
        ).astype(bool)
        new = np.where(is_misspelt, self.misspelt, self.new)
        seen = on_unique(
            text, lambda levels: [self.surprise.get(v, np.nan) for v in levels]
        )
        surprise = np.where(np.isnan(seen), new, seen)
        kind = np.where(is_misspelt, KIND["misspelling"], KIND["rare"])
        surprise[is_missing], kind[is_missing] = self.gap, KIND["missing"]
        return surprise, kind

    def codes_of(self, levels):
        """Return the numbers of levels; new ones come after all others."""
        return [self.codes.get(level, len(self.codes)) for level in levels]

    @property
    def names(self):
        """The levels, the most frequent one first."""
        return list(self.codes)

    @property
    def is_constant(self):
        """Whether the training data has no other level."""
        return len(self.codes) == 1

    def meaning(self, level):
        """Return the level that a misspelling means, None if it is none."""
        if level in self.surprise:
            return self.meant.get(level)
        return _meaning(level, self.frequent)


def gap_surprise(is_missing):
    """Return the surprise of a missing cell, 0 unless gaps are rare."""
    share = is_missing.mean()
    return _surprise_of(is_missing.sum(), len(is_missing)) if share <= RARE_GAP else 0.0


def _surprise_of(count, n):
    return float(-np.log(max(count, 1) / (n + 1)))


def _codes(known):
    """Return the values at an end of a column that stand for missing ones."""
    found = {}
    values, counts = np.unique(known, return_counts=True)
    for end, inner in ((-1, values[:-1]), (0, values[1:])):
        code = float(values[end]) if len(values) > MIN_OUTER else 0.0
        if code in CODES and counts[end] <= MAX_CODE_SHARE * len(known):
            low, high = np.quantile(
                np.repeat(inner, counts[:-1] if end else counts[1:]), [0.0, 1.0]
            )
            nearest = high if end else low
            if abs(code - nearest) > CODE_DISTANCE * (high - low):
                found[code] = int(counts[end])
    return found


def _misspellings(counts):
    """Return the rare levels that are nearly the same as a frequent one."""
    frequent = counts[counts >= MANY_TIMES][:MAX_FREQUENT_LEVELS]
    if not len(frequent):
        return {}
    rare = counts[counts <= frequent.iloc[0] / MANY_TIMES][-MAX_RARE_LEVELS:]
    found = {}
    for level, count in rare.items():
        enough = frequent.index[frequent >= MANY_TIMES * count].tolist()
        meant = _meaning(level, enough)
        if meant is not None:
            found[level] = meant
    return found


def _meaning(level, frequent):
    """Return the level among frequent ones that another is a misspelling of.

    They have the same words, but for case and separators, or one word of one is that
    of the other with a letter or two changed, left out, added or swapped, though
    not the first one: Austin and Tustin are two places.
    """
    try:
        from rapidfuzz.distance import OSA
    except ImportError as error:
        raise ImportError(
            "TableDetector needs rapidfuzz: pip install 'skim-od[report]'"
        ) from error

    words = _words(level)
    for other in frequent:
        theirs = _words(other)
        if other == level or len(words) != len(theirs):
            continue
        pairs = [(a, b) for a, b in zip(words, theirs, strict=True) if a != b]
        if not pairs:
            return other
        a, b = pairs[0]
        if len(pairs) > 1 or not (a.isalpha() and b.isalpha()):
            continue
        if a[0] != b[0] and a[:2] != b[1::-1]:
            continue
        n_letters = min(len(a), len(b))
        limit = 1 + (n_letters >= TWO_TYPOS)
        if n_letters >= MIN_LETTERS and OSA.distance(a, b, score_cutoff=limit) <= limit:
            return other
    return None


@lru_cache(maxsize=10_000)
def _words(level):
    return tuple(SEPARATORS.split(level.casefold().strip()))


def misordered(days):
    """Find pairs of date columns of which one nearly always comes first.

    Parameters
    ----------
    days : dict of str to ndarray
        Days by column, NaN where missing.

    Returns
    -------
    pairs : list of (str, str, float)
        The earlier and the later column, and the surprise of the reverse order.
    """
    pairs = []
    for first, a in days.items():
        for second, b in days.items():
            known = np.isfinite(a) & np.isfinite(b)
            if first == second or known.sum() < 1 / (1 - MIN_ORDERED):
                continue
            is_reversed = a[known] > b[known]
            is_ordered = a[known] < b[known]
            if is_reversed.mean() <= 1 - MIN_ORDERED and is_ordered.mean() > 0.5:
                surprise = _surprise_of(is_reversed.sum(), len(a))
                pairs.append((first, second, surprise + float(np.log(ODDS["order"]))))
    return pairs


def dependencies(codes):
    """Find columns of levels that determine another one.

    Parameters
    ----------
    codes : dict of str to ndarray of int
        Levels by column, -1 where missing.

    Returns
    -------
    found : list of (str, str, ndarray, float)
        The determining and the determined column, the usual level of the second for
        each level of the first, -1 if there is none, and the surprise of another one.
    """
    found = []
    names = list(codes)[:MAX_GROUPING]
    for first in names:
        for second in names:
            a, b = codes[first], codes[second]
            known = (a >= 0) & (b >= 0)
            n_a, n_b = a.max(initial=0) + 1, b.max(initial=0) + 1
            if first == second or n_b < 2 or n_a <= n_b or n_a * n_b > MAX_TABLE:
                continue
            cells = a[known].astype(np.int64) * n_b + b[known]
            counts = np.bincount(cells, minlength=n_a * n_b).reshape(n_a, n_b)
            sizes, most = counts.sum(axis=1), counts.max(axis=1)
            is_group = (sizes >= MIN_GROUP) & (most > sizes / 2)
            n_grouped, n_usual = sizes[is_group].sum(), most[is_group].sum()
            n_trivial = counts[is_group].sum(axis=0).max(initial=0)
            n_other = n_grouped - n_usual
            # A level that nearly all rows have is not determined by anything.
            is_rule = n_usual >= MIN_AGREEING * n_grouped
            if is_rule and n_other * MANY_TIMES < n_grouped - n_trivial:
                usual = np.where(is_group, counts.argmax(axis=1), -1)
                surprise = _surprise_of(n_other, len(a)) + np.log(ODDS["conflict"])
                found.append((first, second, usual, float(surprise)))
    return found
