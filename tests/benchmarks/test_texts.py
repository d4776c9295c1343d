"""The study of texts: quotations, their representations, and resumed results."""

import csv

import numpy as np
import pytest

import benchmarks.texts as study
from benchmarks._shared.representations import METHODS, PAPER_EMA, RAW
from benchmarks.texts import (
    REPRESENTATIONS,
    STUDY,
    TOPICS,
    clean,
    load_fortunes,
    plan,
    words,
)
from skim.embedding import MissingWeightsError
from tests.benchmarks.commands import run_command

FORTUNES = "texts/fortunes"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
N_TEXTS = 40


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder of weights in which every topic has texts of words of its own."""
    monkeypatch.setenv("SKIM_WEIGHTS_HOME", str(tmp_path / "home"))
    folder = tmp_path / "home" / FORTUNES
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for number, topic in enumerate(TOPICS):
        letters = list(LETTERS[2 * number : 2 * number + 6])
        names = ["".join(rng.choice(letters, 4)) for _ in range(30)]
        found = [" ".join(rng.choice(names, 8)) for _ in range(N_TEXTS)]
        (folder / topic).write_text("\n%\n".join(found) + "\n")
    return tmp_path / "home"


# Texts ----------------------------------------------------------------------------


def test_a_quotation_is_one_line_without_its_source():
    text = "\nSome  words\n\tand more -- really.\n\t\t-- A. Person,\n\t\t   in a book\n"
    assert clean(text) == "Some words and more -- really."


def test_only_the_last_source_goes_and_rules_are_none():
    assert clean("-- One.\nTwo said\n-- Somebody") == "-- One. Two said"
    assert clean("Above\n-----\nbelow") == "Above ----- below"


def test_overstruck_letters_are_read_as_the_last_of_them():
    assert clean("_\ba_\bb and e\bé") == "ab and é"
    assert clean("\b___\b\b\bonly") == "only"


def test_short_and_repeated_texts_are_dropped(home):
    folder = home / FORTUNES
    kept = "Something that is long enough."
    again = f"  {kept}\n\t-- Another source\n"
    (folder / "art").write_text(f"{kept}\n%\nToo short.\n%\n{again}%\n")
    (folder / "work").write_text(f"{again}%\n100 % of this is one other text.\n")
    texts, labels = load_fortunes()
    assert texts[0] == kept
    assert texts.count(kept) == 1
    assert texts[-1] == "100 % of this is one other text."
    assert np.bincount(labels).tolist() == [1, *[N_TEXTS] * 8, 1]


def test_fewer_texts_come_from_the_whole_file(home):
    texts, labels = load_fortunes()
    few, few_labels = load_fortunes(max_texts=10)
    assert np.bincount(few_labels).tolist() == [10] * 10
    assert few[:10] == texts[:N_TEXTS:4]
    assert np.bincount(labels).tolist() == [N_TEXTS] * 10


def test_words_that_texts_share_bring_them_together():
    texts = ["red green blue", "red green", "one two three", "two three"] * 5
    X = words(texts, seed=0)
    assert X.dtype == np.float32
    assert X.shape == (20, 5)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    assert unit[0] @ unit[1] > 0.7
    assert abs(unit[0] @ unit[2]) < 0.1
    np.testing.assert_array_equal(X, words(texts, seed=0))


def test_cached_fortunes_are_the_known_texts(cached):
    texts, labels = load_fortunes(cached("fortunes"), max_texts=2000)
    sizes = [461, 1023, 203, 197, 205, 697, 618, 716, 215, 628]
    assert np.bincount(labels).tolist() == sizes
    assert len(set(texts)) == len(texts)
    assert not any("\b" in text or "\n" in text for text in texts)
    assert not any("stardate" in text for text in texts)


# The study ------------------------------------------------------------------------


@pytest.fixture
def embeddings(monkeypatch):
    """Counts letters instead of running a language model, and says how often."""
    calls = []

    def count(texts):
        calls.append(len(texts))
        counts = [[text.count(letter) for letter in LETTERS] for text in texts]
        return np.array(counts, np.float32)

    monkeypatch.setattr(study, "embed", count)
    return calls


COMMAND = ["texts", "--topic", "law", "--seeds", "1", "--method", "ODIM"]


def test_the_plan_has_every_run_once():
    runs = list(plan(REPRESENTATIONS, METHODS, TOPICS, 3))
    assert len(runs) == len(set(runs)) == 10 * 2 * 3 * (3 + 1)
    assert all(key[2] == 0 for key in runs if key[4].endswith(PAPER_EMA))


def test_a_run_takes_the_rows_of_its_topic_as_they_are_represented(home, embeddings):
    run = study.runner()
    (X, y, detector), (unit, *_), (counts, *_) = (
        run(("fortunes", "law", 1, each, "ODIM"))
        for each in ("MiniLM", "MiniLM-unit", RAW)
    )
    assert detector == "ODIM"
    n_outliers = round(N_TEXTS / 19)
    assert y.sum() == n_outliers
    assert X.shape == (N_TEXTS + n_outliers, len(LETTERS))
    assert counts.shape == (len(X), len(X) - 1)
    is_laws = np.isin(list(LETTERS), list(LETTERS[8:14]))
    assert not X[y == 0][:, ~is_laws].any()
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(unit * np.linalg.norm(X, axis=1)[:, None], X, rtol=1e-5)
    assert len(embeddings) == 1


def test_the_command_writes_results_and_a_summary(
    home, embeddings, short_training, tmp_path
):
    output = tmp_path / "new" / "results.csv"
    run_command(*COMMAND, "--output", output)
    assert embeddings == [10 * N_TEXTS]
    runs = STUDY.runs(output).read()
    assert len(runs) == 3 * 2
    assert (set(runs["data"]), set(runs["inliers"])) == ({"fortunes"}, {"law"})
    with output.with_name("summary.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["runs of default, MiniLM"] for row in rows] == ["0", "1"] * 2
    runs = runs.set_index(["representation", "detector"])
    found = runs.loc[("MiniLM", "ODIM"), "auroc"]
    assert float(rows[1]["default, MiniLM"]) == pytest.approx(found, abs=1e-4)


def test_missing_texts_are_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("SKIM_WEIGHTS_HOME", str(tmp_path / "nowhere"))
    output = tmp_path / "results.csv"
    told = run_command(*COMMAND, "--output", output, exit_code=2)
    assert "python -m benchmarks weights fortunes" in told


def test_embeddings_are_the_language_models_and_kept(home, monkeypatch):
    made = []

    class Embedder:
        def __init__(self, **params):
            made.append(params)

        def fit_transform(self, texts):
            return np.ones((len(texts), 3))

    monkeypatch.setattr(study, "TextEmbedder", Embedder)
    with pytest.raises(MissingWeightsError, match="weights minilm"):
        study.embed(["A text."])
    (home / "all-MiniLM-L6-v2").mkdir()
    assert study.embed(["A text.", "Another."]).shape == (2, 3)
    (params,) = made
    assert params["model"] == home / "all-MiniLM-L6-v2"
    assert params["memory"] == str(home / "embedded")
    assert (params["device"], params["n_jobs"]) == ("cpu", 1)
