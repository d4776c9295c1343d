"""Errors planted in real tables of mixed types: which detector finds them."""

import time
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from benchmarks._shared.options import ResultsFile, Seeds, some_of
from benchmarks._shared.results import Runs, print_table
from benchmarks.tables._detectors import (
    ENCODINGS,
    OTHERS,
    SKIM,
    encode,
    recall,
    score,
)
from benchmarks.tables._errors import KINDS, Columns, applies, plant
from benchmarks.tables._known import CHANGES, changed, findings
from benchmarks.tables._sources import HOME, SOURCES, at_hand, load, typed

KEY = ("table", "kind", "seed", "detector", "encoding")
VALUES = ("rows", "planted", "recall", "right in ten", "seconds")
CONTENDERS = (
    (SKIM, ENCODINGS[1]),
    *((name, encoding) for encoding in ENCODINGS for name in OTHERS),
)
MEAN = "all"
N_DRAWS = 10_000


def plan(tables, kinds, detectors, seeds, folder=None):
    """Yield the runs of the study, those of the first seed first."""
    for seed in range(seeds):
        for name in tables:
            columns = _columns(name, folder)
            for kind in kinds:
                if applies(kind, columns):
                    for detector, encoding in CONTENDERS:
                        if detector in detectors:
                            yield name, kind, seed, detector, encoding


@cache
def _columns(name, folder):
    return Columns.of(load(name, folder))


def runner(folder=None):
    """Return the function that performs a run; runs in a row share their table."""

    @lru_cache(maxsize=1)
    def spoilt(name, kind, seed):
        columns = _columns(name, folder)
        text, planted = plant(load(name, folder), kind, seed, name, columns)
        return typed(text), planted

    @lru_cache(maxsize=1)
    def encoded(name, kind, seed, encoding):
        return encode(spoilt(name, kind, seed)[0], encoding)

    def run(task):
        name, kind, seed, detector, encoding = task
        table, planted = spoilt(name, kind, seed)
        features = None
        if detector != SKIM:
            features = encoded(name, kind, seed, encoding)
        start = time.process_time()
        scores = np.asarray(score(detector, table, seed, features))
        seconds = time.process_time() - start
        right = 10 - int(np.isin(planted, np.argsort(-scores)[:10]).sum())
        return [(len(table), len(planted), recall(scores, planted), right, seconds)]

    return run


def by(runs, what):
    """Return mean recalls, a row for each kind or table and one for all of them.

    Seeds are averaged first, so that every pair of table and kind counts the same.
    """
    runs = runs.assign(contender=runs["detector"] + ", " + runs["encoding"])
    pairs = runs.groupby(["table", "kind", "contender"])["recall"].mean()
    means = pairs.groupby([what, "contender"]).mean().unstack()
    order = KINDS if what == "kind" else SOURCES
    means = means.reindex([name for name in order if name in means.index])
    means.loc[MEAN] = pairs.groupby("contender").mean()
    order = [", ".join(contender) for contender in CONTENDERS]
    means = means[[name for name in order if name in means]]
    n_pairs = pairs.index.droplevel("contender").unique().to_frame(index=False)
    counts = n_pairs.groupby(what).size()
    means.insert(0, "runs", [*counts.reindex(means.index[:-1]), len(n_pairs)])
    return means.reset_index(names=what)


def differences(runs):
    """Return by how much skim is ahead of each of the others, with 95 % intervals.

    For the intervals, tables are drawn with replacement. A table is won or lost by
    its mean recall.
    """
    keys = ["detector", "encoding"]
    pairs = runs.groupby(["table", "kind", *keys])["recall"].mean().unstack(keys)
    rows = []
    for contender in CONTENDERS[1:]:
        if contender not in pairs or CONTENDERS[0] not in pairs:
            continue
        ahead = (pairs[CONTENDERS[0]] - pairs[contender]).dropna().groupby("table")
        sums, sizes, means = ahead.sum(), ahead.size(), ahead.mean().round(9)
        rng = np.random.default_rng(0)
        drawn = rng.integers(len(sums), size=(N_DRAWS, len(sums)))
        draws = sums.to_numpy()[drawn].sum(axis=1) / sizes.to_numpy()[drawn].sum(axis=1)
        row = dict(zip(keys, contender, strict=True))
        row["ahead by"] = sums.sum() / sizes.sum()
        row["low"], row["high"] = np.percentile(draws, [2.5, 97.5])
        rows.append(row | {"won": (means > 0).sum(), "lost": (means < 0).sum()})
    return pd.DataFrame(rows)


def tables(
    data: some_of(tuple(SOURCES)) = None,
    kind: some_of(tuple(KINDS)) = None,
    detector: some_of((SKIM, *OTHERS)) = None,
    seeds: Seeds = 2,
    folder: Annotated[
        Path | None,
        typer.Option(help=f"Folder of the CSV and JSON tables; by default ${HOME}."),
    ] = None,
    output: ResultsFile = Path("tables-results/results.csv"),
):
    """Find errors that are planted in real tables of mixed types.

    One kind of error at a time goes into 1 % of the rows. The recall is the share of
    these rows among as many strangest ones. Tables that are not here are left out.
    """
    here = [name for name in data if name in at_hand(folder)]
    if not here:
        raise typer.BadParameter(f"no such table here; set {HOME} to its folder.")
    tasks = list(plan(here, kind, detector, seeds, folder))
    runs = Runs(output, KEY, VALUES).complete(tasks, runner(folder))
    for what in ("kind", "table"):
        means = by(runs, what)
        means.to_csv(
            output.with_name(f"by_{what}.csv"), index=False, float_format="%.3f"
        )
        print_table(means.columns, means.itertuples(index=False), f"recall by {what}")
    if SKIM not in detector:
        return
    ahead = differences(runs)
    ahead.to_csv(output.with_name("differences.csv"), index=False, float_format="%.3f")
    print_table(ahead.columns, ahead.itertuples(index=False), "skim against others")
    whole = Runs(output.with_name("whole.csv"), ("table",), ("finding", "value"))
    tasks = [(name,) for name in here]
    whole = whole.complete(tasks, lambda task: list(findings(*task, folder)))
    print_table(whole.columns, whole.itertuples(index=False), "as they are")
    keys = ("table", "column", "before", "after")
    single = Runs(output.with_name("single.csv"), keys, ("rank", "flagged"))
    tasks = [change for change in CHANGES if change[0] in here]
    single = single.complete(tasks, lambda task: [changed(task, folder)])
    print_table(single.columns, single.itertuples(index=False), "one cell made wrong")
    if len(single):
        print(f"in the first 20: {(single['rank'] <= 20).mean():.2f}")
