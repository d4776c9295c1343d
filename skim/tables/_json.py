"""Reading JSON: an object per line, an array of objects, or an object of columns."""

import json

from skim.tables._encoding import encoding_of


def read_json(source, notes, encoding):
    """Read JSON into an Arrow table; columns of mixed types become text."""
    import pandas as pd
    import pyarrow as pa

    text = source.read().decode(encoding_of(source, encoding, notes), "replace")
    if not text.strip():
        raise ValueError(f"{source.name} is empty.")
    document = _parsed(text, source.name)
    rows = document
    if isinstance(document, dict):
        rows = list(document.values())  # columns
        if not all(isinstance(column, dict | list) for column in rows):
            rows = document = [document]
    if not isinstance(rows, list) or {*map(type, rows)} not in (set(), {dict}, {list}):
        raise ValueError(f"{source.name} has rows that are not JSON objects.")
    try:
        frame = pd.DataFrame(document, dtype=object)
    except ValueError as error:
        raise source.unreadable(error) from None
    columns = {}
    for j, name in enumerate(frame):
        values = frame[name]
        if values.map(lambda value: isinstance(value, dict | list)).any():
            raise ValueError(
                f"{source.name} has nested values in {name!r}; every value must be a "
                "number, text, true, false or null."
            )
        try:
            column = pa.array(values, from_pandas=True)
        except (pa.ArrowException, OverflowError):
            texts = values.map(_as_text, na_action="ignore")
            column = pa.array(texts, pa.string(), from_pandas=True)
        columns[name if isinstance(name, str) else f"x{j}"] = column
    return pa.table(columns)


def _as_text(value):
    return value if isinstance(value, str) else json.dumps(value)


def _parsed(text, name):
    """Return the document, or a list of the documents in the lines."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError(f"{name} is nested too deeply.") from None
    except ValueError as error:
        if text.lstrip().startswith("["):
            raise ValueError(f"{name} is not valid JSON: {error}.") from None
    rows = []
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            rows += [json.loads(line)] if line.strip() else []
        except ValueError as error:
            raise ValueError(f"{name}, line {number}: {error}.") from None
    return rows
