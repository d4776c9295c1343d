"""Where results go: files, standard output and a list on the terminal."""

import io
import sys
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

from skim._utils import naming, replacing
from skim.cli._model_file import import_skops, save_model
from skim.cli._reporter import Reporter
from skim.cli._results import print_rows
from skim.report._page import environment, write_report

N_LISTED = 10  # entries on a terminal


class Outputs:
    """The files to write, what is shown on the terminal, and messages."""

    def __init__(
        self, output, quiet, *, has_table=True, save=None, report=None, top=None
    ):
        is_terminal = sys.stdout.isatty()
        self.reporter = Reporter(quiet)
        self.path = None if output in (None, "-") else Path(output)
        self.save = save
        self.top = top
        self.report = report
        self.has_table = has_table and (output is not None or not is_terminal)
        is_silent = output == "-" or (output and quiet)
        self.n_listed = (top or N_LISTED) if is_terminal and not is_silent else 0

    @contextmanager
    def opened(self):
        """Check that files can be written, and put them in place at the end."""
        if self.save:
            import_skops()
        if self.report:
            environment()  # or it raises
        with ExitStack() as stack:
            paths = [self.path if self.has_table else None, self.save, self.report]
            self._drafts = [
                path and stack.enter_context(_draft_of(path)) for path in paths
            ]
            self._text = io.BytesIO()  # for standard output
            yield
        if self.has_table and not self.path:
            with naming("Standard output"):
                sys.stdout.buffer.write(self._text.getvalue())
                sys.stdout.flush()
        if self.n_listed:
            has_groups = print_rows(self.listed, self.n_listed)
            if has_groups and self.path is None:
                self.reporter.say(
                    "Rows with the same cause are one entry; --output has them all."
                )
        for path in filter(None, (self.path, self.save, self.report)):
            self.reporter.say(f"Wrote {path}")

    def write(self, results, source, notes=()):
        """Write results, the model and the report, as far as they are wanted."""
        self.listed = results
        table_draft, save_draft, report_draft = self._drafts
        if self.has_table:
            as_parquet = str(self.path).lower().endswith(".parquet")
            with self.reporter.step("Finding reasons"), naming(self.path):
                results.write(table_draft or self._text, as_parquet=as_parquet)
        if self.save:
            with naming(self.save):
                save_model(results.detector, save_draft)
        if self.report:
            names = [" / ".join(results.name(row)[1:]) for row in range(results.n_rows)]
            with self.reporter.step("Writing the report"), naming(self.report):
                write_report(
                    *(results.detector, results.table, report_draft),
                    source="standard input" if source == "-" else Path(source).name,
                    ids=names if any(names) else None,
                    scores=results.scores,
                    notes=notes,
                )


def _draft_of(path):
    """Return where to write what goes to a file in the end, or straight to a device."""
    is_device = path.exists() and not path.is_file() and not path.is_dir()
    return nullcontext(path) if is_device else replacing(path)
