"""Outliers among texts: counts of words, and embeddings by a language model."""

import re
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from benchmarks._shared.options import ResultsFile, Seeds, some_of
from benchmarks._shared.representations import (
    METHODS,
    PAPER_EMA,
    RAW,
    Study,
    one_class,
)
from benchmarks.weights import PACKAGES, find
from skim.embedding import TextEmbedder, weights_home

DATA = "fortunes"
TOPICS = tuple(Path(place).name for place in PACKAGES[DATA].files)
EMBEDDED = "MiniLM"
UNIT = f"{EMBEDDED}-unit"  # scaled to length one, as the model was trained
REPRESENTATIONS = (RAW, EMBEDDED, UNIT)
MIN_LENGTH = 20  # characters
MAX_TEXTS = (
    300  # per topic, of up to a thousand, so that no topic provides most outliers
)
N_COMPONENTS = 100
MAX_TOKENS = 256  # what the model is meant for

STUDY = Study(
    {DATA: (DATA,)},
    {f"+EMA, {each}": (each, PAPER_EMA) for each in REPRESENTATIONS}
    | {f"default, {each}": (each, "") for each in REPRESENTATIONS},
)


# Texts ----------------------------------------------------------------------------


def load_fortunes(folder=None, max_texts=MAX_TEXTS):
    """Load the texts of Debian's package "fortunes" that are about a subject.

    Returns texts and the numbers of their topics. Sources are left out, as they alone
    may give the topic away; so are short and repeated texts. At most `max_texts` are
    taken per topic, evenly from the whole file. `folder` has the files, if not where
    ``make weights`` puts them.
    """
    folder = find(DATA) if folder is None else folder
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
    """Return the language model's embedding of texts.

    It is cached in the folder `memory`, by default beside the weights.
    """
    embedder = TextEmbedder(
        model=find("minilm"),
        normalize=False,
        max_length=MAX_TOKENS,
        memory=str(weights_home() / "embedded" if memory is None else memory),
        device="cpu",
        n_jobs=1,
    )
    return embedder.fit_transform(texts)


# The study ------------------------------------------------------------------------


def plan(representations, methods, topics, seeds):
    """Yield the runs of the study, those of the first seed first.

    The paper's settings are for the first seed only.
    """
    for seed in range(seeds):
        for suffix in ["", PAPER_EMA] if seed == 0 else [""]:
            for topic in topics:
                for method in methods:
                    for representation in representations:
                        yield DATA, topic, seed, representation, method + suffix


def runner():
    """Return the function that prepares a run; texts are loaded and embedded once."""
    load = cache(load_fortunes)
    embedding = cache(lambda: embed(load()[0]))

    def run(task):
        _, topic, seed, representation, detector = task
        texts, labels = load()
        rows, y = one_class(labels, TOPICS.index(topic), seed)
        if representation == RAW:
            X = words([texts[row] for row in rows], seed)
        else:
            X = embedding()[rows]
            X = normalize(X) if representation == UNIT else X
        return X, y, detector

    return run


def texts(
    representation: some_of(REPRESENTATIONS) = None,
    method: some_of(METHODS) = None,
    topic: some_of(TOPICS) = None,
    seeds: Seeds = 3,
    output: ResultsFile = Path("texts-results/results.csv"),
):
    """Find texts of other topics among those of one topic.

    Each topic in turn is the inliers, and 5 % of all rows are texts of the others.
    Compares the weighted counts of words, reduced to 100 components, with a language
    model's embedding, as it is and scaled to length one. Needs what `python -m
    benchmarks weights fortunes minilm` downloads. The paper's settings are used with
    2 codes instead of 50, and the defaults.
    """
    STUDY.carry_out(plan(representation, method, topic, seeds), runner(), output)
