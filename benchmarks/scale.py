"""Time, memory and accuracy on tables of any size, in memory and out of core."""

import multiprocessing
import os
import re
import shutil
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from sklearn.metrics import roc_auc_score

from benchmarks._shared.options import Seeds, some_of
from benchmarks._shared.results import Runs, print_table
from skim import ALTBIDetector
from skim.datasets import fetch_adbench

STEPS = ("memory", "parquet", "accuracy")
TABLES = ("cover", "http", "donors", "shuttle")
N_FACTORS = 4  # behind the columns
SHARE = 0.01  # of outliers, which have nothing in common


def make_part(number, n_rows, n_columns, seed=0):
    """Return a part of a table, in single precision.

    Inliers are linear in a few factors, with noise; outliers have the same columns,
    each by itself.
    """
    mixing = np.random.default_rng(seed).normal(size=(N_FACTORS, n_columns))
    rng = np.random.default_rng((seed, number))
    factors = rng.normal(size=(n_rows, N_FACTORS))
    rows = factors @ mixing + 0.3 * rng.normal(size=(n_rows, n_columns))
    outliers = np.flatnonzero(rng.random(n_rows) < SHARE)
    rows[outliers] = rng.permuted(rows[outliers], axis=0)
    return rows.astype(np.float32)


def make_table(n_rows, n_columns, part_rows=1_000_000):
    """Return a table in memory, made part by part."""
    table = np.empty((n_rows, n_columns), dtype=np.float32)
    for number, start in enumerate(range(0, n_rows, part_rows)):
        rows = min(part_rows, n_rows - start)
        table[start : start + rows] = make_part(number, rows, n_columns)
    return table


def write_parts(folder, n_rows, n_columns, part_rows):
    """Write a table as Parquet files into a folder of its size, and return that."""
    import pyarrow as pa
    from pyarrow import parquet

    folder = folder / f"{n_rows}x{n_columns} in parts of {part_rows}"
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"x{j}" for j in range(n_columns)]
    for number, start in enumerate(range(0, n_rows, part_rows)):
        part = make_part(number, min(part_rows, n_rows - start), n_columns)
        path = folder / f"part-{number:05d}.parquet"
        parquet.write_table(pa.table(list(part.T), names=names), path)
    return folder


def measured(function):
    """Return the result of a call, its seconds, its processor seconds and memory.

    Memory is how many megabytes this process has at most during the call, beyond
    those that it had before; only Linux tells.
    """
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = _megabytes("VmRSS")
    start, cpu_start = time.perf_counter(), time.process_time()
    result = function()
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu_start
    return result, seconds, cpu, _megabytes("VmHWM") - before


def _megabytes(name):
    status = Path("/proc/self/status").read_text()
    return int(re.search(rf"{name}:\s+(\d+) kB", status)[1]) / 1024


def _warm_up():
    """Load torch, so that neither its time nor its memory is counted."""
    ALTBIDetector(epochs=1).fit(make_part(0, 200, 4))


def in_memory(n_rows, n_columns):
    """Fit a table in memory, and score it."""
    table = make_table(n_rows, n_columns)
    _warm_up()
    detector = ALTBIDetector(random_state=0)
    _, seconds, cpu, megabytes = measured(lambda: detector.fit(table))
    _, score_seconds, score_cpu, _ = measured(lambda: detector.score_samples(table))
    return [
        ("fit", "seconds", seconds),
        ("fit: processor", "seconds", cpu),
        ("fit: memory beyond the table", "MB", megabytes),
        ("scores", "seconds", score_seconds),
        ("scores: processor", "seconds", score_cpu),
    ]


