"""How accurate ALTBI is, and which changes of its default would make it more so."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.console import Console

from benchmarks._shared.detectors import choose
from benchmarks._shared.options import Seeds, some_of
from benchmarks._shared.results import Store, print_table
from benchmarks._shared.runner import Plan, execute, watch
from benchmarks._shared.tables import TABLES, choose_tables
from benchmarks._shared.worker import Limits
from benchmarks.accuracy import _summary as summary
from benchmarks.accuracy import _wide as wide
from benchmarks.accuracy._references import REFERENCES
from benchmarks.accuracy._variants import DEFAULT, VARIANTS, Variant

TOPICS = tuple(dict.fromkeys(variant.topic for variant in VARIANTS))
PARTS = ("sources", "seeds", "wide")
N_SEEDS, MAX_ROWS = 10, 500  # of the part about seeds
TIMED = (
    "cardio",
    "shuttle",
    "donors",
    "InternetAds",
    "CIFAR10_0",
    "CV_by_ViT/MVTec-AD_bottle",  # some 300 rows of 1,000 columns
)
EARLIER = "the default before"


def accuracy(
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="A table of ADBench, 'keel', or a family or task of it such as "
            "keel/glass; may be repeated. All local tables and tasks by default."
        ),
    ] = None,
    part: some_of(PARTS) = None,
    topic: some_of((*TOPICS, "none")) = None,
    detector: Annotated[
        list[str] | None,
        typer.Option(help="Another variant, NAME=package.module:Class."),
    ] = None,
    seeds: Seeds = 3,
    jobs: Annotated[int, typer.Option(min=1, help="Fits at a time.")] = 1,
    earlier: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="A results file of an earlier version, to put its default beside.",
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option(help="Folder; runs that are in it are not repeated.")
    ] = Path("accuracy"),
):
    """Compare ALTBI with IsolationForest and kNN, and variants of it with its default.

    Labels only serve the comparison. SKIM_DATA_HOME names the folder of ADBench's data,
    SKIM_KEEL_HOME that of KEEL's tasks, which are made there if it has none.
    """
    try:
        tables = _tables(data)
        own = [
            Variant("own", each.name, each.params, each.path, each.family)
            for each in choose(detector or ())
        ]
    except (ValueError, OSError, ImportError) as error:
        raise typer.BadParameter(str(error)) from None
    variants = [*(each for each in VARIANTS if each.topic in topic), *own]
    store = Store(output / "results.jsonl")
    with ExitStack() as stack:
        try:
            stack.enter_context(store.lock())
        except (ValueError, OSError) as error:
            raise typer.BadParameter(str(error)) from None
        for each in part:
            for plan in _plans(each, tables, variants, seeds, output):
                todo = Plan(*plan, store.read(), Limits())
                watch(todo, execute(todo, store, jobs=jobs), Console(stderr=True))
    records = [] if earlier is None else Store(earlier).read()
    for name, table in summaries(store.read(), own, records).items():
        table.to_csv(output / f"{name}.csv", index=False, float_format="%.4f")
        print_table(table.columns, table.itertuples(index=False), name)


def _tables(names):
    """Return the tables of the study that are here, making KEEL's tasks."""
    names = names or [*TABLES, "keel"]
    keel = [name for name in names if name.split("/")[0] == "keel"]
    others = [name for name in names if name not in keel]
    tables = choose_tables(others, local=True) + choose_tables(keel)
    if any(table.group not in ("tabular", "keel") for table in tables):
        raise ValueError("only tables of ADBench and tasks of KEEL take part.")
    if not tables:
        raise ValueError("no such data here; set SKIM_DATA_HOME to its folder.")
    return tables


def _plans(part, tables, variants, seeds, output):
    """Yield the tables, detectors and number of seeds of each plan of a part."""
    default = DEFAULT.detector()
    if part == "sources":
        detectors = [each.detector() for each in variants]
        yield tables, [default, *REFERENCES, *detectors], seeds
    elif part == "seeds":
        small = [table for table in tables if table.n < MAX_ROWS]
        yield small, [default, REFERENCES[0]], N_SEEDS
    else:
        files = wide.embeddings()
        detectors = [default, wide.NEIGHBOURS, REFERENCES[0]]
        yield files, detectors, seeds
        yield wide.cuts(files, output / "cuts"), detectors[:2], 1


def summaries(records, own=(), earlier=()):
    """Return the tables of the study by their names.

    Parameters
    ----------
    records : list of dict
    own : list of Variant
        Other variants than those of the study.
    earlier : list of dict
        Results of an earlier version.
    """
    default = DEFAULT.detector()
    variants = [*VARIANTS, *own]
    detectors = [default, *REFERENCES, wide.NEIGHBOURS]
    detectors += [variant.detector() for variant in variants]
    results = summary.read(records, detectors)
    before = summary.before(earlier, default.name).assign(detector=EARLIER)
    variants.append(Variant("earlier version", EARLIER, {}))
    names = [default.name, *(variant.name for variant in variants)]
    variants += [Variant("another detector", each.name, {}) for each in REFERENCES]
    results = pd.concat([results, before])
    of_tables = results[results["group"].isin(["tabular", "keel"])]
    by_name = dict(list(of_tables.groupby("detector")))
    if default.name not in by_name:
        return {}
    rows = [
        [*variant[:2], *comparison.row()]
        for variant in variants
        if variant.name in by_name
        for comparison in [
            summary.Comparison(by_name[variant.name], by_name[default.name])
        ]
    ]
    found = {"differences": pd.DataFrame(rows, columns=summary.DIFFERENCES)}
    if all(each.name in by_name for each in REFERENCES):
        expected, gains = summary.against(of_tables, default.name)
        found |= {
            "expected": expected,
            "gains": gains,
            "confirmed": summary.confirmed(of_tables, names),
            "by_source": summary.by_source(of_tables, default.name),
        }
    spread = of_tables[of_tables["detector"].isin([default.name, REFERENCES[0].name])]
    many = spread.groupby("file")["seed"].transform("nunique") >= N_SEEDS
    found |= {
        "seeds": summary.spread(spread[many], MAX_ROWS),
        "wide": wide.wide_table(results, default.name),
        "time": summary.times(results, default.name, TIMED),
    }
    return {name: table for name, table in found.items() if len(table)}
