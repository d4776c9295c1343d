"""Print a pip constraint for the lowest allowed version of every dependency.

``make test-oldest`` passes the output to pip, so the lower bounds in pyproject.toml
are the versions that are tested.
"""

import re
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
BOUNDED = re.compile(r"([\w.-]+)(?:\[[\w,-]+\])?>=([\w.]+)")


def lowest_versions():
    """Return the lower bound of every dependency, of the core and of all extras."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    lowest: dict[str, str] = {}
    for requirement in (entry for group in groups for entry in group):
        if requirement.startswith(f"{project['name']}["):
            continue
        match = BOUNDED.fullmatch(requirement)
        if match is None:
            raise ValueError(f"{requirement!r} has no lower bound, or more than one.")
        name, version = match.groups()
        if lowest.setdefault(name, version) != version:
            raise ValueError(f"{name} has two lower bounds: {lowest[name]}, {version}.")
    return lowest


if __name__ == "__main__":
    for name, version in lowest_versions().items():
        print(f"{name}=={version}")
