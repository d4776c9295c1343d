"""The data sets of ADBench, downloaded once and verified at every use."""

import csv
import difflib
import hashlib
import os
import tempfile
import zipfile
from functools import cache
from importlib.resources import files
from numbers import Integral
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.utils import Bunch

COMMIT = "3dac8221081e190f157d78e93bfa8867f90d0965"
BASE_URL = f"https://github.com/Minqi824/ADBench/raw/{COMMIT}/adbench/datasets/"

# What the groups are called, and in which of ADBench's folders they are.
FOLDERS = {
    "tabular": "Classical",
    "image": "CV_by_ResNet18",
    "image-vit": "CV_by_ViT",
    "text": "NLP_by_BERT",
    "text-roberta": "NLP_by_RoBERTa",
}
# Names without a folder mean these.
USUAL_FOLDERS = (FOLDERS["tabular"], FOLDERS["image"], FOLDERS["text"])


class ADBenchFile(NamedTuple):
    """One of ADBench's files: a data set, or a part of one."""

    name: str
    dataset: str
    number: int
    group: str
    category: str
    path: str
    git_blob_sha1: str
    sha256: str


def list_adbench(group=None):
    """List the names of ADBench's data sets.

    Parameters
    ----------
    group : str, default=None
        Which of them to list. "tabular" means the 47 tables; "image" and "text"
        the embeddings of images by ResNet18 and of texts by BERT; "image-vit" and
        "text-roberta" those by ViT and RoBERTa. The name of a data set that comes
        in parts, such as "CIFAR10", means its parts, and the name of one of
        ADBench's folders the files in it. None means all.

    Returns
    -------
    names : list of str
        Each can be passed to :func:`fetch_adbench`.

    Examples
    --------
    >>> from skim.datasets import list_adbench
    >>> list_adbench("tabular")[:3]
    ['ALOI', 'annthyroid', 'backdoor']
    >>> list_adbench("agnews")
    ['agnews_0', 'agnews_1', 'agnews_2', 'agnews_3']
    """
    return [file.name for file in adbench_files(group)]


def fetch_adbench(name_or_number, *, data_home=None, return_X_y=False, as_frame=False):
    """Load a data set of ADBench, downloading it if necessary.

    The file is taken from `data_home` if it is there and downloaded into it
    otherwise. Either way its checksum has to be the known one. Downloading needs
    ``pip install 'skim-od[data]'``.

    Parameters
    ----------
    name_or_number : str or int
        Name or number of the data set, such as "cardio" or 6. Of the image and text
        sets, which come in parts, the name of a part, such as "CIFAR10_0"; they are
        embeddings by ResNet18 and BERT unless a folder says otherwise, as in
        "CV_by_ViT/CIFAR10_0". :func:`list_adbench` has all the names.

    data_home : str or path-like, default=None
        Folder with ADBench's files in ADBench's own layout
        (``Classical/6_cardio.npz``). None means the environment variable
        SKIM_DATA_HOME or, if it is not set, ``~/skim_data``.

    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.

    as_frame : bool, default=False
        Whether the data is a pandas DataFrame and the target a Series.

    Returns
    -------
    data : Bunch or tuple
        With `data`, `target` (0 for inliers, 1 for outliers), `frame` (both
        together, if `as_frame`), `feature_names`, `target_names`, `name`,
        `dataset` (what it is a part of), `number`, `category`, `filename` and
        `DESCR`.

    References
    ----------
    S. Han, X. Hu, H. Huang, M. Jiang and Y. Zhao, "ADBench: Anomaly Detection
    Benchmark", Advances in Neural Information Processing Systems, 2022.

    Examples
    --------
    >>> from skim.datasets import fetch_adbench
    >>> X, y = fetch_adbench("cardio", return_X_y=True)  # doctest: +SKIP
    >>> X.shape, int(y.sum())  # doctest: +SKIP
    ((1831, 21), 176)
    """
    file = find_adbench(name_or_number)
    path = _verified_path(file, data_home_of(data_home))
    X, y = load_npz(path)
    feature_names = [f"feature_{i}" for i in range(X.shape[1])]
    frame = None
    if as_frame:
        import pandas as pd

        X = pd.DataFrame(X, columns=feature_names)
        y = pd.Series(y, name="outlier")
        frame = X.assign(outlier=y)
    if return_X_y:
        return X, y
    part = "" if file.name == file.dataset else f", a part of {file.dataset}"
    return Bunch(
        data=X,
        target=y,
        frame=frame,
        feature_names=feature_names,
        target_names=["inlier", "outlier"],
        name=file.name,
        dataset=file.dataset,
        number=file.number,
        category=file.category,
        filename=str(path),
        DESCR=(
            f"{file.name}{part}: number {file.number} of ADBench ({file.category}), "
            f"{X.shape[0]} rows, {X.shape[1]} features, {int(y.sum())} outliers."
        ),
    )


