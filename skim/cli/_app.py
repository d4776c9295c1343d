"""The commands."""

import functools
import sys
import warnings
from enum import StrEnum
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

N_LISTED = 10  # entries on a terminal


class Commands(TyperGroup):
    """Commands whose usage errors are single sentences."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command."""
        if not extra.get("standalone_mode", True):
            return super().main(*args, **extra)
        try:
            code = super().main(*args, **extra | {"standalone_mode": False})
        except Exception as error:
            # The classes of usage errors are private to some versions of typer.
            if not (hasattr(error, "format_message") and hasattr(error, "exit_code")):
                raise
            message = plain(" ".join(error.format_message().split()))
            if message:
                print(f"skim: {message}", file=sys.stderr)
            code = error.exit_code
        sys.exit(code)


app = typer.Typer(
    cls=Commands,
    help=HELP,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Questions(StrEnum):
    """Which rows a review asks about first."""

    INFORMATIVE = "informative"
    STRANGEST = "strangest"
    RANDOM = "random"


class Data(StrEnum):
    """Names of the demo tables."""

    BREAST_CANCER = "breast-cancer"
    WINE = "wine"
    DIGITS = "digits"


def _in_one_sentence(command):
    """Make a command report errors in its input as a single sentence."""

    @functools.wraps(command)
    def wrapped(*args, **kwargs):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # meant for programmers
                command(*args, **kwargs)
        except BrokenPipeError:  # the reader has seen enough
            _discard_output()
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

    return wrapped


def _fail(reason, code=1):
    print(f"skim: {plain(in_options(reason))}", file=sys.stderr)
    raise typer.Exit(code)


def _discard_output():
    """Keep the interpreter from flushing to a closed pipe."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
@_in_one_sentence
def detect(
    source: options.Source,
    output: options.Output = None,
    save: options.Save = None,
    report: options.Report = None,
    labels: Annotated[
        Path | None,
        typer.Option(help="Learn from the labels in this file; see `skim review`."),
    ] = None,
    contamination: options.Contamination = None,
    by: options.By = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    id_: options.Id = None,
    top: options.Top = None,
    reasons: options.Reasons = 3,
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
    reading, dates = options.reading(read)
    folder = options.output_folder(output, scheduler, source, reading)
    file = None if output is None or folder else Path(output)
    options.check_paths(source, output=file, save=save, report=report, read=labels)
    options.check_model_options(contamination, drop, categorical)
    if labels is not None and (folder or contamination == 0):
        with_ = "a folder as --output" if folder else "--contamination 0"
        raise typer.BadParameter(f"--labels does not go with {with_}.")
    from skim.cli import _work
    from skim.cli._reporter import Reporter

    reporter, ids = Reporter(quiet), id_ or []
    parameters = _model_parameters(contamination, seed, drop, categorical, by, dates)
    target = _work.target_of(file, is_terminal=sys.stdout.isatty(), quiet=quiet)
    if folder:
        from skim.cli import _out_of_core

        n_listed = (top or N_LISTED) if target.is_shown and not quiet else 0
        _out_of_core.detect(
            _out_of_core.Request(
                *(source, folder, reading, ids, [], reasons, n_listed),
                *(report, scheduler, jobs),
            ),
            reporter,
            new_model=parameters,
            sample_size=_out_of_core.SAMPLE,
            save=save,
        )
        return
    with _work.output_files(target, save=save, report=report) as drafts:
        # Missing packages should fail before the work, too.
        if save:
            from skim.cli._model_file import import_skops, save_model

            import_skops()
        if report:
            _work.import_report()
        table = _read(source, reporter, reading)
        _work.check_named(table, id=ids)
        model = _work.new_model(**parameters, has_labels=labels is not None)
        find_labels = None
        if labels is not None:
            from skim.cli import _labels

            find_labels = functools.partial(
                _labels.matched_labels, labels, table, reporter, ids=ids, source=source
            )
        model.set_params(**{"n_jobs" if labels is None else "detector__n_jobs": jobs})
        _work.fit(model, table, reporter, find_labels)
        results = _work.find_results(
            *(model, table, reporter),
            columns=_work.row_columns(table, _work.encoder_of(model), ids=ids),
            scores=model.training_scores_,
            top=top,
            n_reasons=reasons,
        )
        listing = _finish(results, target, drafts, reporter, top)
        reporter.say(_work.verdict(results, is_training=True))
        for sentence in _work.duplicates_of(results):
            reporter.say(sentence)
        if labels is not None:
            reporter.say(_labels.agreement(model.labels_, results.is_outlier))
        if save:
            with _work.writing(save):
                save_model(model, drafts.save, ids=ids)
        if report:
            _work.make_report(
                *(model, results, drafts.report, reporter), source=source, path=report
            )
    _end(listing, reporter, target.path, save, report)


@app.command()
@_in_one_sentence
def score(
    source: options.Source,
    model: Annotated[Path, typer.Option(help="File written by `skim detect --save`.")],
    output: options.Output = None,
    report: options.Report = None,
    id_: options.Id = None,
    top: options.Top = None,
    reasons: options.Reasons = 3,
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
    folder = options.output_folder(output, scheduler, source, reading)
    file = None if output is None or folder else Path(output)
    options.check_paths(source, output=file, report=report, read=model)
    from skim.cli import _work
    from skim.cli._model_file import load_model
    from skim.cli._reporter import Reporter

    reporter = Reporter(quiet)
    target = _work.target_of(file, is_terminal=sys.stdout.isatty(), quiet=quiet)
    if folder:
        from skim.cli import _out_of_core

        n_listed = (top or N_LISTED) if target.is_shown and not quiet else 0
        _out_of_core.score(
            _out_of_core.Request(
                *(source, folder, reading, id_ or [], [], reasons, n_listed),
                *(report, scheduler, jobs),
            ),
            reporter,
            model_file=model,
        )
        return
    with _work.output_files(target, report=report) as drafts:
        if report:
            _work.import_report()
        fitted, saved_ids, warning = load_model(model)
        if warning:
            reporter.note(warning)
        given = _work.read(source, reporter, **reading)
        _work.check_named(given, id=id_ or [])
        ids = id_ or [name for name in saved_ids if name in given]
        encoder = _work.encoder_of(fitted)
        table = _work.check_columns(given, encoder, source, reporter, allowed=ids)
        _work.table_detector(fitted).set_params(n_jobs=jobs)
        _work.note_unseen_values(table, fitted, reporter)
        results = _work.find_results(
            *(fitted, table, reporter),
            columns=_work.row_columns(given, encoder, ids=ids),
            top=top,
            n_reasons=reasons,
        )
        listing = _finish(results, target, drafts, reporter, top)
        reporter.say(_work.verdict(results, is_training=False))
        reporter.say(_work.drift_of(fitted, table))
        if report:
            _work.make_report(
                *(fitted, results, drafts.report, reporter), source=source, path=report
            )
    _end(listing, reporter, target.path, report)


@app.command()
@_in_one_sentence
def review(
    source: options.Source,
    labels: Annotated[
        Path, typer.Option(help="CSV file of labels, which is made if need be.")
    ],
    ask: Annotated[
        Questions, typer.Option(help="Which rows to ask about first.")
    ] = Questions.INFORMATIVE,
    contamination: options.Contamination = None,
    by: options.By = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    id_: options.Id = None,
    reasons: options.Reasons = 3,
    read: options.Read = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
    quiet: options.Quiet = False,
):
    """Look at rows one by one, and say which are outliers.

    The rows whose labels help most, those that are hardest to judge, are shown with
    what is strange about them; --ask strangest begins with the strangest rows. The
    answers are y (yes), n (no), s (skip), u (undo the last answer) and q (quit). Each
    is written at once, and the next review continues where the last one stopped. Use
    the labels with `skim detect --labels`.
    """
    reading, dates = options.reading(read)
    options.check_paths(source, labels=labels)
    options.check_model_options(contamination, drop, categorical)
    if contamination == 0:
        raise typer.BadParameter("A review needs outliers; leave --contamination out.")
    if source == "-":
        raise typer.BadParameter("Standard input is for answers; give a file to read.")
    from skim.cli import _review, _work
    from skim.cli._reporter import Reporter

    reporter = Reporter(quiet)
    table = _read(source, reporter, reading)
    _work.check_named(table, id=id_ or [])
    _review.review(
        _review.Request(source, labels, id_ or [], reasons, jobs, ask.value),
        table,
        reporter,
        new_model=_model_parameters(contamination, seed, drop, categorical, by, dates),
    )


@app.command()
@_in_one_sentence
def demo(
    data: Annotated[Data, typer.Option(help="Table to use.")] = Data.BREAST_CANCER,
    report: Annotated[
        Path, typer.Option(help="Write the HTML report to this file.")
    ] = Path("skim-demo.html"),
    seed: options.Seed = 0,
):
    """Find known outliers in a table that comes with scikit-learn.

    The detector never sees the labels, which only serve to count the outliers
    that it finds.
    """
    from skim.cli._demo import run

    run(data.value, report, seed)


def _model_parameters(contamination, seed, drop, categorical, by, dates):
    """Return the keyword arguments of `_work.new_model`."""
    return {
        "contamination": "auto" if contamination is None else contamination,
        "seed": seed,
        "drop": drop or (),
        "categorical": categorical or (),
        "by": by,
        "dates": dates,
    }


def _read(source, reporter, reading):
    """Read a table to fit a detector to."""
    from skim.cli import _work

    table = _work.read(source, reporter, **reading)
    if len(table) < 2:
        raise ValueError(f"{source} has one row; at least two are needed.")
    return table


def _finish(results, target, drafts, reporter, top):
    """Write the results; return what to print."""
    from skim.cli import _work
    from skim.cli._screen import Listing

    if target.is_file:
        _work.write_results(results, target, drafts.output, reporter)
    if not target.is_shown:
        return None
    n_listed = top or N_LISTED
    n_rows = max(n_listed, min(int(results.is_outlier.sum()), len(results.explained)))
    return Listing(results, results.strangest(n_rows), n_listed)


def _end(listing, reporter, output, *others):
    """Print the list, and say what was written."""
    if listing is not None:
        listing.print()
        if listing.has_groups and output is None:
            reporter.say(
                "Rows with the same cause are one entry; --output has them all."
            )
    for path in (output, *others):
        if path is not None:
            reporter.say(f"Wrote {path}")
