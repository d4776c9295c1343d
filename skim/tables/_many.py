"""Reading several files as one table."""

from __future__ import annotations

import glob
from pathlib import Path

from skim.tables._source import ARROW, TEXT, extensions


def find_files(source, name):
    """Return the files of a folder or pattern, or None if `source` is neither."""
    path = Path(source)
    if path.is_dir():
        return _of_folder(path, name)
    if path.exists() or not glob.has_magic(name):
        return None
    found = sorted(map(Path, glob.glob(name, recursive=True)))
    files = [path for path in found if path.is_file()]
    if not files:
        raise FileNotFoundError(f"No file matches {name}.")
    for file in files:
        _, extension = extensions(file)
        if len(files) > 1 and extension not in (*TEXT, *ARROW):
            raise ValueError(
                f"{file} is neither text nor Parquet; only those can be read together."
            )
    return files


def _of_folder(folder, name):
    kinds: dict = {}
    for file in sorted(folder.iterdir()):
        _, extension = extensions(file)
        hidden = file.name.startswith((".", "_"))  # also what Spark writes beside
        if extension in (*TEXT, *ARROW) and file.is_file() and not hidden:
            kinds.setdefault(extension, []).append(file)
    if not kinds:
        raise FileNotFoundError(
            f"{name} is a directory without CSV or Parquet files; for those in its "
            f"subdirectories, use a pattern such as '{folder / '**' / '*.csv'}'."
        )
    if len(kinds) > 1:
        raise ValueError(
            f"{name} has files of several formats ({', '.join(kinds)}); use a pattern "
            f"such as '{folder / '*'}{next(iter(kinds))}'."
        )
    return next(iter(kinds.values()))


def read_together(files, read):
    """Read files of the same columns into one Arrow table.

    `read(file, text_columns)` returns the table in a file.
    """
    import pyarrow as pa

    tables = [read(file, ()) for file in files]
    names = tables[0].column_names
    for file, table in zip(files, tables, strict=True):
        check_same_columns(file, table.column_names, files[0], names)
    conflicts = _conflicts(tables)
    if conflicts:  # what is text in one file is text in all: 01067 beside 10115
        tables = [read(file, conflicts) for file in files]
        conflicts = _conflicts(tables)
    for name, i in conflicts.items():
        raise ValueError(
            f"{files[i]} has values of type {tables[i].schema.field(name).type} in "
            f"column {name!r}, unlike {files[0]}."
        )
    tables = [table.select(names) for table in tables]
    return pa.concat_tables(tables, promote_options="permissive")


def _conflicts(tables):
    """Return the columns whose types have none in common, with the first such table."""
    import pyarrow as pa

    conflicts = {}
    for name in tables[0].column_names:
        common = pa.schema([tables[0].schema.field(name)])
        for i, table in enumerate(tables):
            schemas = [common, pa.schema([table.schema.field(name)])]
            try:
                common = pa.unify_schemas(schemas, promote_options="permissive")
            except (pa.ArrowTypeError, pa.ArrowInvalid):
                conflicts[name] = i
                break
    return conflicts


def check_same_columns(file, names, first_file, wanted):
    missing = [repr(name) for name in wanted if name not in names]
    extra = [repr(name) for name in names if name not in wanted]
    faults = []
    if missing:
        faults.append(f"lacks {_some(missing)}")
    if extra:
        faults.append(f"adds {_some(extra)}")
    if faults:
        raise ValueError(
            f"{file} has other columns than {first_file}: it {' and '.join(faults)}."
        )


def _some(names):
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" * (len(names) > 3))
