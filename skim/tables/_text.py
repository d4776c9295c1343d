"""Parsing text: numbers, dates and missing values."""

import numpy as np

# Lower-case text that stands for a missing value.
MISSING = ("", "?", "-", "--", "na", "n/a", "#n/a", "nan", "none", "null", "<na>")

ENOUGH = 0.9  # share of the values that must be numbers, or dates
SAMPLE = 1000  # values to try before parsing all of them

AROUND_NUMBERS = r"^[€$£¥]\s*|\s*[€$£¥%]$"
SPACE = "\\s'’\u00a0\u202f"  # between thousands, with both no-break spaces
WHOLE = r"(?:\d+|\d{1,3}(?:[%s]\d{3})+)"
NUMBERS = {
    ".": rf"[+-]?(?:{WHOLE % (',' + SPACE)}(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?",
    ",": rf"[+-]?(?:{WHOLE % ('.' + SPACE)}(?:,\d*)?|,\d+)(?:[eE][+-]?\d+)?",
}
CODE = r"0\d+|\d{19,}"  # digits that are not a number: 00712, a card number

DATES = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d.%m.%y", "%m/%d/%Y", "%d/%m/%Y")
TIMES = ("", " %H:%M", " %H:%M:%S")
ISO = "ISO8601"
DATE_FORMATS = (
    ISO,
    *(date + time for date in DATES for time in TIMES),
    *(time.strip() for time in TIMES[1:]),
)


def to_text(column):
    """Return a Series as stripped text, with marks such as "n/a" as missing."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    if pd.api.types.is_float_dtype(column.dtype) or column.dtype == object:
        column = column.map(_without_zero, na_action="ignore")
    text = column.astype("string").str.strip()
    return text.mask(text.str.lower().isin(MISSING))


def _without_zero(value):
    """Write 3.0 as 3: integer columns with missing values become float columns."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else str(value)
    return value


def find_decimal(text):
    """Return the decimal separator of numbers in text, None if it is not numeric."""
    bare = _bare(_sample(text))
    if bare.str.fullmatch(CODE).any():
        return None
    return _most_common(
        text, NUMBERS, lambda text, decimal: _is_number(_bare(text), decimal)
    )


def parse_numbers(text, decimal):
    """Return the numbers in text as an array, NaN for anything else."""
    import pandas as pd

    if decimal == ".":
        numbers = pd.to_numeric(text, errors="coerce")
        if numbers.isna().equals(text.isna()):
            return numbers.to_numpy(np.float64, na_value=np.nan)
    bare = _bare(text)
    bare = bare.where(_is_number(bare, decimal))
    thousands = "." if decimal == "," else ","
    bare = bare.str.replace(f"[{SPACE}{thousands}]", "", regex=True)
    numbers = pd.to_numeric(bare.str.replace(",", "."), errors="coerce")
    return numbers.to_numpy(np.float64, na_value=np.nan)


def find_date_format(text):
    """Return the format of dates in text for pandas, None if there are no dates.

    If slashes leave day and month ambiguous, the month comes first.
    """
    # Saves trying every format on text that cannot be dates; "2024" is a number.
    if _sample(text).str.contains(r"\d\D\d").mean() < ENOUGH:
        return None
    return _most_common(
        text, DATE_FORMATS, lambda text, form: np.isfinite(parse_dates(text, form))
    )


def parse_dates(text, date_format):
    """Return the dates in text as days since 1970, NaN for anything else."""
    import pandas as pd

    options = {"format": date_format, "errors": "coerce", "utc": True}
    return days_since_1970(pd.to_datetime(text.astype(object), **options))


def days_since_1970(dates):
    """Return dates as days since 1970 in their local time, NaN where missing."""
    if getattr(dates.dtype, "tz", None) is not None:
        dates = dates.dt.tz_localize(None)
    values = dates.to_numpy("datetime64[us]")
    days = values.astype(np.int64) / 86_400e6
    days[np.isnat(values)] = np.nan
    return days


def _sample(text):
    """Return an evenly spaced sample of the values that are not missing."""
    present = text.dropna()
    return present.iloc[:: max(len(present) // SAMPLE, 1)]


def _most_common(text, forms, has_form):
    """Return the form that most values match, None if too few do."""
    sample = _sample(text)
    if not len(sample):
        return None
    best = max(forms, key=lambda form: has_form(sample, form).mean())
    for values in (sample, text.dropna()):
        if has_form(values, best).mean() < ENOUGH:
            return None
    return best


def _bare(text):
    return text.str.replace(AROUND_NUMBERS, "", regex=True)


def _is_number(bare, decimal):
    return bare.str.fullmatch(NUMBERS[decimal]).fillna(False).astype(bool)
