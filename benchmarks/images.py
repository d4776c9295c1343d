"""Outliers among images: raw pixels, the warm-up, and embeddings."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from sklearn.decomposition import PCA

from benchmarks._images import DATA, N_CLASSES, NETWORKS, embed
from benchmarks._one_class import (
    METHODS,
    PAPER,
    PAPER_EMA,
    RAW,
    Study,
    carry_out,
    check_names,
    one_class,
    score,
)
from skim.datasets import load_published_scores

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


def plan(data, representations, methods, classes, seeds):
    """Yield the runs of the study, first those of the first seed.

    Parameters
    ----------
    data, representations, methods : list of str
    classes : list of int
    seeds : int

    Yields
    ------
    key : tuple
        As in `KEY`.
    """
    for seed in range(seeds):
        for method in methods:
            for representation in representations:
                suffixes = [PAPER] if representation == RAW else []
                suffixes += [PAPER_EMA, ""]
                for inliers in classes:
                    for name in data:
                        for suffix in suffixes:
                            yield name, inliers, seed, representation, method + suffix


def run(images, labels, key):
    """Return the metrics and the processor seconds of one run.

    Parameters
    ----------
    images : ndarray of shape (n, ...)
        Pixels or features of the whole set.
    labels : ndarray of shape (n,)
    key : tuple
        As in `KEY`.
    """
    _, inliers, seed, representation, detector = key
    rows, y = one_class(labels, inliers, seed)
    X = images[rows].reshape(len(rows), -1).astype(np.float32)
    if representation == RAW:
        X /= 255
    if min(X.shape) > N_COMPONENTS:
        X = PCA(N_COMPONENTS, svd_solver="full").fit_transform(X)
    return score(detector, seed, X, y)


def columns():
    """Return what the summary compares, ``{title: (representation, suffix)}``."""
    paper = {"raw": (RAW, PAPER), "+EMA": (RAW, PAPER_EMA)}
    paper |= {f"+EMA +{name}": (name, PAPER_EMA) for name in NETWORKS}
    default = {"default, raw": (RAW, "")}
    default |= {f"default, {name}": (name, "") for name in NETWORKS}
    return paper | default


def published(data, method, metric):
    """Return what the paper reports for raw, +EMA and +EMA +ViT; None where nothing."""
    raw = PUBLISHED_RAW[data, method] if metric == "auroc" else (None, None)
    return *raw, load_published_scores(metric)[f"{method}+EMA+embedding"][data]


STUDY = Study(
    tuple(DATA),
    columns(),
    ("published raw", "published +EMA", "published +EMA +ViT"),
    published,
)


class Source:
    """Pixels or features of whole sets, loaded when they are needed first."""

    def __init__(self, memory=None):
        self.memory = memory
        self.sets: dict = {}
        self.features: dict = {}

    def __call__(self, data, representation):
        """Return images, or their features, and labels."""
        if data not in self.sets:
            self.sets[data] = DATA[data]()
        images, labels = self.sets[data]
        if representation == RAW:
            return images, labels
        if (data, representation) not in self.features:
            features = embed(images, representation, self.memory)
            self.features[data, representation] = features
        return self.features[data, representation], labels


def images(
    data: Annotated[
        list[str] | None, typer.Option(help=f"{' or '.join(DATA)}; both if none.")
    ] = None,
    representation: Annotated[
        list[str] | None,
        typer.Option(help=f"Some of {RAW}, {', '.join(NETWORKS)}; all if none."),
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option(help=f"{' or '.join(METHODS)}; both if none.")
    ] = None,
    classes: Annotated[
        int, typer.Option(min=1, max=N_CLASSES, help="The first so many classes.")
    ] = N_CLASSES,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds.")] = 3,
    output: Annotated[
        Path, typer.Option(help="Results file; what is in it is not done again.")
    ] = Path("images-results/results.csv"),
):
    """Find images of other classes among those of one class, as in the paper.

    Each class of the test sets in turn is the inliers, and 5 % of all rows are images
    of the other classes. Needs what `python -m benchmarks weights` downloads. The
    paper's settings are used with 2 codes instead of 50, and the defaults.
    """
    check_names(data, DATA, "--data")
    check_names(representation, (RAW, *NETWORKS), "--representation")
    check_names(method, METHODS, "--method")
    every = plan(
        data or list(DATA),
        representation or [RAW, *NETWORKS],
        method or METHODS,
        list(range(classes)),
        seeds,
    )
    source = Source()
    carry_out(STUDY, every, lambda key: run(*source(key[0], key[3]), key), output)
