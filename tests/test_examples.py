"""The gallery's examples run."""

import runpy
from pathlib import Path

import matplotlib as mpl
import pytest

mpl.use("agg")
import matplotlib.pyplot as plt

EXAMPLES = sorted(Path(__file__).parent.parent.glob("docs/examples/plot_*.py"))


def test_there_are_examples():
    assert len(EXAMPLES) >= 4


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_draws_something(path):
    runpy.run_path(str(path))
    assert plt.get_fignums()
    plt.close("all")
