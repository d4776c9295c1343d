"""Reading delimited text, and explaining what is wrong with it."""

import csv
import io
import re
from collections import Counter

from skim.tables._encoding import encoding_of, wrong_encoding
from skim.tables._source import HEAD
from skim.tables._text import unique_names

DELIMITERS = (",", ";", "\t", "|", " ")
MISSING = ("?", "-", "--", "None", "none", "na", "<NA>", "<na>", "\\N")  # as in Arrow
NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*")
MAX_LINE = 2**21  # bytes; what is longer is mostly a quote that is never closed


# Arrow rather than DuckDB, pandas or polars: those fill short rows with missing values,
# or read ragged text as a single column, and know UTF-8 only. All columns are read as
# text, so that a cell is what the file says; types are a matter of the whole column.
class CsvReader:
    """The rows of delimited text, as text.

    `notes` receives sentences for the user; the options are those of `read_table`.
    The encoding must fit the `whole` text, or else only its beginning.
    """

    def __init__(self, source, notes, options, *, whole=True):
        import pyarrow as pa

        self.source = source
        self.name = source.name
        self.notes = notes
        self.codec = encoding_of(source, options.get("encoding"), notes, whole=whole)
        self.skip_rows = options.get("skip_rows", 0)
        self.skip_bad_lines = options.get("skip_bad_lines", False)
        delimiter = options.get("delimiter")
        if delimiter is not None and len(delimiter) != 1:
            raise ValueError(
                f"delimiter must be a single character, not {delimiter!r}."
            )
        with self._lines() as lines:
            head = lines.read(HEAD)
        if not head.strip():
            without = " without the skipped lines" if self.skip_rows else ""
            raise ValueError(f"{self.name} is empty{without}.")
        self.delimiter = delimiter or _find_delimiter(head)
        self.rows = _rows_of_head(head, self.delimiter)
        names, self.has_names = names_in(self.rows[0])
        self.schema = pa.schema([(name, pa.string()) for name in names])

    def read(self):
        """Return an Arrow table."""
        import pyarrow as pa

        return pa.Table.from_batches(list(self.batches()), self.schema)

    def batches(self):
        """Yield Arrow record batches."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        skipped, n_rows, size = [], 0, 0

        def skip(row):
            skipped.append(row.text)
            return "skip"

        is_utf_8 = self.codec == "utf-8-sig"  # Arrow skips a byte order mark
        options = {
            "read_options": arrow_csv.ReadOptions(
                column_names=None if self.has_names else self.schema.names,
                skip_rows=self.skip_rows,
                block_size=MAX_LINE,
                encoding="utf8" if is_utf_8 else self.codec,
            ),
            "parse_options": arrow_csv.ParseOptions(
                delimiter=self.delimiter,
                newlines_in_values=True,
                invalid_row_handler=skip if self.skip_bad_lines else None,
            ),
            "convert_options": arrow_csv.ConvertOptions(
                strings_can_be_null=True,
                null_values=[*arrow_csv.ConvertOptions().null_values, *MISSING],
                column_types=self.schema,
            ),
        }
        try:
            with self.source.open() as stream:
                for batch in arrow_csv.open_csv(stream, **options):
                    n_rows += len(batch)
                    size += batch.nbytes
                    self.source.check_size(size)
                    yield batch
        except UnicodeError:
            raise wrong_encoding(self.source, self.codec) from None
        except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
            reason = str(error).strip().splitlines()[0]
            if "invalid UTF8" in reason:
                raise wrong_encoding(self.source, self.codec) from None
            if "straddling" in reason:
                raise ValueError(
                    f"{self.name} has a line of more than {MAX_LINE / 1e6:.0f} MB; "
                    "close the quote that is open."
                ) from None
            if reason != "Empty CSV file":
                self._explain_lengths()
                raise self.source.unreadable(error) from None
        if skipped:
            if len(skipped) > n_rows:  # the first line is the odd one
                self._explain_lengths()
            self.notes.append(
                f"Skipped lines of {self.name} with too many or too few fields: "
                f"{len(skipped):,}, such as {skipped[0][:60]!r}."
            )

    def _lines(self):
        """Open the text where the table begins."""
        lines = io.TextIOWrapper(self.source.open(), self.codec, "replace", newline="")
        for _ in range(self.skip_rows):
            lines.readline()
        return lines

    def _lengths(self):
        """Yield the line number and the number of fields of every row."""
        with self._lines() as lines:
            reader = csv.reader(lines, delimiter=self.delimiter)
            for row in reader:
                if row:
                    yield self.skip_rows + reader.line_num, len(row)

    def _explain_lengths(self):
        """Raise an error that names the first row with a wrong number of fields."""
        lengths = self._lengths()
        try:
            first, wanted = next(lengths)
            line, length = next(row for row in lengths if row[1] != wanted)
        except (csv.Error, StopIteration):
            return
        advice = "to leave such lines out, set skip_bad_lines=True"
        counts = Counter(map(len, self.rows))
        usual, count = counts.most_common(1)[0]
        if wanted != usual > 1 and count > counts.total() / 2:
            start = next(line for line, length in self._lengths() if length == usual)
            advice = f"if the table begins on line {start}, set skip_rows={start - 1}"
        fields = "1 field" if length == 1 else f"{length} fields"
        raise ValueError(
            f"{self.name}, line {line}: {fields}, but line {first} has {wanted}; "
            f"{advice}."
        )


def names_in(row):
    """Return the names of columns, given the first row, and whether it has them."""
    if all(map(NUMBER.fullmatch, row)):
        return [f"x{j}" for j in range(len(row))], False
    return row, True


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


def clean_names(names):
    """Return names of columns, none of them empty or the same as another."""
    names = [name.strip() or f"column {j + 1}" for j, name in enumerate(names)]
    return unique_names(names, "{}.{}")
