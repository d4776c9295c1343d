"""The data sets of ADBench, downloaded once and verified whenever they are loaded."""

import csv
import difflib
import hashlib
import os
import tempfile
from functools import cache
from importlib.resources import files
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from skim._utils import import_pandas

if TYPE_CHECKING:
    import pandas as pd

COMMIT = "3dac8221081e190f157d78e93bfa8867f90d0965"
BASE_URL = f"https://github.com/Minqi824/ADBench/raw/{COMMIT}/adbench/datasets/"


class ADBenchFile(NamedTuple):
    """A file of ADBench: a data set, or a part of one."""

    name: str
    dataset: str
    number: int
    group: str
    category: str
    path: str
    git_blob_sha1: str


def list_adbench(group: str | None = None) -> list[str]:
    """List the names of the data sets of ADBench.

    Parameters
    ----------
    group : str, default=None
        Data sets to list: "tabular" for the 47 tables, "image" and "text" for
        embeddings of images by ResNet18 and of texts by BERT, "image-vit" and
        "text-roberta" for embeddings by ViT and RoBERTa. The name of a data set in
        parts, such as "CIFAR10", lists its parts, and the name of a folder of
        ADBench its files. None lists all data sets.

    Returns
    -------
    names : list of str
        Names to pass to :func:`fetch_adbench`.

    Examples
    --------
    >>> from skim.datasets import list_adbench
    >>> list_adbench("tabular")[:3]
    ['ALOI', 'annthyroid', 'backdoor']
    >>> list_adbench("agnews")
    ['agnews_0', 'agnews_1', 'agnews_2', 'agnews_3']
    """
    return [file.name for file in adbench_files(group)]


