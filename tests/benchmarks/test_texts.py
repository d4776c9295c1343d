"""The study of texts: quotations, and their representations."""

import numpy as np
import pandas as pd
import pytest

import benchmarks.texts as study
from benchmarks.texts import TOPICS, clean
from tests.benchmarks.commands import run_command, run_twice

LETTERS = "abcdefghijklmnopqrstuvwxyz"
N_TEXTS = 40


@pytest.fixture
def folder(tmp_path):
    """A folder in which every topic has texts of words of its own."""
    rng = np.random.default_rng(0)
    for number, topic in enumerate(TOPICS):
        letters = list(LETTERS[2 * number : 2 * number + 6])
        names = ["".join(rng.choice(letters, 4)) for _ in range(30)]
        found = [" ".join(rng.choice(names, 8)) for _ in range(N_TEXTS)]
        (tmp_path / topic).write_text("\n%\n".join(found) + "\n")
    return tmp_path


def test_a_quotation_is_one_line_without_its_source():
    text = "\nSome  words\n\tand more -- really.\n\t\t-- A. Person,\n\t\t   in a book\n"
    assert clean(text) == "Some words and more -- really."
    assert clean("-- One.\nTwo said\n-- Somebody") == "-- One. Two said"
    assert clean("Above\n-----\nbelow") == "Above ----- below"
    assert clean("_\ba_\bb and e\bé") == "ab and é"


def test_the_command_embeds_once_and_resumes(
    folder, short_training, tmp_path, monkeypatch
):
    calls = []

    class Letters:
        def __init__(self, **params):
            calls.append(params)

        def fit_transform(self, texts):
            return np.array([[text.count(each) for each in LETTERS] for text in texts])

    monkeypatch.setattr(study, "TextEmbedder", Letters)
    output = tmp_path / "new" / "results.csv"
    command = ["texts", "--topic", "law", "--method", "ODIM", "--seeds", 1]
    missing = ["--folder", tmp_path / "none"]
    assert "no fortunes" in run_command(*command, *missing, exit_code=2)
    run_twice(*command, "--folder", folder, output=output)
    assert len(calls) == 1
    runs = pd.read_csv(output)
    assert runs["representation"].tolist() == list(study.REPRESENTATIONS)
