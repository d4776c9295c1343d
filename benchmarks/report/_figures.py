"""The report's pictures, readable in colour and in grey."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import NullFormatter
from matplotlib.transforms import Bbox

from benchmarks._shared.detectors import DEEP
from skim.datasets._published import METRICS
from skim.inspection._drawing import tidy

# From dark to light, so that they differ in grey as well.
COLOURS = {"skim": "#0b3c5d", "pyod": "#6fa8c9", "own": "#b5651d", "published": "white"}
LABELS = {
    "skim": "skim",
    "pyod": "PyOD",
    "own": "your own",
    "published": "published value",
}
GREY = "#b8b8b8"


def figures(summary, steps):
    """Return all pictures for which there are results, by name."""
    made = {
        "averages": draw_averages(summary),
        "critical_difference": draw_critical_difference(summary),
        "accuracy_and_time": draw_accuracy_and_time(summary),
        "time_and_size": draw_time_and_size(summary),
        "embeddings": draw_embeddings(summary),
        "ablation": draw_ablation(steps),
    }
    return {name: figure for name, figure in made.items() if figure is not None}


def _clean(axes):
    tidy(axes).tick_params(length=2)


def _bars(axes, names, values, families):
    bars = axes.barh(names, values, height=0.75, edgecolor="black", linewidth=0.6)
    for bar, family in zip(bars, families, strict=True):
        bar.set_facecolor(COLOURS[family])
        if family == "published":
            bar.set_hatch("////")
    axes.bar_label(bars, fmt="%.3f", padding=2, fontsize=7)
    axes.invert_yaxis()
    axes.margins(y=0.01)
    _clean(axes)


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
    """Mean AUROC and AUPRC over the tabular sets, of all complete detectors."""
    averages = summary.averages
    complete = averages[averages["complete"]]
    if complete.empty:
        return None
    height = 1 + 0.22 * len(complete)
    figure = Figure(figsize=(9, height), layout="constrained")
    for axes, metric in zip(figure.subplots(1, 2), METRICS, strict=True):
        ordered = complete.sort_values(metric, ascending=False)
        _bars(axes, ordered["detector"], ordered[metric], ordered["family"])
        n_sets = ordered["n_sets"].max()
        axes.set_title(f"mean {metric.upper()}, {n_sets} {summary.group_name}")
        axes.set_xlim(left=_floor(ordered[metric]))
        for label in axes.get_yticklabels():
            chosen = label.get_text() == summary.reference
            label.set_fontweight("bold" if chosen else None)
    _legend(figure, complete["family"])
    return figure


def draw_critical_difference(summary):
    """Mean ranks; bars join detectors that Nemenyi's test cannot tell apart."""
    panels = []
    for metric in METRICS:
        ranks, difference, p_value = summary.critical_difference(metric)
        if np.isfinite(difference):
            panels.append((metric, ranks, difference, p_value))
    if not panels:
        return None
    n_detectors = max(len(ranks) for _, ranks, _, _ in panels)
    height = len(panels) * (1.6 + 0.12 * n_detectors)
    figure = Figure(figsize=(9, height), layout="constrained")
    rows = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
    for axes, (metric, ranks, difference, p_value) in zip(rows, panels, strict=True):
        _draw_ranks(axes, ranks, difference, summary.reference)
        axes.set_title(
            f"mean rank by {metric.upper()}; critical difference {difference:.2f} "
            f"(Nemenyi, 5 %); Friedman p = {p_value:.1g}",
            fontsize=9,
        )
    return figure