def fetch_adbench(
    name_or_number: str | int,
    *,
    data_home: str | os.PathLike | None = None,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> "Bunch | tuple[NDArray | pd.DataFrame, NDArray | pd.Series]":
    """Load a data set of ADBench, downloading it if necessary.

    The checksum of the file is verified every time. Downloading needs
    ``pip install 'skim-od[data]'``.

    Parameters
    ----------
    name_or_number : str or int
        Name or number of the data set, such as "cardio" or 6. Image and text data
        sets come in parts, such as "CIFAR10_0". They are embeddings by ResNet18 and
        BERT unless a folder is given, as in "CV_by_ViT/CIFAR10_0". See
        :func:`list_adbench` for all names.

    data_home : str or path-like, default=None
        Folder in the layout of ADBench (``Classical/6_cardio.npz``), to which
        missing files are downloaded. None uses the environment variable
        SKIM_DATA_HOME or, if it is not set, ``~/skim_data``.

    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.

    as_frame : bool, default=False
        Whether the data is a pandas DataFrame and the target a Series.

    Returns
    -------
    data : Bunch or tuple
        A Bunch with `data`, `target` (0 for inliers, 1 for outliers), `frame` (both
        together, if `as_frame`), `feature_names`, `target_names`, `name`, `dataset`
        (of which it may be a part), `number`, `category`, `filename` and `DESCR`.

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
    path = _verified_path(file, data_home)
    X, y = _load_npz(path)
    part = "" if file.name == file.dataset else f", a part of {file.dataset}"
    return as_bunch(
        X,
        y,
        return_X_y=return_X_y,
        as_frame=as_frame,
        feature_names=[f"feature_{i}" for i in range(X.shape[1])],
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


def as_bunch(X, y, *, return_X_y, as_frame, feature_names, **details):
    """Return data and labels in the form that the user asked for."""
    frame = None
    if as_frame:
        pd = import_pandas()
        X = pd.DataFrame(X, columns=feature_names)
        y = pd.Series(y, name="outlier")
        frame = X.assign(outlier=y)
    if return_X_y:
        return X, y
    return Bunch(
        data=X,
        target=y,
        frame=frame,
        feature_names=feature_names,
        target_names=["inlier", "outlier"],
        **details,
    )


def read_table(name):
    """Return the rows of a bundled CSV file."""
    with files("skim.datasets").joinpath("data", name).open(encoding="utf-8") as rows:
        return list(csv.DictReader(rows))


@cache
def _catalogue():
    """Return all files, by group, number and name."""
    rows = read_table("adbench.csv")
    return [ADBenchFile(**row | {"number": int(row["number"])}) for row in rows]


def adbench_files(group=None):
    """Return the `ADBenchFile` of each name that `list_adbench` lists."""
    catalogue = _catalogue()
    if group is None:
        return catalogue
    wanted, found, names = group.lower(), [], []
    for file in catalogue:
        own = [file.group, file.path.split("/")[0]]
        if "/" not in file.name:
            own.append(file.dataset)
        if wanted in map(str.lower, own):
            found.append(file)
        names += own
    if not found:
        raise ValueError(f"There is no group {group!r}. {_nearest(wanted, names)}")
    return found


def find_adbench(name_or_number):
    """Return the `ADBenchFile` of a name, or of a number."""
    usual = [file for file in _catalogue() if "/" not in file.name]
    if isinstance(name_or_number, Integral) and not isinstance(name_or_number, bool):
        found = [file for file in usual if file.number == name_or_number]
        advice = "Choose a number from 1 to 57."
    elif isinstance(name_or_number, str):
        wanted = name_or_number.lower()
        found = [file for file in _catalogue() if file.name.lower() == wanted]
        found = found or [file for file in usual if file.dataset.lower() == wanted]
        advice = _nearest(wanted, [file.name for file in _catalogue()])
    else:
        raise TypeError(
            f"A data set is given by name or number, got {name_or_number!r}."
        )
    if len(found) == 1:
        return found[0]
    if found:
        parts = ", ".join(file.name for file in found)
        raise ValueError(
            f"{found[0].dataset!r} comes in {len(found)} parts: fetch one of {parts}."
        )
    raise ValueError(f"ADBench has no data set {name_or_number!r}. {advice}")


def _nearest(name, names):
    """Suggest the names that are most similar to the given one, if any."""
    lower = {each.lower(): each for each in names}
    near = difflib.get_close_matches(name, lower, n=3, cutoff=0.5)
    if near:
        return f"Did you mean {' or '.join(repr(lower[each]) for each in near)}?"
    return "See skim.datasets.list_adbench()."


def _verified_path(file, data_home):
    """Return the path of a file with the right checksum, downloading if necessary."""
    if data_home is None:
        data_home = os.environ.get("SKIM_DATA_HOME") or "~/skim_data"
    path = Path(data_home).expanduser() / file.path
    state = "does not exist"
    if path.exists():
        if _is_intact(path, file):
            return path
        state = "is damaged (wrong checksum)"
    try:
        _download(file, path)
    except (ImportError, OSError, ValueError) as error:
        if isinstance(error, ImportError):
            why = "without pooch (pip install 'skim-od[data]')"
        else:  # network errors state the cause at the end
            why = f"({type(error).__name__}: ...{str(error)[-100:]})"
        raise FileNotFoundError(
            f"{path} {state} and could not be downloaded {why}: copy "
            f"{BASE_URL}{file.path} there, or set SKIM_DATA_HOME to a folder in the "
            "layout of ADBench."
        ) from error
    return path


def _download(file, path):
    """Download a file, which appears at `path` only if it is complete and intact."""
    import pooch

    path.parent.mkdir(parents=True, exist_ok=True)
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel("ERROR")
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".new-") as folder:
            registry = {file.path: None}
            fetcher = pooch.create(
                folder, BASE_URL, registry=registry, retry_if_failed=2
            )
            arrived = Path(fetcher.fetch(file.path))
            if not _is_intact(arrived, file):
                raise ValueError("the downloaded file has the wrong checksum")
            arrived.chmod(0o644)  # the folder may be shared
            arrived.replace(path)
    finally:
        logger.setLevel(level)


def _is_intact(path, file):
    """Tell whether a file has the known checksum, which is git's."""
    digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as stream:
        hashlib.file_digest(stream, lambda: digest)
    return digest.hexdigest() == file.git_blob_sha1


def _load_npz(path):
    """Return the data and labels of a file in the format of ADBench."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return arrays["X"].astype(np.float64), arrays["y"].ravel().astype(int)
    except (AttributeError, KeyError, OSError, ValueError, BadZipFile) as error:
        raise ValueError(
            f"{path} is not an .npz file of numbers X and y ({error})."
        ) from error
