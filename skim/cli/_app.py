"""The commands and their options."""

import functools
import glob
import sys
import warnings
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import skim

HELP = """
Find the rows of a table that are unlike the others.

Results go to standard output, messages to standard error. The exit code is
0 on success, 1 if a table, model or file cannot be used, 2 for wrong usage,
and 130 if interrupted. Files are written completely or not at all.
"""

N_LISTED = 10  # rows on a terminal
FILES = (".csv", ".parquet")  # that can be written

app = typer.Typer(
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Detector(StrEnum):
    """Names of the detectors."""

    ALTBI = "altbi"
    ODIM = "odim"
    IM_AUTOENCODER = "im-autoencoder"


class Questions(StrEnum):
    """Which rows a review asks about first."""

    INFORMATIVE = "informative"
    STRANGEST = "strangest"
    RANDOM = "random"


class Dates(StrEnum):
    """Orders of day and month."""

    AUTO = "auto"
    DAY_FIRST = "day-first"
    MONTH_FIRST = "month-first"


class Data(StrEnum):
    """Names of the demo tables."""

    BREAST_CANCER = "breast-cancer"
    WINE = "wine"
    DIGITS = "digits"


Source = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="CSV, TSV, Excel, Parquet, Feather, JSON or NumPy file, possibly "
        "compressed; a folder or quoted pattern of such files; or - for standard "
        "input.",
    ),
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="PATH",
        help="Output file, .csv or .parquet; - for CSV on standard output, which is "
        "the default unless it is a terminal. A folder, with a / at its end, means to "
        "work part by part, without reading the whole table into memory.",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="With a folder as --output: the Dask scheduler of a cluster to work on, "
        "such as tcp://10.0.0.1:8786.",
    ),
]
Contamination = Annotated[
    float | None,
    typer.Option(
        help="Share of outliers, in (0, 0.5]; by default, inferred from the losses."
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(help="Column to leave out. Can be repeated."),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(help="Numeric column to treat as categorical. Can be repeated."),
]
By = Annotated[
    str | None,
    typer.Option(help="Judge numbers within the groups of this column."),
]
Clean = Annotated[
    bool,
    typer.Option("--clean", help="The table has no outliers: learn what is usual."),
]
HowDates = Annotated[
    Dates, typer.Option(help="Order of day and month in dates such as 03/04/2024.")
]
Top = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Only the N strangest rows, strangest first; by default, 10 on a "
        "terminal, and elsewhere all rows in their order.",
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(help="Column to write with the results. Can be repeated."),
]
Id = Annotated[
    list[str] | None,
    typer.Option(
        "--id",
        help="Column to name rows by, instead of the identifiers found. It stays a "
        "feature unless it is an identifier or in --drop. Can be repeated.",
    ),
]
Reasons = Annotated[
    int, typer.Option(min=0, help="Maximum number of reasons given for a row.")
]
Report = Annotated[Path | None, typer.Option(help="Write an HTML report to this file.")]
Jobs = Annotated[
    int,
    typer.Option(
        callback=lambda jobs: _check_jobs(jobs),
        help="Number of threads; -1 uses all processors. Does not affect the result.",
    ),
]
Encoding = Annotated[
    str | None, typer.Option(help="Encoding of a text file, if it is not detected.")
]
Delimiter = Annotated[
    str | None, typer.Option(help="Field separator, if it is not detected.")
]
Sheet = Annotated[
    str | None, typer.Option(help="Sheet of an Excel file, if not the first.")
]
SkipRows = Annotated[
    int, typer.Option(min=0, help="Lines to skip before the column names.")
]
Comment = Annotated[
    str | None, typer.Option(help="Skip lines of text that start with this.")
]
SkipBadLines = Annotated[
    bool,
    typer.Option(
        "--skip-bad-lines", help="Leave out lines with too many or too few fields."
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]
Seed = Annotated[int, typer.Option(min=0, help="Random seed.")]


def _in_one_sentence(command):
    """Make a command report errors in its input as a single sentence."""

    @functools.wraps(command)
    def wrapped(*args, **kwargs):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # meant for programmers
                command(*args, **kwargs)
        except BrokenPipeError:  # the reader has seen enough
            raise
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
    print(f"skim: {' '.join(str(reason).split())}", file=sys.stderr)
    raise typer.Exit(code)


def _show_version(wanted: bool):
    if wanted:
        print(f"skim {skim.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version."
        ),
    ] = False,
):
    pass


