"""The commands and their options."""

import functools
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


class Data(StrEnum):
    """Names of the demo tables."""

    BREAST_CANCER = "breast-cancer"
    WINE = "wine"
    DIGITS = "digits"


Source = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="CSV, TSV, Parquet, Feather, JSON Lines or NumPy file, or - for "
        "standard input.",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        callback=lambda path: None if str(path) == "-" else path,
        help="Output file, .csv or .parquet; by default, standard output.",
    ),
]
Top = Annotated[
    int | None,
    typer.Option(min=1, help="Write only the N most unusual rows, in order."),
]
Reasons = Annotated[
    int, typer.Option(min=1, help="Maximum number of reasons given for a row.")
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
    str | None, typer.Option(help="Encoding of a text file, if not UTF-8.")
]
Delimiter = Annotated[
    str | None, typer.Option(help="Field separator, if it is not detected correctly.")
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
    contamination: Annotated[
        float | None,
        typer.Option(
            help="Share of outliers, in (0, 0.5]; by default, inferred from the scores."
        ),
    ] = None,
    top: Top = None,
    reasons: Reasons = 3,
    drop: Annotated[
        list[str] | None,
        typer.Option(help="Column to leave out. Can be repeated."),
    ] = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option(help="Numeric column to treat as categorical. Can be repeated."),
    ] = None,
    id_: Annotated[
        list[str] | None,
        typer.Option(
            "--id",
            help="Column that identifies rows and is not a feature. Can be repeated.",
        ),
    ] = None,
    max_levels: Annotated[
        int,
        typer.Option(min=0, help="One-hot encode text with at most this many levels."),
    ] = 0,
    save: Annotated[
        Path | None, typer.Option(help="Save the model to this file, for `skim score`.")
    ] = None,
    report: Report = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    quiet: Quiet = False,
):
    """Fit a detector to a table and score its rows.

    The output has the columns that identify rows (or else the row number),
    `score` (how unusual the row is; above 0 for outliers), `outlier` (1 or 0)
    and `reasons`: the columns that make the row unusual, with the amount each
    adds to the score compared with a typical row. Rows keep their order.
    """
    _check_paths(source, output, save, report)
    _check_columns(drop=drop, categorical=categorical, id=id_)
    if contamination is not None and not 0 < contamination <= 0.5:
        raise typer.BadParameter(
            f"--contamination must be in (0, 0.5], not {contamination:g}."
        )
    from skim.cli import _work
    from skim.cli._talk import Talk

    talk = Talk(quiet)
    with _work.drafts_of(output=output, save=save, report=report) as drafts:
        # Missing packages should fail before the work, too.
        if save:
            from skim.cli._model_file import import_skops, save_model

            import_skops()
        if report:
            _work.import_report()
        table = _work.read(source, talk, encoding=encoding, delimiter=delimiter)
        if len(table) < 2:
            raise ValueError(f"{source} has one row; at least two are needed.")
        model = _work.new_model(
            detector.value,
            contamination=contamination or "auto",
            seed=seed,
            drop=drop or (),
            categorical=categorical or (),
            ids=id_ or (),
            max_levels=max_levels,
        )
        _work.fit(model, table, talk)
        _work.write_results(
            model,
            table,
            drafts.output,
            talk,
            scores=model[-1].training_scores_,
            output=output,
            top=top,
            n_reasons=reasons,
            jobs=jobs,
        )
        if save:
            save_model(model, drafts.save)
        if report:
            _work.make_report(model, table, drafts.report, talk, source=source)
    _name_files(talk, output, save, report)


@app.command()
@_in_one_sentence
def score(
    source: Source,
    model: Annotated[Path, typer.Option(help="File written by `skim detect --save`.")],
    output: Output = None,
    top: Top = None,
    reasons: Reasons = 3,
    report: Report = None,
    jobs: Jobs = -1,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    quiet: Quiet = False,
):
    """Score the rows of a new table with a saved model.

    The table must have the columns of the training data, in any order; those
    left out by --drop may be missing. The output is that of `skim detect`.
    """
    _check_paths(source, output, None, report, model)
    from skim.cli import _work
    from skim.cli._model_file import load_model
    from skim.cli._talk import Talk

    talk = Talk(quiet)
    with _work.drafts_of(output=output, report=report) as drafts:
        if report:
            _work.import_report()
        fitted, warning = load_model(model)
        if warning:
            talk.say(warning)
        table = _work.read(source, talk, encoding=encoding, delimiter=delimiter)
        table = _work.check_columns(table, fitted[0], source)
        _work.write_results(
            fitted,
            table,
            drafts.output,
            talk,
            scores=None,
            output=output,
            top=top,
            n_reasons=reasons,
            jobs=jobs,
        )
        if report:
            _work.make_report(fitted, table, drafts.report, talk, source=source)
    _name_files(talk, output, report)


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


@app.command()
@_in_one_sentence
def doctor():
    """Show installed versions, extras and the device."""
    from skim.cli._doctor import examine

    for line in examine():
        print(line)


def _check_paths(source, output, save, report, model=None):
    """Refuse to overwrite an input file, or to write a file twice."""
    is_file = output is not None and (output.is_file() or not output.exists())
    if is_file and output.suffix.lower() not in (".csv", ".parquet"):
        raise typer.BadParameter(
            f"--output must end in .csv or .parquet, unlike {output}."
        )
    read = [Path(path) for path in (source, model) if path not in ("-", None)]
    written = [path for path in (output, save, report) if path is not None]
    paths = [path.resolve() for path in (*read, *written)]
    for i, path in enumerate(paths):
        if path in paths[max(i + 1, len(read)) :]:
            raise typer.BadParameter(
                f"{path} would be overwritten; choose another file."
            )


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


def _check_jobs(jobs):
    if jobs == 0:
        raise typer.BadParameter("must be positive, or -1 for all processors, not 0.")
    return jobs


def _name_files(talk, *paths):
    for path in paths:
        if path is not None:
            talk.say(f"Wrote {path}")
