"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

Seeds = Annotated[int, typer.Option(min=1, help="Number of seeds.")]
ResultsFile = Annotated[
    Path, typer.Option(help="Results file; runs that are in it are not repeated.")
]
Tables = Annotated[
    list[str] | None,
    typer.Option(help="A data set, may be repeated; all local tables by default."),
]


def some_of(known, default=None):
    """Return an option for some of the known names, all of them by default."""
    default = known if default is None else default

    def check(names):
        for name in names or ():
            if name not in known:
                raise typer.BadParameter(f"{name!r} is not one of {', '.join(known)}.")
        return list(names or default)

    first = "all" if default is known else f"the first {len(default)}"
    help = f"Some of {', '.join(known)}; may be repeated, {first} by default."
    return Annotated[list[str] | None, typer.Option(help=help, callback=check)]
