"""Reading tables from files of several formats."""

from __future__ import annotations

import io
import json
import os
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from skim.tables._csv import check_encoding, read_csv, stream, whole

if TYPE_CHECKING:
    import pandas as pd

TEXT = (".csv", ".tsv", ".txt")
ARROW = (".parquet", ".pq", ".feather", ".arrow")
JSON = (".jsonl", ".ndjson", ".json")
ARRAYS = (".npy", ".npz")
EXTENSIONS = {*TEXT, *ARROW, *JSON, *ARRAYS}

# Data from a pipe is recognised by its first bytes.
MAGIC = {
    b"PAR1": ".parquet",
    b"ARROW1": ".feather",
    b"FEA1": ".feather",
    b"\x93NUMPY": ".npy",
    b"PK\x03\x04": ".npz",
}


def read_table(
    source: str | os.PathLike[str],
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
) -> pd.DataFrame:
    r"""Read a table into a DataFrame.

    The format is inferred from the extension: ``.csv``, ``.tsv`` or ``.txt`` for
    delimited text; ``.parquet``, ``.feather`` or ``.arrow``; ``.jsonl``, ``.ndjson``
    or ``.json`` for one JSON object per line; ``.npy`` or ``.npz`` for an array. Data
    from a pipe is recognised by its first bytes.

    Parameters
    ----------
    source : str or path-like
        The file, or "-" for standard input.

    encoding : str, default=None
        Encoding of a text file. By default UTF-8; a file in any other encoding
        raises an error.

    delimiter : str, default=None
        Field separator of a text file. By default it is detected: a comma,
        semicolon, tab or vertical bar, or else a space.

    Returns
    -------
    table : DataFrame
        Text is parsed as numbers, booleans or dates if that works for the whole
        column. Digits with a leading zero, and those too long for a number, stay
        text. If the first line of a file consists of numbers only, it is not a
        header, and the columns are named x0, x1 and so on, as for arrays. Duplicate
        column names are numbered.

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
    name = "standard input" if str(source) == "-" else str(source)
    data, extension = _open(source, name)
    if extension in ARROW:
        table = _read_arrow(data, name, extension)
    elif extension in JSON:
        table = _read_json_lines(data, name, encoding)
    elif extension in ARRAYS:
        table = _read_array(data, name)
    else:
        if extension == ".tsv":
            delimiter = delimiter or "\t"
        table = to_pandas(read_csv(data, name, encoding, delimiter))
    if not table.shape[1]:
        raise ValueError(f"{name} has no columns.")
    if not len(table):
        raise ValueError(f"{name} has column names but no rows.")
    return table


def _open(source, name):
    """Return the path, or the bytes from a pipe, and the extension."""
    if name == "standard input":
        return _from_pipe(sys.stdin.buffer.read(), name)
    path = Path(source)
    if path.is_dir():
        raise IsADirectoryError(f"{name} is a directory; name a file in it.")
    if not path.exists():
        raise FileNotFoundError(f"{name} does not exist.")
    if not path.is_file():
        return _from_pipe(path.read_bytes(), name)
    extension = path.suffix.lower()
    if extension not in EXTENSIONS:
        raise ValueError(
            f"{name} has an unknown extension; it must be one of "
            f"{', '.join(sorted(EXTENSIONS))}."
        )
    try:
        with path.open("rb") as file:
            if not file.read(1):
                raise ValueError(f"{name} is empty.")
    except PermissionError:
        raise PermissionError(f"{name} cannot be read: permission denied.") from None
    return path, extension


def _from_pipe(data, name):
    if not data.strip():
        raise ValueError(f"{name} is empty.")
    for magic, extension in MAGIC.items():
        if data.startswith(magic):
            return data, extension
    is_json = data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    return data, ".jsonl" if is_json else ".csv"


def _read_arrow(data, name, extension):
    import pyarrow as pa
    from pyarrow import feather, parquet

    is_feather = extension in (".feather", ".arrow")
    read = feather.read_table if is_feather else parquet.read_table
    try:
        return to_pandas(read(stream(data)))
    except (pa.ArrowException, OSError) as error:
        kind = "Feather" if is_feather else "Parquet"
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ValueError(f"{name} is not a valid {kind} file: {reason}") from None


def _check_flat(table, name):
    import pyarrow as pa

    for field in table.schema:
        if pa.types.is_nested(field.type):
            raise ValueError(
                f"{name} has nested values in {field.name!r}; write one flat JSON "
                "object per line, as pandas does with lines=True."
            )


def _read_json_lines(data, name, encoding):
    import pandas as pd
    import pyarrow as pa
    from pyarrow import json as arrow_json

    if encoding is None:
        try:
            table = arrow_json.read_json(stream(data))
            table.validate(full=True)  # the encoding, above all
            _check_flat(table, name)
            return to_pandas(table)
        except (pa.ArrowException, UnicodeDecodeError):
            pass  # mixed types, long lines, or an error to locate
    raw = whole(data)
    encoding = check_encoding(raw, name, encoding)
    if raw.lstrip().startswith(b"["):
        raise ValueError(f"{name} is a JSON array; write one object per line instead.")
    rows = []
    for number, line in enumerate(io.StringIO(raw.decode(encoding)), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise ValueError(f"{name}, line {number}: {error}.") from None
        if not isinstance(row, dict):
            raise ValueError(f"{name}, line {number}: not a JSON object.")
        rows.append(row)
    return pd.DataFrame.from_records(rows)


def _read_array(data, name):
    import pandas as pd

    try:
        with io.BytesIO(data) if isinstance(data, bytes) else data.open("rb") as file:
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
