"""The effect in other networks: accuracy on tables, windows on simulated data."""

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.console import Console

from benchmarks._shared.detectors import Detector
from benchmarks._shared.options import Seeds, Tables, some_of
from benchmarks._shared.results import Store, print_table, save_svg
from benchmarks._shared.runner import Plan, execute, watch
from benchmarks._shared.sources import halves
from benchmarks._shared.tables import tables_at_hand
from benchmarks._shared.worker import Limits
from benchmarks.networks._windows import (
    ARCHITECTURES,
    draw_windows,
    measure_windows,
    summary,
)

__all__ = ["networks"]

ALTBI = Detector("ALTBI", "skim:ALTBIDetector", {}, "skim")
DETECTORS = [
    ALTBI,
    *(
        Detector(name, "skim:NetworkDetector", params, "skim")
        for name, params in {
            "flow": {"network": "flow"},
            "VAE": {"network": "vae"},
            "autoencoder": {"network": "autoencoder"},
            "flow, not truncated": {"network": "flow", "keep_quantile": 1.0},
            "flow, EMA warm-up": {"network": "flow", "ema_steps": 50},
        }.items()
    ),
]
NAMES = tuple(each.name for each in DETECTORS)
COLUMNS = ("detector", "AUROC", "half 1", "half 2", "AUPRC", "time", "tables × seeds")


def accuracy_rows(records):
    """Return the rows of the table of accuracies, on the fits that all have in common.

    Times are processor seconds over those of ALTBI, summed over all fits.
    """
    settings = {each.name: each.fingerprint() for each in DETECTORS}
    results = pd.DataFrame(
        [
            record
            for record in records
            if record["status"] == "ok"
            and record["settings"] == settings.get(record["detector"])
        ]
    )
    if results.empty:
        return []
    known = [each.name for each in DETECTORS if each.name in {*results["detector"]}]
    wide = results.drop_duplicates(["detector", "file", "seed"], keep="last")
    wide = wide.pivot(index=["file", "seed"], columns="detector").dropna(
        subset=[("auroc", name) for name in known]
    )
    rows = []
    for name in known:
        by_table = wide["auroc"][name].groupby("file").mean()
        parts = halves(list(by_table.index)).values()
        time = float("nan")
        if ALTBI.name in known:
            time = wide["cpu_seconds"][name].sum() / wide["cpu_seconds"]["ALTBI"].sum()
        rows.append(
            (
                name,
                by_table.mean(),
                *(by_table[half].mean() for half in parts),
                wide["auprc"][name].groupby("file").mean().mean(),
                time,
                f"{len(by_table)} × {len(wide) / max(len(by_table), 1):g}",
            )
        )
    return rows


def networks(
    data: Tables = None,
    detector: some_of(NAMES) = None,
    seeds: Seeds = 3,
    epochs: Annotated[
        int, typer.Option(min=1, help="Epochs on the simulated data.")
    ] = 300,
    network: some_of(tuple(ARCHITECTURES)) = None,
    windows: Annotated[
        bool, typer.Option(help="Whether to measure windows on simulated data.")
    ] = True,
    accuracy: Annotated[
        bool, typer.Option(help="Whether to measure accuracy on tables.")
    ] = True,
    output: Annotated[
        Path, typer.Option(help="Folder; runs that are in it are not repeated.")
    ] = Path("networks-results"),
):
    """Measure a flow, an autoencoder and a VAE beside ALTBI, and their windows.

    Labels only serve the comparison. SKIM_DATA_HOME names the folder of ADBench's data.
    """
    tables = tables_at_hand(data) if accuracy else []
    output.mkdir(parents=True, exist_ok=True)
    if windows:
        paths = measure_windows(network, seeds, epochs, output / "windows.jsonl")
        rows = summary(paths)
        rows.to_csv(output / "windows.csv", index=False, float_format="%.4g")
        print_table(rows, rows.itertuples(index=False), "Windows", digits=".3g")
        save_svg(draw_windows(paths), output / "windows.svg")
    if not accuracy:
        return
    store = Store(output / "results.jsonl")
    try:
        with store.lock():
            chosen = [each for each in DETECTORS if each.name in detector]
            plan = Plan(tables, chosen, seeds, store.read(), Limits())
            watch(plan, execute(plan, store), Console(stderr=True))
    except (ValueError, OSError) as error:
        raise typer.BadParameter(str(error)) from None
    rows = accuracy_rows(store.read())
    pd.DataFrame(rows, columns=COLUMNS).to_csv(
        output / "accuracy.csv", index=False, float_format="%.4f"
    )
    print_table(COLUMNS, rows, "Accuracy")
