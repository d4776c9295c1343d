"""The report's pictures, readable in colour and in grey."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from benchmarks.detectors import DEEP
from benchmarks.report._compare import compare_with_published
from benchmarks.report._summary import REFERENCE

# From dark to light, so that they differ in grey as well.
COLOURS = {"skim": "#0b3c5d", "pyod": "#6fa8c9", "own": "#b5651d", "published": "white"}
LABELS = {
    "skim": "skim",
    "pyod": "PyOD",
    "own": "your own",
    "published": "published value",
}
NAMES = {"auroc": "AUROC", "auprc": "AUPRC"}
GREY = "#b8b8b8"


def figures(summary):
    """Return all pictures by name, those for which there are results."""
    made = {
        "averages": draw_averages(summary),
        "critical_difference": draw_critical_difference(summary),
        "accuracy_and_time": draw_accuracy_and_time(summary),
        "time_and_size": draw_time_and_size(summary),
        "embeddings": draw_embeddings(summary),
        "ablation": draw_ablation(summary),
    }
    return {name: figure for name, figure in made.items() if figure is not None}


def _clean(axes):
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(length=2)


def _bars(axes, names, values, families):
    bars = axes.barh(names, values, height=0.75, edgecolor="black", linewidth=0.6)
    for bar, family in zip(bars, families, strict=True):
        bar.set_facecolor(COLOURS[family])
        if family == "published":
            bar.set_hatch("////")
    axes.bar_label(bars, fmt="%.3f", padding=2, fontsize=7)
    axes.invert_yaxis()
    _clean(axes)


def _floor(values):
    """Where bars may begin so that their differences, and all of them, are seen."""
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
    for axes, metric in zip(figure.subplots(1, 2), NAMES, strict=True):
        ordered = complete.sort_values(metric, ascending=False)
        _bars(axes, ordered["detector"], ordered[metric], ordered["family"])
        n_sets = ordered["n_sets"].max()
        axes.set_title(f"mean {NAMES[metric]}, {n_sets} {summary.group_name}")
        axes.set_xlim(left=_floor(ordered[metric]))
        for label in axes.get_yticklabels():
            label.set_fontweight("bold" if label.get_text() == REFERENCE else None)
    _legend(figure, complete["family"])
    return figure


def draw_critical_difference(summary):
    """Mean ranks; bars join detectors that Nemenyi's test cannot tell apart."""
    panels = []
    for metric in NAMES:
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
        _draw_ranks(axes, ranks, difference)
        axes.set_title(
            f"mean rank by {NAMES[metric]}; critical difference {difference:.2f} "
            f"(Nemenyi, 5 %); Friedman p = {p_value:.1g}",
            fontsize=9,
        )
    return figure


def _draw_ranks(axes, ranks, difference):
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
        bold = "bold" if name == REFERENCE else None
        text = f"{name}  {rank:.1f}" if left else f"{rank:.1f}  {name}"
        where = {"ha": "right" if left else "left", "va": "center"}
        space = -0.1 if left else 0.1
        axes.text(end + space, y, text, fontsize=8, fontweight=bold, **where)
    for i, (first, last) in enumerate(groups):
        y = -0.25 - 0.35 * i
        ends = [ranks.iloc[first] - 0.08, ranks.iloc[last] + 0.08]
        axes.plot(ends, [y, y], color="#0b3c5d", linewidth=3, solid_capstyle="butt")


def indistinguishable(ranks, difference):
    """Return the longest runs of sorted ranks that lie within a difference.

    Parameters
    ----------
    ranks : ndarray, in ascending order
    difference : float

    Returns
    -------
    groups : list of (int, int)
        Places of the first and the last of each run of at least two.
    """
    groups: list = []
    for first in range(len(ranks)):
        last = int(np.searchsorted(ranks, ranks[first] + difference, "right")) - 1
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups


def draw_accuracy_and_time(summary):
    """Mean AUROC against the median time of a table."""
    averages = summary.averages.dropna(subset="median_seconds")
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
        axes.annotate(
            row.detector,
            (row.median_seconds, row.auroc),
            xytext=(6, 3),
            textcoords="offset points",
            fontsize=8,
            fontweight="bold" if row.detector == REFERENCE else None,
        )
    axes.set_xscale("log")
    axes.set_xlabel("median seconds of processor time for a data set")
    axes.set_ylabel("mean AUROC over the sets it finished")
    axes.set_title(
        "circles: skim, triangles: PyOD's deep models, squares: PyOD's others; "
        "hollow: not all sets finished",
        fontsize=8,
    )
    axes.grid(color="#e6e6e6", zorder=0)
    _clean(axes)
    return figure


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
    results = summary.results.dropna(subset="cpu_seconds")
    if results.empty:
        return None
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    rows_axes, features_axes = figure.subplots(1, 2, sharey=True)
    panels = ((rows_axes, "n", "rows"), (features_axes, "p", "features"))
    for axes, column, label in panels:
        for name, mine in results.groupby("detector"):
            mine = mine.sort_values(column)
            colour, style = STYLES.get(name, (GREY, "-"))
            smooth = mine.groupby(_bins(mine[column]))[[column, "cpu_seconds"]].median()
            axes.plot(
                smooth[column],
                smooth["cpu_seconds"],
                style,
                color=colour,
                markersize=4,
                linewidth=1.3 if name in STYLES else 0.7,
                zorder=3 if name in STYLES else 1,
                label=name if name in STYLES else "_others",
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(label)
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
        axes.tick_params(labelsize=7)
    _legend(
        figure, [summary.families[name] for name in results["detector"]], fontsize=8
    )
    return figure


def draw_ablation(summary):
    """The original methods, the EMA warm-up and the default, measured and published."""
    steps = {"raw": "-paper", "+EMA": "-paper+EMA", "default": ""}
    table = summary.table("auroc")
    methods = [m for m in ("ALTBI", "ODIM") if f"{m}-paper" in table and m in table]
    if not methods:
        return None
    figure = Figure(figsize=(4 * len(methods) + 1, 3.2), layout="constrained")
    compared = compare_with_published(summary.results)
    panels = figure.subplots(1, len(methods), squeeze=False, sharey=True)[0]
    for axes, method in zip(panels, methods, strict=True):
        names = {step: f"{method}{end}" for step, end in steps.items()}
        names = {step: name for step, name in names.items() if name in table}
        sets = table[list(names.values())].dropna().index
        places = np.arange(len(names))
        measured = [table.loc[sets, name].mean() for name in names.values()]
        published = [
            compared[
                (compared["detector"] == name)
                & compared["dataset"].isin(sets)
                & (compared["group"] == summary.group)
            ]["published"].mean()
            for name in names.values()
        ]
        published[-1] = np.nan if "default" in names else published[-1]
        style = {"width": 0.38, "edgecolor": "black", "linewidth": 0.6}
        ours = axes.bar(places - 0.2, measured, color=COLOURS["skim"], **style)
        theirs = axes.bar(places + 0.2, published, color="white", hatch="////", **style)
        for bars in (ours, theirs):
            axes.bar_label(bars, fmt="%.3f", fontsize=8, padding=2)
        axes.set_xticks(places, names)
        axes.set_title(f"{method}, the {len(sets)} sets that all have", fontsize=9)
        axes.set_ylim(_floor([*measured, *np.nan_to_num(published, nan=1)]))
        _clean(axes)
    panels[0].set_ylabel("mean AUROC")
    _legend(figure, ["skim", "published"])
    return figure
