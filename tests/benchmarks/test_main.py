"""What all commands have in common."""

import json
import os
import re
import subprocess
import sys
import tomllib

import pytest

from benchmarks.__main__ import PYPROJECT, STUDIES, extra_of
from tests.benchmarks.commands import run_command

EXTRAS = tomllib.loads(PYPROJECT.read_text())["project"]["optional-dependencies"]
MODULES = {"pillow": "PIL", "beautifulsoup4": "bs4", "scikit-learn": "sklearn"}
# Runs commands, given as JSON, as if some modules were not installed.
WITHOUT = """
import json, sys
from importlib.machinery import PathFinder

hidden, commands, before = json.loads(sys.argv[1])

class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] not in hidden:
            return super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Finder

from typer.testing import CliRunner
from benchmarks.__main__ import app

exec(before)
for command in commands:
    result = CliRunner().invoke(app, command)
    print(json.dumps([result.exit_code, result.output]))
"""


def modules_of(*extras):
    """Return the top-level modules that extras install, by the project's file."""
    found = set()
    for requirement in (each for extra in extras for each in EXTRAS[extra]):
        name, others = re.match(r"([\w-]+)(?:\[([\w,]+)\])?", requirement).groups()
        if name == "skim-od":
            found |= modules_of(*others.split(","))
        else:
            found.add(MODULES.get(name, name))
    brought = {"dask": "distributed", "matplotlib": "PIL"}
    return found | {brought[name] for name in found & brought.keys()}


def run_with(present, *commands, before=""):
    """Run commands without the optional modules, but for some; return their ends.

    `before` is code to run first.
    """
    hidden = sorted(modules_of(*EXTRAS) - set(present))
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, json.dumps([hidden, commands, before])],
        capture_output=True,
        check=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_studies_are_listed_without_any_of_their_packages():
    ((code, text),) = run_with({"typer", "rich"}, ["--help"])
    assert code == 0
    assert all(f" {name} " in text for name in STUDIES)


def test_a_study_needs_bench_to_be_imported_or_says_what_it_needs():
    commands = [[name, "--help"] for name in STUDIES]
    for command, (code, text) in zip(
        commands, run_with(modules_of("bench"), *commands), strict=True
    ):
        assert code == 0, f"{command}: {text}"
    for command, (code, text) in zip(
        commands, run_with({"typer", "rich"}, *commands), strict=True
    ):
        missing = re.fullmatch(
            r"No module named '(\w+).*': pip install 'skim-od\[bench\]'\n", text
        )
        assert code == 0 or missing[1] in modules_of("bench"), f"{command}: {text}"


def test_the_demo_needs_what_make_demo_installs(tmp_path):
    makefile = PYPROJECT.with_name("Makefile").read_text()
    rule = re.search(r"\ndemo: (\S+)(?s:.*)\n\1:.*\n.*'\.\[([\w,]+)\]'", makefile)
    present = modules_of(*rule[2].split(","))
    picture = tmp_path / "demo.png"
    command = ["demo", "--picture", str(picture)]
    quick = "from benchmarks import demo; demo.DATA = {'wine': demo.DATA['wine']}"
    ((code, text),) = run_with(present - {"pyod"}, command, before=quick)
    assert code == 1
    assert not picture.exists()
    assert text.endswith("No module named 'pyod': pip install 'skim-od[bench]'\n")
    ((code, text),) = run_with(present, command, before=quick)
    assert code == 0, text
    assert "PyOD AutoEncoder" in text
    assert picture.stat().st_size > 10_000


def test_a_package_that_is_missing_when_a_study_runs_is_named(tmp_path):
    output = str(tmp_path / "results.csv")
    command = ["scale", "--step", "parquet", "--output", output]
    ((code, text),) = run_with(modules_of("bench"), command)
    assert code == 1
    assert text == "No module named 'distributed': pip install 'skim-od[dask]'\n"


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("dask", "dask"),
        ("distributed", "dask"),
        ("pyod", "bench"),
        ("pyarrow", "bench"),
        ("xgboost", "rivals"),
        ("PIL", "vit"),
        ("transformers", "vit"),
        ("tabpfn", "tabpfn"),
        ("vega_datasets", "tables"),
        ("playwright", "browser"),
        ("colour", None),
    ],
)
def test_the_extra_that_has_a_package_is_named(module, extra):
    assert extra_of(module) == extra


def test_commands_in_the_documentation_exist():
    root = PYPROJECT.parent
    texts = [root / "README.md", root / "CONTRIBUTING.md", root / "CHANGELOG.md"]
    texts += [
        root / "Makefile",
        *root.glob("docs/**/*.rst"),
        *root.glob("skim/**/*.py"),
    ]
    named = {
        name
        for path in texts
        for name in re.findall(r"python -m\s+benchmarks\s+(\w[\w-]*)", path.read_text())
    }
    assert {"accuracy", "labels"} <= named <= set(STUDIES)


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("accuracy", ["--part", "--data", "--detector"]),
        ("judgement", ["--data", "--part"]),
        ("scale", ["--step", "--data"]),
        ("images", ["--data", "--method", "--representation"]),
        ("stopping", ["--data", "--criterion"]),
        ("tables", ["--data", "--kind", "--detector"]),
        ("tabpfn", ["--data", "--method", "--column"]),
        ("texts", ["--topic", "--method", "--representation"]),
    ],
)
def test_unknown_names_are_refused_before_anything_is_written(
    tmp_path, command, options
):
    output = tmp_path / "none"
    for option in options:
        told = run_command(command, option, "colour", "--output", output, exit_code=2)
        assert "'colour'" in told
    assert not output.exists()
