"""The report's pictures, readable in colour and in grey."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import NullFormatter

from benchmarks._shared.measure import METRICS

# From dark to light, so that they differ in grey as well.
COLOURS = {"skim": "#0b3c5d", "pyod": "#6fa8c9", "own": "#b5651d", "published": "white"}
LABELS = {
    "skim": "skim",
    "pyod": "PyOD",
    "own": "your own",
    "published": "published value",
}
GREY = "#b8b8b8"
STYLES = {
    "ALTBI": ("#0b3c5d", "o-"),
    "ODIM": ("#0b3c5d", "s--"),
    "IMAutoencoder": ("#0b3c5d", "^:"),
    "IForest": ("#2e8b57", "v-"),
    "AutoEncoder": ("#d2691e", "D-"),
    "VAE": ("#d2691e", "x--"),
    "DeepSVDD": ("#d2691e", "P:"),
}


def figures(summary):
    """Return all pictures for which there are results, by name."""
    made = {
        "averages": draw_averages(summary),
        "critical_difference": draw_ranks(summary),
        "time_and_size": draw_time_and_size(summary),
    }
    return {name: figure for name, figure in made.items() if figure is not None}


def _bars(axes, names, values, families, reference, digits=3):
    bars = axes.barh(names, values, height=0.75, edgecolor="black", linewidth=0.6)
    for bar, family in zip(bars, families, strict=True):
        bar.set_facecolor(COLOURS[family])
        if family == "published":
            bar.set_hatch("////")
    axes.bar_label(bars, fmt=f"%.{digits}f", padding=2, fontsize=7)
    axes.invert_yaxis()
    axes.margins(y=0.01)
    axes.spines[["top", "right"]].set_visible(False)
    for label in axes.get_yticklabels():
        label.set_fontweight("bold" if label.get_text() == reference else None)


def _floor(values):
    """Return where bars can start so that their differences are visible."""
    return max(np.floor((min(values) - 0.05) * 10) / 10, 0)


def _legend(figure, families, **options):
    handles = [
        Patch(
            facecolor=COLOURS[family],
            edgecolor="black",
            hatch="////" if family == "published" else None,
            label=LABELS[family],
        )
        for family in COLOURS
        if family in set(families)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, **options)


def draw_averages(summary):
    """Mean AUROC and AUPRC over the data sets, of all complete detectors."""
    complete = summary.averages[summary.averages["complete"]]
    if complete.empty:
        return None
    size = (9, 1 + 0.22 * len(complete))
    figure = Figure(figsize=size, layout="constrained")
    for axes, metric in zip(figure.subplots(1, 2), METRICS, strict=True):
        ordered = complete.sort_values(metric, ascending=False)
        columns = (ordered["detector"], ordered[metric], ordered["family"])
        _bars(axes, *columns, summary.reference)
        n_sets = ordered["n_sets"].max()
        axes.set_title(f"mean {metric.upper()}, {n_sets} {summary.group_name}")
        axes.set_xlim(left=_floor(ordered[metric]))
    _legend(figure, complete["family"])
    return figure


def draw_ranks(summary):
    """Mean ranks; a line shows which the data cannot tell from the best."""
    ranks = {metric: summary.critical_difference(metric) for metric in METRICS}
    if not all(np.isfinite(difference) for _, difference, _ in ranks.values()):
        return None
    size = (9, 1.2 + 0.22 * max(len(found) for found, _, _ in ranks.values()))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, (metric, (found, difference, p_value)) in zip(
        panels, ranks.items(), strict=True
    ):
        families = [summary.families[name] for name in found.index]
        _bars(axes, found.index, found, families, summary.reference, digits=1)
        axes.axvline(found.iloc[0] + difference, color="black", linestyle="--")
        axes.set_title(
            f"mean rank by {metric.upper()}\nbest rank + {difference:.2f} "
            f"(Nemenyi, 5 %); Friedman p = {p_value:.1g}",
            fontsize=8,
        )
    _legend(figure, summary.families.values())
    return figure


def draw_time_and_size(summary):
    """Seconds against rows and against features, on logarithmic axes."""
    results = summary.results[summary.results["cpu_seconds"] > 0]
    if results.empty:
        return None
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    rows_axes, features_axes = figure.subplots(1, 2, sharey=True)
    panels = ((rows_axes, "n", "rows"), (features_axes, "p", "features"))
    for axes, column, label in panels:
        for name, mine in results.groupby("detector"):
            own = summary.families[name] == "own"
            shown = own or name in STYLES
            plain = (COLOURS["own"], "*-") if own else (GREY, "-")
            colour, style = STYLES.get(name, plain)
            bins = (np.log10(mine[column]) * 2).round()  # half powers of ten
            smooth = mine.groupby(bins)[[column, "cpu_seconds"]].median()
            axes.plot(
                smooth[column],
                smooth["cpu_seconds"],
                style,
                color=colour,
                markersize=4,
                linewidth=1.3 if shown else 0.7,
                zorder=3 if shown else 1,
                label=name if shown else "_others",
            )
        axes.set(xscale="log", yscale="log", xlabel=label)
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.spines[["top", "right"]].set_visible(False)
    rows_axes.set_ylabel("seconds of processor time")
    handles, labels = rows_axes.get_legend_handles_labels()
    handles.append(Patch(color=GREY))
    labels.append("the others")
    figure.legend(handles, labels, loc="outside lower center", ncols=8, fontsize=8)
    return figure
