"""Reading tables from files of several formats."""

import io
import json
import sys
import zipfile
from pathlib import Path

import numpy as np

from skim.tables._csv import check_encoding, read_csv

EXTENSIONS = {
    *(".csv", ".tsv", ".txt"),
    *(".parquet", ".pq", ".feather", ".arrow"),
    *(".jsonl", ".ndjson", ".json"),
    *(".npy", ".npz"),
}

# First bytes of what may come through a pipe.
MAGIC = {
    b"PAR1": ".parquet",
    b"ARROW1": ".feather",
    b"FEA1": ".feather",
    b"\x93NUMPY": ".npy",
    b"PK\x03\x04": ".npz",
}


def read_table(source, *, encoding=None, delimiter=None):
    r"""Read a table into a DataFrame.

    The extension tells the format: ``.csv``, ``.tsv`` or ``.txt`` for text with
    delimiters, ``.parquet``, ``.feather`` or ``.arrow``, ``.jsonl``, ``.ndjson`` or
    ``.json`` for one JSON object a line, ``.npy`` or ``.npz`` for an array. What comes
    through a pipe is recognised by its first bytes.

    Parameters
    ----------
    source : str or path-like
        The file, or "-" for standard input.

    encoding : str, default=None
        Encoding of a text file. By default it is UTF-8, and a file that is not is
        refused.

    delimiter : str, default=None
        What separates the fields of a text file. By default it is found out: a
        comma, semicolon, tab or vertical bar, or else a space.

    Returns
    -------
    table : DataFrame
        Text is read as numbers, booleans and dates where a whole column has them.
        Digits with a leading zero, or too many of them for a number, stay text.
        Columns of a file without names, which is one whose first line has nothing
        but numbers, and those of arrays are named x0, x1 and so on. A name that
        occurs twice gets a number.

    Raises
    ------
    ValueError, OSError
        With one sentence on what is wrong with the file.

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
    if extension in (".parquet", ".pq", ".feather", ".arrow"):
        table = _read_arrow(data, name, extension)
    elif extension in (".jsonl", ".ndjson", ".json"):
        table = _read_json_lines(data, name, encoding)
    elif extension in (".npy", ".npz"):
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
    """Return the path, or the bytes that came through a pipe, and the extension."""
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
            f"{name} has an unknown extension; those known are "
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


def _stream(data):
    return io.BytesIO(data) if isinstance(data, bytes) else str(data)


def _read_arrow(data, name, extension):
    import pyarrow as pa
    from pyarrow import feather, parquet

    read = feather.read_table if extension in (".feather", ".arrow") else None
    try:
        return to_pandas((read or parquet.read_table)(_stream(data)))
    except (pa.ArrowException, OSError) as error:
        kind = "Feather" if read else "Parquet"
        raise ValueError(
            f"{name} is not a whole {kind} file: {_first_line(error)}"
        ) from None


def _check_flat(table, name):
    import pyarrow as pa

    for field in table.schema:
        if pa.types.is_nested(field.type):
            raise ValueError(
                f"{name} holds more than single values in {field.name!r}; write one "
                "flat JSON object a line, as pandas does with lines=True."
            )


def _read_json_lines(data, name, encoding):
    import pandas as pd
    import pyarrow as pa
    from pyarrow import json as arrow_json

    if encoding is None:
        try:
            table = arrow_json.read_json(_stream(data))
            table.validate(full=True)  # of the encoding, above all
            _check_flat(table, name)
            return to_pandas(table)
        except (pa.ArrowException, UnicodeDecodeError):
            pass  # mixed types, long lines, or a fault that has to be named
    raw = data if isinstance(data, bytes) else data.read_bytes()
    encoding = check_encoding(raw, name, encoding)
    if raw.lstrip().startswith(b"["):
        raise ValueError(f"{name} is one JSON array; write one object a line instead.")
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
            if isinstance(array, np.lib.npyio.NpzFile):
                if len(array.files) != 1:
                    raise _SeveralArrays(array.files)
                array = array[array.files[0]]
    except _SeveralArrays as error:
        raise ValueError(
            f"{name} holds {error}; save the one you want with numpy.save."
        ) from None
    except (ValueError, EOFError, OSError, zipfile.BadZipFile):
        raise ValueError(
            f"{name} is not a whole NumPy file of numbers or text; arrays of Python "
            "objects are never loaded."
        ) from None
    if array.dtype.names:
        return pd.DataFrame({field: array[field] for field in array.dtype.names})
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise ValueError(f"{name} holds {array.ndim} dimensions, not rows and columns.")
    return pd.DataFrame(array, columns=[f"x{j}" for j in range(array.shape[1])])


class _SeveralArrays(Exception):
    def __init__(self, names):
        what = f"several arrays ({', '.join(names)})" if names else "no array"
        super().__init__(what)


def to_pandas(table):
    """Make a DataFrame of an Arrow table, and let nothing be lost.

    Integers and booleans with gaps stay what they are, dates become datetimes, and
    times of the day text.
    """
    import pandas as pd
    import pyarrow as pa

    nullable = {pa.bool_(): pd.BooleanDtype()}
    for dtype in (pd.Int8Dtype, pd.Int16Dtype, pd.Int32Dtype, pd.Int64Dtype):
        nullable[pa.from_numpy_dtype(dtype().numpy_dtype)] = dtype()
    columns = {}
    for name, column in zip(
        unique_names(table.column_names), table.columns, strict=True
    ):
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
    """Return names for columns: none empty, none twice."""
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


def _first_line(error):
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__


def _import_pyarrow():
    try:
        import pandas  # noqa: F401
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "Reading tables needs pandas and pyarrow: pip install 'skim[cli]'"
        ) from error
