"""Reading tables from files of several formats."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from skim.tables._csv import CsvReader, clean_names
from skim.tables._excel import read_excel
from skim.tables._json import read_json
from skim.tables._source import find_sources, import_extra

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
    skip_bad_lines: bool = False,
    sheet: str | int | None = None,
) -> pd.DataFrame:
    r"""Read a table into a DataFrame.

    These are delimited text; Parquet and Feather; Excel workbooks; and JSON: one
    object per line, an array of objects, or an object of columns. Any of them can be
    compressed (gzip, bzip2, xz, Zstandard, or a ZIP archive of a single file). All of
    this is recognised by the first bytes, and JSON also by its extension.

    Parameters
    ----------
    source : str or path-like
        The file, or "-" for standard input. A directory, or a pattern such as
        ``"sales/*.csv"``, stands for all its text or Parquet files, which must have
        the same columns. Addresses such as ``"s3://shop/sales.csv"`` are opened by
        fsspec.

    encoding : str, default=None
        Encoding of a text file. By default UTF-8, or else what a detector finds.

    delimiter : str, default=None
        Field separator of a text file. By default it is detected: a comma,
        semicolon, tab or vertical bar, or else a space.

    skip_rows : int, default=0
        Number of lines of a text file, or rows of a sheet, before the table.

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
        header, and the columns are named x0, x1 and so on. Duplicate column names
        are numbered. ``table.attrs["notes"]`` is a list of sentences
        for the user about choices that may be wrong, such as a detected encoding.

    Raises
    ------
    ValueError, OSError
        If the file cannot be read; the message says why in one sentence.

    Notes
    -----
    A table of more than 2 GB, once decompressed, is refused. The environment variable
    ``SKIM_MAX_GB`` sets another limit.

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
    text: dict[str, Any] = {
        "encoding": encoding,
        "delimiter": delimiter,
        "skip_rows": skip_rows,
        "skip_bad_lines": skip_bad_lines,
    }
    sources = find_sources(source)
    notes: list[str] = []
    if len(sources) == 1:
        name = sources[0].name
        table = _read(sources[0], notes, text, sheet)
    else:
        name = os.fspath(source)
        table = _read_together(sources, notes, text)
        notes.insert(0, f"Read {len(sources):,} files of {name}.")
    if hasattr(table, "column_names"):  # Arrow's
        columns = dict(zip(table.column_names, table.columns, strict=True))
        if sources[0].kind == "text":
            columns = {key: _typed(column) for key, column in columns.items()}
        table = to_pandas(columns)
    if not table.shape[1]:
        raise ValueError(f"{name} has no columns.")
    if not len(table):
        raise ValueError(f"{name} has column names but no rows.")
    table.attrs["notes"] = notes
    return table


# Formats ----------------------------------------------------------------------------


def _read(source, notes, text, sheet=None):
    """Return an Arrow table, whose cells are text if the file is, or a DataFrame."""
    from pyarrow import BufferReader, feather

    with source.explaining_damage():
        if source.kind == "json":
            return read_json(source, notes, text["encoding"])
        if source.kind in ("xlsx", "xls"):
            return read_excel(source, notes, sheet, text["skip_rows"])
        if source.kind == "text":
            return _named(CsvReader(source, notes, text).read())
        with source.open() as file:
            if source.kind == "feather":
                stream = BufferReader(file.read()) if source.compression else file
                return _named(feather.read_table(stream))
            return _named(open_parquet(source, file).read())


def _read_together(sources, notes, text):
    """Return one table of several text or Arrow files with the same columns."""
    import pyarrow as pa

    found: list[str] = []
    tables: list = []
    for source in sources:
        if source.kind not in ("text", "parquet", "feather"):
            raise ValueError(
                f"{source.name} is neither text nor Parquet; only those can be read "
                "together."
            )
        tables.append(_read(source, found, text))
        names, wanted = tables[-1].column_names, tables[0].column_names
        check_same_columns(source.name, names, sources[0].name, wanted)
        source.check_size(sum(table.nbytes for table in tables))
    notes += list(dict.fromkeys(found))[:MAX_NOTES]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowTypeError, pa.ArrowInvalid) as error:
        raise ValueError(f"The files cannot be read together: {error}.") from None


def check_same_columns(file, names, first_file, wanted):
    """Raise if a file has other columns than the first one."""
    faults = {
        "lacks": [repr(name) for name in wanted if name not in names],
        "adds": [repr(name) for name in names if name not in wanted],
    }
    told = " and ".join(
        f"{verb} {', '.join(some[:3])}{', …' * (len(some) > 3)}"
        for verb, some in faults.items()
        if some
    )
    if told:
        raise ValueError(f"{file} has other columns than {first_file}: it {told}.")


