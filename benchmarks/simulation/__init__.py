"""The simulation study: when the effect appears, and how long it lasts."""

import time
from collections import defaultdict
from pathlib import Path
from typing import Annotated

import pandas as pd
import torch
import typer
from rich.console import Console
from rich.progress import Progress

from benchmarks._shared.options import Seeds
from benchmarks._shared.results import print_table, save_svg
from benchmarks.demo import DATA
from benchmarks.simulation import _experiments as experiments
from benchmarks.simulation._figures import draw_experiment
from benchmarks.simulation._stack import train

__all__ = ["simulation"]

SYMBOLS = {name: symbol for name, (symbol, *_) in experiments.VARIED.items()} | {
    "initialisation": experiments.INITIALISATION[0]
}
MEANS = ["initial_error", "start", "stop", "length", "peak"]


def simulation(
    output: Annotated[Path, typer.Option(help="Folder of tables and pictures.")] = Path(
        "simulation-results"
    ),
    seeds: Seeds = 3,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of training.")] = 1000,
    threads: Annotated[int, typer.Option(min=1, help="Threads to compute with.")] = 2,
):
    """Vary the data and the initial weights, and measure the window of the effect."""
    torch.set_num_threads(threads)
    console = Console()
    output.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    with Progress(console=console) as progress:
        members = experiments.main_members(seeds)
        _train(members, epochs, progress, "Four experiments")
        real = []
        for name in DATA:
            real += experiments.real_members(name, seeds)
            _train(real[-2 * seeds :], epochs, progress, name)
    table = _summary(members + real)
    table.to_csv(output / "windows.csv", index=False, float_format="%.4g")
    for name, symbol in SYMBOLS.items():
        groups = defaultdict(list)
        for member in members:
            if member.experiment == name and not member.ema:
                groups[member.value].append(member)
        save_svg(draw_experiment(symbol, groups), output / f"{name}.svg")
    print_table(table, table.itertuples(index=False), digits=".4g")
    seconds = time.perf_counter() - start
    console.print(f"{seconds:.0f} s. Tables and pictures are in {output}")


def _train(members, epochs, progress, title):
    bar = progress.add_task(title, total=epochs)
    train(members, epochs, on_epoch=lambda: progress.advance(bar))


def _summary(members):
    """Average over the seeds; a missing window has a length of 0 and no ends."""
    records = pd.DataFrame([member.record() for member in members])
    for end in ("start", "stop"):
        records[end] = records[end].astype(float)
    groups = records.groupby(["experiment", "ema", "value"], sort=False)
    return groups[MEANS].mean().reset_index()
