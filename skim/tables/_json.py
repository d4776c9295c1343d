"""Reading JSON: an object per line, an array of objects, or an object of columns."""

import json

from skim.tables._encoding import detect_encoding, encoding_of


def read_json(source, notes, encoding):
    """Read JSON into columns by name, of Arrow or, if of mixed types, of pandas."""
    import pandas as pd
    import pyarrow as pa

    rows = _rows(_text(source, notes, encoding), source.name)
    columns = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        if any(isinstance(value, dict | list) for value in values):
            raise ValueError(
                f"{source.name} has nested values in {name!r}; every value must be a "
                "number, text, true, false or null."
            )
        try:
            columns[name] = pa.array(values)
        except (pa.ArrowException, OverflowError):  # of several types
            columns[name] = pd.Series(values, dtype=object)
    return columns


def _text(source, notes, encoding):
    codec = encoding_of(source, encoding, notes)
    data = source.read()
    try:
        text = data.decode(codec)
    except UnicodeDecodeError:
        if encoding is not None or codec != "utf-8-sig":
            raise ValueError(f"{source.name} is not {codec} text.") from None
        text = data.decode(detect_encoding(source, notes), "replace")
    if not text.strip():
        raise ValueError(f"{source.name} is empty.")
    return text


def _rows(text, name):
    """Return one dictionary per row, whichever way the table is laid out."""
    try:
        document = json.loads(text)
    except RecursionError:
        raise ValueError(f"{name} is nested too deeply.") from None
    except ValueError as error:
        if text.lstrip().startswith("["):
            raise ValueError(f"{name} is not valid JSON: {error}.") from None
        return _rows_of_lines(text, name)
    if isinstance(document, dict) and document:
        columns = list(document.values())
        if all(isinstance(column, dict) for column in columns):  # as pandas writes it
            index = dict.fromkeys(key for column in columns for key in column)
            columns = [[column.get(key) for key in index] for column in columns]
        elif not all(isinstance(column, list) for column in columns):
            return [document]
        if len({*map(len, columns)}) > 1:
            raise ValueError(f"{name} has columns of different lengths.")
        return [
            dict(zip(document, row, strict=True)) for row in zip(*columns, strict=True)
        ]
    if not isinstance(document, list):
        return _rows_of_lines(text, name)
    if document and all(isinstance(row, list) for row in document):
        return [{f"x{j}": value for j, value in enumerate(row)} for row in document]
    for number, row in enumerate(document, start=1):
        if not isinstance(row, dict):
            raise ValueError(f"{name}, element {number}: not a JSON object.")
    return document


def _rows_of_lines(text, name):
    rows = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise ValueError(f"{name}, line {number}: {error}.") from None
        if not isinstance(row, dict):
            raise ValueError(f"{name}, line {number}: not a JSON object.")
        rows.append(row)
    return rows
