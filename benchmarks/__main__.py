"""The studies' command line: ``python -m benchmarks --help``."""

import sys

try:
    import typer

    from benchmarks.accuracy import accuracy
    from benchmarks.adbench import adbench
    from benchmarks.contrastive import contrastive
    from benchmarks.demo import demo
    from benchmarks.embedding_speed import embedding_speed
    from benchmarks.images import images
    from benchmarks.report import report
    from benchmarks.search import search
    from benchmarks.simulation import simulation
    from benchmarks.speed import speed
    from benchmarks.stopping import stopping
    from benchmarks.tabpfn import tabpfn
    from benchmarks.texts import texts
    from benchmarks.weights import weights
except ImportError as error:
    sys.exit(f"{error}. The benchmarks need more than skim: pip install 'skim[bench]'")

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False)
app.command()(demo)
app.command()(adbench)
app.command()(report)
app.command()(accuracy)
app.command()(simulation)
app.command()(stopping)
app.command()(search)
app.command()(contrastive)
app.command()(speed)
app.command()(weights)
app.command()(images)
app.command()(texts)
app.command()(embedding_speed)
app.command()(tabpfn)

if __name__ == "__main__":
    app()
