"""Where the bytes of a table come from: files, compressed or not, or a pipe."""

from __future__ import annotations

import bz2
import glob
import gzip
import importlib
import io
import lzma
import os
import re
import sys
import zipfile
import zlib
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

HEAD = 2**20  # bytes used to detect the format, encoding, delimiter and header
MAX_GB = 2.0  # of a table in memory, unless SKIM_MAX_GB says otherwise
TEXT = (".csv", ".tsv", ".txt")
ARROW = (".parquet", ".pq", ".feather", ".arrow")
JSON = (".json", ".jsonl", ".ndjson")
COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip")
MAGIC = {  # the first bytes of formats that are not text
    b"PAR1": "parquet",
    b"ARROW1": "feather",
    b"PK\x03\x04": "zip",
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zst",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "xls",
}
JSON_START = re.compile(rb"(\xef\xbb\xbf)?\s*(\{|\[\s*[\[{])")


def _open_zst(file):
    import pyarrow as pa

    return io.BufferedReader(pa.input_stream(file, compression="zstd"))


def _open_zip(file):
    with zipfile.ZipFile(file) as archive:
        names = [n for n in archive.namelist() if not re.search("/$|^__MACOSX/", n)]
        if len(names) != 1:
            raise zipfile.BadZipFile(f"it contains {len(names)} files")
        return archive.open(names[0])


DECOMPRESSORS: dict[str, Any] = {
    "gzip": gzip.open,
    "bz2": bz2.open,
    "xz": lzma.open,
    "zst": _open_zst,
    "zip": _open_zip,
}


class Source:
    """A table's bytes, which can be read several times.

    They are `data` that came through a pipe, or a file of an fsspec file system. A
    table of more than `limit` bytes is too large to be read.
    """

    def __init__(self, name, data=None, fs=None, path=None):
        self.name = name
        self.data = data
        self.fs = fs
        self.path = path
        self.limit = max_bytes()

    def state(self):
        """Return its size, and what else tells whether it has changed."""
        if self.data is not None:
            return [len(self.data)]
        info = self.fs.info(self.path)
        return [info["size"] or 0, *(str(info.get(key)) for key in ("ETag", "mtime"))]

    @cached_property
    def compression(self):
        """How the file is compressed, or None."""
        with self._raw() as file:
            found = _magic(file.read(16))
            if found == "zip":
                names = zipfile.ZipFile(file).namelist()
                return None if "[Content_Types].xml" in names else found
        return found if found in DECOMPRESSORS else None

    @cached_property
    def kind(self):
        """The format: "text", "json", "parquet", "feather", "xlsx" or "xls"."""
        with self.explaining_damage():
            head = self.head()
        found = _magic(head)
        if found in ("parquet", "feather", "zip", "xls"):
            return "xlsx" if found == "zip" else found
        suffix = _suffix(self.name)
        if suffix in (*ARROW, ".xlsx", ".xlsm"):
            raise ValueError(f"{self.name} is not a valid {suffix} file.")
        is_json = suffix in JSON or (suffix not in TEXT and JSON_START.match(head))
        return "json" if is_json else "text"

    def _raw(self):
        if self.data is not None:
            return io.BytesIO(self.data)
        return self.fs.open(self.path, "rb")

    def open(self):
        """Open the decompressed bytes as a binary file."""
        if self.compression is None:
            self.check_size(self.state()[0])
            return self._raw()
        return DECOMPRESSORS[self.compression](self._raw())

    def head(self):
        """Return the first bytes."""
        with self.open() as file:
            return file.read(HEAD)

    def read(self):
        """Return all bytes, if they are not too many."""
        with self.open() as file:
            data = file.read(int(self.limit) + 1)
        self.check_size(len(data))
        return data

    def check_size(self, size):
        """Raise if a table of so many bytes is too large."""
        if size > self.limit:
            raise ValueError(
                f"{self.name} has more than {self.limit / 1e9:g} GB of data; set the "
                "environment variable SKIM_MAX_GB to read it into memory, or, if it is "
                "text or Parquet, give a folder as the output to work in batches."
            )

    @contextmanager
    def explaining_damage(self):
        """Raise a ValueError with the name of the file if it is damaged."""
        import pyarrow as pa

        damage = EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, OSError
        try:
            yield
        except (*damage, pa.ArrowException, RuntimeError) as error:
            # Errors of decompressors carry no errno, unlike those of a disk.
            if getattr(error, "errno", None) is not None:
                raise
            raise self.unreadable(error) from None

    def unreadable(self, error):
        """Return an error that says in a sentence why the file cannot be read."""
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        reason = reason.split(". ")[0].rstrip(".")
        return ValueError(f"{self.name} cannot be read: {reason}.")


def import_extra(need, *modules):
    """Import modules, or raise with installation advice."""
    try:
        for module in modules:
            importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{need}: pip install 'skim-od[cli]'") from error


def max_bytes():
    """Return how many bytes a table in memory may have."""
    text = os.environ.get("SKIM_MAX_GB") or MAX_GB
    try:
        return float(text) * 1e9
    except ValueError:
        raise ValueError(f"SKIM_MAX_GB must be a number, not {text!r}.") from None


def _magic(data):
    return next((kind for start, kind in MAGIC.items() if data.startswith(start)), None)


def find_sources(source):
    """Return what a path, a folder, a pattern, an address or "-" stands for."""
    name = os.fspath(source)
    if name == "-":
        return [Source("standard input", sys.stdin.buffer.read())]
    fs, path = LocalFileSystem(), os.path.abspath(name)
    if "://" in name:
        try:
            fs, path = url_to_fs(name)
        except ImportError as error:
            raise ImportError(f"{name}: {error}, by pip install.") from None
    if fs.isdir(path):
        paths = _of_folder(fs, path, name)
    elif fs.isfile(path) or not glob.has_magic(name):
        paths = [path]
    else:
        paths = [found for found in sorted(fs.glob(path)) if fs.isfile(found)]
        if not paths:
            raise FileNotFoundError(f"No file matches {name}.")
    if not fs.exists(paths[0]):
        raise FileNotFoundError(f"{name} does not exist.")
    if not isinstance(fs, LocalFileSystem):
        return [Source(fs.unstrip_protocol(own), fs=fs, path=own) for own in paths]
    if not fs.isfile(paths[0]):  # a named pipe
        return [Source(name, Path(name).read_bytes())]
    shown = str if os.path.isabs(name) else os.path.relpath
    return [Source(shown(own), fs=fs, path=own) for own in paths]


def _of_folder(fs, folder, name):
    """Return the text files, or the Arrow files, of a folder."""
    paths = [
        path
        for path in sorted(filter(fs.isfile, fs.ls(folder, detail=False)))
        # Spark writes hidden files beside its own.
        if _suffix(path) in (*TEXT, *ARROW) and Path(path).name[0] not in "._"
    ]
    pattern = f"{str(name).rstrip('/')}/"
    if not paths:
        raise FileNotFoundError(
            f"{name} is a directory without CSV or Parquet files; for those in its "
            f"subdirectories, use a pattern such as '{pattern}**/*.csv'."
        )
    kinds = sorted(set(map(_suffix, paths)))
    if len(kinds) > 1:
        raise ValueError(
            f"{name} has files of several formats ({', '.join(kinds)}); use a pattern "
            f"such as '{pattern}*{kinds[0]}'."
        )
    return paths


def _suffix(name):
    """Return what a name ends in, that of a compressed file before it."""
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    if len(suffixes) > 1 and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""
