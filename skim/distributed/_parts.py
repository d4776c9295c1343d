"""The parts of a large table: files, or ranges of large files."""

from __future__ import annotations

import posixpath
from contextlib import contextmanager
from typing import Any, NamedTuple

from skim.tables._csv import Layout, read_csv
from skim.tables._encoding import encoding_of
from skim.tables._read import read_source, to_pandas, unique_names
from skim.tables._source import COMPRESSIONS, TEXT, Source, extensions

PARQUET = (".parquet", ".pq")
PART_BYTES = 2**27  # of a file, or of the uncompressed row groups, in one part
HEAD_BYTES = 2**20  # of a text file, which tell how it is written


class Part(NamedTuple):
    """A part of a table, which can be read anywhere.

    Attributes
    ----------
    path : str
        The file, with the protocol of its file system if that is not the local one.
    version : str
        Changes if the file does.
    span : tuple of int or None
        The first and last (exclusive) row group of a Parquet file, or byte of a text
        file. None means the whole file.
    text : dict
        How to read a text file.
    storage_options : dict
        For the file system.
    """

    path: str
    version: str
    span: tuple[int, int] | None
    text: dict[str, Any]
    storage_options: dict[str, Any]

    @property
    def name(self):
        """What to call the part in messages."""
        if self.span is None:
            return self.path
        unit = "row groups" if self.is_parquet else "bytes"
        first, last = self.span
        return f"{self.path} ({unit} {first:,} to {last - 1:,})"

    @property
    def is_parquet(self):
        """Whether the file is a Parquet file."""
        return extensions(self.path)[1] in PARQUET


# Finding --------------------------------------------------------------------------


def find_parts(source, storage_options=None, text=None):
    """Return the parts of a file, folder or pattern of Parquet or text files.

    Parameters
    ----------
    source : str or path-like
        Local, or an address that fsspec knows. The files of a folder or pattern are
        sorted by name.
    storage_options : dict, default=None
        For the file system.
    text : dict, default=None
        Options of `read_table` for text files.

    Returns
    -------
    parts : list of Part
    """
    from fsspec.core import url_to_fs

    storage_options = dict(storage_options or {})
    name = str(source)
    fs, root = url_to_fs(name, **storage_options)
    infos = _files(fs, root, name)
    is_local = "file" in _protocols(fs)
    _check_formats(infos, name)
    text = dict(text or {})
    parts: list[Part] = []
    for info in infos:
        path = info["name"] if is_local else fs.unstrip_protocol(info["name"])
        own = text
        if extensions(path)[1] in TEXT:
            if not parts:
                text = text | {"text_columns": _text_columns(fs, info, text)}
            own, spans = _text_spans(fs, info, text)
        else:
            spans = _row_group_spans(fs, info)
        version = _version(info)
        parts += [Part(path, version, span, own, storage_options) for span in spans]
    return parts


def _protocols(fs):
    return (fs.protocol,) if isinstance(fs.protocol, str) else fs.protocol


def _files(fs, root, name):
    """Return what the file system says about each file, sorted by name."""
    if any(sign in root for sign in "*?[") and not fs.exists(root):
        found = fs.glob(root, detail=True).values()
        files = [info for info in found if info["type"] == "file"]
        if not files:
            raise FileNotFoundError(f"No file matches {name}.")
    elif fs.isdir(root):
        files = [
            info
            for info in fs.ls(root, detail=True)
            if info["type"] == "file"
            and extensions(info["name"])[1] in (*PARQUET, *TEXT)
            and not posixpath.basename(info["name"]).startswith((".", "_"))
        ]
        if not files:
            raise FileNotFoundError(f"{name} is a folder without CSV or Parquet files.")
    elif fs.exists(root):
        files = [fs.info(root)]
    else:
        raise FileNotFoundError(f"{name} does not exist.")
    return sorted(files, key=lambda info: info["name"])


def _check_formats(infos, name):
    kinds: dict = {}
    for info in infos:
        kind = extensions(info["name"])[1]
        if kind not in (*PARQUET, *TEXT):
            raise ValueError(f"{info['name']} is neither a CSV nor a Parquet file.")
        kinds.setdefault(kind in PARQUET, info["name"])
    if len(kinds) > 1:
        raise ValueError(
            f"{name} has both CSV and Parquet files, such as {kinds[False]} and "
            f"{kinds[True]}; choose those of one format by a pattern."
        )


def _version(info):
    """Return a text that changes when a file does."""
    names = ("size", "mtime", "LastModified", "last_modified", "updated", "ETag", "md5")
    return " ".join(str(info[name]) for name in names if info.get(name) is not None)


def _row_group_spans(fs, info):
    """Return ranges of the row groups of a large Parquet file, [None] for others."""
    if info["size"] <= PART_BYTES:
        return [None]
    with fs.open(info["name"], "rb") as file:
        metadata = _parquet_file(file, info["name"]).metadata
    spans, first, size = [], 0, 0
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i).total_byte_size
        if size and size + group > PART_BYTES:
            spans.append((first, i))
            first, size = i, 0
        size += group
    return [*spans, (first, metadata.num_row_groups)]