@app.command()
@_in_one_sentence
def detect(
    source: Source,
    output: Output = None,
    detector: Annotated[Detector, typer.Option(help="Detector.")] = Detector.ALTBI,
    contamination: Contamination = None,
    clean: Clean = False,
    top: Top = None,
    reasons: Reasons = 3,
    drop: Drop = None,
    categorical: Categorical = None,
    id_: Id = None,
    keep: Keep = None,
    by: By = None,
    dates: HowDates = Dates.AUTO,
    save: Annotated[
        Path | None, typer.Option(help="Save the model to this file, for `skim score`.")
    ] = None,
    report: Report = None,
    labels: Annotated[
        Path | None,
        typer.Option(help="Learn from the labels in this file; see `skim review`."),
    ] = None,
    sample: Annotated[
        int,
        typer.Option(
            min=2, help="With a folder as --output: the number of rows to train on."
        ),
    ] = 200_000,
    scheduler: Scheduler = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    sheet: Sheet = None,
    skip_rows: SkipRows = 0,
    comment: Comment = None,
    skip_bad_lines: SkipBadLines = False,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    quiet: Quiet = False,
):
    """Fit a detector to a table and find the rows that are unlike the others.

    On a terminal, the strangest rows are listed. Otherwise, or with --output, the
    result is a table with the columns `row` (its number), those that identify rows,
    `loss` (the higher, the stranger), `probability` (above one half for outliers),
    `outlier` (1 or 0) and `reasons`. Rows keep their order.
    """
    folder = _folder(output, scheduler, source, sheet)
    file = None if output is None or folder else Path(output)
    _check_paths(source, file, save, report, labels)
    _check_columns(drop=drop, categorical=categorical)
    _check_contamination(contamination)
    if clean and (contamination is not None or labels is not None):
        other = "--labels" if contamination is None else "--contamination"
        raise typer.BadParameter(f"--clean does not go with {other}.")
    if clean and detector is not Detector.ALTBI:
        raise typer.BadParameter("--clean needs --detector altbi.")
    if labels is not None and (folder or detector is not Detector.ALTBI):
        needed = "a file as --output" if folder else "--detector altbi"
        raise typer.BadParameter(f"--labels needs {needed}.")
    from skim.cli import _work
    from skim.cli._reporter import Reporter

    reporter = Reporter(quiet)
    ids, keep = id_ or [], keep or []
    text = {
        "skip_rows": skip_rows,
        "comment": comment,
        "skip_bad_lines": skip_bad_lines,
        "encoding": encoding,
        "delimiter": delimiter,
    }
    parameters = {
        "detector": detector.value if labels is None else "imboost",
        "contamination": 0.0 if clean else contamination or "auto",
        "seed": seed,
        "drop": drop or (),
        "categorical": categorical or (),
        "by": by,
        "dates": dates.value.replace("-", " "),
    }
    target = _work.target_of(file, is_terminal=sys.stdout.isatty(), quiet=quiet)
    if folder:
        from skim.cli import _out_of_core

        n_listed = (top or N_LISTED) if target.is_shown and not quiet else 0
        _out_of_core.detect(
            _out_of_core.Request(
                *(source, folder, text, ids, keep, reasons, n_listed),
                *(report, scheduler, jobs),
            ),
            reporter,
            new_model=parameters,
            sample_size=sample,
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
        table = _work.read(source, reporter, sheet=sheet, **text)
        if len(table) < 2:
            raise ValueError(f"{source} has one row; at least two are needed.")
        _work.check_named(table, id=ids, keep=keep)
        model = _work.new_model(**parameters)
        find_labels = None
        if labels is not None:
            from skim.cli import _labels

            find_labels = functools.partial(
                _labels.matched_labels, labels, table, reporter, ids=ids, source=source
            )
        model.set_params(**{"n_jobs" if labels is None else "detector__n_jobs": jobs})
        _work.fit(model, table, reporter, find_labels)
        results = _work.find_results(
            model,
            table,
            reporter,
            columns=_work.row_columns(
                table, _work.encoder_of(model), ids=ids, keep=keep
            ),
            scores=model.training_scores_,
            top=top,
            n_reasons=reasons,
        )
        listing = _finish(results, target, drafts, reporter, top, is_training=True)
        if labels is not None:
            reporter.say(_labels.agreement(model.labels_, results.is_outlier))
        if save:
            save_model(model, drafts.save, ids=ids)
        if report:
            _work.make_report(model, results, drafts.report, reporter, source=source)
    _print(listing)
    _name_files(reporter, target.path, save, report)


@app.command()
@_in_one_sentence
def score(
    source: Source,
    model: Annotated[Path, typer.Option(help="File written by `skim detect --save`.")],
    output: Output = None,
    top: Top = None,
    reasons: Reasons = 3,
    id_: Id = None,
    keep: Keep = None,
    report: Report = None,
    scheduler: Scheduler = None,
    jobs: Jobs = -1,
    sheet: Sheet = None,
    skip_rows: SkipRows = 0,
    comment: Comment = None,
    skip_bad_lines: SkipBadLines = False,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    quiet: Quiet = False,
):
    """Score the rows of a new table with a saved model.

    The table must have the columns of the training data, in any order; those
    left out by --drop may be missing. The output is that of `skim detect`.
    """
    folder = _folder(output, scheduler, source, sheet)
    file = None if output is None or folder else Path(output)
    _check_paths(source, file, None, report, model)
    from skim.cli import _work
    from skim.cli._model_file import load_model
    from skim.cli._reporter import Reporter

    reporter = Reporter(quiet)
    keep = keep or []
    text = {
        "skip_rows": skip_rows,
        "comment": comment,
        "skip_bad_lines": skip_bad_lines,
        "encoding": encoding,
        "delimiter": delimiter,
    }
    target = _work.target_of(file, is_terminal=sys.stdout.isatty(), quiet=quiet)
    if folder:
        from skim.cli import _out_of_core

        n_listed = (top or N_LISTED) if target.is_shown and not quiet else 0
        _out_of_core.score(
            _out_of_core.Request(
                *(source, folder, text, id_ or [], keep, reasons, n_listed),
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
        read = _work.read(source, reporter, sheet=sheet, **text)
        _work.check_named(read, id=id_ or [], keep=keep)
        ids = id_ or [name for name in saved_ids if name in read]
        encoder = _work.encoder_of(fitted)
        table = _work.check_columns(
            read, encoder, source, reporter, allowed=[*ids, *keep]
        )
        _work.table_detector(fitted).set_params(n_jobs=jobs)
        _work.note_unseen_values(table, encoder, reporter)
        results = _work.find_results(
            fitted,
            table,
            reporter,
            columns=_work.row_columns(read, encoder, ids=ids, keep=keep),
            scores=None,
            top=top,
            n_reasons=reasons,
        )
        listing = _finish(results, target, drafts, reporter, top, is_training=False)
        if report:
            _work.make_report(fitted, results, drafts.report, reporter, source=source)
    _print(listing)
    _name_files(reporter, target.path, report)


@app.command()
@_in_one_sentence
def review(
    source: Source,
    labels: Annotated[
        Path, typer.Option(help="CSV file of labels, which is made if need be.")
    ],
    ask: Annotated[
        Questions, typer.Option(help="Which rows to ask about first.")
    ] = Questions.INFORMATIVE,
    contamination: Contamination = None,
    reasons: Reasons = 3,
    drop: Drop = None,
    categorical: Categorical = None,
    id_: Id = None,
    by: By = None,
    dates: HowDates = Dates.AUTO,
    seed: Seed = 0,
    jobs: Jobs = -1,
    sheet: Sheet = None,
    skip_rows: SkipRows = 0,
    comment: Comment = None,
    skip_bad_lines: SkipBadLines = False,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    quiet: Quiet = False,
):
    """Look at rows one by one, and say which are outliers.

    The rows whose labels help most, those that are hardest to judge, are shown with
    what is strange about them; --ask strangest begins with the strangest rows. The
    answers are y (yes), n (no), s (skip), u (undo the last answer) and q (quit). Each
    is written at once, and the next review continues where the last one stopped. Use
    the labels with `skim detect --labels`.
    """
    _check_paths(source, None, None, labels)
    _check_columns(drop=drop, categorical=categorical)
    _check_contamination(contamination)
    if source == "-":
        raise typer.BadParameter("Standard input is for answers; give a file to read.")
    from skim.cli import _review, _work
    from skim.cli._reporter import Reporter

    reporter = Reporter(quiet)
    table = _work.read(
        source,
        reporter,
        sheet=sheet,
        skip_rows=skip_rows,
        comment=comment,
        skip_bad_lines=skip_bad_lines,
        encoding=encoding,
        delimiter=delimiter,
    )
    if len(table) < 2:
        raise ValueError(f"{source} has one row; at least two are needed.")
    _work.check_named(table, id=id_ or [])
    _review.review(
        _review.Request(source, labels, id_ or [], reasons, jobs, ask.value),
        table,
        reporter,
        new_model={
            "contamination": contamination or "auto",
            "seed": seed,
            "drop": drop or (),
            "categorical": categorical or (),
            "by": by,
            "dates": dates.value.replace("-", " "),
        },
    )


@app.command()
@_in_one_sentence
def demo(
    data: Annotated[Data, typer.Option(help="Table to use.")] = Data.BREAST_CANCER,
    report: Annotated[
        Path, typer.Option(help="Write the HTML report to this file.")
    ] = Path("skim-demo.html"),
    seed: Seed = 0,
):
    """Find known outliers in a table that comes with scikit-learn.

    The detector never sees the labels, which only serve to count the outliers
    that it finds.
    """
    from skim.cli._demo import run

    run(data.value, report, seed)


def _finish(results, target, drafts, reporter, top, *, is_training):
    """Write the results, say how many outliers there are, return what to print."""
    from skim.cli import _work
    from skim.cli._screen import Listing

    if target.is_file:
        _work.write_results(results, target, drafts.output, reporter)
    n_listed = min(top or N_LISTED, len(results.losses)) if target.is_shown else 0
    listing = Listing(results, results.strangest(n_listed)) if n_listed else None
    reporter.say(_work.verdict(results, is_training=is_training, n_listed=n_listed))
    return listing


def _print(listing):
    if listing is not None:
        listing.print()


def _folder(output, scheduler, source, sheet):
    """Return the output folder, or None if the output is not one."""
    is_folder = output is not None and (
        output.endswith("/")
        or (Path(output).is_dir() and not output.lower().endswith(FILES))
    )
    if not is_folder:
        if scheduler is not None:
            raise typer.BadParameter("--scheduler needs a folder as --output.")
        return None
    if source == "-" or sheet is not None:
        raise typer.BadParameter(
            "A folder as --output needs CSV or Parquet files to read."
        )
    if scheduler is not None and "://" not in scheduler:
        raise typer.BadParameter(
            f"--scheduler must be an address such as tcp://host:8786, not {scheduler}."
        )
    return Path(output)


def _check_paths(source, output, save, report, model=None):
    """Refuse to overwrite an input file, or to write a file twice."""
    output = None if str(output) == "-" else output
    is_file = output is not None and (output.is_file() or not output.exists())
    if is_file and output.suffix.lower() not in FILES:
        raise typer.BadParameter(
            f"--output must end in .csv or .parquet, or in / for a folder, unlike "
            f"{output}."
        )
    read = [*_files_in(source), *([] if model is None else [model])]
    written = [path for path in (output, save, report) if path is not None]
    paths = [path.resolve() for path in (*read, *written)]
    for i, path in enumerate(paths):
        if path in paths[max(i + 1, len(read)) :]:
            raise typer.BadParameter(
                f"{path} would be overwritten; choose another file."
            )


def _files_in(source):
    """Return the files that may be read: one, those in a folder, or of a pattern."""
    path = Path(source)
    if source == "-":
        return []
    if path.is_dir():
        return [f for f in path.iterdir() if f.suffix not in (".html", ".skops")]
    if path.exists() or not glob.has_magic(source):
        return [path]
    return [Path(name) for name in glob.glob(source, recursive=True)]


def _check_columns(**chosen):
    """Refuse a column that is given two roles."""
    roles: dict[str, str] = {}
    for option, columns in chosen.items():
        for column in columns or ():
            other = roles.setdefault(column, option)
            if other != option:
                raise typer.BadParameter(
                    f"{column} is given to both --{other} and --{option}; choose one."
                )


def _check_contamination(share):
    if share is not None and not 0 < share <= 0.5:
        raise typer.BadParameter(f"--contamination must be in (0, 0.5], not {share:g}.")


def _check_jobs(jobs):
    if jobs == 0:
        raise typer.BadParameter("must be positive, or -1 for all processors, not 0.")
    return jobs


def _name_files(reporter, *paths):
    for path in paths:
        if path is not None:
            reporter.say(f"Wrote {path}")
