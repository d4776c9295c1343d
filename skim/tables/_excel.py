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
    # pandas would read the text 01067 as a number
    options = {"skiprows": skip_rows, "na_values": MISSING, "dtype": object}
    with warnings.catch_warnings(action="ignore"):  # of styles that are not read
        try:
            with pd.ExcelFile(data, engine="openpyxl") as workbook:
                names = workbook.sheet_names
                if sheet is None and len(names) > 1:
                    notes.append(
                        f"Read sheet {names[0]!r} of {source.name}, the first of "
                        f"{len(names)} ({', '.join(names)}); set sheet to read another."
                    )
                sheet = sheet or names[0]
                is_number = sheet not in names and str(sheet).isdecimal()
                place = int(sheet) - 1 if is_number else sheet
                cells = workbook.parse(place, header=None, **options)
        except Exception as error:  # files can be damaged in endless ways
            raise source.unreadable(error) from None
    cells = cells.dropna(how="all")
    if cells.empty:
        raise ValueError(f"Sheet {sheet!r} of {source.name} is empty.")
    first = cells.iloc[0]
    if len(first) > 1 and first.count() <= 1:
        raise ValueError(
            f"{source.name}, sheet {sheet!r}: row {skip_rows + 1} names "
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