def _text_columns(fs, info, text):
    """Return the columns that hold text, judging by the beginning of a file."""
    table = read_csv(_head(fs, info), [], **_own(info, text))
    return _strings(table)


def _text_spans(fs, info, text):
    """Return how to read a text file, and its ranges of bytes, [None] if it is small.

    Every range of a large file is read with the header, delimiter and encoding that
    are found at its beginning.
    """
    compression, _ = extensions(info["name"])
    plain = not text.get("skip_rows") and text.get("comment") is None
    if info["size"] <= PART_BYTES or compression is not None or not plain:
        return text, [None]
    head = _head(fs, info)
    own = _own(info, text)
    codec = encoding_of(head, own.get("encoding"), [])
    if codec.startswith(("utf-16", "utf-32")):  # whose line ends are not one byte
        return text, [None]
    layout = Layout(head, codec, own.get("delimiter"), 0, None)
    header = head.data.split(b"\n", 1)[0] + b"\n" if layout.has_names else b""
    own = text | {"encoding": codec, "delimiter": layout.delimiter, "header": header}
    starts = range(0, info["size"], PART_BYTES)
    return own, [(start, min(start + PART_BYTES, info["size"])) for start in starts]


def _own(info, text):
    own = {name: value for name, value in text.items() if name != "header"}
    if extensions(info["name"])[1] == ".tsv":
        own["delimiter"] = own.get("delimiter") or "\t"
    return own


def _head(fs, info):
    """Return the first lines of a text file as a source of their own."""
    compression, extension = extensions(info["name"])
    with fs.open(info["name"], "rb") as file:
        opened = COMPRESSIONS[compression](file) if compression else file
        data = opened.read(HEAD_BYTES)
    if not data.strip():
        raise ValueError(f"{info['name']} is empty.")
    if len(data) == HEAD_BYTES:  # the last line may be cut
        data = data[: data.rfind(b"\n") + 1] or data
    return Source(data, info["name"], extension=extension)


def _strings(table):
    import pyarrow as pa

    return [field.name for field in table.schema if pa.types.is_string(field.type)]


# Reading --------------------------------------------------------------------------


def read_part(part):
    """Read a part into a DataFrame. Errors name it."""
    with _opened(part) as file:
        return _read_parquet(file, part) if part.is_parquet else _read_text(file, part)


def read_header(part):
    """Return a DataFrame with the columns of a part, without rows."""
    if part.is_parquet:
        with _opened(part) as file:
            return to_pandas(_parquet_file(file, part.name).schema_arrow.empty_table())
    from fsspec.core import url_to_fs

    fs, path = url_to_fs(part.path, **part.storage_options)
    info = {"name": path}
    table = read_csv(_head(fs, info), [], **_own(info, part.text))
    return to_pandas(table.rename_columns(unique_names(table.column_names))[:0])


def count_rows(part):
    """Return the number of rows in a part."""
    if not part.is_parquet:
        return len(read_part(part))
    with _opened(part) as file:
        metadata = _parquet_file(file, part.name).metadata
    if part.span is None:
        return metadata.num_rows
    return sum(metadata.row_group(i).num_rows for i in range(*part.span))


@contextmanager
def _opened(part):
    """Yield an open file, or the name of a local Parquet file, which Arrow prefers."""
    from fsspec.core import url_to_fs

    fs, path = url_to_fs(part.path, **part.storage_options)
    if not fs.exists(path):
        raise FileNotFoundError(f"{part.path} does not exist.")
    if part.is_parquet and "file" in _protocols(fs):
        yield path
    else:
        with fs.open(path, "rb") as file:
            yield file


def _parquet_file(file, name):
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return parquet.ParquetFile(file)
    except (pa.ArrowException, OSError) as error:
        raise _not_parquet(name, error) from None


def _not_parquet(name, error):
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return ValueError(f"{name} is not a valid Parquet file: {reason}")


def _read_parquet(file, part):
    import pyarrow as pa

    opened = _parquet_file(file, part.name)
    try:
        # One thread: parts are read side by side.
        if part.span is None:
            return to_pandas(opened.read(use_threads=False))
        groups = list(range(*part.span))
        return to_pandas(opened.read_row_groups(groups, use_threads=False))
    except (pa.ArrowException, OSError) as error:
        raise _not_parquet(part.name, error) from None


def _read_text(file, part):
    text = dict(part.text)
    header = text.pop("header", b"")
    compression, extension = extensions(part.path)
    if part.span is None:
        data = file.read()
    else:
        from fsspec.utils import read_block

        start, stop = part.span
        data = read_block(file, start, stop - start, delimiter=b"\n")
        if data.count(b'"') % 2:
            raise ValueError(
                f"{part.name} has line breaks in quotes, so that it cannot be read in "
                "ranges; write it in several files, or as Parquet."
            )
        data = data if start == 0 else header + data
    if not data.strip():
        raise ValueError(f"{part.name} is empty.")
    source = Source(data, part.name, compression, extension)
    # What the beginning of the table has as text is text in all parts.
    defaults = {"encoding": None, "delimiter": None, "skip_rows": 0}
    table = read_source(source, [], defaults | text)
    return to_pandas(table.rename_columns(unique_names(table.column_names)))
