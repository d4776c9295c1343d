"""Parsing text: numbers, dates and missing values."""

import re
from collections import Counter
from typing import NamedTuple

import numpy as np

# Lower-case text that stands for a missing value.
MISSING = ("", "?", "-", "--", "na", "n/a", "#n/a", "nan", "none", "null", "<na>")

ENOUGH = 0.9  # share of the values that must be numbers, or dates
MOST = 0.5  # share from which it is worth telling why a column is not numbers or dates
SAMPLE = 1000  # values to try before parsing all of them


class Found(NamedTuple):
    """What the values of a text column were found to be.

    `form` says how to parse them, None if fewer than `ENOUGH` can be parsed. `what` is
    for people, `obstacle` one of the `n_obstacles` values that cannot be parsed, and
    `parsed` the numbers, or the days since 1970, with NaN for anything else.
    """

    form: dict | None
    share: float
    what: str = ""
    obstacle: str = ""
    n_obstacles: int = 0
    warning: str = ""
    parsed: np.ndarray | None = None


NOTHING = Found(None, 0.0)


def to_text(column):
    """Return a Series as stripped text, with marks such as "n/a" as missing."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    if column.dtype == object:  # in which 1 and True are different texts
        return _stripped(column.map(_without_zero, na_action="ignore"))
    codes, values = pd.factorize(column)
    if pd.api.types.is_float_dtype(column.dtype):
        values = pd.Series(values).map(_without_zero)
    text = _stripped(pd.Series(values)).array.take(codes, allow_fill=True)
    return pd.Series(text, index=column.index, name=column.name)


def _stripped(values):
    text = values.astype("string").str.strip()
    return text.mask(text.str.lower().isin(MISSING))


def _without_zero(value):
    """Write 3.0 as 3: integer columns with missing values become float columns."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else str(value)
    return value


