"""Reading tables from files of several formats."""

from __future__ import annotations

import io
import os
import sys
import zipfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from skim.tables._csv import CsvReader
from skim.tables._encoding import detect_encoding
from skim.tables._excel import read_excel
from skim.tables._json import read_json
from skim.tables._source import (
    ARRAYS,
    ARROW,
    EXCEL,
    JSON,
    TEXT,
    Source,
    find_files,
    import_extra,
)

if TYPE_CHECKING:
    import pandas as pd

MAX_NOTES = 3  # about single files of many
CODE = r"^\s*(0\d+|\d{19,})\s*$"  # digits that are no number: 01067, a card number
BATCH_CELLS = 2**21  # of a batch, which has at least MIN_BATCH rows
MIN_BATCH = 1000


def read_table(
    source: str | os.PathLike[str],
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    skip_rows: int = 0,
    comment: str | None = None,
    skip_bad_lines: bool = False,
    sheet: str | int | None = None,
) -> pd.DataFrame:
    r"""Read a table into a DataFrame.

    The format is inferred from the extension:

    - ``.csv``, ``.tsv`` or ``.txt``: delimited text;
    - ``.parquet``, ``.pq``, ``.feather`` or ``.arrow``;
    - ``.json``, ``.jsonl`` or ``.ndjson``: one JSON object per line, an array of
      objects, or an object of columns;
    - ``.xlsx`` or ``.xlsm``: a sheet of an Excel workbook;
    - ``.npy`` or ``.npz``: an array.

    Any of these can be compressed (``.gz``, ``.bz2``, ``.xz``, ``.zst``, or ``.zip``
    with a single file in it). Data from a pipe is recognised by its first bytes.

    Parameters
    ----------
    source : str or path-like
        The file, or "-" for standard input. A directory, or a pattern such as
        ``"sales/*.csv"``, stands for all its text or Parquet files, which must have
        the same columns. Addresses such as ``"s3://shop/sales.csv"`` need fsspec.

    encoding : str, default=None
        Encoding of a text file. By default UTF-8, or else what a detector finds.

    delimiter : str, default=None
        Field separator of a text file. By default it is detected: a comma,
        semicolon, tab or vertical bar, or else a space.

    skip_rows : int, default=0
        Number of lines of a text file, or rows of a sheet, before the table.

    comment : str, default=None
        Lines of a text file that start with this are ignored.

    skip_bad_lines : bool, default=False
        Whether to leave out lines of a text file with too many or too few fields,
        which otherwise raise an error.

    sheet : str or int, default=None
        Name of the sheet of an Excel workbook, or its number, counted from 1. By
        default the first one.

    Returns
    -------
    table : DataFrame
        Text is parsed as numbers, booleans or dates if that works for the whole
        column. Digits with a leading zero, and those too long for a number, stay
        text. If the first line of a file consists of numbers only, it is not a
        header, and the columns are named x0, x1 and so on, as for arrays. Duplicate
        column names are numbered. ``table.attrs["notes"]`` is a list of sentences
        for the user about choices that may be wrong, such as a detected encoding.

    Raises
    ------
    ValueError, OSError
        If the file cannot be read; the message says why in one sentence.

    Notes
    -----
    A table of more than 2 GB, once decompressed, is refused, and so is a line of text
    of more than 2 MB, which mostly means that a quote is not closed. The environment
    variable ``SKIM_MAX_GB`` sets another limit; a line may have a thousandth of it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from skim.tables import read_table
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "table.csv"
    ...     _ = path.write_text("name;size\none;1.5\ntwo;\n", encoding="utf-8")
    ...     read_table(path)
      name  size
    0  one   1.5
    1  two   NaN
    """
    import_extra("Reading tables needs pandas and pyarrow", "pandas", "pyarrow")
    if skip_rows < 0:
        raise ValueError(f"skip_rows must not be negative, but it is {skip_rows}.")
    if comment is not None and not comment.strip():
        raise ValueError("comment must not be blank.")
    text = {
        "encoding": encoding,
        "delimiter": delimiter,
        "skip_rows": skip_rows,
        "comment": comment,
        "skip_bad_lines": skip_bad_lines,
    }
    name = os.fspath(source)
    notes: list[str] = []
    if name == "-":
        name = "standard input"
        sources = [Source.of_bytes(sys.stdin.buffer.read(), name)]
    else:
        sources = [Source.of_file(file) for file in find_files(source)]
    if len(sources) == 1:
        columns = _columns(sources[0], notes, text, sheet)
    else:
        columns = _columns_of_files(sources, notes, text)
        notes.insert(0, f"Read {len(sources):,} files of {name}.")
    if sources[0].extension in TEXT:
        columns = {key: _typed(column) for key, column in columns.items()}
    table = to_pandas(columns)
    if not table.shape[1]:
        raise ValueError(f"{name} has no columns.")
    if not len(table):
        raise ValueError(f"{name} has column names but no rows.")
    table.attrs["notes"] = notes
    return table


