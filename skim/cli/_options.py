"""The options of the commands, and what is wrong with them."""

import difflib
import glob
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

FILES = (".csv", ".parquet")  # that can be written
DATES = ("auto", "day first", "month first")
YES, NO = ("", "true", "yes", "1"), ("false", "no", "0")

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
Save = Annotated[
    Path | None,
    typer.Option(help="Save the model to this .skops file, for `skim score`."),
]
Report = Annotated[Path | None, typer.Option(help="Write a report to this .html file.")]
Contamination = Annotated[
    float | None,
    typer.Option(
        help="Share of outliers, in [0, 0.5]; 0 means that the table is clean, and is "
        "to be learned as it is. By default, the share is inferred."
    ),
]
By = Annotated[
    str | None,
    typer.Option(help="Judge numbers within the groups of this column."),
]
Drop = Annotated[
    list[str] | None, typer.Option(help="Column to leave out. Can be repeated.")
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(help="Numeric column to treat as categorical. Can be repeated."),
]
Id = Annotated[
    list[str] | None,
    typer.Option(
        "--id",
        help="Column to name rows by, instead of the identifiers found. It stays a "
        "feature unless it is an identifier or in --drop. Can be repeated.",
    ),
]
Top = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Only the N strangest rows, strangest first. By default, all rows in "
        "their order; on a terminal, the first 10 causes.",
    ),
]
Reasons = Annotated[
    int, typer.Option(min=0, help="Maximum number of reasons given for a row.")
]
Read = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="How to read the table: skip_rows, comment, delimiter, encoding, "
        "skip_bad_lines=yes, sheet, dates=day-first or dates=month-first. Can be "
        "repeated.",
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
Seed = Annotated[int, typer.Option(min=0, help="Random seed.")]
Jobs = Annotated[
    int,
    typer.Option(
        callback=lambda jobs: _check_jobs(jobs),
        help="Number of threads; -1 uses all processors. Does not affect the result.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]


def _check_jobs(jobs):
    if jobs == 0:
        raise typer.BadParameter("must be positive, or -1 for all processors, not 0.")
    return jobs


# How to read ----------------------------------------------------------------------


def _count(text):
    if not text.isdecimal():
        raise ValueError("a number of lines")
    return int(text)


def _flag(text):
    if text.lower() not in YES + NO:
        raise ValueError("yes or no")
    return text.lower() in YES


def _dates(text):
    if text.replace("-", " ") not in DATES:
        raise ValueError("day-first, month-first or auto")
    return text.replace("-", " ")


READERS: dict[str, Callable] = {
    "skip_rows": _count,
    "comment": str,
    "delimiter": lambda text: text.replace("\\t", "\t"),
    "encoding": str,
    "skip_bad_lines": _flag,
    "sheet": str,
    "dates": _dates,
}


def reading(pairs):
    """Return the arguments of `read_table` in --read, and the order of dates."""
    options = {}
    for pair in pairs or ():
        name, _, text = pair.partition("=")
        name = name.strip().replace("-", "_")
        if name not in READERS:
            near = difflib.get_close_matches(name, READERS, 1)
            advice = f"did you mean {near[0]}?" if near else f"use {', '.join(READERS)}"
            raise typer.BadParameter(f"--read does not know {name!r}; {advice}")
        try:
            options[name] = READERS[name](text)
        except ValueError as error:
            raise typer.BadParameter(
                f"--read {name} needs {error}, not {text!r}."
            ) from None
    return options, options.pop("dates", "auto")


# What is wrong --------------------------------------------------------------------


def check_model_options(contamination, drop, categorical):
    """Refuse a share that is none, and columns that are given two roles."""
    if contamination is not None and not 0 <= contamination <= 0.5:
        raise typer.BadParameter(
            f"--contamination must be in [0, 0.5], not {contamination:g}."
        )
    for column in set(drop or ()) & set(categorical or ()):
        raise typer.BadParameter(
            f"{column} is given to both --drop and --categorical; choose one."
        )


def output_folder(output, scheduler, source, read):
    """Return the output folder, or None if the output is not one."""
    is_folder = output is not None and (
        output.endswith("/")
        or (Path(output).is_dir() and not output.lower().endswith(FILES))
    )
    if not is_folder:
        if scheduler is not None:
            raise typer.BadParameter("--scheduler needs a folder as --output.")
        return None
    if source == "-" or "sheet" in read:
        raise typer.BadParameter(
            "A folder as --output needs CSV or Parquet files to read."
        )
    if scheduler is not None and "://" not in scheduler:
        raise typer.BadParameter(
            f"--scheduler must be an address such as tcp://host:8786, not {scheduler}."
        )
    return Path(output)


def check_paths(source, *, output=None, save=None, report=None, read=None, labels=None):
    """Refuse other extensions, to overwrite an input, or to write a file twice."""
    output = None if output is None or str(output) == "-" else output
    for option, path, extensions in (
        ("--output", output, FILES),
        ("--save", save, (".skops",)),
        ("--report", report, (".html", ".htm")),
    ):
        is_file = path is not None and (path.is_file() or not path.exists())
        if is_file and path.suffix.lower() not in extensions:
            or_folder = ", or in / for a folder" * (option == "--output")
            raise typer.BadParameter(
                f"{option} must end in {' or '.join(extensions)}{or_folder}, unlike "
                f"{path}."
            )
    inputs = [
        path.resolve() for path in (*_files_in(source), *([read] if read else []))
    ]
    seen = set(inputs)
    for path in (output, save, report, labels):
        if path is not None:
            if path.resolve() in seen:
                raise typer.BadParameter(
                    f"{path} would be overwritten; choose another file."
                )
            seen.add(path.resolve())


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
