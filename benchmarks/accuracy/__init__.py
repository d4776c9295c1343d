"""What to expect of skim on data of one's own, beside other detectors."""

import functools
import warnings
from pathlib import Path
from typing import Annotated

import typer

from benchmarks._shared.detectors import choose
from benchmarks._shared.options import Seeds, some_of
from benchmarks._shared.results import Runs, print_table
from benchmarks.accuracy import _summary as summary
from benchmarks.accuracy._detectors import PARTS, REFERENCE, usable
from benchmarks.accuracy._measures import MEASURES, SUITES, load, tables_of

KEY = ("task", "detector", "settings", "seed")
VALUES = ("suite", "family", "rows", "auroc", "auprc", "flagged", "seconds")


def accuracy(
    part: some_of(tuple(PARTS), ("contaminated",)) = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="adbench, keel or oddbench, a family or task such as cardio or "
            "keel/glass, or an .npz file; may be repeated. All that is here by default."
        ),
    ] = None,
    oddbench: Annotated[
        Path | None,
        typer.Option(
            envvar="SKIM_ODDBENCH_HOME",
            help="Folder of OddBench's tables: .npz files with arrays X and y.",
        ),
    ] = None,
    detector: Annotated[
        list[str] | None,
        typer.Option(help="One more detector, NAME=package.module:Class."),
    ] = None,
    seeds: Seeds = 3,
    output: Annotated[
        Path, typer.Option(help="Folder; runs that are in it are not repeated.")
    ] = Path("accuracy"),
):
    """Compare skim with IsolationForest, nearest neighbours and others.

    In the part "contaminated", detectors are fitted to all rows and score the same
    rows; tables of more than 10,000 rows are sampled with a fixed seed. In the part
    "clean", they are fitted to one half of the inliers, and score the other half and
    the outliers of tables of at most 4,000 rows. Labels only serve the comparison.

    Means are over families: the tasks of KEEL that are made from one table are averaged
    first. SKIM_DATA_HOME names the folder of ADBench's data, SKIM_KEEL_HOME that of
    KEEL's tasks, which are made there if it has none. OddBench takes part if its folder
    is given.
    """
    try:
        variants = choose(detector or ())
        tables = {each: tables_of(each, data, oddbench) for each in part}
    except (ValueError, OSError, ImportError) as error:
        raise typer.BadParameter(str(error)) from None
    for each in part:
        detectors, errors = usable([*PARTS[each], *variants])
        for name, error in errors.items():
            typer.echo(f"{name} is left out: {error}")
        runs = measured(each, tables[each], detectors, seeds, output)
        means = summary.family_means(runs)
        found = {
            "means": summary.levels(means),
            "differences": summary.differences(means, REFERENCE),
        }
        for name, table in found.items():
            table.to_csv(output / f"{each}-{name}.csv", index=False)
            print_table(table.columns, table.itertuples(index=False), f"{each}, {name}")
        summary.by_family(means).to_csv(output / f"{each}-families.csv", index=False)


def measured(part, tables, detectors, seeds, output):
    """Perform the runs that are not in the output yet; return those asked for."""
    tables = {table.file: table for table in tables}
    detectors = {(each.name, f"v{each.fingerprint()}"): each for each in detectors}
    load_once = functools.lru_cache(maxsize=1)(lambda file: load(tables[file]))

    def run(task):
        file, name, settings, seed = task
        table, (X, y) = tables[file], load_once(file)
        made = detectors[name, settings].build(seed=seed, n_features=X.shape[1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the other libraries
            values = MEASURES[part](made, X, y)
        suite = SUITES.get(table.group, table.group)
        return [(suite, table.dataset, len(X), *values)]

    tasks = [
        (file, *names, seed)
        for file in tables
        for names, each in detectors.items()
        for seed in range(seeds if each.takes_seed else 1)
    ]
    runs = Runs(output / f"{part}-runs.csv", KEY, VALUES).complete(tasks, run)
    return runs.set_index(list(KEY)).loc[tasks].reset_index()
