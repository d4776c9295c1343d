"""Formatting numbers and values."""

MAX_LENGTH = 60  # of names and values from the data


def shorten(value, length=MAX_LENGTH):
    """Truncate a name or value to fit in a table."""
    text = str(value)
    return text if len(text) <= length else text[: length - 1] + "…"


def number(value):
    """Format a number to five digits, large ones in full."""
    value = float(value)
    digits = f"{value:.0f}" if 1e5 <= abs(value) < 1e15 else f"{value:.5g}"
    return "0" if digits == "-0" else digits


def date(value):
    """Format a date, with the time unless it is midnight, or a duration."""
    seconds = value.astype(f"{value.dtype.kind}8[s]")
    return str(seconds).replace("T", " ").removesuffix(" 00:00:00")


def count(value):
    """Format a count."""
    return f"{value:,}"


def percent(share):
    """Format a share in percent; 0% and 100% are always exact."""
    value = 100 * float(share)
    if 0 < value < 0.1:
        return "less than 0.1%"
    if 99.9 < value < 100:
        return "more than 99.9%"
    return f"{value:.1f}".removesuffix(".0") + "%"


def rows(n):
    """Format a number of rows."""
    return "1 row" if n == 1 else f"{count(n)} rows"
