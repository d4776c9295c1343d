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
import zipfile
import zlib
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

HEAD = 2**20  # bytes used to detect the format, encoding, delimiter and header
MAX_GB = 2.0  # of a table in memory, unless SKIM_MAX_GB says otherwise
MAX_RATIO = 1000  # at most, a file grows that much when it is unpacked
TEXT = (".csv", ".tsv", ".txt")
ARROW = (".parquet", ".pq", ".feather", ".arrow")
JSON = (".jsonl", ".ndjson", ".json")
ARRAYS = (".npy", ".npz")
EXCEL = (".xlsx", ".xlsm")
FORMATS = {*TEXT, *ARROW, *JSON, *ARRAYS, *EXCEL}

# The first bytes of formats that are not text.
MAGIC = {
    b"PAR1": (".parquet", "a Parquet file"),
    b"ARROW1": (".feather", "a Feather file"),
    b"FEA1": (".feather", "a Feather file"),
    b"\x93NUMPY": (".npy", "a NumPy file"),
    b"PK\x03\x04": (".zip", "a ZIP archive or an Excel workbook"),
    b"\x1f\x8b": (".gz", "a gzip file"),
    b"BZh91AY&SY": (".bz2", "a bzip2 file"),
    b"\xfd7zXZ\x00": (".xz", "an xz file"),
    b"\x28\xb5\x2f\xfd": (".zst", "a Zstandard file"),
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": (".xls", "an old or protected Excel workbook"),
}
JSON_START = re.compile(rb"(\xef\xbb\xbf)?\s*(\{|\[\s*[\[{])")


def _open_zst(file):
    import pyarrow as pa

    return io.BufferedReader(pa.input_stream(file, compression="zstd"))


def _open_zip(file):
    with zipfile.ZipFile(file) as archive:
        return archive.open(_members(archive)[0])


COMPRESSIONS: dict[str, Any] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _open_zst,
    ".zip": _open_zip,
}
DAMAGE = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)


class RemoteFile:
    """A file at an address that fsspec knows, with the methods of a Path."""

    def __init__(self, fs, path):
        self.fs = fs
        self.path = path

    def __str__(self):
        return self.fs.unstrip_protocol(self.path)

    @property
    def name(self):
        """The name of the file, without its folder."""
        return self.path.rsplit("/", 1)[-1]

    def is_file(self):
        """Whether there is such a file."""
        return self.fs.isfile(self.path)

    exists = is_file

    def open(self, mode):
        """Open the file."""
        return self.fs.open(self.path, mode)

    def state(self):
        """Return its size, and what else tells whether it has changed."""
        info = self.fs.info(self.path)
        return info["size"], *(str(info.get(key)) for key in ("ETag", "mtime"))


