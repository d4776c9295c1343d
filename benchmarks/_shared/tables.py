"""Which tables a study is run on, and which of their rows."""

import hashlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import typer

from benchmarks._shared.keel import keel_paths
from skim.datasets import list_adbench
from skim.datasets._adbench import (
    adbench_files,
    data_home_of,
    dataset_of,
    find_adbench,
    group_names,
    load_npz,
    nearest,
    sizes,
)

MAX_ROWS = 10_000  # of either kind that are scored while a detector is trained
N_WATCHED_ROWS = 1024  # by which a detector is judged while it is trained
# The tables of ADBench that choices were made with.
TABLES = [
    "ALOI",
    "breastw",
    "campaign",
    "cardio",
    "cover",
    "donors",
    "glass",
    "Hepatitis",
    "http",
    "InternetAds",
    "landsat",
    "letter",
    "Lymphography",
    "magic.gamma",
    "mnist",
    "musk",
    "PageBlocks",
    "pendigits",
    "Pima",
    "satimage-2",
    "shuttle",
    "smtp",
    "SpamBase",
    "thyroid",
    "vertebral",
    "WBC",
    "WDBC",
    "wine",
    "WPBC",
    "yeast",
]


class Table(NamedTuple):
    """A data set, or a part of one, and its numbers of rows and features.

    `path` is None for the data sets of ADBench. The `dataset` of a task of KEEL is its
    family, such as "keel/glass".
    """

    file: str
    dataset: str
    group: str
    n: int
    p: int
    path: str | None = None


def choose_tables(names, *, data_home=None, local=False):
    """Return the tables of some names, without repetitions.

    Names are those of `list_adbench` or `fetch_adbench`, numbers, groups, "all",
    "keel", a family or a task of it ("keel/glass", "keel/glass0"), or the path of an
    .npz file with arrays X and y. If `local`, files that would have to be downloaded to
    `data_home`, and tasks that would have to be made, are left out.
    """
    own = [name for name in names if name.endswith(".npz") and Path(name).exists()]
    keel = [name for name in names if name.split("/")[0] == "keel"]
    others = [name for name in names if name not in {*own, *keel}]
    chosen = {file.name: file for name in others for file in _files(name)}
    home = data_home_of(data_home)
    size = sizes()
    tables = [
        Table(file.name, file.dataset, file.group, *size[file.dataset])
        for file in chosen.values()
        if not local or (home / file.path).exists()
    ]
    tables += _keel_tables(keel, make=not local)
    return tables + _own_tables([Path(name) for name in own])


def tables_at_hand(names):
    """Return the tables of some names, by default all, whose files are here.

    For commands: wrong names are reported to the user.
    """
    try:
        tables = choose_tables(names or ["tabular"], local=True)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    if not tables:
        raise typer.BadParameter("no such data here; set SKIM_DATA_HOME to its folder.")
    return tables


def _keel_tables(names, make):
    if not names:
        return []
    tables = [
        Table(f"keel/{task}", f"keel/{family}", "keel", *_shape(path), str(path))
        for (family, task), path in keel_paths(make=make).items()
    ]
    chosen = [t for t in tables if {"keel", t.dataset, t.file} & {*names}]
    known = {"keel"}.union(*((table.dataset, table.file) for table in chosen))
    for name in names:
        if tables and name not in known:
            near = nearest(name, sorted(t.file for t in tables))
            raise ValueError(f"There is no task or family {name!r}. {near}")
    return chosen


def _shape(path):
    X, _ = load_npz(path)
    return X.shape


def _own_tables(paths):
    tables = {}
    for path in paths:
        X, _ = load_npz(path)
        if path.stem in tables:
            raise ValueError(f"two files are called {path.stem}; rename one of them")
        # A file whose content has changed is another table.
        content = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
        file = f"{path.stem}@{content}"
        tables[path.stem] = Table(file, path.stem, "own", *X.shape, str(path.resolve()))
    return list(tables.values())


def _files(name):
    if name == "all":
        return adbench_files()
    if name.isdecimal():
        return adbench_files(dataset_of(int(name)))
    if name.lower() in [group.lower() for group in group_names()]:
        return adbench_files(name)
    try:
        return [find_adbench(name)]
    except ValueError:
        names = ["all", *group_names(), *list_adbench()]
        raise ValueError(
            f"There is no data set or group {name!r}. {nearest(name, names)}"
        ) from None


def draw_rows(y, seed):
    """Draw rows to score, at most `MAX_ROWS` of either kind, and others to watch."""
    rng = np.random.default_rng(seed)
    kinds = [rng.permutation(np.flatnonzero(y == kind))[:MAX_ROWS] for kind in (0, 1)]
    return np.concatenate(kinds), rng.permutation(len(y))[:N_WATCHED_ROWS]