# Formats ----------------------------------------------------------------------------


def _columns(source, notes, text, sheet=None):
    """Return the columns of a table, by name; those of text files as text."""
    with source.reading():
        source.check_unpacked()
        extension = source.extension
        if extension in ARROW:
            return _named(_read_arrow(source))
        if extension in JSON:
            return read_json(source, notes, text["encoding"])
        if extension in ARRAYS:
            return dict(_read_array(source).items())
        if extension in (*EXCEL, ".xls"):
            return dict(read_excel(source, notes, sheet, text["skip_rows"]).items())
        return _named(_read_csv(source, notes, text))


def _read_csv(source, notes, text):
    import pyarrow as pa

    reader = CsvReader(source, notes, **text)
    try:
        try:
            batches = list(reader.batches())
        except UnicodeError:
            if not reader.is_guessed:
                raise
            codec = detect_encoding(source, notes)
            reader = CsvReader(source, notes, **(text | {"encoding": codec}))
            batches = list(reader.batches())
    except UnicodeError:
        raise _not_encoded(reader) from None
    if batches:
        return pa.Table.from_batches(batches)
    empty = [pa.array([], pa.string()) for _ in reader.names]
    return pa.Table.from_arrays(empty, names=reader.names)


def _not_encoded(reader):
    return ValueError(f"{reader.name} is not {reader.codec} text; set encoding.")


def _columns_of_files(sources, notes, text):
    """Return the columns of several files of the same columns."""
    found: list[str] = []
    first: dict = {}
    chunks: dict = {}
    n_bytes = 0
    for source in sources:
        columns = _columns(source, found, text)
        first = first or columns
        check_same_columns(source.name, columns, sources[0].name, first)
        for name in first:
            chunks.setdefault(name, []).append(columns[name])
            n_bytes += columns[name].nbytes
        source.check_size(n_bytes)
    found = list(dict.fromkeys(found))
    notes += found[:MAX_NOTES]
    if len(found) > MAX_NOTES:
        notes.append(f"There are {len(found) - MAX_NOTES:,} more notes of this kind.")
    return {name: _joined(name, chunks[name], sources) for name in first}


def _joined(name, chunks, sources):
    import pyarrow as pa

    tables = [pa.table({name: chunk}) for chunk in chunks]
    try:
        return pa.concat_tables(tables, promote_options="permissive")[name]
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        kinds = [chunk.type for chunk in chunks]
        i = next(i for i, kind in enumerate(kinds) if kind != kinds[0])
        raise ValueError(
            f"{sources[i].name} has values of type {kinds[i]} in column {name!r}, "
            f"unlike {sources[0].name}."
        ) from None


