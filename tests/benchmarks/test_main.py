"""What all commands have in common."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from benchmarks.__main__ import EXTRAS, STUDIES
from tests.benchmarks.commands import run_command

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MODULES = {"pillow": "PIL", "beautifulsoup4": "bs4", "scikit-learn": "sklearn"}
# Runs rounds of commands, each as if some modules were not installed.
WITHOUT = """
import json, sys
from importlib.machinery import PathFinder

hidden = set()

class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] not in hidden:
            return super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
for names, commands, before in json.loads(sys.argv[1]):
    hidden = set(names)
    from typer.testing import CliRunner
    from benchmarks.__main__ import app

    exec(before)
    for command in commands:
        result = CliRunner().invoke(app, command)
        print(json.dumps([result.exit_code, result.output]))
"""
QUICK = """
from benchmarks import demo
demo.DATA = {"wine": demo.DATA["wine"]}
demo.CONTENDERS = {"ALTBIDetector": "ALTBI", "PyOD ECOD": "ECOD"}
"""


def modules_of(*extras):
    """Return the top-level modules that extras install, by the project's file."""
    found = set()
    every = PROJECT["optional-dependencies"]
    for requirement in (each for extra in extras for each in every[extra]):
        name, others = re.match(r"([\w-]+)(?:\[([\w,]+)\])?", requirement).groups()
        if name == PROJECT["name"]:
            found |= modules_of(*others.split(","))
        else:
            found.add(MODULES.get(name, name))
    brought = {"dask": "distributed", "matplotlib": "PIL"}
    return found | {brought[name] for name in found & brought.keys()}


@pytest.fixture(scope="module")
def without(tmp_path_factory):
    """Ends of commands: without extras, with those of `make demo`, with bench."""
    folder = tmp_path_factory.mktemp("without")
    makefile = (ROOT / "Makefile").read_text()
    rule = re.search(r"\ndemo: (\S+)(?s:.*)\n\1:.*\n.*'\.\[([\w,]+)\]'", makefile)
    helps = [[name, "--help"] for name in STUDIES]
    demo = ["demo", "--picture", str(folder / "demo.png")]
    scale = ["scale", "--step", "parquet", "--output", str(folder / "results.csv")]
    rounds = {
        "nothing": ({"typer", "rich"}, [["--help"], *helps], ""),
        "no pyod": (modules_of(*rule[2].split(",")) - {"pyod"}, [demo], QUICK),
        "demo": (modules_of(*rule[2].split(",")), [demo], QUICK),
        "bench": (modules_of("bench"), [*helps, scale], ""),
    }
    every = modules_of(*PROJECT["optional-dependencies"])
    plan = [(sorted(every - kept), *rest) for kept, *rest in rounds.values()]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, json.dumps(plan)],
        capture_output=True,
        check=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    ends = iter(map(json.loads, done.stdout.splitlines()))
    return {
        name: [next(ends) for _ in commands]
        for name, (_, commands, _) in rounds.items()
    } | {"picture": folder / "demo.png"}


def test_studies_are_listed_and_name_the_packages_they_miss(without):
    (code, text), *helps = without["nothing"]
    assert code == 0
    assert all(f" {name} " in text for name in STUDIES)
    for code, text in helps:
        missing = re.fullmatch(
            r"No module named '(\w+).*': pip install 'skim-od\[bench\]'\n", text
        )
        assert code == 0 or missing[1] in modules_of("bench"), text


def test_studies_need_no_more_than_bench_to_be_imported(without):
    *helps, (code, text) = without["bench"]
    assert [end for end in helps if end[0] != 0] == []
    assert code == 1
    assert text == "No module named 'distributed': pip install 'skim-od[dask]'\n"


def test_the_demo_needs_what_make_demo_installs(without):
    ((code, text),) = without["no pyod"]
    assert code == 1
    assert text.endswith("No module named 'pyod': pip install 'skim-od[bench]'\n")
    ((code, text),) = without["demo"]
    assert code == 0, text
    assert "PyOD ECOD" in text
    assert without["picture"].stat().st_size > 10_000


def test_extras_have_the_packages_they_are_named_for():
    for module, extra in EXTRAS.items():
        assert module in modules_of(extra), module


def test_commands_in_the_documentation_exist():
    patterns = "*.md", "Makefile", "docs/**/*.rst", "skim/**/*.py"
    named = {
        name
        for pattern in patterns
        for path in ROOT.glob(pattern)
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
