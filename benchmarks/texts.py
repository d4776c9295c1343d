"""Outliers among texts: counts of words, and embeddings by a language model."""

import re
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from benchmarks._one_class import (
    METHODS,
    PAPER_EMA,
    RAW,
    Study,
    carry_out,
    check_names,
    one_class,
    score,
)
from benchmarks.weights import FORTUNES, MINILM, TOPICS, find
from skim.embedding import TextEmbedder, weights_home

DATA = "fortunes"
EMBEDDED = "MiniLM"
UNIT = f"{EMBEDDED}-unit"  # scaled to length one, as the model was trained
REPRESENTATIONS = (RAW, EMBEDDED, UNIT)
MIN_LENGTH = 20  # characters
MAX_TEXTS = 300  # of a topic, of up to a thousand, so that none has most outliers
N_COMPONENTS = 100
MAX_TOKENS = 256  # what the model is meant for

STUDY = Study(
    (DATA,),
    {f"+EMA, {each}": (each, PAPER_EMA) for each in REPRESENTATIONS}
    | {f"default, {each}": (each, "") for each in REPRESENTATIONS},
)


# Texts ----------------------------------------------------------------------------


def load_fortunes(folder=None, max_texts=MAX_TEXTS):
    """Load the texts of Debian's package "fortunes" that are about a subject.

    Who said a thing is left out, as this alone may tell the topic. Texts that are
    short or were there before are left out, too.

    Parameters
    ----------
    folder : Path, default=None
        Where its files are, if not where ``make weights`` puts them.
    max_texts : int, default=300
        Texts of a topic to take, evenly from the whole file.

    Returns
    -------
    texts : list of str
    labels : ndarray of shape (n,)
        Number of the topic in `TOPICS`.
    """
    folder = find(DATA, FORTUNES) if folder is None else folder
    seen: set = set()
    texts, labels = [], []
    for number, topic in enumerate(TOPICS):
        content = (folder / topic).read_text(encoding="utf-8")
        found = [clean(part) for part in re.split(r"(?m)^%$", content)]
        found = [text for text in dict.fromkeys(found) if len(text) >= MIN_LENGTH]
        found = [text for text in found if text not in seen]
        seen.update(found)
        if len(found) > max_texts:
            places = np.linspace(0, len(found), max_texts, endpoint=False).astype(int)
            found = [found[place] for place in places]
        texts += found
        labels += [number] * len(found)
    return texts, np.array(labels)


def clean(text):
    """Return a quotation on one line, without overstruck letters and its source."""
    while "\b" in text:  # moves back by a letter, which the next one replaces
        text = re.sub("[^\b]\b|^\b", "", text)
    lines = text.split("\n")
    sources = [at for at, line in enumerate(lines) if re.match(r"\s*--\s*[^-\s]", line)]
    return " ".join(" ".join(lines[: sources[-1]] if sources else lines).split())


def words(texts, seed):
    """Return the leading components of how often words occur in texts."""
    counts = TfidfVectorizer().fit_transform(texts)
    n_components = min(N_COMPONENTS, *(size - 1 for size in counts.shape))
    svd = TruncatedSVD(n_components, random_state=seed)
    return svd.fit_transform(counts).astype(np.float32)


def embed(texts, memory=None):
    """Return the language model's embedding of texts, kept on the disk.

    Parameters
    ----------
    texts : list of str
    memory : str, default=None
        Folder of the embeddings, by default a folder beside the weights.
    """
    embedder = TextEmbedder(
        model=find("minilm", MINILM),
        normalize=False,
        max_length=MAX_TOKENS,
        memory=str(weights_home() / "embedded" if memory is None else memory),
        device="cpu",
        n_jobs=1,
    )
    return embedder.fit_transform(texts)


# The study ------------------------------------------------------------------------


def plan(representations, methods, topics, seeds):
    """Yield the runs of the study, first those of the first seed.

    Parameters
    ----------
    representations, methods, topics : list of str
    seeds : int
        Of the defaults. The paper's settings are for the first seed only.

    Yields
    ------
    key : tuple
        As in `benchmarks._one_class.KEY`.
    """
    for seed in range(seeds):
        for suffix in ["", PAPER_EMA] if seed == 0 else [""]:
            for topic in topics:
                for method in methods:
                    for representation in representations:
                        yield DATA, topic, seed, representation, method + suffix


class Runner:
    """Runs of the study, on texts that are loaded, and embedded, when needed first."""

    def __init__(self):
        self.texts = None
        self.embedding = None

    def __call__(self, key):
        """Return the metrics and the processor seconds of one run."""
        _, topic, seed, representation, detector = key
        if self.texts is None:
            self.texts, self.labels = load_fortunes()
        rows, y = one_class(self.labels, TOPICS.index(topic), seed)
        if representation == RAW:
            X = words([self.texts[row] for row in rows], seed)
        else:
            if self.embedding is None:
                self.embedding = embed(self.texts)
            X = self.embedding[rows]
            X = normalize(X) if representation == UNIT else X
        return score(detector, seed, X, y)


def texts(
    representation: Annotated[
        list[str] | None,
        typer.Option(help=f"Some of {', '.join(REPRESENTATIONS)}; all if none."),
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option(help=f"{' or '.join(METHODS)}; both if none.")
    ] = None,
    topic: Annotated[
        list[str] | None, typer.Option(help=f"Some of {', '.join(TOPICS)}.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds.")] = 3,
    output: Annotated[
        Path, typer.Option(help="Results file; what is in it is not done again.")
    ] = Path("texts-results/results.csv"),
):
    """Find texts of other topics among those of one topic.

    Each topic in turn is the inliers, and 5 % of all rows are texts of the others.
    Compares the weighted counts of words, reduced to 100 components, with a language
    model's embedding, as it is and scaled to length one. Needs what `python -m
    benchmarks weights fortunes minilm` downloads. The paper's settings are used with
    2 codes instead of 50, and the defaults.
    """
    check_names(representation, REPRESENTATIONS, "--representation")
    check_names(method, METHODS, "--method")
    check_names(topic, TOPICS, "--topic")
    every = plan(
        representation or REPRESENTATIONS, method or METHODS, topic or TOPICS, seeds
    )
    carry_out(STUDY, every, Runner(), output)
