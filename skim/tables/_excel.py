"""Reading Excel workbooks."""

import io
import re
import warnings
import zipfile
from contextlib import suppress

from skim.tables._csv import MISSING, NUMBER
from skim.tables._source import import_extra

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # old or encrypted Office documents
ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
UNNAMED = re.compile(r"Unnamed: \d+")


def read_excel(source, notes, sheet, skip_rows):
    """Read a sheet of a workbook into a DataFrame.

    `sheet` is a name or a number counted from 1; None is the first sheet.
    """
    import pandas as pd

    import_extra("Excel workbooks need openpyxl", "openpyxl")
    data = source.read()
    if data.startswith(OLE):
        if ENCRYPTED in data:
            raise ValueError(
                f"{source.name} is protected with a password; save it without one."
            )
        raise ValueError(f"{source.name} is an old Excel workbook; save it as .xlsx.")
    with suppress(zipfile.BadZipFile), zipfile.ZipFile(io.BytesIO(data)) as archive:
        source.check_size(sum(member.file_size for member in archive.infolist()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and validations that are not read
        try:
            workbook = pd.ExcelFile(io.BytesIO(data), engine="openpyxl")
        except Exception as error:  # files can be damaged in endless ways
            raise _invalid(source, error) from None
        with workbook:
            name = _find_sheet(source, workbook.sheet_names, sheet, notes)
            try:
                table = _parse(workbook, name, skip_rows)
            except Exception as error:
                raise _invalid(source, error) from None
    if table.empty and not len(table.columns):
        raise ValueError(f"Sheet {name!r} of {source.name} is empty.")
    is_named = [UNNAMED.fullmatch(column) is None for column in table.columns]
    if len(is_named) > 1 and sum(is_named) <= 1:
        raise ValueError(
            f"{source.name}, sheet {name!r}: row {skip_rows + 1} names {sum(is_named)} "
            f"of {len(is_named)} columns; if the names are in a later row, set "
            "skip_rows."
        )
    table.columns = [
        column if named else f"column {j + 1}"
        for j, (column, named) in enumerate(zip(table.columns, is_named, strict=True))
    ]
    return table


def _parse(workbook, name, skip_rows):
    import pandas as pd

    options = {"sheet_name": name, "skiprows": skip_rows, "na_values": MISSING}
    options["dtype"] = object  # pandas would read the text 01067 as a number
    table = workbook.parse(**options)
    table.columns = table.columns.map(str)
    if len(table.columns) and all(map(NUMBER.fullmatch, table.columns)):
        table = workbook.parse(header=None, **options)
        table.columns = [f"x{j}" for j in range(table.shape[1])]
    table = table.dropna(how="all").reset_index(drop=True).infer_objects()
    for column in table.select_dtypes(object):
        kind = pd.api.types.infer_dtype(table[column])
        if kind == "boolean":
            table[column] = table[column].astype("boolean")
        elif kind == "time":  # of day
            table[column] = table[column].map(str, na_action="ignore")
    return table


def _find_sheet(source, names, sheet, notes):
    listed = ", ".join(map(str, names))
    if sheet is None:
        if len(names) > 1:
            notes.append(
                f"Read sheet {names[0]!r} of {source.name}, the first of {len(names)} "
                f"({listed}); set sheet to read another."
            )
        return names[0]
    if sheet in names:
        return sheet
    if str(sheet).isdecimal() and 1 <= int(sheet) <= len(names):
        return names[int(sheet) - 1]
    raise ValueError(f"{source.name} has no sheet {sheet!r}; it has {listed}.")


def _invalid(source, error):
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return ValueError(
        f"{source.name} is not a valid Excel workbook: {reason.rstrip('.')}."
    )
