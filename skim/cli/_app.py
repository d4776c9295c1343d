"""The commands."""

import os
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import skim
from skim.cli import _options as options
from skim.cli._reporter import in_options, plain

HELP = """
Find the rows of a table that are unlike the others.

Results go to standard output, messages to standard error. The exit code is
0 on success, 1 if a table, model or file cannot be used, 2 for wrong usage,
and 130 if interrupted. Files are written completely or not at all.
"""


class Commands(TyperGroup):
    """Commands whose errors are single sentences."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command, and report wrong usage."""
        if not extra.get("standalone_mode", True):
            return super().main(*args, **extra)
        try:
            code = super().main(*args, **extra | {"standalone_mode": False})
        except Exception as error:
            # The classes of usage errors are private to some versions of typer.
            if not (hasattr(error, "format_message") and hasattr(error, "exit_code")):
                raise
            code = error.exit_code
            if message := error.format_message():
                print(f"skim: {plain(' '.join(message.split()))}", file=sys.stderr)
        sys.exit(code)

    def invoke(self, ctx: Any) -> Any:
        """Run a command, and report what is wrong with its input."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # meant for programmers
                return super().invoke(ctx)
        except BrokenPipeError:  # the reader has seen enough
            # Keeps the interpreter from flushing to the closed pipe.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except KeyboardInterrupt:
            _fail("Interrupted; nothing was written.", 130)
        except MemoryError:
            _fail("Not enough memory for this table.")
        except OSError as error:
            named = f"{error.filename}: " if error.filename else ""
            _fail(f"{named}{error.strerror or error}")
        except ImportError as error:
            has_advice = "pip install" in str(error)
            _fail(error if has_advice else f"{error}: pip install 'skim-od[cli]'")
        except ValueError as error:
            _fail(error)


def _fail(reason, code=1):
    print(f"skim: {plain(in_options(reason))}", file=sys.stderr)
    raise typer.Exit(code)


app = typer.Typer(
    cls=Commands,
    help=HELP,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool):
    if wanted:
        print(f"skim {skim.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version."
        ),
    ] = False,
):
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(2)


@app.command()
def detect(
    source: options.Source,
    output: options.Output = None,
    save: Annotated[
        Path | None,
        typer.Option(help="Save the model to this .skops file, for `skim score`."),
    ] = None,
    report: options.Report = None,
    labels: Annotated[
        Path | None,
        typer.Option(help="Learn from the labels in this file; see `skim review`."),
    ] = None,
    contamination: options.Contamination = None,
    clean: Annotated[
        bool, typer.Option("--clean", help="The same as --contamination 0.")
    ] = False,
    by: options.By = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    id_: options.Id = None,
    top: options.Top = None,
    read: options.Read = None,
    scheduler: options.Scheduler = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
    quiet: options.Quiet = False,
):
    """Fit a detector to a table and find the rows that are unlike the others.

    On a terminal, the strangest rows are listed; rows with the same cause are one
    entry. Otherwise, or with --output, the result is a table with the columns `row`
    (its number), those that identify rows, `loss` (the higher, the stranger),
    `probability` (above one half for outliers), `outlier` (1 or 0) and `reasons`.
    Rows keep their order.
    """
    if clean and contamination:
        raise typer.BadParameter("--clean means --contamination 0; give one of them.")
    contamination = 0.0 if clean else contamination
    if contamination == 0 and labels is not None:
        raise typer.BadParameter("--labels does not go with a clean table.")
    reading, dates = options.reading(read)
    files = {"save": save, "report": report}
    others = {"labels": labels, "report": report}
    folder = options.is_folder(output, scheduler, source, reading, **others)
    options.check_paths(source, [labels], output=None if folder else output, **files)
    from skim.cli import _out_of_core, _work
    from skim.cli._outputs import Outputs

    has_labels = labels is not None
    columns = {"by": by, "drop": drop, "categorical": categorical, "dates": dates}
    model = _work.new_model(contamination, seed, has_labels, **columns)
    outputs = Outputs(output, quiet, has_table=not folder, top=top, **files)
    if folder:
        run = _out_of_core.Run(source, reading, id_ or [], outputs, scheduler, jobs)
        run.detect(model)
    else:
        _work.detect(source, model, outputs, labels, id_ or [], reading, jobs)


@app.command()
def score(
    source: options.Source,
    model: Annotated[Path, typer.Option(help="File written by `skim detect --save`.")],
    output: options.Output = None,
    report: options.Report = None,
    id_: options.Id = None,
    top: options.Top = None,
    read: options.Read = None,
    scheduler: options.Scheduler = None,
    jobs: options.Jobs = -1,
    quiet: options.Quiet = False,
):
    """Score the rows of a new table with a saved model.

    The table must have the columns of the training data, in any order; those
    left out by --drop may be missing, and others are ignored. The output is that of
    `skim detect`; skim also says whether the table as a whole differs from the
    training data.
    """
    reading, _ = options.reading(read)
    folder = options.is_folder(output, scheduler, source, reading, report=report)
    options.check_paths(source, output=None if folder else output, report=report)
    from skim.cli import _out_of_core, _work
    from skim.cli._outputs import Outputs

    outputs = Outputs(output, quiet, has_table=not folder, report=report, top=top)
    if folder:
        run = _out_of_core.Run(source, reading, id_ or [], outputs, scheduler, jobs)
        run.score(model)
    else:
        _work.score(source, model, outputs, id_ or [], reading, jobs)


@app.command()
def review(
    source: options.Source,
    labels: Annotated[
        Path, typer.Option(help="CSV file of labels, created if missing.")
    ],
    strangest: Annotated[
        bool, typer.Option("--strangest", help="Ask about the strangest rows first.")
    ] = False,
    contamination: options.Contamination = None,
    by: options.By = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    id_: options.Id = None,
    read: options.Read = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
    quiet: options.Quiet = False,
):
    """Look at rows one by one, and say which are outliers.

    The rows whose labels help most, those that are hardest to judge, are shown with
    what is strange about them; --strangest begins with the strangest rows. The
    answers are y (yes), n (no), s (skip), u (undo the last answer) and q (quit). Each
    is written at once, and the next review continues where the last one stopped. Use
    the labels with `skim detect --labels`.
    """
    reading, dates = options.reading(read)
    options.check_paths(source, labels=labels)
    if contamination == 0:
        raise typer.BadParameter("There is nothing to review in a clean table.")
    if source == "-":
        raise typer.BadParameter("Standard input is for answers; give a file to read.")
    from skim._utils import new_draft
    from skim.cli import _work
    from skim.cli._reporter import Reporter
    from skim.cli._review import Review

    columns = {"by": by, "drop": drop, "categorical": categorical, "dates": dates}
    model = _work.new_model(contamination, seed, True, **columns)
    reporter, ids = Reporter(quiet), id_ or []
    new_draft(labels).unlink()  # before anybody answers in vain
    table = _work.read(source, reporter, ids, min_rows=2, **reading)
    _work.fit(model, table, reporter, jobs)
    Review(model, table, reporter, source, labels, ids, strangest).run()


@app.command()
def demo(
    report: Annotated[
        Path, typer.Option(help="Write the HTML report to this file.")
    ] = Path("skim-demo.html"),
):
    """Find known outliers in a table that comes with scikit-learn.

    The detector never sees the labels, which only serve to count the outliers
    that it finds.
    """
    from skim.cli import _work

    _work.demo(report)
