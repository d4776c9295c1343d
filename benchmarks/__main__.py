"""The studies' command line: ``python -m benchmarks --help``."""

import sys
from importlib import import_module

STUDIES = (
    "demo",
    "adbench",
    "report",
    "accuracy",
    "judgement",
    "simulation",
    "stopping",
    "networks",
    "search",
    "contrastive",
    "speed",
    "scale",
    "path",
    "weights",
    "images",
    "texts",
    "embedding_speed",
    "tabpfn",
    "tables",
    "labels",
)

try:
    import typer

    commands = [getattr(import_module(f"benchmarks.{name}"), name) for name in STUDIES]
except ImportError as error:
    sys.exit(f"{error}. The benchmarks need: pip install 'skim-od[bench]'")

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False)
for command in commands:
    app.command()(command)

if __name__ == "__main__":
    app()
