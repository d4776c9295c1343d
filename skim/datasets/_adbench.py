"""The data sets of ADBench, downloaded once and verified whenever they are loaded."""

import csv
import difflib
import hashlib
import io
import os
import urllib.request
from functools import cache
from http.client import HTTPException
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from skim._utils import replacing

COMMIT = "3dac8221081e190f157d78e93bfa8867f90d0965"
BASE_URL = f"https://github.com/Minqi824/ADBench/raw/{COMMIT}/adbench/datasets/"
GROUPS = ("tabular", "image", "text", "image-vit", "text-roberta")
TIMEOUT = 60  # seconds without an answer


def list_adbench(group: str | None = None) -> list[str]:
    """List the names of the data sets of ADBench.

    Parameters
    ----------
    group : str, default=None
        Data sets to list: "tabular" for the 47 tables, "image" and "text" for
        embeddings of images by ResNet18 and of texts by BERT, "image-vit" and
        "text-roberta" for embeddings by ViT and RoBERTa, or a data set in parts, such
        as "CIFAR10". None lists all data sets.

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
    wanted, found = (group or "").lower(), []
    for file in _catalogue():
        dataset = None if "/" in file["name"] else file["dataset"].lower()
        if group is None or wanted in (file["group"], dataset):
            found.append(file["name"])
    if not found:
        raise ValueError(
            f"There is no group {group!r}: choose {', '.join(GROUPS)} or a data set."
        )
    return found


def fetch_adbench(
    name: str,
    *,
    data_home: str | os.PathLike | None = None,
    return_X_y: bool = False,
) -> Bunch | tuple[NDArray[np.float64], NDArray[np.int_]]:
    """Load a data set of ADBench, downloading it if necessary.

    The checksum of the file is verified every time.

    Parameters
    ----------
    name : str
        Name of the data set, such as "cardio". Image and text data sets come in
        parts, such as "CIFAR10_0". They are embeddings by ResNet18 and BERT unless a
        folder is given, as in "CV_by_ViT/CIFAR10_0". See :func:`list_adbench` for all
        names.

    data_home : str or path-like, default=None
        Folder in the layout of ADBench (``Classical/6_cardio.npz``), to which
        missing files are downloaded. None uses the environment variable
        SKIM_DATA_HOME or, if it is not set, ``~/skim_data``.

    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    data : Bunch or tuple
        A Bunch with `data`, `target` (0 for inliers, 1 for outliers), `name`,
        `filename` and `DESCR`.

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
    file = _find(name)
    home = data_home or os.environ.get("SKIM_DATA_HOME") or "~/skim_data"
    path = Path(home).expanduser() / file["path"]
    with np.load(io.BytesIO(_content(path, file))) as arrays:
        X = arrays["X"].astype(np.float64)
        y = arrays["y"].ravel().astype(int)
    if return_X_y:
        return X, y
    about = (
        f"{file['name']} of ADBench ({file['category']}): {X.shape[0]} rows, "
        f"{X.shape[1]} features, {y.sum()} outliers."
    )
    return Bunch(data=X, target=y, name=file["name"], filename=str(path), DESCR=about)


def read_bundled(name):
    """Return the rows of a bundled CSV file."""
    with files("skim.datasets").joinpath("data", name).open(encoding="utf-8") as rows:
        return list(csv.DictReader(rows))


@cache
def _catalogue():
    """Return what is known about each file of ADBench."""
    return read_bundled("adbench.csv")


def _find(name):
    by_name = {file["name"].lower(): file for file in _catalogue()}
    if name.lower() in by_name:
        return by_name[name.lower()]
    near = difflib.get_close_matches(name.lower(), by_name, cutoff=0.5)
    names = [repr(by_name[each]["name"]) for each in near]
    advice = f"did you mean {' or '.join(names)}?" if near else "see list_adbench()."
    raise ValueError(f"ADBench has no data set {name!r}; {advice}")


def _content(path, file):
    """Return a file with the right checksum, downloading it if necessary."""
    state = "does not exist"
    if path.exists():
        content = path.read_bytes()
        if _is_intact(content, file):
            return content
        state = "is damaged (wrong checksum)"
    url = BASE_URL + file["path"]
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as response:
            content = response.read()
        if not _is_intact(content, file):
            raise OSError("the download has the wrong checksum")
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as draft:
            draft.write_bytes(content)
    except (OSError, HTTPException) as error:
        raise FileNotFoundError(
            f"{path} {state} and could not be downloaded ({error}): copy {url} there, "
            "or set SKIM_DATA_HOME to a folder in the layout of ADBench."
        ) from error
    return content


def _is_intact(content, file):
    """Tell whether a file has the known checksum, which is git's."""
    blob = b"blob %d\0" % len(content) + content
    digest = hashlib.sha1(blob, usedforsecurity=False).hexdigest()
    return digest == file["git_blob_sha1"]
