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

Data goes to standard output, everything else to standard error. The exit code is 0
if all went well, 1 if the data or a file is not as it should be, 2 if the command is
not, and 130 if it was interrupted. Files appear whole or not at all.
"""

app = typer.Typer(
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Detector(StrEnum):
    """Detectors by name."""

    ALTBI = "altbi"
    ODIM = "odim"
    IM_AUTOENCODER = "im-autoencoder"


class Data(StrEnum):
    """Embedded tables by name."""

    BREAST_CANCER = "breast-cancer"
    WINE = "wine"
    DIGITS = "digits"


Source = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="CSV, TSV, Parquet, Feather, JSON lines or NumPy file; - for standard "
        "input.",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        callback=lambda path: None if str(path) == "-" else path,
        help="Where to write, .csv or .parquet; else to standard output.",
    ),
]
Top = Annotated[
    int | None,
    typer.Option(min=1, help="Write the N strangest rows only, the strangest first."),
]
Reasons = Annotated[
    int, typer.Option(min=1, help="Most columns to name as reasons for a row.")
]
Report = Annotated[
    Path | None, typer.Option(help="Write a page of HTML about the result here.")
]
Jobs = Annotated[
    int,
    typer.Option(
        callback=lambda jobs: _check_jobs(jobs),
        help="Threads for the reasons; -1 for all. Same result.",
    ),
]
Encoding = Annotated[
    str | None, typer.Option(help="Encoding of a text file, if it is not UTF-8.")
]
Delimiter = Annotated[
    str | None, typer.Option(help="What separates fields, if it is not found out.")
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Say nothing unless something is wrong.")
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all that is random.")]


def _in_one_sentence(command):
    """Make a command say what is wrong with its input in one sentence."""

    @functools.wraps(command)
    def wrapped(*args, **kwargs):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the libraries, to programmers
                command(*args, **kwargs)
        except BrokenPipeError:  # whoever reads has read enough
            raise
        except KeyboardInterrupt:
            _fail("Interrupted; nothing was written.", 130)
        except MemoryError:
            _fail("There is not enough memory for this table.")
        except OSError as error:
            named = f"{error.filename}: " if error.filename else ""
            _fail(f"{named}{error.strerror or error}")
        except ImportError as error:
            told = "pip install" in str(error)
            _fail(error if told else f"{error}: pip install 'skim[cli]'")
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
    detector: Annotated[
        Detector, typer.Option(help="Which detector to fit.")
    ] = Detector.ALTBI,
    contamination: Annotated[
        float | None,
        typer.Option(
            help="Share of outliers, above 0 and up to 0.5; else the scores tell."
        ),
    ] = None,
    top: Top = None,
    reasons: Reasons = 3,
    drop: Annotated[
        list[str] | None,
        typer.Option(help="Column to leave out. Repeat it for several."),
    ] = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option(help="Column of categories that look like numbers."),
    ] = None,
    id_: Annotated[
        list[str] | None,
        typer.Option("--id", help="Column that names rows: no feature, but written."),
    ] = None,
    max_levels: Annotated[
        int,
        typer.Option(
            min=0, help="Text of up to so many levels gets a feature for each."
        ),
    ] = 0,
    save: Annotated[
        Path | None, typer.Option(help="Save the model here, for `skim score`.")
    ] = None,
    report: Report = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    quiet: Quiet = False,
):
    """Fit a detector to a table and score its rows.

    Written are the columns that identify rows (or the number of the row), `score`
    (the higher, the stranger; above 0 for outliers), `outlier` (1 or 0) and
    `reasons`: the columns that make the row strange, with what each adds to the
    score beyond what it adds in a usual row. Rows are in the order of the table.
    """
    _check_paths(source, output, save, report)
    _check_columns(drop=drop, categorical=categorical, id=id_)
    if contamination is not None and not 0 < contamination <= 0.5:
        raise typer.BadParameter("--contamination has to be above 0 and up to 0.5.")
    from skim.cli import _work
    from skim.cli._talk import Talk

    talk = Talk(quiet)
    with _work.drafts_of(output=output, save=save, report=report) as drafts:
        # What is not installed is found out before the work, too.
        if save:
            from skim.cli._model_file import import_skops, save_model

            import_skops()
        if report:
            _work.import_report()
        table = _work.read(source, talk, encoding=encoding, delimiter=delimiter)
        if len(table) < 2:
            raise ValueError(f"{source} has one row; outliers need others beside them.")
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
            with talk.step("Writing the report"):
                name = _work.source_name(source)
                _work.make_report(model, table, drafts.report, source=name)
    _name_files(talk, output, save, report)


@app.command()
@_in_one_sentence
def score(
    source: Source,
    model: Annotated[Path, typer.Option(help="What `skim detect --save` wrote.")],
    output: Output = None,
    top: Top = None,
    reasons: Reasons = 3,
    report: Report = None,
    jobs: Jobs = -1,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    quiet: Quiet = False,
):
    """Score the rows of a new table by a saved model.

    The table has to have the model's columns, in any order; columns that were left
    out by --drop may be absent. What is written is the same as by `skim detect`.
    """
    _check_paths(source, output, None, report, model)
    from skim.cli import _work
    from skim.cli._model_file import load_model
    from skim.cli._talk import Talk

    talk = Talk(quiet)
    with _work.drafts_of(output=output, report=report) as drafts:
        if report:
            _work.import_report()
        fitted, remark = load_model(model)
        if remark:
            talk.say(remark)
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
            with talk.step("Writing the report"):
                name = _work.source_name(source)
                _work.make_report(fitted, table, drafts.report, source=name)
    _name_files(talk, output, None, report)


@app.command()
@_in_one_sentence
def demo(
    data: Annotated[
        Data, typer.Option(help="Which of the tables.")
    ] = Data.BREAST_CANCER,
    report: Annotated[
        Path, typer.Option(help="Where to write the page of HTML.")
    ] = Path("skim-demo.html"),
    seed: Seed = 0,
):
    """Find known outliers in a table that comes with scikit-learn.

    The labels are not shown to the detector; they only tell how many of the outliers
    were found.
    """
    from skim.cli._demo import run

    run(data.value, report, seed)


@app.command()
@_in_one_sentence
def doctor():
    """Show what is installed, which extras are complete, and where to compute."""
    from skim.cli._doctor import examine

    for line in examine():
        print(line)


def _check_paths(source, output, save, report, model=None):
    """Refuse to write over a file that is read, or one file twice."""
    is_file = output is not None and (output.is_file() or not output.exists())
    if is_file and output.suffix.lower() not in (".csv", ".parquet"):
        raise typer.BadParameter("--output has to end in .csv or .parquet.")
    read = [Path(path) for path in (source, model) if path not in ("-", None)]
    written = [path for path in (output, save, report) if path is not None]
    paths = [path.resolve() for path in (*read, *written)]
    for i, path in enumerate(paths):
        if path in paths[max(i + 1, len(read)) :]:
            raise typer.BadParameter(f"{path} would be written over.")


def _check_columns(**chosen):
    """Refuse a column that is asked to be two things."""
    asked: dict[str, str] = {}
    for option, columns in chosen.items():
        for column in columns or ():
            other = asked.setdefault(column, option)
            if other != option:
                raise typer.BadParameter(
                    f"{column} is given to --{other} and to --{option}; choose one."
                )


def _check_jobs(jobs):
    if jobs == 0:
        raise typer.BadParameter("has to be positive, or -1 for all processors.")
    return jobs


def _name_files(talk, *paths):
    for path in paths:
        if path is not None:
            talk.say(f"Wrote {path}")
