"""The charts of the page, drawn by matplotlib as inline SVG."""

import html
import io
import re

import numpy as np

N_BINS = 40
QUANTILES = ("05", "25", "50", "75", "95")
REACH = 2.0  # times the range of the middle 98 % that are drawn on either side of it
# Colours that can be seen on a light page and on a dark one.
TEXT, BAR, CURVE, FLAGGED = "#76828e", "#8496a8", "#3d86cf", "#dd5f24"
SETTINGS: dict = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "skim",  # the same chart has the same identifiers
    "font.size": 10,
    "text.color": TEXT,
    "axes.labelcolor": TEXT,
    "axes.edgecolor": TEXT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": TEXT,
    "ytick.color": TEXT,
    "ytick.minor.size": 0,
}


def histogram(losses, is_flagged, threshold):
    """Draw how many rows have which loss, and the threshold."""
    low, high = _limits(losses)
    low, high = min(low, threshold), max(high, threshold)
    drawn = np.clip(losses, low, high)

    def draw(figure):
        ax = figure.subplots()
        ax.hist(
            [drawn[~is_flagged], drawn[is_flagged]],
            np.linspace(low, high, N_BINS + 1),
            stacked=True,
            color=[BAR, FLAGGED],
            log=True,
        )
        ax.set_ylim(bottom=0.7)  # so that a single row is seen
        ax.yaxis.set_major_formatter("{x:,.0f}")
        ax.axvline(threshold, color=FLAGGED, linestyle="--", linewidth=1)
        ax.set_xlabel("loss")
        ax.set_ylabel("rows (logarithmic)")

    label = (
        f"Histogram of the losses of {len(losses):,} rows, {is_flagged.sum():,} of "
        f"which are above the threshold of {threshold:.4g}."
    )
    return _svg("histogram", label, draw)


def training(history):
    """Draw the quantiles of the losses during training."""
    by = "epoch" if (np.diff(history["epoch"]) > 0).all() else "update"
    x, losses = history[by], {q: history[f"loss_q{q}"] for q in QUANTILES}

    def draw(figure):
        ax = figure.subplots()
        for low, high in (("05", "95"), ("25", "75")):
            ax.fill_between(
                x, losses[low], losses[high], color=CURVE, alpha=0.25, linewidth=0
            )
        ax.plot(x, losses["50"], color=CURVE)
        ax.set_ylim(_limits(np.concatenate(list(losses.values()))))
        ax.set_xlabel(by)
        ax.set_ylabel("loss")

    label = (
        f"The losses during training: their median is {losses['50'][0]:.4g} at the "
        f"beginning and {losses['50'][-1]:.4g} at the end, after {x[-1]:,} {by}s."
    )
    return _svg("training", label, draw)


def _limits(values):
    """Return a range to draw that a few extreme values do not stretch."""
    low, high = np.quantile(values, [0.01, 0.99])
    reach = REACH * (high - low) or 0.1 * abs(high) or 1.0
    if high > low:
        return max(values.min(), low - reach), min(values.max(), high + reach)
    return low - reach, high + reach


def _svg(name, label, draw):
    """Return a figure as SVG that can stand in a page beside others."""
    import matplotlib
    from matplotlib.figure import Figure

    file = io.StringIO()
    with matplotlib.rc_context():  # afterwards, the user's settings are back
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        figure = Figure((4.2, 2.5), layout="constrained")
        draw(figure)
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    svg = file.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(
        r"<metadata>.*?</metadata>|<style.*?</style>", "", svg, flags=re.DOTALL
    )
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", svg)
    start = f'<svg class="chart" role="img" aria-label="{html.escape(label)}" '
    return start + svg.removeprefix("<svg ")
