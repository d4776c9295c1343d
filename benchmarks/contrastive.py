"""What the learnt representation does to clusters and to detection."""

from pathlib import Path

import numpy as np
import typer
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics import roc_auc_score

from benchmarks._shared.options import ResultsFile, Seeds, Tables
from benchmarks._shared.results import Runs, print_table
from benchmarks._shared.tables import choose_tables
from skim import ALTBIDetector
from skim._detectors._scaling import InputScaler
from skim.datasets import fetch_adbench, make_im_clusters
from skim.embedding import ContrastiveEmbedder
from skim.theory import cluster_geometry, estimate_geometry

MAX_ROWS, MAX_FEATURES = 8000, 200  # of the tables, to keep the study short
KEY = ("clusters", "dataset", "seed")
VALUES = ("before", "after", "auroc_raw", "auroc")
UNCLUSTERED = 3  # clusters to split a table into that seems to have none
SIMULATIONS = {
    "default": {},
    "std 2.5": {"cluster_std": 2.5},
    "std 4": {"cluster_std": 4.0},
    "one small cluster": {"cluster_std": 1.5, "weights": [11, 1, 11]},
    "a quarter outliers": {"cluster_std": 2.0, "outlier_rate": 0.25},
    "5 features": {"n_features": 5, "cluster_std": 3.0, "outlier_distance": 8.0},
    "20 features": {"n_features": 20, "cluster_std": 3.0, "outlier_distance": 8.0},
}
CLASSES = {
    "breast cancer": load_breast_cancer,
    "digits": load_digits,
    "iris": load_iris,
    "wine": load_wine,
}
# The tables on which the embedder's defaults were chosen, with some of the
# simulations and classes; the others were held out.
CHOSEN_ON = (
    "breastw",
    "glass",
    "InternetAds",
    "letter",
    "mnist",
    "PageBlocks",
    "Pima",
    "SpamBase",
    "vertebral",
    "WDBC",
    "WPBC",
)
KINDS = ("true", "classes", "estimated")


def simulated(name, seed):
    """Return rows, outlier labels and true clusters of a simulation."""
    arguments = dict(SIMULATIONS[name])
    n_features = arguments.pop("n_features", None)
    if n_features:
        rng = np.random.default_rng(n_features)
        arguments["centers"] = rng.uniform(-10, 10, size=(4, n_features))
    return make_im_clusters(random_state=seed, **arguments)


def load(kind, name, seed):
    """Return rows, outlier labels or None, and clusters, with -1 for outliers."""
    if kind == "true":
        return simulated(name, seed)
    if kind == "classes":
        X, classes = CLASSES[name](return_X_y=True)
        return X, None, classes
    X, y = fetch_adbench(name, return_X_y=True)
    return X, np.asarray(y), clusters_before(X, np.asarray(y) == 1)


def clusters_before(X, is_outlier):
    """Find the clusters of the inliers in the scaled features."""
    rows = scaled(X)[~is_outlier]
    found = estimate_geometry(rows, n_resamples=1, random_state=0).geometry
    if len(found.centers) == 1:
        found = estimate_geometry(
            rows, n_clusters=UNCLUSTERED, n_resamples=1, random_state=0
        ).geometry
    clusters = np.full(len(X), -1)
    clusters[~is_outlier] = np.where(found.is_outlier, -1, found.clusters)
    return clusters


def scaled(X):
    """Scale as the embedder does before it starts."""
    return InputScaler("squash", centred=True).fit(X).transform(X)


def variation(X, clusters):
    """Return the mean distance to the own centre, in least distances of centres."""
    counted = clusters >= 0
    geometry = cluster_geometry(X[counted], clusters[counted])
    return geometry.distances.mean() / geometry.delta


def measure(task):
    """Return a line of the results file."""
    kind, name, seed = task
    X, y, clusters = load(kind, name, seed)
    X = np.asarray(X, dtype=np.float64)
    embedded = ContrastiveEmbedder(random_state=seed).fit_transform(X)
    values = [variation(scaled(X), clusters), variation(embedded, clusters)]
    for rows in (X, embedded):
        if y is None:
            values.append(np.nan)
        else:
            detector = ALTBIDetector(random_state=seed).fit(rows)
            values.append(roc_auc_score(y, -detector.training_scores_))
    return [values]


def by_dataset(runs):
    """Average over the seeds, ``{(kind, dataset): array of four values}``."""
    means = runs.groupby(["clusters", "dataset"])[list(VALUES)].mean()
    order = sorted(means.index, key=lambda key: (key[0], key[1].lower()))
    return {key: means.loc[key].to_numpy() for key in order}


def summary(means):
    """Yield one row for each kind of clusters, and for each half of the tables."""
    groups = {kind: [key for key in means if key[0] == kind] for kind in KINDS}
    for title, chosen in (("chosen on", True), ("confirmed on", False)):
        groups[f"estimated, {title}"] = [
            key for key in groups["estimated"] if (key[1] in CHOSEN_ON) == chosen
        ]
    for title, keys in groups.items():
        if keys:
            values = np.array([means[key] for key in keys])
            ratios = values[:, 1] / values[:, 0]
            better = f"{(ratios < 1).sum()} of {len(ratios)}"
            ratio = f"{np.exp(np.log(ratios).mean()):.2f}"
            yield [title, better, ratio, *values[:, 2:].mean(axis=0)]


def tasks_of(data, seeds):
    """Return what there is to measure."""
    tables = choose_tables(data or ["tabular"], local=True)
    small = [t for t in tables if t.n < MAX_ROWS and t.p < MAX_FEATURES]
    names = [table.file for table in sorted(small, key=lambda t: t.n * t.p)]
    every = {"true": SIMULATIONS, "classes": CLASSES, "estimated": names}
    return [
        (kind, name, seed)
        for seed in range(seeds)
        for kind, known in every.items()
        for name in known
    ]


def contrastive(
    data: Tables = None,
    seeds: Seeds = 1,
    output: ResultsFile = Path("contrastive.csv"),
):
    """Compare clusters and detection before and after ContrastiveEmbedder.

    Clusters are the true ones of simulations, the classes of known sets, and those
    that are found in small tables before embedding. SKIM_DATA_HOME names the folder
    of ADBench's data.
    """
    try:
        tasks = tasks_of(data, seeds)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    means = by_dataset(Runs(output, KEY, VALUES).complete(tasks, measure))
    areas = ("AUROC, raw", "AUROC, embedded")
    columns = ("clusters", "data set", "variation before", "after", *areas)
    print_table(columns, [(*key, *values) for key, values in means.items()])
    print_table(("clusters", "tighter", "after / before", *areas), summary(means))
