"""Which tables a study is run on."""

import difflib
import hashlib
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import typer

from benchmarks._shared.keel import data_home, keel_paths
from skim.datasets import fetch_adbench, list_adbench

# The groups of ADBench's data sets, and their folders.
GROUPS = {
    "tabular": "Classical",
    "image": "CV_by_ResNet18",
    "image-vit": "CV_by_ViT",
    "text": "NLP_by_BERT",
    "text-roberta": "NLP_by_RoBERTa",
}
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

    `path` is None for the data sets of ADBench, whose size is 0 × 0 until they are
    downloaded. The `dataset` of a task of KEEL is its family, such as "keel/glass".
    """

    file: str
    dataset: str
    group: str
    n: int
    p: int
    path: str | None = None

    def load(self):
        """Return the rows and 1 for the outliers among them, 0 for the others."""
        if self.path is None:
            return fetch_adbench(self.file, return_X_y=True)
        with np.load(self.path, allow_pickle=False) as arrays:
            X, y = arrays["X"], arrays["y"]
        if X.ndim != 2 or y.shape != X.shape[:1] or set(np.unique(y)) != {0, 1}:
            raise ValueError(
                f"{self.path} must have rows X and labels y, 1 for outliers and 0 for "
                f"inliers; got shapes {X.shape} and {y.shape}."
            )
        return X.astype(np.float64), y.astype(int)


def choose_tables(names, *, local=False):
    """Return the tables of some names, without repetitions.

    Names are those of `list_adbench`, its groups, "all", "keel", a family or a task
    of it ("keel/glass", "keel/glass0"), or the path of an .npz file with arrays X and
    y. If `local`, files that would have to be downloaded, and tasks that would have
    to be made, are left out.
    """
    chosen = {}
    for name in names:
        if name.endswith(".npz"):
            found = [_own_table(Path(name))]
        elif name.split("/")[0] == "keel":
            found = _keel_tables(name, make=not local)
        else:
            found = [_adbench_table(each) for each in _adbench_names(name)]
            found = [table for table in found if table.n or not local]
        for table in found:
            same = chosen.setdefault(table.file.split("@")[0], table)
            if same.path != table.path:
                raise ValueError(f"{same.path} and {table.path} have the same name.")
    return list(chosen.values())


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


def some_tasks(tables, max_tasks):
    """Return some tasks of each family, evenly spaced; all if `max_tasks` is None."""
    if max_tasks is None:
        return tables
    families = {}
    for table in tables:
        families.setdefault(table.dataset, []).append(table)
    chosen = []
    for own in families.values():
        step = max(len(own) / max_tasks, 1)
        chosen += [own[int(i * step)] for i in range(min(max_tasks, len(own)))]
    return chosen


def sample(is_outlier, n_rows, min_outliers):
    """Return the rows of a fixed sample that keeps the share of outliers.

    It has at least `min_outliers`, where there are so many.
    """
    n = len(is_outlier)
    if n <= n_rows:
        return np.arange(n)
    rng = np.random.default_rng(0)
    outliers, inliers = (
        rng.permutation(np.flatnonzero(is_outlier == kind)) for kind in (1, 0)
    )
    n_outliers = max(round(n_rows * len(outliers) / n), min_outliers)
    outliers = outliers[:n_outliers]
    return np.sort(np.r_[outliers, inliers[: n_rows - len(outliers)]])


def parts_of(names):
    """Return group and data set of some files of ADBench, by name."""
    groups = {name: group for group in GROUPS for name in list_adbench(group)}
    return {
        name: (groups[name], name if groups[name] == "tabular" else _whole(name))
        for name in names
    }


def unknown(name, known):
    """Return an error about a name, with the known names that are most like it."""
    lower = {each.lower(): each for each in known}
    near = difflib.get_close_matches(name.lower(), lower, n=3, cutoff=0.5)
    found = ", ".join(lower[each] for each in near) or ", ".join(known)
    return ValueError(f"{name!r} is unknown; choose from {found}.")


def _adbench_names(name):
    if name == "all":
        return list_adbench()
    lower = {each.lower(): each for each in list_adbench()}
    if name.lower() in lower:
        return [lower[name.lower()]]
    if name.lower() in {*GROUPS, *map(str.lower, map(_whole, lower))}:
        return list_adbench(name)
    raise unknown(name, ["all", "keel", *GROUPS, *lower.values()])


def _adbench_table(name):
    group, dataset = parts_of([name])[name]
    number = "*_" if group == "tabular" else ""
    pattern = f"{GROUPS[group]}/{number}{name.split('/')[-1]}.npz"
    path = next(data_home().glob(pattern), None)
    return Table(name, dataset, group, *((0, 0) if path is None else array_shape(path)))


def _whole(part):
    """Return the data set that a file such as "CV_by_ViT/CIFAR10_0" is a part of."""
    name = part.split("/")[-1].split("_")[0]
    return name[0].upper() + name[1:]


def _keel_tables(name, make):
    tables = [
        Table(f"keel/{task}", f"keel/{family}", "keel", *array_shape(path), str(path))
        for (family, task), path in keel_paths(make=make).items()
    ]
    chosen = [table for table in tables if name in ("keel", table.dataset, table.file)]
    if tables and not chosen:
        raise unknown(name, sorted(table.file for table in tables))
    return chosen


def _own_table(path):
    # A file whose content has changed is another table.
    try:
        content = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
        file = f"{path.stem}@{content}"
        table = Table(file, path.stem, "own", 0, 0, str(path.resolve()))
        X, _ = table.load()
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is not an .npz file with X and y: {error}") from None
    return table._replace(n=X.shape[0], p=X.shape[1])


def array_shape(path):
    """Return the shape of X in an .npz file without loading it."""
    with zipfile.ZipFile(path) as archive, archive.open("X.npy") as file:
        version = np.lib.format.read_magic(file)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        return read(file)[0]
