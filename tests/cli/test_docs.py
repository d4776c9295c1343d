"""The outputs in the documentation are those of its commands."""

import importlib.util
import re
from pathlib import Path

import pytest

pytest.importorskip("pty", reason="terminals of Unix")
DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_shows_what_its_commands_print():
    path = DOCS / "refresh_outputs.py"
    spec = importlib.util.spec_from_file_location("refresh_outputs", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    page = (DOCS / "command_line.rst").read_text("utf-8")
    seconds = re.compile(r"\d+\.\d s$", re.MULTILINE)
    assert seconds.sub("", script.refresh(page)) == seconds.sub("", page), (
        "run python docs/refresh_outputs.py docs/command_line.rst"
    )