def open_parquet(source, stream):
    """Return a Parquet file that is not too large to be read."""
    from pyarrow import BufferReader, parquet

    if source.kind != "parquet":
        raise ValueError(f"{source.name} is neither a CSV nor a Parquet file.")
    if source.compression:
        stream = BufferReader(stream.read())
    file = parquet.ParquetFile(stream)
    metadata = file.metadata
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    size = sum(group.total_byte_size for group in groups)
    source.check_size(max(size, 8 * metadata.num_rows * metadata.num_columns))
    return file


# Types ------------------------------------------------------------------------------


def _typed(text):
    """Parse a column of text if all of it is numbers, booleans or dates."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if text.null_count == len(text):
        return text
    stripped = pc.utf8_trim_whitespace(text)
    is_code = pc.any(pc.match_substring_regex(stripped, CODE)).as_py()
    for kind in (pa.int64(), pa.float64(), pa.bool_(), *map(pa.timestamp, ("s", "ns"))):
        try:
            parsed = stripped.cast(kind)
        except pa.ArrowInvalid:
            continue
        return text if is_code and kind in (pa.int64(), pa.float64()) else parsed
    return text


def typed_frame(frame, names):
    """Return a DataFrame with some of its columns of text parsed, if all of them is."""
    import pyarrow as pa

    texts = {
        name: _typed(pa.chunked_array([pa.array(frame[name], pa.string())]))
        for name in names
        if name in frame and frame[name].dtype == "str"
    }
    parsed = {name: column.array for name, column in to_pandas(texts).items()}
    return frame.assign(**parsed)


def to_pandas(columns):
    """Convert columns of Arrow, by name, to a DataFrame without loss.

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
        if pa.types.is_time(column.type):
            column = column.cast(pa.string())
        elif pa.types.is_decimal(column.type):
            column = column.cast(pa.float64())
        converted[name] = column.to_pandas(
            date_as_object=False,
            types_mapper=nullable.get if column.null_count else None,
        )
    return pd.DataFrame(converted, copy=False)


def _named(table):
    return table.rename_columns(clean_names(table.column_names))


# Batches ----------------------------------------------------------------------------


class BatchReader:
    """A table of any size in text or Parquet files, read in batches of rows.

    The cells of text files are text, and `is_text` says whether the files are.
    `source` and the options are those of `read_table`; `notes` receives sentences for
    the user. `header` has the columns of the first file, but no rows.
    """

    def __init__(self, source, notes, **text):
        import_extra("Reading tables needs pandas and pyarrow", "pandas", "pyarrow")
        self.text = text
        self.notes = notes
        self.sources = find_sources(source)
        for own in self.sources:
            own.limit = np.inf
        with self.sources[0].explaining_damage():
            self.is_text = self.sources[0].kind == "text"
            self.header = _to_frame(self._schema(self.sources[0]).empty_table())
        n_columns = max(self.header.shape[1], 1)
        self.n_rows = max(BATCH_CELLS // n_columns, MIN_BATCH)

    def __iter__(self):
        """Yield the name of a file and a DataFrame, until there are no more rows."""
        first = self.sources[0].name
        for source in self.sources:
            with source.explaining_damage():
                for table in _rechunked(self._batches(source), self.n_rows):
                    frame = _to_frame(table)
                    check_same_columns(source.name, frame, first, self.header)
                    yield source.name, frame[list(self.header)]

    def _schema(self, source):
        if self.is_text:
            return CsvReader(source, [], self.text, whole=False).schema
        with source.open() as file:
            return open_parquet(source, file).schema_arrow

    def _batches(self, source):
        """Yield Arrow record batches of any length."""
        if source.kind == "text":
            yield from CsvReader(source, self.notes, self.text, whole=False).batches()
            return
        with source.open() as file:
            parquet = open_parquet(source, file)
            yield from parquet.iter_batches(self.n_rows, use_threads=False)


def _to_frame(table):
    table = _named(table)
    return to_pandas(dict(zip(table.column_names, table.columns, strict=True)))


def _rechunked(batches, n_rows):
    """Yield Arrow tables, all but the last one of `n_rows` rows."""
    import pyarrow as pa

    held: list = []
    for batch in batches:
        held.append(batch)
        if sum(map(len, held)) >= n_rows:
            table = pa.Table.from_batches(held)
            while len(table) >= n_rows:
                yield table.slice(0, n_rows)
                table = table.slice(n_rows)
            held = table.to_batches()
    if held:
        yield pa.Table.from_batches(held)
