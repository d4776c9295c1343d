"""Formatting numbers and values."""

import math

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


def interval(low, high, value, is_whole=False):
    """Format a range to about two digits of its width.

    There are more digits where a `value` outside it would otherwise look inside.
    """
    if is_whole and math.ceil(low - 1e-3) <= math.floor(high + 1e-3):
        low, high = math.ceil(low - 1e-3), math.floor(high + 1e-3)
    width = high - low
    if not 1e-6 < width < 1e15 or max(abs(low), abs(high)) >= 1e15:
        ends = [number(low), number(high)]
    else:
        decimals = 1 - math.floor(math.log10(width))
        if is_whole:
            decimals = min(decimals, 0)
        while decimals < 6 and _looks_inside(low, high, value, decimals):
            decimals += 1
        places = max(decimals, 0)
        ends = [f"{round(end, decimals) + 0.0:.{places}f}" for end in (low, high)]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _looks_inside(low, high, value, decimals):
    """Whether a value outside a range would be inside, were the range rounded."""
    is_outside = value < low or value > high
    return is_outside and round(low, decimals) <= value <= round(high, decimals)


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


def probability(value):
    """Format a probability in percent; neither 0% nor 100% is ever certain."""
    value = 100 * float(value)
    if value < 0.1:
        return "<0.1%"
    return ">99.9%" if value > 99.9 else f"{value:.1f}%"


def rows(n):
    """Format a number of rows."""
    return "1 row" if n == 1 else f"{count(n)} rows"