def check_same_columns(file, names, first_file, wanted):
    """Raise if a file has other columns than the first one."""
    faults = {
        "lacks": [repr(name) for name in wanted if name not in names],
        "adds": [repr(name) for name in names if name not in wanted],
    }
    told = " and ".join(
        f"{verb} {', '.join(some[:3])}{f' and {len(some) - 3} more' * (len(some) > 3)}"
        for verb, some in faults.items()
        if some
    )
    if told:
        raise ValueError(f"{file} has other columns than {first_file}: it {told}.")


def _read_arrow(source):
    from pyarrow import feather

    is_feather = source.extension in (".feather", ".arrow")
    with source.open() as file:
        stream = io.BytesIO(file.read()) if source.compression else file
        with _valid(source, "Feather" if is_feather else "Parquet"):
            if is_feather:
                return feather.read_table(stream)
            return open_parquet(source, stream).read()


def open_parquet(source, stream):
    """Return a Parquet file that is not too large to be read."""
    from pyarrow import parquet

    file = parquet.ParquetFile(stream)
    metadata = file.metadata
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    size = sum(group.total_byte_size for group in groups)
    source.check_size(max(size, 8 * metadata.num_rows * metadata.num_columns))
    return file


@contextmanager
def _valid(source, kind):
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ValueError(
            f"{source.name} is not a valid {kind} file: {reason}"
        ) from None


def _read_array(source):
    import pandas as pd

    name = source.name
    try:
        with source.open() as file:
            array = np.load(file, allow_pickle=False)
            names = getattr(array, "files", None)  # of an archive
            if names and len(names) == 1:
                array = array[names[0]]
    except (ValueError, EOFError, OSError, zipfile.BadZipFile):
        raise ValueError(
            f"{name} is not a valid NumPy file of numbers or text; arrays of Python "
            "objects are never loaded."
        ) from None
    if names is not None and len(names) != 1:
        found = f"several arrays ({', '.join(names)})" if names else "no array"
        raise ValueError(
            f"{name} contains {found}; save the one you want with numpy.save."
        )
    if array.dtype.names:
        return pd.DataFrame({field: array[field] for field in array.dtype.names})
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise ValueError(f"{name} has {array.ndim} dimensions; it must have 1 or 2.")
    return pd.DataFrame(array, columns=[f"x{j}" for j in range(array.shape[1])])


# Types ------------------------------------------------------------------------------


def _typed(column):
    """Parse text if all of it is numbers, booleans or dates."""
    import pyarrow as pa
    import pyarrow.compute as pc

    is_text = isinstance(column, pa.ChunkedArray) and pa.types.is_string(column.type)
    if not is_text or column.null_count == len(column):
        return column
    text = pc.utf8_trim_whitespace(column)
    for kind in (pa.int64(), pa.float64(), pa.bool_(), *map(pa.timestamp, ("s", "ns"))):
        try:
            parsed = text.cast(kind)
        except pa.ArrowInvalid:
            continue
        is_code = kind in (pa.int64(), pa.float64()) and pc.any(
            pc.match_substring_regex(text, CODE)
        )
        return column if is_code and is_code.as_py() else parsed
    return column


def typed_frame(frame, names):
    """Return a DataFrame with some of its columns of text parsed, if all of them is."""
    import pyarrow as pa

    columns = dict(frame.reset_index(drop=True).items())
    for name in names:
        if name in columns and columns[name].dtype == "str":
            text = pa.array(columns[name], pa.string())
            columns[name] = _typed(pa.chunked_array([text]))
    return to_pandas(columns).set_axis(frame.index, axis=0)


