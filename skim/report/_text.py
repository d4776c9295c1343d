"""How numbers and values are written."""

MAX_LENGTH = 60  # of a name or a value from the data


def shorten(value, length=MAX_LENGTH):
    """Return a name or a value as text that fits in a table."""
    text = str(value)
    return text if len(text) <= length else text[: length - 1] + "…"


def number(value):
    """Write a number with about five digits, large ones in full."""
    value = float(value)
    digits = f"{value:.0f}" if 1e5 <= abs(value) < 1e15 else f"{value:.5g}"
    return "0" if digits == "-0" else digits


def date(value):
    """Write a date, with the time of day if there is one, or a time span."""
    seconds = value.astype(f"{value.dtype.kind}8[s]")
    return str(seconds).replace("T", " ").removesuffix(" 00:00:00")


def count(value):
    """Write a number of things."""
    return f"{value:,}"


def percent(share):
    """Write a share in percent; never 0% or 100% unless it is just that."""
    value = 100 * float(share)
    if 0 < value < 0.1:
        return "less than 0.1%"
    if 99.9 < value < 100:
        return "more than 99.9%"
    return f"{value:.1f}".removesuffix(".0") + "%"


def rows(n):
    """Write a number of rows."""
    return "1 row" if n == 1 else f"{count(n)} rows"