class Source:
    """A table's bytes, which can be read several times.

    Parameters
    ----------
    data : Path, RemoteFile or bytes
        The file, or all that came through a pipe.
    name : str
        The name of the table in error messages.
    compression, extension : str, default=None
        By default, these are inferred from the first bytes.

    Attributes
    ----------
    max_bytes : float
        Size from which on a table is too large to be read into memory.
    is_limited : bool
        Whether it is to be read into memory.
    """

    def __init__(self, data, name, compression=None, extension=None):
        self.data = data
        self.name = name
        self.compression = compression
        self._extension = extension
        self.max_bytes = max_bytes()
        self.is_limited = True

    @classmethod
    def of_file(cls, path):
        """Return the source for a path, which may also be that of a pipe."""
        if not path.exists():
            raise FileNotFoundError(f"{path} does not exist.")
        if not path.is_file():
            return cls.of_bytes(path.read_bytes(), str(path))
        compression, extension = extensions(path.name)
        if compression is None and extension is None:
            raise ValueError(
                f"{path} has an unknown extension; it must be one of "
                f"{', '.join(sorted(FORMATS))}, or of a compressed file "
                f"({', '.join(COMPRESSIONS)})."
            )
        source = cls(path, str(path), compression, extension)
        try:
            is_empty = not source.state()[0]
            path.open("rb").close()
        except PermissionError:
            raise PermissionError(
                f"{path} cannot be read: permission denied."
            ) from None
        if is_empty:
            raise ValueError(f"{path} is empty.")
        return source

    @classmethod
    def of_bytes(cls, data, name):
        """Return the source for bytes, recognised by their beginning."""
        if not data.strip():
            raise ValueError(f"{name} is empty.")
        extension = _recognise(data)
        if extension == ".zip":
            extension = _kind_of_zip(data)
        if extension in COMPRESSIONS:
            return cls(data, name, compression=extension)
        return cls(data, name, extension=extension)

    @contextmanager
    def reading(self):
        """Check that the file is intact, and does not change, within the block."""
        before = self.state()
        try:
            yield self
        except (*DAMAGE, OSError, ValueError, NotImplementedError) as error:
            if self.state() != before:
                raise self._changed() from None
            # Errors of decompressors carry no errno, unlike those of a disk.
            is_damage = isinstance(error, (*DAMAGE, NotImplementedError)) or (
                isinstance(error, OSError) and error.errno is None
            )
            if self.compression is None or not is_damage:
                raise
            reason = str(error).strip().rstrip(".") or type(error).__name__
            raise ValueError(
                f"{self.name} is damaged or incomplete: {reason}."
            ) from None
        if self.state() != before:
            raise self._changed()

    def state(self):
        """Return the size of the file and the time of its last change."""
        if isinstance(self.data, bytes):
            return (len(self.data),)
        if isinstance(self.data, RemoteFile):
            return self.data.state()
        try:
            status = self.data.stat()
        except FileNotFoundError:
            return ()
        return status.st_size, status.st_mtime_ns

    def _changed(self):
        return ValueError(
            f"{self.name} changed while it was read; try again when it is complete."
        )

    @cached_property
    def extension(self):
        """The extension that stands for the format, without compression."""
        if self._extension is not None:
            return self._extension
        if self.compression == ".zip":
            with zipfile.ZipFile(self._raw()) as archive:
                member = self._only_member(archive)
            extension = Path(member.filename).suffix.lower()
            if extension in FORMATS:
                return extension
        head = self.head()
        if not head:
            raise ValueError(f"{self.name} is empty.")
        return _recognise(head)

    def _only_member(self, archive):
        members = _members(archive)
        if len(members) != 1:
            names = ", ".join(member.filename for member in members[:3])
            more = ", ..." if len(members) > 3 else ""
            found = f"{len(members)} files ({names}{more})" if members else "no file"
            raise ValueError(
                f"{self.name} contains {found}; extract the table and name its file."
            )
        if members[0].flag_bits & 1:
            raise ValueError(
                f"{self.name} is encrypted; extract it with its password first."
            )
        return members[0]

    def _raw(self):
        """Return what decompressors open: a file, or its path."""
        if isinstance(self.data, bytes):
            return io.BytesIO(self.data)
        is_remote = isinstance(self.data, RemoteFile)
        return self.data.open("rb") if is_remote else str(self.data)

    def open(self):
        """Open the decompressed bytes as a binary file that is not too large."""
        raw = self._raw()
        if self.compression is None:
            self.check_size((self.state() or (0,))[0])
            return open(raw, "rb") if isinstance(raw, str) else raw
        file = COMPRESSIONS[self.compression](raw)
        return io.BufferedReader(_Counted(file, self.check_size))

    def check_size(self, size):
        """Raise if a table of so many bytes is too large."""
        if self.is_limited and size > self.max_bytes:
            raise ValueError(
                f"{self.name} has more than {self.max_bytes / 1e9:g} GB of data; give "
                "a folder as the output to work on it in batches, or "
                "set the environment variable SKIM_MAX_GB to read it into memory."
            )

    def check_unpacked(self):
        """Raise if a compressed file is too large, before anything is kept of it."""
        if self.compression and self.state()[0] * MAX_RATIO > self.max_bytes:
            with self.open() as file:
                while file.read(HEAD):
                    pass

    def head(self):
        """Return the first bytes."""
        with self.open() as file:
            return file.read(HEAD)

    def read(self):
        """Return all bytes."""
        with self.open() as file:
            return file.read()

    def kind(self):
        """Return what the file is by its first bytes, or None if that is unknown."""
        head = self.head()
        kinds = (kind for magic, (_, kind) in MAGIC.items() if head.startswith(magic))
        return next(kinds, None)