def parquet_files(folder, n_rows, n_columns, part_rows):
    """Fit Parquet files by DaskDetector on threads, and write scores and labels."""
    import dask
    import dask.dataframe as dd

    from skim.distributed import DaskDetector

    parts = write_parts(Path(folder), n_rows, n_columns, part_rows)
    _warm_up()
    output = tempfile.mkdtemp(dir=folder)

    def write_scores():
        scores = model.score_samples(parts)
        table = scores.to_frame("score")
        table["label"] = 1 - 2 * (scores < model.estimator_.offset_).astype("int8")
        table.to_parquet(output)

    try:
        with dask.config.set(scheduler="threads", num_workers=os.cpu_count()):
            model = DaskDetector(ALTBIDetector(random_state=0), random_state=0)
            parts = dd.read_parquet(parts)
            _, seconds, cpu, megabytes = measured(lambda: model.fit(parts))
            _, score_seconds, score_cpu, more = measured(write_scores)
            n_written = len(dd.read_parquet(output))
    finally:
        shutil.rmtree(output)
    if n_written != n_rows:
        raise RuntimeError(f"{n_written} of {n_rows} rows were written")
    return [
        ("fit", "seconds", seconds),
        ("fit: processor", "seconds", cpu),
        ("fit: memory", "MB", megabytes),
        ("scores and labels", "seconds", score_seconds),
        ("scores and labels: processor", "seconds", score_cpu),
        ("scores and labels: memory", "MB", more),
    ]


def accuracy(name, n_rows, seed):
    """Compare the AUROC of a fit to a sample with that of a fit to the whole table."""
    import dask.array as da

    from skim.distributed import DaskDetector

    X, y = fetch_adbench(name, return_X_y=True)
    whole = ALTBIDetector(random_state=seed).fit(X)
    scores = whole.score_samples(X)
    parts = da.from_array(X, chunks=(max(len(X) // 20, 1), X.shape[1]))
    model = DaskDetector(
        ALTBIDetector(random_state=seed),
        n_rows=n_rows,
        random_state=seed,
    ).fit(parts)
    lazy = model.score_samples(parts).compute(scheduler="threads")
    return [
        (f"{name}: whole table", "AUROC", roc_auc_score(y, -scores)),
        (f"{name}: sample", "AUROC", roc_auc_score(y, -lazy)),
        (f"{name}: flagged by the whole", "share", np.mean(scores < whole.offset_)),
        (
            f"{name}: flagged by the sample",
            "share",
            np.mean(lazy < model.estimator_.offset_),
        ),
    ]


def scale(
    step: some_of(STEPS) = None,
    data: some_of(TABLES) = None,
    rows: Annotated[
        list[int] | None,
        typer.Option(help="Rows of a table in memory; may be repeated."),
    ] = None,
    parquet_rows: Annotated[
        int, typer.Option(min=100, help="Rows of the table in Parquet files.")
    ] = 100_000_000,
    part_rows: Annotated[
        int, typer.Option(min=10, help="Rows of each Parquet file.")
    ] = 1_000_000,
    columns: Annotated[int, typer.Option(min=2, help="Number of columns.")] = 10,
    sample: Annotated[
        int, typer.Option(min=10, help="Rows to train on, in the step accuracy.")
    ] = 200_000,
    seeds: Seeds = 3,
    folder: Annotated[
        Path, typer.Option(help="Where to make the data, of which 1e8 rows are 5 GB.")
    ] = Path("scale-data"),
    output: Annotated[Path, typer.Option(help="Table of the results.")] = Path(
        "benchmarks/results/scale/results.csv"
    ),
):
    """Measure fits and scores of large tables, out of core as well.

    Each measurement has a process of its own with one thread per task. Results that
    are in the output are not measured again.
    """
    if set(step) != {"memory"}:
        import distributed  # noqa: F401  (before processes are started that need it)
    place = str(folder.resolve())
    tasks = {
        "memory": {
            ("memory", f"{n} x {columns}"): (in_memory, n, columns)
            for n in rows or (1_000_000, 5_000_000)
        },
        "parquet": {
            ("parquet", f"{parquet_rows} x {columns}"): (
                *(parquet_files, place, parquet_rows, columns, part_rows),
            )
        },
        "accuracy": {
            ("accuracy", f"{name} of {sample} rows seed {seed}"): (
                *(accuracy, name, sample, seed),
            )
            for name in data
            for seed in range(seeds)
        },
    }
    calls = {key: call for name in step for key, call in tasks[name].items()}

    def run(task):
        load = os.getloadavg()[0]  # other processes make all of it slower
        os.environ["OMP_NUM_THREADS"] = "1"
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=spawn) as pool:
            lines = pool.submit(*calls[task]).result()
        return [(*what, float(value), load) for *what, value in lines]

    runs = Runs(output, ("step", "what"), ("quantity", "unit", "value", "load"))
    found = runs.complete(calls, run)[["step", "what", "quantity", "unit", "value"]]
    print_table(found.columns, found.itertuples(index=False), digits=".5g")
