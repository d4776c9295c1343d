"""The paper's ablation on tables: raw, with the warm-up, and with TabPFN as well."""

from functools import lru_cache
from pathlib import Path

from benchmarks._shared.options import ResultsFile, Seeds, some_of
from benchmarks._shared.representations import METHODS, RAW, Study
from benchmarks._shared.tables import TABLES
from skim.datasets import fetch_adbench, load_published_scores
from skim.datasets._adbench import sizes
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
OTHERS = tuple(
    name
    for name, (n_rows, n_columns) in sizes().items()
    if name in {*TABLES} - {*DATA} and n_rows < 10_000 and n_columns < 50
)
# The embeddings: the mean over a row's cells, and the cell of its target.
POOLING = {"TabPFN": "mean", "TabPFN-target": "target"}
PAPERS_EMA = "-paper+EMA"
COLUMNS = {
    "raw": (RAW, ""),
    "+TabPFN": ("TabPFN", ""),
    "+TabPFN, target": ("TabPFN-target", ""),
    "paper's: raw": (RAW, "-paper"),
    "paper's: +EMA": (RAW, PAPERS_EMA),
    "paper's: +EMA +TabPFN": ("TabPFN", PAPERS_EMA),
    "paper's: +EMA +TabPFN, target": ("TabPFN-target", PAPERS_EMA),
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


def plan(data, methods, columns, seeds):
    """Yield the runs, those of the first seed first."""
    for seed in range(seeds):
        for column in columns:
            representation, suffix = COLUMNS[column]
            for method in methods:
                for name in data:
                    yield name, seed, representation, method + suffix


def read_embedded(path):
    """Return the AUROC of embedded tables with the papers' settings, by method.

    `path` is the results file of this study, or its folder.
    """
    path = path / "results.csv" if path.is_dir() else path
    if not path.exists():
        raise ValueError(f"There is no {path}.")
    runs = STUDY.runs(path).read()
    runs = runs[runs["representation"] == "TabPFN"]
    return {
        method: own.groupby("data")["auroc"].mean().to_dict()
        for method in METHODS
        for own in [runs[runs["detector"] == method + PAPERS_EMA]]
    }


def load(name, representation, memory):
    """Return the rows of a table, as they are or embedded, and the labels."""
    X, y = fetch_adbench(name, return_X_y=True)
    if representation != RAW:
        X = TabPFNEmbedder(
            pooling=POOLING[representation],
            random_state=0,
            n_jobs=1,
            memory=memory,
        ).fit_transform(X)
    return X, y


def tabpfn(
    data: some_of((*DATA, *OTHERS), DATA) = None,
    method: some_of(METHODS) = None,
    column: some_of(COLUMNS) = None,
    seeds: Seeds = 3,
    output: ResultsFile = Path("tabpfn-results/results.csv"),
):
    """Compare raw tables with TabPFN's embeddings, as in the paper's ablation.

    Needs what `python -m benchmarks weights` downloads, and ADBench's data. The
    context of the embeddings is the same for all seeds of a detector. Every table is
    embedded once; embeddings are kept in the folder of the weights.
    """
    memory = str(weights_home() / "embeddings")
    load_once = lru_cache(maxsize=1)(load)

    def run(task):
        name, _, representation, detector = task
        return *load_once(name, representation, memory), detector

    STUDY.carry_out(plan(data, method, column, seeds), run, output)