def to_pandas(columns):
    """Convert columns, by name, to a DataFrame without loss.

    Integers and booleans with missing values keep their type, dates become
    datetimes, and times of day become text.
    """
    import pandas as pd
    import pyarrow as pa

    nullable = {pa.bool_(): pd.BooleanDtype()}
    for dtype in (pd.Int8Dtype, pd.Int16Dtype, pd.Int32Dtype, pd.Int64Dtype):
        nullable[pa.from_numpy_dtype(dtype().numpy_dtype)] = dtype()
    converted = {}
    for name, column in columns.items():
        if isinstance(column, pa.Array | pa.ChunkedArray):
            if pa.types.is_time(column.type):
                column = column.cast(pa.string())
            elif pa.types.is_decimal(column.type):
                column = column.cast(pa.float64())
            column = column.to_pandas(
                date_as_object=False,
                types_mapper=nullable.get if column.null_count else None,
            )
        converted[name] = column
    return pd.DataFrame(converted, copy=False)


def _named(table):
    """Return the columns of an Arrow table by name, none empty or twice the same."""
    names = [
        name.strip() or f"column {j + 1}" for j, name in enumerate(table.column_names)
    ]
    given, taken = set(names), set()
    for j, name in enumerate(names):
        candidate, number = name, 1
        while candidate in taken or (candidate != name and candidate in given):
            candidate, number = f"{name}.{number}", number + 1
        taken.add(candidate)
        names[j] = candidate
    return dict(zip(names, table.columns, strict=True))


# Batches ----------------------------------------------------------------------------


class BatchReader:
    """A table of any size in text or Parquet files, read in batches of rows.

    The cells of text files are text.

    Parameters
    ----------
    source : str or path-like
        As in `read_table`.
    notes : list of str
        Receives sentences for the user.
    **text
        How to read text files, as in `read_table`.

    Attributes
    ----------
    sources : list of Source
    is_text : bool
        Whether they are text files.
    header : DataFrame
        With the columns of the first file, but no rows.
    """

    def __init__(self, source, notes, **text):
        import_extra("Reading tables needs pandas and pyarrow", "pandas", "pyarrow")
        self.text = text
        self.notes = notes
        self.sources = [Source.of_file(file) for file in find_files(source)]
        for own in self.sources:
            own.is_limited = False
            if own.extension not in (*TEXT, ".parquet", ".pq"):
                raise ValueError(f"{own.name} is neither a CSV nor a Parquet file.")
        self.is_text = self.sources[0].extension in TEXT
        self.header = self._frame(self._empty(self.sources[0]))
        n_columns = max(self.header.shape[1], 1)
        self.n_rows = max(BATCH_CELLS // n_columns, MIN_BATCH)

    def __iter__(self):
        """Yield the name of a file and a DataFrame, until there are no more rows."""
        first = self.sources[0].name
        for source in self.sources:
            with source.reading():
                for table in self._tables(source):
                    frame = self._frame(table)
                    check_same_columns(source.name, frame, first, self.header)
                    yield source.name, frame[list(self.header)]

    def _frame(self, table):
        return to_pandas(_named(table))

    def _empty(self, source):
        import pyarrow as pa

        with source.reading():
            if source.extension in TEXT:
                names = CsvReader(source, [], **self.text).names
                return pa.table([pa.array([], pa.string()) for _ in names], names=names)
            with source.open() as file, _valid(source, "Parquet"):
                return open_parquet(source, file).schema_arrow.empty_table()

    def _tables(self, source):
        """Yield Arrow tables, all but the last one of `n_rows` rows."""
        import pyarrow as pa

        if source.extension not in TEXT:
            with source.open() as file, _valid(source, "Parquet"):
                parquet = open_parquet(source, file)
                for batch in parquet.iter_batches(self.n_rows, use_threads=False):
                    yield pa.Table.from_batches([batch])
            return
        reader = CsvReader(source, self.notes, **self.text)
        held: list = []
        try:
            for batch in reader.batches():
                held.append(batch)
                if sum(map(len, held)) >= self.n_rows:
                    table = pa.Table.from_batches(held)
                    while len(table) >= self.n_rows:
                        yield table.slice(0, self.n_rows)
                        table = table.slice(self.n_rows)
                    held = table.to_batches()
        except UnicodeError:
            raise _not_encoded(reader) from None
        if held:
            yield pa.Table.from_batches(held)
