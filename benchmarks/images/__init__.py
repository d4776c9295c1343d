"""Outliers among images: raw pixels, the warm-up, and embeddings."""

from functools import cache
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from sklearn.decomposition import PCA

from benchmarks._shared.options import ResultsFile, Seeds, some_of
from benchmarks._shared.representations import (
    METHODS,
    PAPER,
    PAPER_EMA,
    RAW,
    Study,
    one_class,
)
from benchmarks.images._sets import DATA, N_CLASSES, NETWORKS, embed
from skim.datasets import load_published_scores

REPRESENTATIONS = (RAW, *NETWORKS)
# Pixels and features alike are reduced to their first principal components, so that a
# fit takes seconds and not minutes.
N_COMPONENTS = 128

# Mean AUROC over the ten classes that Table B.3 of the paper gives for raw pixels; for
# features of a ViT, it gives what `load_published_scores` has.
PUBLISHED_RAW = {
    ("CIFAR10", "ALTBI"): (0.576, 0.576),
    ("CIFAR10", "ODIM"): (0.578, 0.579),
    ("FashionMNIST", "ALTBI"): (0.901, 0.902),
    ("FashionMNIST", "ODIM"): (0.893, 0.892),
}


def published(data, method, metric):
    """Return what the paper reports for raw, +EMA and +EMA +ViT, or NaN."""
    raw = PUBLISHED_RAW[data, method] if metric == "auroc" else (np.nan, np.nan)
    return *raw, load_published_scores(metric)[f"{method}+EMA+embedding"][data]


STUDY = Study(
    {name: (name,) for name in DATA},
    {"raw": (RAW, PAPER), "+EMA": (RAW, PAPER_EMA)}
    | {f"+EMA +{name}": (name, PAPER_EMA) for name in NETWORKS}
    | {f"default, {name}": (name, "") for name in REPRESENTATIONS},
    ("published raw", "published +EMA", "published +EMA +ViT"),
    published,
)


def plan(data, representations, methods, classes, seeds):
    """Yield the runs of the study, those of the first seed first."""
    for seed in range(seeds):
        for method in methods:
            for representation in representations:
                suffixes = [PAPER] if representation == RAW else []
                suffixes += [PAPER_EMA, ""]
                for inliers in classes:
                    for name in data:
                        for suffix in suffixes:
                            yield name, inliers, seed, representation, method + suffix


def select(images, labels, inliers, seed):
    """Return the rows of a task, as principal components, and its labels."""
    rows, y = one_class(labels, inliers, seed)
    X = images[rows].reshape(len(rows), -1).astype(np.float32)
    if images.dtype == np.uint8:  # pixels
        X /= 255
    if min(X.shape) > N_COMPONENTS:
        X = PCA(N_COMPONENTS, svd_solver="full").fit_transform(X)
    return X, y


def images(
    data: some_of(DATA) = None,
    representation: some_of(REPRESENTATIONS) = None,
    method: some_of(METHODS) = None,
    classes: Annotated[
        int,
        typer.Option(min=1, max=N_CLASSES, help="How many classes, from the first."),
    ] = N_CLASSES,
    seeds: Seeds = 3,
    output: ResultsFile = Path("images-results/results.csv"),
):
    """Find images of other classes among those of one class, as in the paper.

    Each class of the test sets in turn is the inliers, and 5 % of all rows are images
    of the other classes. Needs what `python -m benchmarks weights` downloads. The
    paper's settings are used with 2 codes instead of 50, and the defaults.
    """
    load = cache(lambda name: DATA[name]())
    features = cache(lambda name, network: embed(load(name)[0], network))

    def run(task):
        name, inliers, seed, shown, detector = task
        rows, labels = load(name)
        rows = rows if shown == RAW else features(name, shown)
        return *select(rows, labels, inliers, seed), detector

    tasks = plan(data, representation, method, range(classes), seeds)
    STUDY.carry_out(tasks, run, output)
