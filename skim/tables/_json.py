"""Reading JSON: an object per line, an array of objects, or an object of columns."""

import io
import json

from skim.tables._encoding import detect_encoding, encoding_of

SPACE = b"\xef\xbb\xbf \t\r\n"


def read_json(source, notes, encoding):
    """Read JSON into an Arrow table, or a DataFrame if a column has mixed types."""
    import pyarrow as pa

    codec = encoding_of(source, encoding, notes)
    start = source.head().lstrip(SPACE)[:1]
    if not start:
        raise ValueError(f"{source.name} is empty.")
    if codec in ("utf-8", "utf-8-sig") and start == b"{":
        try:
            with source.stream() as stream:
                table = _parse_lines(stream)
        except (pa.ArrowException, UnicodeDecodeError):
            pass  # mixed types, long lines, several lines per object, or an error
        else:
            nested = [f.name for f in table.schema if pa.types.is_nested(f.type)]
            if not nested:
                return table
            if table.num_rows > 1:
                raise _nested(source, nested[0])
    return _from_rows(_rows(_text(source, codec, encoding, notes), source), source)


def _parse_lines(stream):
    from pyarrow import json as arrow_json

    table = arrow_json.read_json(stream)
    table.validate(full=True)  # the encoding, above all
    return table


def _nested(source, column):
    return ValueError(
        f"{source.name} has nested values in {column!r}; every value must be a number, "
        "text, true, false or null."
    )


def _text(source, codec, encoding, notes):
    data = source.read()
    try:
        return data.decode(codec)
    except UnicodeDecodeError:
        if encoding is not None or codec != "utf-8-sig":
            raise ValueError(f"{source.name} is not {codec} text.") from None
    return data.decode(detect_encoding(source, notes), "replace")


def _rows(text, source):
    """Return one dictionary per row, whichever way the table is laid out."""
    try:
        document = json.loads(text)
    except RecursionError:
        raise ValueError(f"{source.name} is nested too deeply.") from None
    except ValueError as error:
        if text.lstrip().startswith("["):
            raise ValueError(f"{source.name} is not valid JSON: {error}.") from None
        return _rows_of_lines(text, source)
    if isinstance(document, dict) and document:
        columns = document.values()
        if all(isinstance(column, dict) for column in columns):  # as pandas writes it
            index = dict.fromkeys(key for column in columns for key in column)
            return [
                {name: column.get(key) for name, column in document.items()}
                for key in index
            ]
        if all(isinstance(column, list) for column in columns):
            if len({*map(len, columns)}) > 1:
                raise ValueError(f"{source.name} has columns of different lengths.")
            return [
                dict(zip(document, row, strict=True))
                for row in zip(*columns, strict=True)
            ]
        return [document]
    if isinstance(document, list):
        if document and all(isinstance(row, list) for row in document):
            return [{f"x{j}": value for j, value in enumerate(row)} for row in document]
        for number, row in enumerate(document, start=1):
            if not isinstance(row, dict):
                raise ValueError(f"{source.name}, element {number}: not a JSON object.")
        return document
    return _rows_of_lines(text, source)


def _rows_of_lines(text, source):
    rows = []
    for number, line in enumerate(io.StringIO(text), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise ValueError(f"{source.name}, line {number}: {error}.") from None
        if not isinstance(row, dict):
            raise ValueError(f"{source.name}, line {number}: not a JSON object.")
        rows.append(row)
    return rows


def _from_rows(rows, source):
    """Return rows as a table with the types that Arrow finds in JSON lines."""
    import pandas as pd
    import pyarrow as pa

    for row in rows:
        for name, value in row.items():
            if isinstance(value, dict | list):
                raise _nested(source, name)
    lines = "\n".join(map(json.dumps, rows)).encode()
    try:
        return _parse_lines(io.BytesIO(lines))
    except (pa.ArrowException, UnicodeDecodeError):
        return pd.DataFrame.from_records(rows)
