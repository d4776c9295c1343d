"""Reading delimited text, and explaining what is wrong with it."""

import csv
import io
import re
from collections import Counter
from contextlib import contextmanager

from skim.tables._encoding import detect_encoding, encoding_of
from skim.tables._source import HEAD

DELIMITERS = (",", ";", "\t", "|", " ")
MISSING = ("?", "-", "--", "None", "none", "na", "<NA>", "<na>")  # besides Arrow's
NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*")
CODE = re.compile(r"\s*(0\d+|\d{19,})\s*")
COMMENT = re.compile(r"\s*(#|%|//|!)")


# Arrow rather than pandas, which is faster but fills short rows with missing values,
# takes the first fields of long ones for an index, and rounds large integers beside
# missing values. What Arrow lacks is added here: comments, the detection of delimiter
# and header, and codes such as 01067.
def read_csv(
    source,
    notes,
    *,
    encoding=None,
    delimiter=None,
    skip_rows=0,
    comment=None,
    skip_bad_lines=False,
    text_columns=(),
):
    """Read delimited text into an Arrow table.

    Notes for the user are added to `notes`. `text_columns` are not parsed as numbers.
    """
    codec = encoding_of(source, encoding, notes)
    layout = Layout(source, codec, delimiter, skip_rows, comment)
    table = _parse(layout, notes, skip_bad_lines, text_columns)
    if table is None and encoding is None and codec == "utf-8-sig":
        layout.codec = detect_encoding(source, notes)
        table = _parse(layout, notes, skip_bad_lines, text_columns)
    if table is None:
        raise ValueError(
            f"{source.name} is not {layout.codec} text; set encoding (--encoding)."
        )
    return table


class Layout:
    """How the text of a source is divided into rows and fields."""

    def __init__(self, source, codec, delimiter, skip_rows, comment):
        self.source = source
        self.name = source.name
        self.codec = codec
        self.skip_rows = skip_rows
        self.comment = comment
        with self._lines("replace") as lines:
            head = lines.read(HEAD).decode("utf-8", "replace")
        if not head.strip():
            without = " without the skipped lines" if skip_rows or comment else ""
            raise ValueError(f"{self.name} is empty{without}.")
        self.delimiter = delimiter or _find_delimiter(head)
        if len(self.delimiter) != 1:
            raise ValueError(
                f"delimiter must be a single character, not {delimiter!r}."
            )
        self.rows = _rows_of_head(head, self.delimiter)
        self.has_names = not all(map(NUMBER.fullmatch, self.rows[0]))
        self.names = self.rows[0]
        if not self.has_names:
            self.names = [f"x{j}" for j in range(len(self.rows[0]))]

    @contextmanager
    def stream(self):
        """Yield what Arrow reads from, in UTF-8."""
        is_utf8 = self.codec in ("utf-8", "utf-8-sig", "ascii")
        if is_utf8 and not self.skip_rows and self.comment is None:
            with self.source.stream() as stream:  # Arrow skips a byte order mark
                yield stream
        else:
            with self._lines("strict") as lines:
                yield lines

    @contextmanager
    def _lines(self, errors):
        with self.text(errors) as text:
            yield io.BufferedReader(_Lines(text, self.skip_rows, self.comment), HEAD)

    @contextmanager
    def text(self, errors="strict"):
        with (
            self.source.open() as file,
            io.TextIOWrapper(file, self.codec, errors, newline="") as text,
        ):
            yield text

    def numbered_rows(self):
        """Yield the line, its number, and the number of fields of every row."""
        number, line = 0, ""

        def lines(text):
            nonlocal number, line
            for number, line in enumerate(text, start=1):
                if number > self.skip_rows and not _is_comment(line, self.comment):
                    yield line

        with self.text("replace") as text:
            for row in csv.reader(lines(text), delimiter=self.delimiter):
                if row:
                    yield line, number, len(row)


class _Lines(io.RawIOBase):
    """Text as a stream of UTF-8 without the skipped lines and comments."""

    def __init__(self, text, skip_rows, comment):
        self.text = text
        self.comment = comment
        self.rest = memoryview(b"")
        for _ in range(skip_rows):
            text.readline()

    def readable(self):
        return True

    def readinto(self, buffer):
        while not self.rest:
            lines = self.text.readlines(HEAD)
            if not lines:
                return 0
            if self.comment is not None:
                lines = [line for line in lines if not _is_comment(line, self.comment)]
            self.rest = memoryview("".join(lines).encode())
        size = min(len(buffer), len(self.rest))
        buffer[:size] = self.rest[:size]
        self.rest = self.rest[size:]
        return size


def _is_comment(line, mark):
    return mark is not None and line.lstrip().startswith(mark)


def _parse(layout, notes, skip_bad_lines, text_columns):
    """Return an Arrow table, or None if the encoding is wrong."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    skipped = []

    def skip(row):
        skipped.append(row.text)
        return "skip"

    as_text = _codes(layout.rows, layout.names).union(text_columns)
    try:
        with layout.stream() as stream:
            table = arrow_csv.read_csv(
                stream,
                read_options=arrow_csv.ReadOptions(
                    column_names=None if layout.has_names else layout.names,
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=layout.delimiter,
                    newlines_in_values=True,
                    invalid_row_handler=skip if skip_bad_lines else None,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    strings_can_be_null=True,
                    null_values=[*arrow_csv.ConvertOptions().null_values, *MISSING],
                    column_types={column: pa.string() for column in as_text},
                ),
            )
    except UnicodeDecodeError:
        return None
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        if "invalid UTF8" in str(error):
            return None
        _explain_lengths(layout)
        reason = str(error).strip().splitlines()[0]
        raise ValueError(f"{layout.name} cannot be read as text: {reason}") from None
    if any(pa.types.is_binary(field.type) for field in table.schema):
        return None
    if skipped:
        if len(skipped) > table.num_rows:  # the first line is the odd one
            _explain_lengths(layout)
        lines = "line" if len(skipped) == 1 else "lines"
        notes.append(
            f"Skipped {len(skipped):,} {lines} of {layout.name} with too many or too "
            f"few fields, such as {skipped[0][:60]!r}."
        )
    return table


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


def _explain_lengths(layout):
    """Raise an error that names the first row with a wrong number of fields."""
    first = None
    try:
        for line, number, length in layout.numbered_rows():
            first = first or (line, number, length)
            if length != first[2]:
                fields = "1 field" if length == 1 else f"{length} fields"
                raise ValueError(
                    f"{layout.name}, line {number}: {fields}, but line {first[1]} has "
                    f"{first[2]}; {_advice(layout, first[0], line)}."
                )
    except csv.Error:
        return


def _advice(layout, first, odd):
    """Return how to read a file in spite of a row with an odd number of fields."""
    for line in (first, odd):
        if mark := COMMENT.match(line):
            return (
                f"if lines that start with {mark[1]} are comments, set "
                f"comment={mark[1]!r} (--comment {mark[1]!r})"
            )
    lengths = [len(row) for row in layout.rows]
    usual, count = Counter(lengths).most_common(1)[0]
    if lengths[0] != usual > 1 and count > len(lengths) / 2:
        start = next(n for _, n, length in layout.numbered_rows() if length == usual)
        return (
            f"if the table begins on line {start}, set skip_rows={start - 1} "
            f"(--skip-rows {start - 1})"
        )
    return "to leave such lines out, set skip_bad_lines=True (--skip-bad-lines)"