def _sample(present):
    """Return an evenly spaced sample of values."""
    return present.iloc[:: max(len(present) // SAMPLE, 1)]


def on_unique(text, function, missing=np.nan):
    """Apply a function from a list of text to an array, to each distinct value once."""
    import pandas as pd

    codes, values = pd.factorize(text)
    if not len(values):
        return np.full(len(text), missing)
    found = np.append(function([str(value) for value in values]), missing)
    return found[codes]  # missing values have the code -1


def unique_names(names, form):
    """Return names with a number, such as "{}.{}", where they are already taken."""
    given, taken = set(names), {}
    for name in names:
        candidate, number = name, 1
        while candidate in taken or (number > 1 and candidate in given):
            number += 1
            candidate = form.format(name, number)
        taken[candidate] = name
    return list(taken)


# Numbers ---------------------------------------------------------------------------

SPACE = "\\s'’\u00a0\u202f"  # between thousands, with both no-break spaces
WHOLE = r"(?:\d{1,3}(?:[%s]\d{3})+|\d+)"
UNSIGNED = {
    ".": rf"(?:{WHOLE % (',' + SPACE)}(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?",
    ",": rf"(?:{WHOLE % ('.' + SPACE)}(?:,\d*)?|,\d+)(?:[eE][+-]?\d+)?",
}
CODE = re.compile(r"0\d+|\d{19,}")  # digits that are not a number: 00712, a card number
FEW = 0.01  # share of cells, codes or with a unit, that do not speak for the others

CURRENCIES = (
    "AUD BRL CAD CHF CNY CZK DKK EUR GBP HKD HUF ILS INR JPY KRW MXN NOK NZD PLN RUB "
    "SEK SGD THB TRY USD ZAR"
)
MONEY = rf"[A-Z]{{0,2}}[€$£¥₹₽₩₺]|{CURRENCIES.replace(' ', '|')}|Rs\.?|kr\.?|zł"
NUMBER = {
    decimal: re.compile(
        rf"(?P<open>\()?(?P<sign>[+\-−]?)\s*(?P<money>{MONEY})?\s*(?P<open2>\()?"
        rf"(?P<sign2>[+\-−]?)(?P<digits>{digits})\s*"
        r"(?P<unit>[^\d\s.,()+\-:;<>=_#*'’\"&?!\\/|][^\d(),:;]{0,14})?"
        r"(?(open)\)|)(?(open2)\)|)"
    )
    for decimal, digits in UNSIGNED.items()
}

# Units that can be converted into each other, by their size. Minutes and metres are
# both "m"; the other units of a column tell which.
UNITS = (
    {"mg": 1e-6, "g": 1e-3, "kg": 1.0, "t": 1e3, "lb": 0.45359237, "oz": 0.0283495231},
    {"mm": 1e-3, "cm": 1e-2, "m": 1.0, "km": 1e3}
    | {"in": 0.0254, "ft": 0.3048, "mi": 1609.344},
    {"ml": 1e-3, "cl": 1e-2, "dl": 1e-1, "l": 1.0},
    {"ms": 1e-3, "s": 1.0, "min": 60.0, "m": 60.0}
    | {"h": 3600.0, "d": 86_400.0, "week": 604_800.0},
)
ALIASES = {
    "s": ("sec", "secs", "second", "seconds"),
    "min": ("mins", "minute", "minutes"),
    "h": ("hr", "hrs", "hour", "hours"),
    "d": ("day", "days"),
    "week": ("weeks",),
    "lb": ("lbs", "pound", "pounds"),
    "kg": ("kgs",),
    "in": ("inch", "inches"),
    "ft": ("foot", "feet"),
    "mi": ("mile", "miles"),
    "$": ("usd", "us$"),
    "€": ("eur", "euro", "euros"),
    "£": ("gbp",),
}
MEANING = {alias: unit for unit, aliases in ALIASES.items() for alias in aliases}
ORDINALS = ("st", "nd", "rd", "th")
BOOLEANS = {"true": 1.0, "false": 0.0}
PLAIN = {"decimal": ".", "factors": {"": 1.0}, "template": "{}"}


def find_numbers(text):
    """Return what numbers were found in text."""
    values = _sample(text.dropna()).tolist()
    codes = [value for value in values if CODE.fullmatch(value)]
    if len(codes) > max(FEW * len(values), 1) or _are_padded(codes, values):
        return NOTHING
    n_read = {
        decimal: sum(bool(pattern.fullmatch(v)) for v in values)
        for decimal, pattern in NUMBER.items()
    }
    decimal = max(n_read, key=lambda decimal: n_read[decimal])
    if n_read[decimal] < MOST * len(values):
        return NOTHING
    return _find_units(text, decimal)


def _are_padded(codes, values):
    """Whether nearly all values are as long as one that begins with 0: postal codes."""
    widths = Counter(map(len, values))
    return any(widths[len(code)] >= ENOUGH * len(values) for code in codes)


def _find_units(text, decimal):
    import pandas as pd

    form = PLAIN | {"decimal": decimal}
    what = "numbers in text" + " with a decimal comma" * (decimal == ",")
    numbers = _plain_numbers(text, decimal)
    lost = np.isnan(numbers) & text.notna().to_numpy(bool)
    codes, values = pd.factorize(text[lost])
    values = [str(value) for value in values]
    read = [_number(value, decimal) for value in values]
    units: Counter[str] = Counter()
    for (_, unit), count in zip(read, np.bincount(codes).tolist(), strict=True):
        if unit is not None:
            units[unit] += count
    bare = units.pop("", 0) + int(np.isfinite(numbers).sum())
    if units and _are_codes(values):
        return NOTHING
    if units.total() > FEW * bare:
        main = min(units, key=lambda unit: (-units[unit], unit))
        form["factors"] = _factors(units, main)
        form["template"] = _template(values, read, main)
        mixed = sorted(set(units) & set(form["factors"]) - {main})
        what += f" in {form['template'].replace('{}', '').strip()}"
        what += "".join(f", converted from {unit}" for unit in mixed)
        if mixed:
            numbers[:] = np.nan  # of which unit?
        else:
            form["factors"][""] = 1.0  # the unit was left out
            what += f", {bare:,} without it" * (bare > 0)
    numbers[lost] = _converted(read, form["factors"])[codes]
    return _finding(text, numbers, form, what)


def _converted(read, factors):
    """Return numbers in the main unit, given pairs of number and unit."""
    return np.array([number * factors.get(unit, np.nan) for number, unit in read])


def _are_codes(values):
    """Whether single letters are no units, but part of codes such as 12A and 14B."""
    letters = {value[-1] for value in values if re.fullmatch(r"\d+[A-Z]", value)}
    return len(letters) > 1


def _factors(units, main):
    """Return the factors that convert units to the main one, as far as they can be."""
    families = [family for family in UNITS if main in family] or [{main: 1.0}]
    family = max(families, key=lambda family: sum(units[unit] for unit in family))
    return {unit: size / family[main] for unit, size in family.items()}


def _template(values, read, main):
    """Return how the main unit is mostly written, such as "€{}" or "{} kg"."""
    templates: Counter[str] = Counter()
    for value, (_, unit) in zip(values[:SAMPLE], read, strict=False):
        if unit == main:
            start, end = re.split(r"[\d.,].*[\d.,]|\d", value, maxsplit=1)
            templates[start.strip("(+-−") + "{}" + end.strip(")")] += 1
    return max(
        templates or ["{}"], key=lambda template: (templates[template], template)
    )


def _finding(text, parsed, form, what):
    """Return what was found, given the values and what they were parsed as."""
    present = text.notna().to_numpy(bool)
    lost = np.isnan(parsed) & present
    n_lost = int(lost.sum())
    if not n_lost:
        return Found(form, 1.0, what, parsed=parsed)
    share = 1.0 - n_lost / int(present.sum())
    example = str(text[lost].mode()[0])
    own = form if share >= ENOUGH else None
    return Found(own, share, what, example, n_lost, parsed=parsed)


def parse_numbers(text, form):
    """Return the numbers in text as an array, NaN for anything else."""
    decimal, factors = form["decimal"], form["factors"]
    numbers = _plain_numbers(text, decimal if "" in factors else None)
    lost = np.isnan(numbers) & text.notna().to_numpy(bool)
    numbers[lost] = on_unique(
        text[lost],
        lambda values: _converted([_number(v, decimal) for v in values], factors),
    )
    return numbers


def _plain_numbers(text, decimal):
    """Return the numbers that need no rules of ours, NaN for anything else."""
    import pandas as pd

    if decimal != ".":
        return np.full(len(text), np.nan)
    numbers = pd.to_numeric(text, errors="coerce")
    return numbers.to_numpy(np.float64, na_value=np.nan, copy=True)


def _number(value, decimal):
    """Return a number in text and its unit, NaN and None if there is no number."""
    match = NUMBER[decimal].fullmatch(value)
    if not match:
        number = BOOLEANS.get(value.lower(), np.nan)
        return number, None if np.isnan(number) else ""
    parts = match.groupdict("")
    money, unit = parts["money"], parts["unit"].strip()
    if (money and unit) or unit in ORDINALS:
        return np.nan, None
    thousands = "." if decimal == "," else ","
    digits = re.sub(f"[{SPACE}{thousands}]", "", parts["digits"]).replace(",", ".")
    number = float(digits)
    signs = (parts["sign"] + parts["sign2"]).replace("−", "-").count("-")
    if signs % 2 or parts["open"] or parts["open2"]:
        number = -number
    return number, _unit(money or unit)


def _unit(unit):
    """Return a unit in its usual form: "kgs" and "KG" are "kg"."""
    unit = unit.rstrip(".").lower()
    unit = MEANING.get(unit, unit)
    known = unit in MEANING.values() or any(unit in family for family in UNITS)
    return unit if known or len(unit) < 4 else unit.removesuffix("s")


# Dates -----------------------------------------------------------------------------

ISO = "ISO8601"
ISO_DATES = {"format": ISO, "order": "day first"}
TIME_OF_DAY = re.compile(
    r"(?P<hour>\d{1,2}):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d(?:[.,]\d+)?))?"
    r"\s*(?P<half>[ap]\.?m\.?)?",
    re.IGNORECASE,
)
AT_END = re.compile(rf"(?:T|,?\s+|,?\s+at\s+){TIME_OF_DAY.pattern}$", re.IGNORECASE)
NUMERIC = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d\d)(?!\w)")
FIRSTS = {"day first": "%d{0}%m{0}", "month first": "%m{0}%d{0}"}
FORMATS = ["%Y/%m/%d", "%Y.%m.%d"] + [
    form.replace("%b", month)
    for month in ("%b", "%B")
    for form in ("%d %b %Y", "%b %d %Y", "%b %Y", "%d-%b-%Y", "%d %b %y", "%d-%b-%y")
]
DECORATION = re.compile(  # of dates in words: weekdays, ordinals and punctuation
    r"^(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*[.,]*\s+|,|(?<=\d)(?:st|nd|rd|th)\b|"
    r"(?<=[a-z])\.",
    re.IGNORECASE,
)


def find_dates(text, order="auto"):
    """Return what dates were found in text, in which `order` is that of 3/4/2024."""
    present = text.dropna()
    sample = _sample(present)
    form = {"format": "", "order": "time of day"}
    times = parse_dates(sample, form)
    if np.isfinite(times).sum() >= max(ENOUGH * len(sample), 1):
        return _finding(text, parse_dates(text, form), form, "times in text")
    what, warning = "dates in text", ""
    numeric = [match for value in sample if (match := NUMERIC.match(value))]
    if numeric:
        order, warning = _order(present, numeric, order)
        what += f", {order}"
        if len(numeric) > len(sample) / 2:
            written = Counter((m[2], "%Y" if m[4][2:] else "%y") for m in numeric)
            (mark, year), _ = written.most_common(1)[0]
            form["format"] = FIRSTS[order].format(mark) + year
    form["order"] = order
    if np.isfinite(parse_dates(sample, form)).sum() < MOST * len(sample):
        return NOTHING
    found = _finding(text, parse_dates(text, form), form, what)
    return found._replace(warning=warning)


def parse_dates(text, form):
    """Return the dates in text as days since 1970, NaN for anything else."""
    order = form["order"]
    if order == "time of day":
        return on_unique(
            text, lambda values: [_time(TIME_OF_DAY.fullmatch(v)) for v in values]
        )
    days = _parse_format(text, ISO)
    lost = np.isnan(days) & text.notna().to_numpy(bool)
    if lost.any():
        days[lost] = on_unique(text[lost], lambda values: _parse_other(values, order))
    return days


def _parse_other(values, order):
    """Return dates that are not in ISO format as days since 1970."""
    import pandas as pd

    first = FIRSTS.get(order, FIRSTS["day first"])
    numeric = [first.format(mark) + year for mark in "./-" for year in ("%Y", "%y")]
    dates = pd.Series([DECORATION.sub("", AT_END.sub("", value)) for value in values])
    days = np.full(len(values), np.nan)
    for date_format in (*numeric, *FORMATS):
        lost = np.isnan(days)
        days[lost] = _parse_format(dates[lost], date_format)
    times = map(AT_END.search, values)
    return days + [_time(match) if match else 0.0 for match in times]


def days_since_1970(dates):
    """Return dates as days since 1970 in their local time, NaN where missing."""
    if getattr(dates.dtype, "tz", None) is not None:
        dates = dates.dt.tz_localize(None)
    values = dates.to_numpy("datetime64[us]")
    days = values.astype(np.int64) / 86_400e6
    days[np.isnat(values)] = np.nan
    return days


def _parse_format(text, date_format):
    import pandas as pd

    options = {"format": date_format, "errors": "coerce", "utc": True}
    return days_since_1970(pd.to_datetime(text.astype(object), **options))


def _order(present, numeric, wanted):
    """Return the order of days and months, and a warning if it had to be guessed."""
    if wanted != "auto":
        return wanted, ""
    mark = Counter(match[2] for match in numeric).most_common(1)[0][0]
    usual, other = "day first", "month first"
    if mark == "/":
        usual, other = other, usual
    counts: Counter[str] = Counter()  # of what only one order can read
    for start, count in present.str.slice(0, 10).value_counts().items():
        if match := NUMERIC.match(start):
            one, two = int(match[1]), int(match[3])
            counts["day first"] += count * (one > 12 >= two)
            counts["month first"] += count * (two > 12 >= one)
    if counts[usual] != counts[other]:
        return (usual if counts[usual] > counts[other] else other), ""
    if mark == ".":
        return usual, ""  # dots are not written between months and days
    example = min(match.string for match in numeric)
    return usual, (
        f"dates such as {example!r} were read as {usual}; if that is wrong, set "
        f"dates={other!r}"
    )


def _time(match):
    """Return the time of the day in days, NaN if there is no such time."""
    if match is None:
        return np.nan
    hour, half = int(match["hour"]), (match["half"] or "").lower()[:1]
    if hour > (12 if half else 23):
        return np.nan
    if half:
        hour = hour % 12 + 12 * (half == "p")
    seconds = float((match["second"] or "0").replace(",", "."))
    return (3600 * hour + 60 * int(match["minute"]) + seconds) / 86_400
