"""Geometry of the charts: from numbers to the SVG paths in the template."""

from typing import NamedTuple

import numpy as np

from skim._utils import evenly_spaced

MAX_VALUE = 1e300  # differences of larger values may overflow
MIN_WIDTH = 1e-290  # a narrower range cannot be divided
MAX_POINTS = 300  # on a curve


def limits(values, reach=1.0):
    """Return a range to draw that a few extreme values do not stretch.

    It is the range of the values, but extends the range of the middle 98% by at most
    `reach` times its width on each side.
    """
    values = np.clip(values, -MAX_VALUE, MAX_VALUE)
    lowest, low, high, highest = np.quantile(values, [0, 0.01, 0.99, 1])
    if high > low:
        lowest = max(lowest, low - reach * (high - low))
        highest = min(highest, high + reach * (high - low))
    if highest - lowest <= max(1e-12 * max(-lowest, highest), MIN_WIDTH):
        pad = 0.1 * abs(lowest) or 1.0
        lowest, highest = lowest - pad, highest + pad
    return float(lowest), float(highest)


class Axis(NamedTuple):
    """A map from a range of values to pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, values):
        """Return the pixels of values, clipped to the range."""
        share = (np.clip(values, self.low, self.high) - self.low) / self.width
        return self.start + (self.end - self.start) * share

    @property
    def width(self):
        return self.high - self.low

    def ticks(self, n=6):
        """Return about `n` round values with their pixels and labels."""
        step = self.width / n
        power = 10.0 ** np.floor(np.log10(step))
        step = power * next(s for s in (1, 2, 5, 10) if s * power >= step)
        first, last = np.ceil(self.low / step), np.floor(self.high / step)
        values = step * np.arange(first, last + 1)
        return [
            {"at": _pixel(self(value)), "value": value, "label": _label(value)}
            for value in values
        ]


def _pixel(value):
    return f"{value:.1f}".removesuffix(".0")


def _label(value):
    """Format a round number compactly."""
    if 1e4 <= abs(value) < 1e9:
        size, unit = (1e6, "M") if abs(value) >= 1e6 else (1e3, "k")
        return f"{value / size:.6g}{unit}"
    return f"{value + 0.0:.6g}"


def bar_path(counts, width, height, gap=0):
    """Return the path of a histogram without axes."""
    tallest = max(max(counts, default=0), 1)
    step = width / max(len(counts), 1)
    return "".join(
        f"M{_pixel(k * step)} {height}v-{_pixel(max(height * n / tallest, 0.7))}"
        f"h{_pixel(step - gap)}V{height}z"
        for k, n in enumerate(counts)
        if n
    )


def line_path(x, y):
    """Return the path through points, empty if there are none."""
    points = [f"{_pixel(a)} {_pixel(b)}" for a, b in zip(x, y, strict=True)]
    return f"M{points[0]}h0L" + " ".join(points) if points else ""


def band_path(x, low, high):
    """Return the path around the area between two curves."""
    return line_path([*x, *x[::-1]], [*low, *high[::-1]]) + "z"


def dot_path(x, y):
    """Return a path of dots, to be drawn with round line caps."""
    return "".join(f"M{_pixel(a)} {_pixel(b)}h0" for a, b in zip(x, y, strict=True))


# The score distribution ----------------------------------------------------------


def distribution(losses, threshold):
    """Lay out a histogram of losses and the threshold."""
    frame = {"width": 520, "height": 340, "left": 52, "right": 498}
    frame |= {"top": 26, "bottom": 286}
    low, high = limits(losses, reach=2.0)
    low, high = min(low, threshold), max(high, threshold)
    margin = 0.04 * (high - low)
    x = Axis(low - margin, high + margin, frame["left"], frame["right"])
    n_bins = int(np.clip(2 * np.sqrt(len(losses)), 12, 60))
    clipped = np.clip(losses, x.low, x.high)
    counts, edges = np.histogram(clipped, n_bins, (x.low, x.high))
    y = Axis(0.0, 1.1 * counts.max(), frame["bottom"], frame["top"])
    return frame | {
        "x_ticks": x.ticks(),
        "y_ticks": [tick for tick in y.ticks(6) if tick["value"] % 1 == 0],
        "bars": _bars(counts, x(edges), y),
        "threshold": _pixel(x(threshold)),
        "threshold_is_left": x(threshold) > (x.start + x.end) / 2,
        "marks": dot_path(*_rug(losses, threshold, x, frame["bottom"] + 7)),
        "n_beyond": int((losses > x.high).sum()),
    }


def _bars(counts, edges, y):
    return "".join(
        f"M{_pixel(a)} {_pixel(y(0))}V{_pixel(y(n))}H{_pixel(b)}V{_pixel(y(0))}z"
        for n, a, b in zip(counts, edges[:-1], edges[1:], strict=True)
        if n
    )


def _rug(losses, threshold, x, height):
    """Return marks for the rows above the threshold, one per pixel."""
    marks = np.unique(x(losses[losses > threshold]).round())
    return marks, np.full(len(marks), height)


# The training history -------------------------------------------------------------


def trajectory(history, by, kept):
    """Lay out the losses' quantiles, the stopping criterion and the checkpoints.

    `by` is "epoch" or "update", and `kept` when the checkpoints were kept.
    """
    # The criterion is NaN where it was not evaluated.
    judged = np.flatnonzero(np.isfinite(history["criterion"]))
    judged = judged[evenly_spaced(len(judged), MAX_POINTS)]
    judged_at, judgements = history[by][judged], history["criterion"][judged]
    thin = evenly_spaced(len(history[by]), MAX_POINTS)
    history = {name: values[thin] for name, values in history.items()}
    frame = {"width": 520, "height": 380, "left": 52, "right": 498}
    frame |= {"middle": 252, "bottom": 326}
    first, last = history[by][0], history[by][-1]
    x = Axis(float(first), float(max(last, first + 1)), frame["left"], frame["right"])
    quantiles = {name: v for name, v in history.items() if name.startswith("loss_q")}
    low, high = limits(np.concatenate(list(quantiles.values())))
    loss = Axis(low, high, 222, 24)
    low, high = limits(judgements) if len(judged) else (0.0, 1.0)
    criterion = Axis(low, high, 318, 266)
    at = x(history[by])
    q = {name: loss(values) for name, values in quantiles.items()}
    return frame | {
        "by": by,
        "x_ticks": [tick for tick in x.ticks() if tick["value"] % 1 == 0],
        "loss_ticks": loss.ticks(5),
        "criterion_ticks": criterion.ticks(2) if len(judged) else [],
        "outer": band_path(at, q["loss_q05"], q["loss_q95"]),
        "inner": band_path(at, q["loss_q25"], q["loss_q75"]),
        "median": line_path(at, q["loss_q50"]),
        "criterion": line_path(x(judged_at), criterion(judgements)),
        "kept": dot_path(x(kept), np.full(len(kept), frame["bottom"])),
    }


# The map --------------------------------------------------------------------------


def scatter(points, level, ranks, flagged, n_levels, n_labels=10):
    """Lay out points coloured by level, with the top ones larger and numbered.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
    level : ndarray of shape (n,)
        From 0 to ``n_levels - 1``.
    ranks : ndarray of shape (n,)
        1 for the strangest row, and so on; 0 for rows outside the top.
    flagged : ndarray of shape (n,)
        Whether a row is above the threshold.
    """
    frame = {"width": 520, "height": 340}
    (x_low, x_high), (y_low, y_high) = (limits(v, reach=2.0) for v in points.T)
    x = Axis(x_low, x_high, 16, frame["width"] - 28)(points[:, 0])
    y = Axis(y_low, y_high, frame["height"] - 16, 20)(points[:, 1])
    ring = (ranks > 0) & flagged
    labelled = np.flatnonzero((ranks > 0) & (ranks <= n_labels))
    return frame | {
        "dots": [
            dot_path(x[mine], y[mine])
            for mine in ((level == k) & ~ring for k in range(n_levels))
        ],
        "rings": [
            {"x": _pixel(x[i]), "y": _pixel(y[i]), "level": int(level[i])}
            for i in np.flatnonzero(ring)
        ],
        "labels": [
            {"x": _pixel(x[i] + 7), "y": _pixel(y[i] - 5), "rank": int(ranks[i])}
            for i in labelled
        ],
    }
