"""Outliers among images: pixels, and embeddings by a vision transformer."""

from functools import cache
from itertools import product
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from sklearn.decomposition import PCA

from benchmarks._shared.options import ResultsFile, Seeds, some_of
from benchmarks._shared.representations import METHODS, RAW, Study, one_class
from skim.datasets import load_published_scores
from skim.embedding import ViTEmbedder

DATA = ("CIFAR10", "FashionMNIST")
EMBEDDED = "ViT"
N_CLASSES = 10
# Pixels and features alike are reduced to their first principal components, so that a
# fit takes seconds and not minutes.
N_COMPONENTS = 128


def published(data, method, metric):
    """Return what the paper reports for features of a ViT, with the warm-up."""
    return (load_published_scores(metric)[f"{method}+EMA+embedding"][data],)


STUDY = Study(
    {name: (name,) for name in DATA},
    {RAW: (RAW, ""), EMBEDDED: (EMBEDDED, "")},
    ("published +EMA +ViT",),
    published,
)


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
    representation: some_of((RAW, EMBEDDED)) = None,
    method: some_of(METHODS) = None,
    classes: Annotated[
        int,
        typer.Option(min=1, max=N_CLASSES, help="How many classes, from the first."),
    ] = N_CLASSES,
    seeds: Seeds = 3,
    folder: Annotated[
        Path, typer.Option(help="Folder with CIFAR10.npz and FashionMNIST.npz.")
    ] = Path("images"),
    output: ResultsFile = Path("images-results/results.csv"),
):
    """Find images of other classes among those of one class, as in the paper.

    Each class in turn is the inliers, and 5 % of all rows are images of the other
    classes. Files have arrays `images`, of bytes, and `labels` from 0 to 9.
    """
    for name in data:
        if not (folder / f"{name}.npz").exists():
            raise typer.BadParameter(f"{name}.npz is not in {folder}; see --folder.")

    @cache
    def load(name):
        with np.load(folder / f"{name}.npz") as arrays:
            return arrays["images"], arrays["labels"]

    @cache
    def embedded(name):
        return ViTEmbedder().fit_transform(load(name)[0])

    def load_task(task):
        name, inliers, seed, shown, _ = task
        rows = load(name)[0] if shown == RAW else embedded(name)
        return select(rows, load(name)[1], inliers, seed)

    tasks = [
        (name, inliers, seed, shown, detector)
        for seed, detector, shown, inliers, name in product(
            range(seeds), method, representation, range(classes), data
        )
    ]
    STUDY.carry_out(tasks, load_task, output)
