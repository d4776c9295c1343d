"""What a release says about itself."""

import re
import subprocess
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

import skim
from tests.oldest import lowest_versions

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]
ADVISING = ["skim", "docs", "README.md", "CONTRIBUTING.md", "benchmarks/*.py"]
OTHER_PROJECT = re.compile(
    r"\bskim\[|pip install(?:\s+(?:-\S+|\S*constraints\.txt))*\s+['\"]?skim(?![\w-])"
)


def tracked(*patterns):
    """Return the paths of tracked files."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--", *patterns],
            cwd=ROOT,
            capture_output=True,
            check=True,
            text=True,
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return list(filter(None, listed.split("\0")))


@pytest.fixture(scope="module")
def advice():
    """The text of every tracked file that may tell how to install skim."""
    text = {}
    for path in tracked(*ADVISING):
        try:
            text[path] = (ROOT / path).read_text(encoding="utf-8")
        except (FileNotFoundError, UnicodeDecodeError):  # deleted, or a picture
            continue
    assert "README.md" in text
    return text


def test_install_instructions_name_this_project(advice):
    wrong = [
        f"{path}: {line.strip()}"
        for path, content in advice.items()
        for line in content.splitlines()
        if OTHER_PROJECT.search(line)
    ]
    assert wrong == []


def test_install_instructions_name_extras_that_exist(advice):
    named = {
        extra
        for content in advice.values()
        for extras in re.findall(r"skim-od\[([\w,-]+)\]", content)
        for extra in extras.split(",")
    }
    assert "plot" in named
    assert named <= set(PROJECT["optional-dependencies"])


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_files_and_commands_that_a_page_names_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w.-]*/[\w./-]*|[\w.-]+\.(?:py|txt|md))`", text))
    named |= set(re.findall(r"\]\((?!https?:)([^)#]+)\)", text))
    made = {"docs/_build/html"}
    files = "".join(f"/{path}/\n" for path in tracked())
    missing = [name for name in named - made if f"/{name.strip('/')}/" not in files]
    assert missing == []
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    goals = set(re.findall(r"(?:^|`)make ([\w-]+)", text, re.MULTILINE))
    assert {"test", "docs"} <= goals
    assert all(re.search(rf"^{goal}:", rules, re.MULTILINE) for goal in goals)


def test_continuous_integration_runs_the_commands_of_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^make [\w-]+", readme, re.MULTILINE)
    assert commands == ["make demo", "make test"]
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert script.splitlines()[-2:] == commands
    assert "set -euo pipefail" in script


@pytest.mark.parametrize("page", ["README.md", "docs/user_guide.rst", "CHANGELOG.md"])
def test_pages_name_the_oldest_supported_releases(page):
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    oldest = {"Python": PROJECT["requires-python"].removeprefix(">=")}
    lowest = lowest_versions()  # of every dependency, and one each
    oldest |= {name: lowest[name] for name in ("scikit-learn", "torch", "numpy")}
    listed = ", ".join(f"{name} {version}" for name, version in oldest.items())
    assert f"{listed} and scipy {lowest['scipy']}, or newer" in text


def test_package_is_marked_as_typed():
    assert files(skim).joinpath("py.typed").is_file()


def test_citation_and_change_log_describe_this_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {skim.__version__}\n" in citation
    assert f"\n## {skim.__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")
