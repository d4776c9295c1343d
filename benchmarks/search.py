"""What a search over epochs costs, in trainings."""

import time
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from sklearn.model_selection import GridSearchCV, cross_val_score

from benchmarks.detectors import DETECTORS
from skim import ALTBIDetector
from skim.datasets import fetch_adbench
from skim.metrics import get_scorer
from skim.model_selection import EpochSearchCV, OutlierKFold

SCORER = get_scorer("outlier_roc_auc")


def seconds(run):
    """Return how long it takes to call something."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def costs(name, dataset, n_values, n_splits, grid):
    """Measure trainings alone, our search and, if wanted, a plain grid search.

    Returns
    -------
    costs : dict of str to float
        Seconds. All have the same folds, and nothing is fitted to all data.
    """
    X, y = fetch_adbench(dataset, return_X_y=True)
    detector = DETECTORS[name].build(seed=0)
    if isinstance(detector, ALTBIDetector):
        detector.set_params(patience=None)  # a training is one of all epochs
    last = min(detector.epochs, 100)
    values = np.unique(np.linspace(1, last, n_values).round().astype(int)).tolist()
    detector.set_params(epochs=last)
    params = {"cv": OutlierKFold(n_splits), "scoring": SCORER}
    searches = {"EpochSearchCV": EpochSearchCV}
    if grid:
        searches["GridSearchCV"] = GridSearchCV
    trainings = lambda: cross_val_score(detector, X, y, **params)  # noqa: E731
    trainings()  # loads torch
    found = {"one training a fold": seconds(trainings)}
    for title, search in searches.items():
        made = search(detector, {"epochs": values}, refit=False, **params)
        found[title] = seconds(lambda made=made: made.fit(X, y))
    return found


def search(
    data: Annotated[list[str], typer.Option(help="A data set.")] = ["cardio"],  # noqa: B006
    detector: Annotated[list[str], typer.Option(help="One of ours.")] = ["ALTBI"],  # noqa: B006
    values: Annotated[int, typer.Option(min=2, help="Numbers of epochs to try.")] = 20,
    folds: Annotated[int, typer.Option(min=2, help="Number of folds.")] = 3,
    grid: Annotated[
        bool, typer.Option(help="Whether to run GridSearchCV, too.")
    ] = True,
):
    """Measure what a search over epochs costs, beside one training a fold."""
    table = Table("detector", "data set", "what", "seconds", "ratio")
    for dataset in data:
        for name in detector:
            found = costs(name, dataset, values, folds, grid)
            base = found["one training a fold"]
            for title, took in found.items():
                ratio = f"{took / base:.2f}"
                table.add_row(name, dataset, title, f"{took:.1f}", ratio)
    Console().print(table)
