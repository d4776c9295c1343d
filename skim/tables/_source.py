"""Where the bytes of a table come from: a file, compressed or not, or a pipe."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import zipfile
import zlib
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

HEAD = 2**20  # bytes used to detect the format, encoding, delimiter and header
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

    if isinstance(file, Path):
        file = str(file)
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


class Source:
    """A table's bytes, which can be read several times.

    Parameters
    ----------
    data : Path or bytes
        The file, or all that came through a pipe.
    name : str
        The name of the table in error messages.
    compression, extension : str, default=None
        By default, these are inferred from the name of the file, or else from the
        first bytes.
    """

    def __init__(self, data, name, compression=None, extension=None):
        self.data = data
        self.name = name
        self.compression = compression
        self._extension = extension

    @classmethod
    def of_file(cls, path, name=None):
        """Return the source for a path, which may also be that of a pipe."""
        name = name or str(path)
        if not path.exists():
            raise FileNotFoundError(f"{name} does not exist.")
        if not path.is_file():
            return cls.of_bytes(path.read_bytes(), name)
        compression, extension = extensions(path)
        if compression is None and extension is None:
            raise ValueError(
                f"{name} has an unknown extension; it must be one of "
                f"{', '.join(sorted(FORMATS))}, or of a compressed file "
                f"({', '.join(COMPRESSIONS)})."
            )
        try:
            with path.open("rb") as file:
                is_empty = not file.read(1)
        except PermissionError:
            raise PermissionError(
                f"{name} cannot be read: permission denied."
            ) from None
        if is_empty:
            raise ValueError(f"{name} is empty.")
        return cls(path, name, compression, extension)

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
        before = self._state()
        try:
            yield self
        except (*DAMAGE, OSError, ValueError, NotImplementedError) as error:
            if self._state() != before:
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
        if self._state() != before:
            raise self._changed()

    def _state(self):
        if isinstance(self.data, bytes):
            return None
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
            file = io.BytesIO(self.data) if isinstance(self.data, bytes) else self.data
            with zipfile.ZipFile(file) as archive:
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

    def open(self):
        """Open the decompressed bytes as a binary file."""
        file = io.BytesIO(self.data) if isinstance(self.data, bytes) else self.data
        if self.compression is not None:
            return COMPRESSIONS[self.compression](file)
        return file if isinstance(self.data, bytes) else self.data.open("rb")

    @contextmanager
    def stream(self):
        """Yield what Arrow reads fastest: a file name, or a binary file."""
        if self.compression is None and not isinstance(self.data, bytes):
            yield str(self.data)
        else:
            with self.open() as file:
                yield file

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
        for magic, (_, kind) in MAGIC.items():
            if head.startswith(magic):
                return kind
        return None


def extensions(path):
    """Return the extension of the compression and that of the format, or None."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes[-2:]]
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
