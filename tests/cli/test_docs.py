"""The outputs in the documentation are those of its commands."""

import platform
import re
from pathlib import Path

import pytest

pytest.importorskip("pty", reason="terminals of Unix")
DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="scores are those of x86")
def test_the_page_shows_what_its_commands_print():
    from docs.refresh_outputs import refresh

    page = (DOCS / "command_line.rst").read_text("utf-8")
    seconds = re.compile(r"\d+\.\d s$", re.MULTILINE)
    assert seconds.sub("", refresh(page)) == seconds.sub("", page), (
        "run python -m docs.refresh_outputs docs/command_line.rst"
    )
