"""The paper's ablation on tables: raw, with the warm-up, and with TabPFN as well."""

from functools import lru_cache
from itertools import product
from pathlib import Path

import torch
from joblib import Memory

from benchmarks._shared.options import ResultsFile, Seeds, some_of
from benchmarks._shared.representations import METHODS, RAW, Study
from skim.datasets import fetch_adbench, load_published_scores
from skim.embedding import TabPFNEmbedder, weights_home

# The tables of the paper's list that ADBench's repository shares, smallest first.
DATA = (
    "yeast",
    "PageBlocks",
    "magic.gamma",
    "landsat",
    "SpamBase",
    "shuttle",
    "ALOI",
    "campaign",
)
# Other small tables, to see whether a gain carries over. They take part if named.
OTHERS = (
    "breastw",
    "cardio",
    "glass",
    "Hepatitis",
    "letter",
    "Lymphography",
    "pendigits",
    "Pima",
    "satimage-2",
    "thyroid",
    "vertebral",
    "WBC",
    "WDBC",
    "wine",
    "WPBC",
)
# The embeddings: the mean over a row's cells, and the cell of its target.
POOLING = {"TabPFN": "mean", "TabPFN-target": "target"}
COLUMNS = {
    "raw": (RAW, ""),
    "+TabPFN": ("TabPFN", ""),
    "+TabPFN, target": ("TabPFN-target", ""),
    "paper's: raw": (RAW, "-paper"),
    "paper's: +EMA": (RAW, "-paper+EMA"),
    "paper's: +EMA +TabPFN": ("TabPFN", "-paper+EMA"),
    "paper's: +EMA +TabPFN, target": ("TabPFN-target", "-paper+EMA"),
}
PUBLISHED = {
    "published: raw": "",
    "published: +EMA": "+EMA",
    "published: +EMA +TabPFN": "+EMA+embedding",
}


def published(data, method, metric):
    """Return what the paper reports for a table."""
    scores = load_published_scores(metric)
    return [scores[method + suffix][data] for suffix in PUBLISHED.values()]


STUDY = Study(
    {name: (name,) for name in DATA}
    | {"mean": DATA}
    | {name: (name,) for name in OTHERS}
    | {"mean of others": OTHERS},
    COLUMNS,
    tuple(PUBLISHED),
    published,
    key=("data", "seed", "representation", "detector"),
)


@lru_cache(maxsize=1)
def load(name, representation):
    """Return the rows of a table, as they are or embedded, and the labels."""
    X, y = fetch_adbench(name, return_X_y=True)
    if representation != RAW:
        memory = Memory(weights_home() / "embeddings", verbose=0)
        X = memory.cache(embed)(X, POOLING[representation])
    return X, y


def embed(X, pooling):
    torch.set_num_threads(1)
    return TabPFNEmbedder(pooling=pooling, random_state=0).fit_transform(X)


def tabpfn(
    data: some_of((*DATA, *OTHERS), DATA) = None,
    method: some_of(METHODS) = None,
    column: some_of(COLUMNS) = None,
    seeds: Seeds = 3,
    output: ResultsFile = Path("tabpfn-results/results.csv"),
):
    """Compare raw tables with TabPFN's embeddings, as in the paper's ablation.

    Needs ADBench's data. The context of the embeddings is the same for all seeds of a
    detector. Every table is embedded once; embeddings are kept in the folder of the
    weights.
    """
    tasks = [
        (name, seed, COLUMNS[each][0], detector + COLUMNS[each][1])
        for seed, each, detector, name in product(range(seeds), column, method, data)
    ]
    STUDY.carry_out(tasks, lambda task: load(task[0], task[2]), output)
