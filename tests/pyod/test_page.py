"""The documentation page on PyOD."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "pyod.rst"


def test_every_example_on_the_page_runs():
    results = doctest.testfile(str(PAGE), module_relative=False)
    assert results.failed == 0
    assert results.attempted > 20
