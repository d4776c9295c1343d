"""Reading delimited text, and explaining what is wrong with it."""

import codecs
import csv
import io
import re
from collections import Counter

HEAD = 2**20  # bytes used to detect the delimiter, header and encoding
DELIMITERS = (",", ";", "\t", "|", " ")
MISSING = ("?", "-", "--", "None", "none", "na", "<NA>", "<na>")  # besides Arrow's
NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*")
CODE = re.compile(r"\s*(0\d+|\d{19,})\s*")

BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


def read_csv(data, name, encoding, delimiter):
    """Read delimited text from a path or bytes into an Arrow table.

    `name` is the name of the file in error messages.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    head = _head(data)
    encoding = check_encoding(head, name, encoding)
    text = codecs.getincrementaldecoder(encoding)("replace").decode(head)
    if not text.strip():
        raise ValueError(f"{name} is empty.")
    delimiter = delimiter or _find_delimiter(text)
    if len(delimiter) != 1:
        raise ValueError(f"delimiter must be a single character, not {delimiter!r}.")
    rows = _rows_of_head(text, delimiter)
    has_names = not all(map(NUMBER.fullmatch, rows[0]))
    names = rows[0] if has_names else [f"x{j}" for j in range(len(rows[0]))]
    try:
        table = arrow_csv.read_csv(
            stream(data),
            read_options=arrow_csv.ReadOptions(
                # Arrow skips the byte order mark by itself.
                encoding="utf8" if encoding == "utf-8-sig" else encoding,
                column_names=None if has_names else names,
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True
            ),
            convert_options=arrow_csv.ConvertOptions(
                strings_can_be_null=True,
                null_values=[*arrow_csv.ConvertOptions().null_values, *MISSING],
                column_types={column: pa.string() for column in _codes(rows, names)},
            ),
        )
        broken = any(pa.types.is_binary(field.type) for field in table.schema)
    except (pa.ArrowInvalid, pa.ArrowKeyError, UnicodeDecodeError) as error:
        _explain_lengths(data, name, encoding, delimiter)
        reason = str(error).strip().splitlines()[0]
        raise ValueError(f"{name} cannot be read as text: {reason}") from None
    if broken:
        raise _wrong_encoding(whole(data), name)
    return table


def check_encoding(data, name, encoding):
    """Return the encoding, UTF-8 if None, or raise if the text is not in it.

    `data` is the text, or the beginning of it, in bytes.
    """
    try:
        wanted = codecs.lookup(encoding or "utf-8-sig").name
    except LookupError:
        raise ValueError(f"Unknown encoding {encoding!r}.") from None
    try:
        text = codecs.getincrementaldecoder(wanted)().decode(data)
    except UnicodeError:
        if encoding is None:
            raise _wrong_encoding(data, name) from None
        raise ValueError(f"{name} is not {encoding} text.") from None
    if "\0" in text:
        raise _wrong_encoding(data, name)
    return wanted


def _wrong_encoding(data, name):
    for mark, found in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _looks_like(name, found)
    n_zeros = data.count(0)
    if n_zeros:
        by_two = max(data[::2].count(0), data[1::2].count(0))
        if by_two == n_zeros and n_zeros > len(data) / 8:
            return _looks_like(
                name, "UTF-16-LE" if data[1::2].count(0) else "UTF-16-BE"
            )
        return ValueError(f"{name} is not text.")
    windows = any(byte in data for byte in range(0x80, 0xA0))
    return _looks_like(name, "Windows-1252" if windows else "Latin-1")


def _looks_like(name, encoding):
    return ValueError(
        f"{name} is not UTF-8 but looks like {encoding}; convert it, or set "
        f"encoding={encoding} (on the command line, --encoding {encoding})."
    )


def stream(data):
    """Return what Arrow reads from: a buffer, or a file name."""
    return io.BytesIO(data) if isinstance(data, bytes) else str(data)


def _head(data):
    if isinstance(data, bytes):
        return data[:HEAD]
    with data.open("rb") as file:
        return file.read(HEAD)


def whole(data):
    """Return all bytes of a file."""
    return data if isinstance(data, bytes) else data.read_bytes()


def _rows_of_head(text, delimiter):
    """Return the first rows, including the header, as lists of strings."""
    if len(text) > 1 and text[-1] not in "\r\n":
        text = text[: text.rfind("\n") + 1] or text  # the last line may be truncated
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        return [row for row in rows if row]
    except csv.Error:
        return [text.splitlines()[0].split(delimiter)]


def _find_delimiter(text):
    """Return the delimiter that splits the first rows most evenly.

    A space counts only if it splits every row into the same number of fields.
    """

    def merit(delimiter):
        lengths = [len(row) for row in _rows_of_head(text[:65536], delimiter)[:100]]
        length, count = Counter(lengths).most_common(1)[0]
        cuts = length > 1 and (delimiter != " " or count == len(lengths))
        return cuts, delimiter != " ", count / len(lengths), length

    return max(DELIMITERS, key=merit)


def _codes(rows, names):
    """Return the columns whose digits would change if read as numbers."""
    return {
        names[j]
        for row in rows[1:]
        for j, value in enumerate(row[: len(names)])
        if CODE.fullmatch(value)
    }


def _explain_lengths(data, name, encoding, delimiter):
    """Raise an error that names the first row with a wrong number of fields."""
    binary = io.BytesIO(data) if isinstance(data, bytes) else data.open("rb")
    expected = None
    with io.TextIOWrapper(binary, encoding, newline="") as text:
        rows = csv.reader(text, delimiter=delimiter)
        try:
            for row in rows:
                if not row:
                    continue
                expected = expected or len(row)
                if len(row) != expected:
                    raise ValueError(
                        f"{name}, line {rows.line_num}: {len(row)} fields, but the "
                        f"first line has {expected}."
                    )
        except UnicodeDecodeError:
            raise _wrong_encoding(whole(data), name) from None
        except csv.Error:
            return