def _draw_ranks(axes, ranks, difference, reference):
    groups = indistinguishable(ranks.to_numpy(), difference)
    n = len(ranks)
    half = (n + 1) // 2
    top = 0.35 * len(groups) + 0.4
    axes.axis("off")
    axes.set_xlim(-0.28 * n + 1, n + 0.28 * n)
    axes.set_ylim(-top - 0.5 * half - 0.3, 1.2)
    axes.plot([1, n], [0, 0], color="black", linewidth=1)
    for rank in range(1, n + 1):
        axes.plot([rank, rank], [0, 0.12], color="black", linewidth=0.8)
        if rank in (1, n) or rank % 5 == 0:
            axes.text(rank, 0.25, str(rank), ha="center", fontsize=8)
    axes.plot([1, 1 + difference], [0.95, 0.95], color="black", linewidth=2)
    axes.text(1 + difference / 2, 1.05, "critical difference", ha="center", fontsize=7)
    for i, (name, rank) in enumerate(ranks.items()):
        left = i < half
        y = -top - 0.5 * (i if left else n - 1 - i)
        end = 0.2 if left else n + 0.8
        axes.plot([rank, rank, end], [0, y, y], color="black", linewidth=0.6)
        bold = "bold" if name == reference else None
        text = f"{name}  {rank:.1f}" if left else f"{rank:.1f}  {name}"
        where = {"ha": "right" if left else "left", "va": "center"}
        space = -0.1 if left else 0.1
        axes.text(end + space, y, text, fontsize=8, fontweight=bold, **where)
    for i, (first, last) in enumerate(groups):
        y = -0.25 - 0.35 * i
        ends = [ranks.iloc[first] - 0.08, ranks.iloc[last] + 0.08]
        axes.plot(ends, [y, y], color="#0b3c5d", linewidth=3, solid_capstyle="butt")


def indistinguishable(ranks, difference):
    """Return the longest runs of ascending ranks that lie within a difference.

    They are pairs: the places of the first and the last of at least two ranks.
    """
    groups: list = []
    for first in range(len(ranks)):
        last = int(np.searchsorted(ranks, ranks[first] + difference, "right")) - 1
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups


def draw_accuracy_and_time(summary):
    """Mean AUROC against the median time of a table."""
    averages = summary.averages
    averages = averages[averages["median_seconds"] > 0]
    if averages.empty:
        return None
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    for row in averages.itertuples():
        marker = {"skim": "o", "own": "D"}.get(row.family, "s")
        if row.detector in DEEP:
            marker = "^"
        axes.scatter(
            row.median_seconds,
            row.auroc,
            s=60,
            marker=marker,
            facecolor=COLOURS[row.family] if row.complete else "white",
            edgecolor="black",
            linewidth=0.7,
            zorder=3,
        )
    axes.set_xscale("log")
    axes.set_xlabel("median seconds of processor time for a data set")
    axes.set_ylabel("mean AUROC over the sets it finished")
    axes.set_title(
        "circles: skim, triangles: PyOD's deep models, squares: PyOD's others, "
        "diamonds: your own; hollow: not all sets finished",
        fontsize=8,
    )
    axes.grid(color="#e6e6e6", zorder=0)
    axes.margins(x=0.1)
    _clean(axes)
    points = averages[["median_seconds", "auroc"]].to_numpy()
    _name_points(axes, points, averages["detector"], summary.reference)
    return figure


def _name_points(axes, points, names, reference):
    """Write the name of each point beside it, without overlaps."""
    FigureCanvasAgg(axes.figure).draw()  # lays everything out
    taken = [
        Bbox.from_bounds(x - 5, y - 5, 10, 10)
        for x, y in axes.transData.transform(points)
    ]
    for i, (point, name) in enumerate(zip(points, names, strict=True)):
        others = [box for k, box in enumerate(taken) if k != i]
        for x, y in ((7, 0), (-7, 0), (0, 8), (0, -8), (7, 9), (-7, -9), (7, -9)):
            text = axes.annotate(
                name,
                point,
                xytext=(x, y),
                textcoords="offset points",
                ha="left" if x > 0 else "right" if x < 0 else "center",
                va="center",
                fontsize=8,
                fontweight="bold" if name == reference else None,
            )
            box = text.get_window_extent()
            if box.count_overlaps(others) == 0:
                break
            text.remove()
        else:
            axes.add_artist(text)
        taken.append(box)


