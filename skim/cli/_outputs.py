"""Where results go: files, standard output and a list on the terminal."""

import shutil
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

from skim._utils import naming, replacing
from skim.cli._model_file import import_skops, save_model
from skim.cli._reporter import Reporter
from skim.cli._screen import print_rows
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
            # Files appear in reverse order, standard output last.
            if self.has_table:
                self._draft = stack.enter_context(_whole_file(self.path))
            if self.save:
                self._save_draft = stack.enter_context(_whole_file(self.save))
            if self.report:
                self._report_draft = stack.enter_context(_whole_file(self.report))
            yield
        if self.n_listed:
            has_groups = print_rows(self.listed, self.listed.explained, self.n_listed)
            if has_groups and self.path is None:
                self.reporter.say(
                    "Rows with the same cause are one entry; --output has them all."
                )
        for path in (self.path, self.save, self.report):
            if path is not None:
                self.reporter.say(f"Wrote {path}")

    def write(self, results):
        """Write losses, labels and reasons, of which the strangest are listed."""
        self.listed = results
        if self.has_table:
            as_parquet = str(self.path).lower().endswith(".parquet")
            name = self.path or "Standard output"
            with self.reporter.step("Finding reasons"), naming(name):
                results.write(self._draft, as_parquet=as_parquet)

    def write_others(self, results, *, ids=(), source):
        """Write the model and the report, if they are wanted."""
        if self.save:
            with naming(self.save):
                save_model(results.detector, self._save_draft, ids=ids)
        if self.report:
            _, *names = results.names(range(len(results.table))).values()
            name = "standard input" if source == "-" else Path(source).name
            with self.reporter.step("Writing the report"), naming(self.report):
                write_report(
                    *(results.detector, results.table, self._report_draft),
                    source=name,
                    ids=[" / ".join(row) for row in zip(*names, strict=True)] or None,
                    row_numbers=results.numbers,
                    scores=results.scores,
                )


@contextmanager
def _whole_file(path):
    """Yield a draft that goes to a file, device or standard output on success."""
    if path is not None and (not path.exists() or path.is_file() or path.is_dir()):
        with replacing(path) as draft:
            yield draft
        return
    with tempfile.TemporaryDirectory(prefix="skim-") as folder:
        draft = Path(folder) / "draft"
        yield draft
        with naming(path or "Standard output"), draft.open("rb") as source:
            if path is None:
                shutil.copyfileobj(source, sys.stdout.buffer)
                sys.stdout.buffer.flush()
            else:
                with path.open("wb") as sink:
                    shutil.copyfileobj(source, sink)
