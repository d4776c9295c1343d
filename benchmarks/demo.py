"""The three detectors beside PyOD's, on data that ships inside scikit-learn."""

import warnings
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track

from benchmarks._shared.detectors import DETECTORS
from benchmarks._shared.measure import measure
from benchmarks._shared.results import print_table
from skim.datasets import (
    load_breast_cancer_outliers,
    load_digits_outliers,
    load_wine_outliers,
)

DATA = {
    "breast cancer": load_breast_cancer_outliers,
    "wine": load_wine_outliers,
    "digits": load_digits_outliers,
}
CONTENDERS = {
    "ALTBIDetector": "ALTBI",
    "ODIMDetector": "ODIM",
    "IMAutoencoderDetector": "IMAutoencoder",
    "PyOD IForest": "IForest",
    "PyOD MCD": "MCD",
    "PyOD ECOD": "ECOD",
    "PyOD AutoEncoder": "AutoEncoder",
}


def demo(
    picture: Annotated[
        Path, typer.Option(help="Where to write the picture of the table.")
    ] = Path("demo.png"),
    seed: Annotated[int, typer.Option(help="Seed of every detector.")] = 0,
):
    """Compare skim's detectors with PyOD's on three small tables."""
    console = Console()
    tables = {name: load(return_X_y=True) for name, load in DATA.items()}
    # The first fit of each detector pays for what it imports, and does not count.
    rounds = ["wine", *DATA]
    tasks = [(name, data) for data in rounds for name in CONTENDERS]
    results = {}
    for name, data in track(tasks, description="Fitting", console=console):
        X, y = tables[data]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the other libraries
            detector = DETECTORS[CONTENDERS[name]].build(seed=seed)
            results[name, data] = measure(detector, X, y)
    rows = []
    for name in CONTENDERS:
        found = [results[name, data] for data in DATA]
        cells = [f"{auroc:.3f} / {auprc:.3f}" for auroc, auprc, *_ in found]
        rows.append((name, *cells, sum(result.seconds for result in found)))
    title = "AUROC / AUPRC without labels, and seconds for the three tables"
    print_table(("detector", *DATA, "seconds"), rows, title, digits=".1f")
    _draw(results, picture)
    console.print(f"Picture written to {picture}")


def _draw(results, picture):
    from matplotlib.figure import Figure

    names = list(CONTENDERS)
    figure = Figure(figsize=(10, 4), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    titles = ("AUROC", "AUPRC", "seconds (log scale)")
    colours = ("#12466b", "#4a9bd1", "#c9e2f2")  # distinct in grey as well
    for field, (panel, title) in enumerate(zip(panels, titles, strict=True)):
        for i, data in enumerate(DATA):
            values = [results[name, data][field] for name in names]
            places = [k + 0.25 * (i - 1) for k in range(len(names))]
            style = {"color": colours[i], "edgecolor": "black", "linewidth": 0.5}
            panel.barh(places, values, height=0.25, label=data, **style)
        panel.set_title(title)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].invert_yaxis()
    panels[2].set_xscale("log")
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3
    )
    figure.savefig(picture, dpi=150)
