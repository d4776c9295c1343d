"""Studies that compare representations of the same rows: tasks, runs, summary."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
import typer

from benchmarks._shared.detectors import DETECTORS
from benchmarks._shared.measure import METRICS, measure
from benchmarks._shared.results import Runs, print_table
from skim.embedding import MissingWeightsError

RAW = "raw"
KEY = ("data", "inliers", "seed", "representation", "detector")
VALUES = (*METRICS, "cpu_seconds")
METHODS = ("ALTBI", "ODIM")


class Study(NamedTuple):
    """What the summary of a study compares.

    `rows` maps titles to the data sets that a row averages over. `columns` maps titles
    to a representation and what follows the method in the detector's name.
    `published` takes data, method and metric, and returns what was reported elsewhere
    for each of `published_titles`, NaN where nothing was.
    """

    rows: dict
    columns: dict
    published_titles: tuple = ()
    published: Callable = lambda *task: ()
    key: tuple = KEY

    def carry_out(self, tasks, load, output):
        """Do what is not in the results file yet, and summarise what is then there.

        `load` takes a run and returns its rows and labels.
        """

        def run(task):
            X, y = load(task)
            seed = task[self.key.index("seed")]
            result = measure(DETECTORS[task[-1]].build(seed=seed), X, y)
            return [(result.auroc, result.auprc, result.cpu_seconds)]

        try:
            runs = Runs(output, self.key, VALUES).complete(tasks, run)
        except MissingWeightsError as error:
            raise typer.BadParameter(str(error)) from None
        table = self.summary(runs)
        table.to_csv(output.with_name("summary.csv"), index=False, float_format="%.4f")
        shown = [name for name in table if not name.startswith(("metric", "runs of "))]
        for metric, own in table.groupby("metric", sort=False):
            print_table(shown, own[shown].itertuples(index=False), metric.upper())

    def summary(self, runs):
        """Return a table of mean metrics, and of how many runs each is the mean."""
        rows = []
        for metric in METRICS:
            for title, data in self.rows.items():
                for method in METHODS:
                    row = {"metric": metric, "data": title, "detector": method}
                    for column, (representation, suffix) in self.columns.items():
                        chosen = runs[
                            runs["data"].isin(data)
                            & (runs["representation"] == representation)
                            & (runs["detector"] == method + suffix)
                        ]
                        row[column] = self._mean(chosen, data, metric)
                        row[f"runs of {column}"] = len(chosen)
                    told = [self.published(each, method, metric) for each in data]
                    means = np.mean(told, axis=0)
                    rows.append(
                        row | dict(zip(self.published_titles, means, strict=True))
                    )
        return pd.DataFrame(rows)

    def _mean(self, runs, data, metric):
        """Average over seeds, classes and data; NaN unless every data set is there."""
        names = [name for name in self.key if name != "seed"]
        by_data = runs.groupby(names)[metric].mean().groupby("data").mean()
        return by_data.mean() if len(by_data) == len(data) else np.nan


def one_class(labels, inliers, seed, share=0.05):
    """Choose all rows of one class, and outliers from the others.

    Returns the rows in ascending order, and 1 for the outliers among them, which are
    the given share.
    """
    is_inlier = labels == inliers
    n_outliers = round(is_inlier.sum() * share / (1 - share))
    rng = np.random.default_rng([seed, inliers])
    outliers = rng.choice(np.flatnonzero(~is_inlier), n_outliers, replace=False)
    rows = np.sort(np.concatenate([np.flatnonzero(is_inlier), outliers]))
    return rows, (labels[rows] != inliers).astype(int)