def read_table(name):
    """Return the rows of a bundled CSV file."""
    with files("skim.datasets").joinpath("data", name).open(encoding="utf-8") as rows:
        return list(csv.DictReader(rows))


def sizes():
    """Return rows and features of all data sets, as they were published."""
    rows = read_table("adbench_datasets.csv")
    return {row["dataset"]: (int(row["samples"]), int(row["features"])) for row in rows}


def dataset_of(number):
    """Return the name of the data set of a number."""
    for row in read_table("adbench_datasets.csv"):
        if int(row["number"]) == number:
            return row["dataset"]
    raise ValueError(f"There is no data set number {number}; ADBench has 1 to 57.")


@cache
def _catalogue():
    rows = read_table("adbench_datasets.csv")
    datasets = {row["dataset"].lower(): row for row in rows}
    groups = {folder: group for group, folder in FOLDERS.items()}
    catalogue = []
    for row in read_table("adbench_files.csv"):
        parent, name = row["path"].removesuffix(".npz").split("/")
        if groups[parent] == "tabular":
            _, name = name.split("_", 1)
        whole, *_ = name.split("_")
        dataset = datasets[whole.lower()]
        catalogue.append(
            ADBenchFile(
                name=name if parent in USUAL_FOLDERS else f"{parent}/{name}",
                dataset=dataset["dataset"],
                number=int(dataset["number"]),
                group=groups[parent],
                category=dataset["category"],
                path=row["path"],
                git_blob_sha1=row["git_blob_sha1"],
                sha256=row["sha256"],
            )
        )
    order = list(FOLDERS)
    return tuple(
        sorted(catalogue, key=lambda f: (order.index(f.group), f.number, f.name))
    )


def adbench_files(group=None):
    """Return the `ADBenchFile` of everything that `list_adbench` lists."""
    catalogue = _catalogue()
    if group is None:
        return list(catalogue)
    if not isinstance(group, str):
        raise ValueError(f"group must be a string or None, got {group!r}")
    wanted = group.lower()
    found = [
        file
        for file in catalogue
        if wanted in (file.group, file.path.split("/")[0].lower())
        or (wanted == file.dataset.lower() and "/" not in file.name)
    ]
    if not found:
        raise ValueError(
            f"There is no group {group!r}. {nearest(group, group_names())}"
        )
    return found


def group_names():
    """Return everything that can be passed to `list_adbench`."""
    datasets = dict.fromkeys(file.dataset for file in _catalogue())
    return [*FOLDERS, *FOLDERS.values(), *datasets]


def find_adbench(name_or_number):
    """Return the `ADBenchFile` of a name or number.

    Besides the names of `list_adbench`, paths in ADBench's layout and tables with
    their number, such as "6_cardio", are understood.
    """
    if isinstance(name_or_number, Integral) and not isinstance(name_or_number, bool):
        name_or_number = dataset_of(name_or_number)
    if not isinstance(name_or_number, str):
        raise TypeError(
            f"A data set is given by name or number, not by {name_or_number!r}."
        )
    wanted = name_or_number.lower().removesuffix(".npz")
    for file in _catalogue():
        path = file.path.lower().removesuffix(".npz")
        names = {path, file.name.lower()}
        if "/" not in file.name:
            names.add(path.split("/")[1])
        if wanted in names:
            return file
    parts = [
        file.name
        for file in _catalogue()
        if "/" not in file.name and file.dataset.lower() == wanted
    ]
    if len(parts) == 1:
        return find_adbench(parts[0])
    if parts:
        raise ValueError(
            f"{name_or_number!r} comes in {len(parts)} parts, each a task of its own; "
            f"fetch one of them: {', '.join(parts)}."
        )
    if wanted in [name.lower() for name in group_names()]:
        near = f"It is a group of data sets: see list_adbench({name_or_number!r})."
    elif wanted.isdecimal():
        near = f"If you mean its number, pass the integer {wanted}."
    else:
        near = nearest(name_or_number, [file.name for file in _catalogue()])
    raise ValueError(f"ADBench has no data set {name_or_number!r}. {near}")


