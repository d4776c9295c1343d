"""Reading delimited text, and explaining what is wrong with it."""

import csv
import io
import re
from collections import Counter
from contextlib import contextmanager

from skim.tables._encoding import encoding_of
from skim.tables._source import HEAD

DELIMITERS = (",", ";", "\t", "|", " ")
MISSING = ("?", "-", "--", "None", "none", "na", "<NA>", "<na>", "\\N")  # as in Arrow
NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*")
COMMENT = re.compile(r"\s*(#|%|//|!)")
LINE_SHARE = 1000  # a line may have this part of the size of a table


# Arrow rather than DuckDB, pandas or polars: those fill short rows with missing values,
# or read ragged text as a single column, and know UTF-8 only. All columns are read as
# text, so that a cell is what the file says; types are a matter of the whole column.
class CsvReader:
    """The rows of delimited text, as text.

    Parameters
    ----------
    source : Source
    notes : list of str
        Receives sentences for the user.
    encoding, delimiter, skip_rows, comment, skip_bad_lines
        As in `read_table`.

    Attributes
    ----------
    codec : str
        The encoding.
    is_guessed : bool
        Whether the encoding is UTF-8 for want of anything better.
    names : list of str
        As they are in the file, or x0, x1 and so on.
    """

    def __init__(
        self,
        source,
        notes,
        *,
        encoding=None,
        delimiter=None,
        skip_rows=0,
        comment=None,
        skip_bad_lines=False,
    ):
        self.source = source
        self.name = source.name
        self.notes = notes
        self.codec = encoding_of(source, encoding, notes)
        self.is_guessed = encoding is None and self.codec == "utf-8-sig"
        self.skip_rows = skip_rows
        self.comment = comment
        self.skip_bad_lines = skip_bad_lines
        with self._lines("replace") as lines:
            head = lines.read(HEAD).decode("utf-8", "replace")
        if not head.strip():
            without = " without the skipped lines" if skip_rows or comment else ""
            raise ValueError(f"{self.name} is empty{without}.")
        if delimiter is None and source.extension == ".tsv":
            delimiter = "\t"
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

    def batches(self):
        """Yield Arrow record batches; raise a UnicodeError if the encoding is wrong."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        skipped, n_rows = [], 0

        def skip(row):
            skipped.append(row.text)
            return "skip"

        max_line = int(self.source.max_bytes / LINE_SHARE)
        try:
            with self._stream() as stream:
                reader = arrow_csv.open_csv(
                    stream,
                    read_options=arrow_csv.ReadOptions(
                        column_names=None if self.has_names else self.names,
                        block_size=max_line,
                    ),
                    parse_options=arrow_csv.ParseOptions(
                        delimiter=self.delimiter,
                        newlines_in_values=True,
                        invalid_row_handler=skip if self.skip_bad_lines else None,
                    ),
                    convert_options=arrow_csv.ConvertOptions(
                        strings_can_be_null=True,
                        null_values=[*arrow_csv.ConvertOptions().null_values, *MISSING],
                        column_types={name: pa.string() for name in self.names},
                    ),
                )
                for batch in reader:
                    n_rows += len(batch)
                    yield batch
        except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
            reason = str(error).strip().splitlines()[0]
            if "invalid UTF8" in reason:
                raise UnicodeError(reason) from None
            if "straddling" in reason:
                raise ValueError(
                    f"{self.name} has a line of more than {max_line / 1e6:g} MB: is a "
                    "quote never closed? If not, set the environment variable "
                    "SKIM_MAX_GB; a line may have a thousandth of it."
                ) from None
            if reason != "Empty CSV file":
                self._explain_lengths()
                raise ValueError(
                    f"{self.name} cannot be read as text: {reason}"
                ) from None
        if skipped:
            if len(skipped) > n_rows:  # the first line is the odd one
                self._explain_lengths()
            lines = "line" if len(skipped) == 1 else "lines"
            self.notes.append(
                f"Skipped {len(skipped):,} {lines} of {self.name} with too many or too "
                f"few fields, such as {skipped[0][:60]!r}."
            )

    @contextmanager
    def _stream(self):
        """Yield what Arrow reads from, in UTF-8."""
        is_utf8 = self.codec in ("utf-8", "utf-8-sig", "ascii")
        if is_utf8 and not self.skip_rows and self.comment is None:
            with self.source.open() as stream:  # Arrow skips a byte order mark
                yield stream
        else:
            with self._lines("strict") as lines:
                yield lines

    @contextmanager
    def _lines(self, errors):
        with self._text(errors) as text:
            yield io.BufferedReader(_Lines(text, self.skip_rows, self.comment), HEAD)

    @contextmanager
    def _text(self, errors):
        with (
            self.source.open() as file,
            io.TextIOWrapper(file, self.codec, errors, newline="") as text,
        ):
            yield text

    def _numbered_rows(self):
        """Yield the line, its number, and the number of fields of every row."""
        number, line = 0, ""

        def lines(text):
            nonlocal number, line
            for number, line in enumerate(text, start=1):
                if number > self.skip_rows and not _is_comment(line, self.comment):
                    yield line

        with self._text("replace") as text:
            for row in csv.reader(lines(text), delimiter=self.delimiter):
                if row:
                    yield line, number, len(row)

    def _explain_lengths(self):
        """Raise an error that names the first row with a wrong number of fields."""
        first = None
        try:
            for line, number, length in self._numbered_rows():
                first = first or (line, number, length)
                if length != first[2]:
                    fields = "1 field" if length == 1 else f"{length} fields"
                    raise ValueError(
                        f"{self.name}, line {number}: {fields}, but line {first[1]} "
                        f"has {first[2]}; {self._advice(first[0], line)}."
                    )
        except csv.Error:
            return

    def _advice(self, first, odd):
        """Return how to read a file in spite of a row with an odd number of fields."""
        for line in (first, odd):
            if mark := COMMENT.match(line):
                return (
                    f"if lines that start with {mark[1]} are comments, set "
                    f"comment={mark[1]!r}"
                )
        lengths = [len(row) for row in self.rows]
        usual, count = Counter(lengths).most_common(1)[0]
        if lengths[0] != usual > 1 and count > len(lengths) / 2:
            start = next(n for _, n, length in self._numbered_rows() if length == usual)
            return f"if the table begins on line {start}, set skip_rows={start - 1}"
        return "to leave such lines out, set skip_bad_lines=True"


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
