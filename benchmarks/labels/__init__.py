"""How much a few labels help, by what is asked and by who learns from it."""

import warnings
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from benchmarks._shared.options import ResultsFile, Seeds, Tables, some_of
from benchmarks._shared.results import Runs, print_table
from benchmarks._shared.sources import HALVES, half_of, source_means, source_of
from benchmarks._shared.tables import some_tasks, tables_at_hand
from benchmarks.labels._methods import GROUPS
from benchmarks.labels._protocol import MAX_ROWS, Exam, load

KEY = ("group", "table", "seed")
VALUES = (
    "family",
    "method",
    "budget",
    "n_labels",
    "auroc",
    "auprc",
    "f1",
    "flagged",
    "share",
)
BUDGETS = ("10", "20", "50", "100", "5%")
OTHER_VALUES = {
    "auroc": "AUROC",
    "f1": "F1 of the verdict",
    "flagged": "flagged",
    "share": "outliers asked",
}
MaxTasks = Annotated[
    int | None,
    typer.Option(min=1, help="Tasks of each family of KEEL; all by default."),
]
MaxSize = Annotated[
    int | None,
    typer.Option(min=1, help="Largest number of cells of a table; no limit by default"),
]


def labels(
    data: Tables = None,
    group: some_of(tuple(GROUPS)) = None,
    seeds: Seeds = 3,
    max_tasks: MaxTasks = None,
    max_cells: MaxSize = None,
    output: ResultsFile = Path("labels.csv"),
):
    """Ask about one half of the rows, and score the other half.

    All budgets are numbers of labels; the last one is 5 % of the rows, at most 500.
    Tables of more than 10,000 rows are sampled. SKIM_DATA_HOME and SKIM_KEEL_HOME name
    the folders of the data.
    """
    chosen = some_tasks(tables_at_hand(data or ["tabular", "keel"]), max_tasks)
    if max_cells is not None:
        chosen = [t for t in chosen if min(t.n, MAX_ROWS) * t.p <= max_cells]
    chosen = sorted(chosen, key=lambda table: min(table.n, MAX_ROWS) * table.p)
    by_file = {table.file: table for table in chosen}
    results = Runs(output, KEY, VALUES)
    for name in group:
        tasks = [(name, file, seed) for seed in range(seeds) for file in by_file]
        results.complete(tasks, lambda task: record(task, by_file[task[1]]))
    found = results.read()
    found = found[found["table"].isin(by_file) & (found["seed"] < seeds)]
    for title, part in parts(found):
        print_table(("AUPRC", *BUDGETS), summary(part, "auprc"), title)
    main = found[found["group"] == "networks"]
    for value, name in OTHER_VALUES.items():
        print_table((name, *BUDGETS), summary(main, value))
    ratio = main.loc[main["method"] == "time", "share"].median()
    print(f"A fit with labels takes {ratio:.2f} times one without, in the median.")


def record(task, table):
    """Return the lines of a group of methods on one table."""
    group, _, seed = task
    exam = Exam(*load(table), seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [(table.dataset, *line) for line in GROUPS[group](exam)]


def parts(found):
    """Yield results to compare: all tables, each half, and each rival's tables."""
    main = found[found["group"] == "networks"]
    sources = main["family"].map(source_of)
    yield f"{sources.nunique()} sources", main
    for half in HALVES:
        own = main[sources.map(half_of) == half]
        if len(own):
            yield f"{half}: {own['family'].map(source_of).nunique()} sources", own
    for group in found["group"].unique():
        if group != "networks":
            own = found[found["group"] == group]
            own = own.merge(main[["table", "seed"]].drop_duplicates())
            same = main.merge(own[["table", "seed"]].drop_duplicates())
            n_sources = same["family"].map(source_of).nunique()
            yield f"with {group}: {n_sources} sources", pd.concat([same, own])


def summary(part, value):
    """Yield the mean of a value for each method that has it, by budget."""
    for method, own in part.groupby("method", sort=False):
        if method != "time" and own[value].notna().any():
            means = [
                mean_over_sources(own[own["budget"] == budget], [value])[value]
                for budget in BUDGETS
            ]
            yield [method, *means]


def mean_over_sources(part, values):
    """Average over seeds, tasks, families and sources."""
    by_task = part.groupby(["family", "table"])[values].mean()
    families = by_task.index.get_level_values("family")
    return source_means(by_task.reset_index(drop=True), list(families)).mean()