STYLES = {
    "ALTBI": ("#0b3c5d", "o-"),
    "ODIM": ("#0b3c5d", "s--"),
    "IMAutoencoder": ("#0b3c5d", "^:"),
    "IForest": ("#2e8b57", "v-"),
    "AutoEncoder": ("#d2691e", "D-"),
    "VAE": ("#d2691e", "x--"),
    "DeepSVDD": ("#d2691e", "P:"),
}


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
            mine = mine.sort_values(column)
            own = summary.families[name] == "own"
            shown = own or name in STYLES
            plain = (COLOURS["own"], "*-") if own else (GREY, "-")
            colour, style = STYLES.get(name, plain)
            smooth = mine.groupby(_bins(mine[column]))[[column, "cpu_seconds"]].median()
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
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(label)
        axes.xaxis.set_minor_formatter(NullFormatter())
        _clean(axes)
    rows_axes.set_ylabel("seconds of processor time")
    handles, labels = rows_axes.get_legend_handles_labels()
    handles.append(Patch(color=GREY))
    labels.append("the others")
    figure.legend(handles, labels, loc="outside lower center", ncols=8, fontsize=8)
    return figure


def _bins(values):
    """Half powers of ten, whose medians keep the picture readable."""
    return (np.log10(values) * 2).round()


def draw_embeddings(summary):
    """Accuracy on the embeddings of images and texts."""
    results = summary.results[summary.results["group"] != summary.group]
    titles = list(dict.fromkeys(results["title"]))
    if not titles:
        return None
    n_bars = results.groupby("title").size().max()
    size = (3.4 * len(titles), 1.2 + 0.2 * n_bars)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(1, len(titles), squeeze=False)[0]
    for axes, title in zip(panels, titles, strict=True):
        mine = results[results["title"] == title].sort_values("auroc", ascending=False)
        families = mine["detector"].map(summary.families)
        _bars(axes, mine["detector"], mine["auroc"], families)
        parts = mine["parts"].iloc[0]
        note = f"{parts} parts" if parts else "all of it"
        axes.set_title(f"{title}, AUROC ({note})", fontsize=8)
        axes.set_xlim(_floor(mine["auroc"]), 1.1)
        axes.set_xticks([tick for tick in axes.get_xticks() if tick < 1.01])
        axes.set_xlim(_floor(mine["auroc"]), 1.1)
        axes.tick_params(labelsize=7)
    _legend(
        figure, [summary.families[name] for name in results["detector"]], fontsize=8
    )
    return figure


def draw_ablation(steps):
    """The original methods step by step, measured and published, and the default."""
    if steps.empty:
        return None
    methods = steps.groupby("method", sort=False)
    figure = Figure(figsize=(4 * len(methods) + 1, 3.4), layout="constrained")
    panels = figure.subplots(1, len(methods), squeeze=False, sharey=True)[0]
    for axes, (method, mine) in zip(panels, methods, strict=True):
        for column, shift, family in (
            ("measured", -0.2, "skim"),
            ("published", 0.2, "published"),
        ):
            values = mine[column].to_numpy()
            bars = axes.bar(
                np.arange(len(mine)) + shift,
                values,
                width=0.38,
                color=COLOURS[family],
                edgecolor="black",
                linewidth=0.6,
                hatch="////" if family == "published" else None,
            )
            labels = ["" if np.isnan(value) else f"{value:.3f}" for value in values]
            axes.bar_label(bars, labels, fontsize=8, padding=2)
        names = mine["step"].str.replace(" ", "\n")
        axes.set_xticks(range(len(mine)), names)
        axes.set_xlim(-0.6, len(mine) - 0.4)
        title = f"{method}, the {mine['tables'].iloc[0]} tables that all have"
        if n_embedded := mine["embedded"].max():
            title += f", {n_embedded} of them embedded"
        axes.set_title(title, fontsize=9)
        _clean(axes)
    panels[0].set_ylim(_floor([steps[["measured", "published"]].min(axis=None)]))
    panels[0].set_ylabel("mean AUROC")
    _legend(figure, ["skim", "published"])
    return figure
