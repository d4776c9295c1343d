"""What a search over epochs costs, in multiples of a single fit per fold."""

from typing import Annotated

import numpy as np
import typer
from sklearn.model_selection import GridSearchCV, cross_val_score

from benchmarks._shared.detectors import DETECTORS
from benchmarks._shared.processes import seconds
from benchmarks._shared.results import print_table
from skim import ALTBIDetector
from skim.datasets import fetch_adbench
from skim.metrics import get_scorer
from skim.model_selection import EpochSearchCV, OutlierKFold

BASE = "one fit per fold"


def costs(name, dataset, n_values, n_splits, grid):
    """Time plain fits, our search and, if wanted, a plain grid search.

    Returns
    -------
    costs : dict of str to float
        Seconds. All have the same folds, and nothing is fitted to all data.
    """
    X, y = fetch_adbench(dataset, return_X_y=True)
    detector = DETECTORS[name].build(seed=0)
    if isinstance(detector, ALTBIDetector):
        detector.set_params(patience=None)  # every fit has the same number of epochs
    last = min(detector.epochs, 100)
    values = np.unique(np.linspace(1, last, n_values).round().astype(int)).tolist()
    detector.set_params(epochs=last)
    params = {"cv": OutlierKFold(n_splits), "scoring": get_scorer("outlier_roc_auc")}
    cross_val_score(detector, X, y, **params)  # loads torch
    found = {BASE: seconds(lambda: cross_val_score(detector, X, y, **params))}
    for search in (EpochSearchCV, GridSearchCV) if grid else (EpochSearchCV,):
        made = search(detector, {"epochs": values}, refit=False, **params)
        found[search.__name__] = seconds(lambda made=made: made.fit(X, y))
    return found


def search(
    data: Annotated[list[str], typer.Option(help="A data set.")] = ["cardio"],  # noqa: B006
    detector: Annotated[list[str], typer.Option(help="One of ours.")] = ["ALTBI"],  # noqa: B006
    values: Annotated[int, typer.Option(min=2, help="Numbers of epochs to try.")] = 20,
    folds: Annotated[int, typer.Option(min=2, help="Number of folds.")] = 3,
    grid: Annotated[bool, typer.Option(help="Whether to run GridSearchCV too.")] = True,
):
    """Compare the cost of a search over epochs with that of one fit per fold."""
    rows = []
    for dataset in data:
        for name in detector:
            found = costs(name, dataset, values, folds, grid)
            for title, took in found.items():
                rows.append((name, dataset, title, took, took / found[BASE]))
    print_table(
        ("detector", "data set", "what", "seconds", "ratio"), rows, digits=".2f"
    )