def nearest(name, names, otherwise="See skim.datasets.list_adbench()."):
    """Say which of some names is like the given one, if any is."""
    lower = {each.lower(): each for each in names}
    near = difflib.get_close_matches(name.lower(), lower, n=3, cutoff=0.5)
    if near:
        return f"Did you mean {' or '.join(repr(lower[each]) for each in near)}?"
    return otherwise


def data_home_of(data_home):
    """Return the folder that `data_home` means."""
    if data_home is None:
        data_home = os.environ.get("SKIM_DATA_HOME") or Path.home() / "skim_data"
    return Path(data_home).expanduser()


def _verified_path(file, home):
    """Return the path of a file in `home` that is what it should be."""
    path = home / file.path
    damaged = False
    if path.exists():
        if _is_intact(path, file):
            return path
        damaged = True
    try:
        _download(file, path)
    except (ImportError, OSError, ValueError) as error:
        if isinstance(error, ImportError):
            why = "pooch, which downloads it, is missing: pip install 'skim-od[data]'"
        else:
            why = f"it could not be downloaded ({_last_words(error)})"
        state = "is damaged (its checksum is wrong)" if damaged else "does not exist"
        raise FileNotFoundError(
            f"{path} {state} and {why}. Put {BASE_URL}{file.path} there, or set "
            "SKIM_DATA_HOME to a folder with ADBench's data in its own layout."
        ) from error
    return path


def _last_words(error):
    """The end of an error's text, where those of the network say what happened."""
    return f"{type(error).__name__}: ...{str(error)[-100:]}"


def _download(file, path):
    """Put a file in its place, whole and verified or not at all."""
    import pooch

    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".download-") as folder:
        fetcher = pooch.create(
            path=folder,
            base_url=BASE_URL,
            registry={file.path: None},
            retry_if_failed=2,
        )
        logger = pooch.get_logger()
        level = logger.level
        logger.setLevel("ERROR")
        try:
            arrived = Path(fetcher.fetch(file.path))
        finally:
            logger.setLevel(level)
        if not _is_intact(arrived, file):
            raise ValueError("what arrived has the wrong checksum")
        arrived.chmod(0o644)  # others may use the same folder
        arrived.replace(path)


def _is_intact(path, file):
    """Whether a file's bytes have the known checksum."""
    if file.sha256:
        digest, expected = hashlib.sha256(), file.sha256
    else:
        # Git's name for the bytes: the header it puts before them is hashed, too.
        digest, expected = hashlib.sha1(usedforsecurity=False), file.git_blob_sha1
        digest.update(b"blob %d\0" % path.stat().st_size)
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest() == expected


def load_npz(path):
    """Return data and labels of a file in ADBench's format."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            X, y = arrays["X"], arrays["y"]
    except KeyError as error:
        raise ValueError(f"{path} has no array {error.args[0]}.") from error
    except (AttributeError, OSError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is not an .npz file of numbers.") from error
    try:
        X = np.asarray(X, dtype=np.float64)
        y = np.asarray(y, dtype=np.float64).ravel()
    except ValueError as error:
        raise ValueError(f"X and y in {path} should be numbers ({error}).") from error
    if X.ndim != 2 or len(X) != len(y):
        raise ValueError(
            f"X in {path} should have one row for each of the {len(y)} labels in y; "
            f"its shape is {X.shape}."
        )
    if set(y) != {0, 1}:
        found = sorted(set(y))[:5]
        raise ValueError(
            f"y in {path} should be 1 for outliers and 0 for all others, and have "
            f"both; it has {found}."
        )
    return X, y.astype(int)
