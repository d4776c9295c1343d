"""The options of the commands, and what is wrong with them."""

import glob
from pathlib import Path
from typing import Annotated

import typer

from skim.cli._reporter import READ

EXTENSIONS = {
    "output": (".csv", ".parquet"),
    "save": (".skops",),
    "report": (".html", ".htm"),
    "labels": (".csv",),
}
ALLOWED: dict[str, dict] = {  # values of --read
    "skip_bad_lines": {"": True, "yes": True, "true": True, "no": False},
    "dates": {"day-first": "day first", "month-first": "month first"},
}


def _check_contamination(share):
    if share is not None and 0.5 < share <= 50:
        raise typer.BadParameter(
            f"{share:g} is not in [0, 0.5]; {share:g} % is {share / 100:g}."
        )
    if share is not None and not 0 <= share <= 0.5:
        raise typer.BadParameter(f"{share:g} is not in [0, 0.5].")
    return share


def _check_jobs(number):
    if number == 0:
        raise typer.BadParameter(
            "The number of threads cannot be 0; -1 uses all processors."
        )
    return number


Source = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="CSV, TSV, Excel, Parquet, Feather or JSON file, possibly compressed; "
        "a folder or quoted pattern of text, Parquet or Feather files; or - for "
        "standard input.",
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
Report = Annotated[Path | None, typer.Option(help="Write a report to this .html file.")]
Contamination = Annotated[
    float | None,
    typer.Option(
        callback=_check_contamination,
        help="Share of outliers, in [0, 0.5]; 0 means that the table is clean, and is "
        "to be learned as it is. By default, the share is inferred.",
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
Read = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="How to read the table: skip_rows, delimiter, encoding, "
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
        callback=_check_jobs,
        help="Number of threads; -1 uses all processors. Does not affect the result.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]


def reading(pairs):
    """Return the arguments of `read_table` in --read, and the order of dates."""
    options: dict = {}
    for pair in pairs or ():
        name, _, text = pair.partition("=")
        name = name.strip().replace("-", "_")
        if name not in READ:
            raise typer.BadParameter(
                f"--read does not know {name!r}; use one of {', '.join(READ)}."
            )
        value: str | int | bool | None = text.replace("\\t", "\t")
        needed = "a number"
        if name in ALLOWED:
            needed = " or ".join(filter(None, ALLOWED[name]))
            value = ALLOWED[name].get(text.lower().replace(" ", "-"))
        elif name == "skip_rows":
            value = int(text) if text.isdecimal() else None
        if value is None:
            raise typer.BadParameter(f"--read {name} needs {needed}, not {text!r}.")
        options[name] = value
    return options, options.pop("dates", "auto")


def is_folder(output, scheduler, source, read, **others):
    """Tell whether the output is a folder, which does not go with other options."""
    if output is None or not (output.endswith("/") or Path(output).is_dir()):
        if scheduler is not None:
            raise typer.BadParameter("--scheduler needs a folder as --output.")
        return False
    if source == "-" or "sheet" in read:
        raise typer.BadParameter(
            "A folder as --output needs CSV or Parquet files to read."
        )
    for option, path in others.items():
        if path is not None:
            raise typer.BadParameter(
                f"--{option} does not go with a folder as --output."
            )
    return True


def check_paths(source, inputs=(), **outputs):
    """Refuse other extensions, to overwrite an input, and inputs that do not exist."""
    folder = Path(source)
    given = folder.iterdir() if folder.is_dir() else glob.glob(source, recursive=True)
    read = {Path(path).resolve() for path in (source, *given, *filter(None, inputs))}
    for option, path in outputs.items():
        if path in (None, "-"):
            continue
        path = Path(path)
        is_file = path.is_file() or not path.exists()
        if is_file and path.suffix.lower() not in EXTENSIONS[option]:
            or_folder = ", or in / for a folder" * (option == "output")
            raise typer.BadParameter(
                f"--{option} must end in {' or '.join(EXTENSIONS[option])}{or_folder}, "
                f"unlike {path}."
            )
        if option in ("output", "labels") and path.resolve() in read:
            raise typer.BadParameter(
                f"{path} would be overwritten; choose another file."
            )
    for path in filter(None, inputs):
        if not path.exists():
            raise FileNotFoundError(
                f"{path} does not exist; create it with skim review."
            )