class _Counted(io.RawIOBase):
    """A stream that checks how many bytes came out of it."""

    def __init__(self, file, check):
        self.file = file
        self.check = check
        self.n_bytes = 0

    def readable(self):
        return True

    def readinto(self, buffer):
        n = self.file.readinto(buffer)
        self.n_bytes += n
        self.check(self.n_bytes)
        return n

    def close(self):
        self.file.close()
        super().close()


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


def extensions(name):
    """Return the extension of the compression and that of the format, or None."""
    suffixes = [suffix.lower() for suffix in Path(name).suffixes[-2:]]
    compression = suffixes.pop() if suffixes and suffixes[-1] in COMPRESSIONS else None
    extension = suffixes[-1] if suffixes and suffixes[-1] in FORMATS else None
    return compression, extension


def _recognise(data):
    for magic, (extension, _) in MAGIC.items():
        if data.startswith(magic):
            return extension
    return ".json" if JSON_START.match(data) else ".csv"


def _kind_of_zip(data):
    """Return the format of bytes that are a ZIP archive, as several formats are."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
    except zipfile.BadZipFile:
        return ".zip"
    if "[Content_Types].xml" in names:
        return ".xlsx"
    return ".npz" if all(name.endswith(".npy") for name in names) else ".zip"


def _members(archive):
    """Return the files of an archive without what macOS adds to it."""
    return [
        member
        for member in archive.infolist()
        if not member.is_dir()
        and not member.filename.startswith("__MACOSX/")
        and Path(member.filename).name != ".DS_Store"
    ]


# Several files ----------------------------------------------------------------------


def find_files(source):
    """Return the files that a path, a folder, a pattern or an address stands for."""
    name = os.fspath(source)
    if "://" in str(name):
        return _remote_files(name)
    path = Path(source)
    if path.is_dir():
        return _of_folder(list(path.iterdir()), name)
    if path.exists() or not glob.has_magic(name):
        return [path]
    found = sorted(map(Path, glob.glob(name, recursive=True)))
    return _of_pattern([path for path in found if path.is_file()], name)


def _remote_files(name):
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise ImportError(
            f"{name} is not a local file, which needs fsspec: pip install fsspec"
        ) from error
    fs, path = url_to_fs(name)
    if fs.isdir(path):
        return _of_folder([RemoteFile(fs, p) for p in fs.ls(path, detail=False)], name)
    if not glob.has_magic(path):
        return [RemoteFile(fs, path)]
    found = [RemoteFile(fs, p) for p in sorted(fs.glob(path))]
    return _of_pattern([file for file in found if file.is_file()], name)


def _of_pattern(files, name):
    if not files:
        raise FileNotFoundError(f"No file matches {name}.")
    for file in files:
        if len(files) > 1 and extensions(file.name)[1] not in (*TEXT, *ARROW):
            raise ValueError(
                f"{file} is neither text nor Parquet; only those can be read together."
            )
    return files


def _of_folder(files, name):
    kinds: dict = {}
    for file in sorted(files, key=str):
        _, extension = extensions(file.name)
        hidden = file.name.startswith((".", "_"))  # also what Spark writes beside
        if extension in (*TEXT, *ARROW) and file.is_file() and not hidden:
            kinds.setdefault(extension, []).append(file)
    folder = str(name).rstrip("/")
    if not kinds:
        raise FileNotFoundError(
            f"{name} is a directory without CSV or Parquet files; for those in its "
            f"subdirectories, use a pattern such as '{folder}/**/*.csv'."
        )
    if len(kinds) > 1:
        raise ValueError(
            f"{name} has files of several formats ({', '.join(kinds)}); use a pattern "
            f"such as '{folder}/*{next(iter(kinds))}'."
        )
    return next(iter(kinds.values()))
