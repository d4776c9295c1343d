"""Reading Excel workbooks."""

import io
import warnings
import zipfile

from skim.tables._csv import MISSING, clean_names, names_in
from skim.tables._source import import_extra


def read_excel(source, notes, sheet, skip_rows):
    """Read a sheet, given by its name or number, of a workbook into a DataFrame."""
    import pandas as pd

    import_extra("Excel workbooks need openpyxl", "openpyxl")
    if source.kind == "xls":
        raise ValueError(
            f"{source.name} is an old or protected Excel workbook; save it as .xlsx "
            "without a password."
        )
    data = io.BytesIO(source.read())
    with zipfile.ZipFile(data) as archive:
        source.check_size(sum(member.file_size for member in archive.infolist()))
    with warnings.catch_warnings(action="ignore"):  # of styles that are not read
        try:
            workbook = pd.ExcelFile(data, engine="openpyxl")
        except Exception as error:  # files can be damaged in endless ways
            raise source.unreadable(error) from None
        with workbook:
            name = _find_sheet(source, workbook.sheet_names, sheet, notes)
            try:
                # pandas would read the text 01067 as a number
                options = {"skiprows": skip_rows, "na_values": MISSING, "dtype": object}
                cells = workbook.parse(name, header=None, **options)
            except Exception as error:
                raise source.unreadable(error) from None
    cells = cells.dropna(how="all")
    if cells.empty:
        raise ValueError(f"Sheet {name!r} of {source.name} is empty.")
    first = cells.iloc[0]
    if len(first) > 1 and first.count() <= 1:
        raise ValueError(
            f"{source.name}, sheet {name!r}: row {skip_rows + 1} names "
            f"{first.count()} of {len(first)} columns; if the names are in a later "
            "row, set skip_rows."
        )
    names, has_names = names_in(["" if pd.isna(cell) else str(cell) for cell in first])
    table = cells.iloc[int(has_names) :].reset_index(drop=True)
    table = table.infer_objects().set_axis(clean_names(names), axis=1)
    for column in table.columns[table.dtypes.eq(object)]:
        if pd.api.types.infer_dtype(table[column]) == "boolean":
            table[column] = table[column].astype("boolean")
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
