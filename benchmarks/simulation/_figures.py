"""The study's pictures: data at the left, trajectories at the right."""

import numpy as np
from matplotlib.figure import Figure

from skim.inspection import im_window

INLIER, OUTLIER = "#56b4e9", "#9a3412"
# From light to dark, with a line style of its own each.
SHADES = ("#9ecae1", "#4292c6", "#084594")
STYLES = ("-", "--", ":")


def draw_experiment(symbol, groups):
    """Draw the members of each value of what is varied, one per seed."""
    figure = Figure(figsize=(12, 3.2), layout="constrained")
    axes = figure.subplots(1, 4, width_ratios=[1, 1, 1, 2])
    for ax, (value, members) in zip(axes, groups.items(), strict=False):
        _draw_data(ax, members[0])
        ax.set_title(_label(symbol, value), fontsize=10)
    _draw_trajectories(axes[-1], symbol, groups)
    return figure


def _draw_data(ax, member):
    for label, colour, marker in ((0, INLIER, "."), (1, OUTLIER, "x")):
        rows = member.X[member.y == label]
        style = {"c": colour, "marker": marker, "lw": 0.8, "rasterized": True}
        ax.scatter(*rows.T, s=8 if label == 0 else 12, **style)
    ax.set(xticks=[], yticks=[], aspect="equal")


def _draw_trajectories(ax, symbol, groups):
    lines = zip(groups.items(), SHADES, STYLES, strict=True)
    for k, ((value, members), colour, style) in enumerate(lines):
        mean = np.mean([member.auroc for member in members], axis=0)
        epochs = np.arange(1, len(mean) + 1)
        ax.plot(epochs, mean, color=colour, ls=style, label=_label(symbol, value))
        window = im_window(mean, epochs=epochs)
        if window.length > 0:
            ends = window.start, window.stop
            ax.axvspan(*ends, color=colour, alpha=0.12, lw=0)
            ax.hlines(0.99 - 0.012 * k, *ends, color=colour, ls=style, lw=3)
    ax.axhline(0.9, color="black", lw=0.6)
    ax.set(xlabel="Epoch", ylabel="AUROC, mean over seeds", ylim=(0.5, 1.0))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="lower left")


def _label(symbol, value):
    if symbol.startswith("n_max"):
        return f"{symbol} = {value} : 1"
    return f"{symbol} = {value:g}"
