"""Reading tables from files of several formats."""

from __future__ import annotations

import io
import os
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from skim.tables._csv import read_csv
from skim.tables._excel import read_excel
from skim.tables._json import read_json
from skim.tables._many import find_files, read_together
from skim.tables._source import ARRAYS, ARROW, EXCEL, JSON, Source

if TYPE_CHECKING:
    import pandas as pd

MAX_NOTES = 3  # about single files of many


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
        the same columns.

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
    _import_pyarrow()
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
    files = None if name == "-" else find_files(source, name)
    if name == "-":
        name = "standard input"
        table = read_source(
            Source.of_bytes(sys.stdin.buffer.read(), name), notes, text, sheet
        )
    elif files is None or len(files) == 1:
        path = files[0] if files else Path(source)
        table = read_source(Source.of_file(path), notes, text, sheet)
    else:
        table = _read_files(files, notes, text)
        notes.insert(0, f"Read {len(files):,} files of {name}.")
    table = table if hasattr(table, "iloc") else to_pandas(table)
    if not table.shape[1]:
        raise ValueError(f"{name} has no columns.")
    if not len(table):
        raise ValueError(f"{name} has column names but no rows.")
    table.attrs["notes"] = notes
    return table


def read_source(source, notes, text, sheet=None):
    """Return the Arrow table or the DataFrame in a source."""
    with source.reading():
        extension = source.extension
        if extension in ARROW:
            return _read_arrow(source)
        if extension in JSON:
            return read_json(source, notes, text["encoding"])
        if extension in ARRAYS:
            return _read_array(source)
        if extension in (*EXCEL, ".xls"):
            return read_excel(source, notes, sheet, text["skip_rows"])
        if extension == ".tsv" and text["delimiter"] is None:
            text = text | {"delimiter": "\t"}
        return read_csv(source, notes, **text)


def _read_files(files, notes, text):
    found: list[str] = []

    def read(file, text_columns):
        options = text | {"text_columns": text_columns}
        table = read_source(Source.of_file(file), found, options)
        return table.rename_columns(unique_names(table.column_names))

    table = read_together(files, read)
    found = list(dict.fromkeys(found))  # a file may be read twice
    notes += found[:MAX_NOTES]
    if len(found) > MAX_NOTES:
        notes.append(f"There are {len(found) - MAX_NOTES:,} more notes of this kind.")
    return table


def _read_arrow(source):
    import pyarrow as pa
    from pyarrow import feather, parquet

    is_feather = source.extension in (".feather", ".arrow")
    read = feather.read_table if is_feather else parquet.read_table
    with source.stream() as stream:
        if not isinstance(stream, str):
            stream = io.BytesIO(stream.read())  # these formats are read from the end
        try:
            return read(stream)
        except (pa.ArrowException, OSError) as error:
            kind = "Feather" if is_feather else "Parquet"
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


def to_pandas(table):
    """Convert an Arrow table to a DataFrame without loss.

    Integers and booleans with missing values keep their type, dates become
    datetimes, and times of day become text.
    """
    import pandas as pd
    import pyarrow as pa

    nullable = {pa.bool_(): pd.BooleanDtype()}
    for dtype in (pd.Int8Dtype, pd.Int16Dtype, pd.Int32Dtype, pd.Int64Dtype):
        nullable[pa.from_numpy_dtype(dtype().numpy_dtype)] = dtype()
    columns = {}
    names = unique_names(table.column_names)
    for name, column in zip(names, table.columns, strict=True):
        if pa.types.is_time(column.type):
            column = column.cast(pa.string())
        elif pa.types.is_decimal(column.type):
            column = column.cast(pa.float64())
        columns[name] = column.to_pandas(
            date_as_object=False,
            types_mapper=nullable.get if column.null_count else None,
        )
    return pd.DataFrame(columns, copy=False)


def unique_names(names):
    """Return column names without empty or duplicate ones."""
    taken: set = set()
    result = []
    for j, name in enumerate(names):
        name = name.strip() or f"column {j + 1}"
        candidate, number = name, 1
        while candidate in taken or (candidate != name and candidate in names):
            candidate, number = f"{name}.{number}", number + 1
        taken.add(candidate)
        result.append(candidate)
    return result


def _import_pyarrow():
    try:
        import pandas  # noqa: F401
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "Reading tables needs pandas and pyarrow: pip install 'skim-od[cli]'"
        ) from error
