"""Outliers among texts: counts of words, and embeddings by a language model."""

import re
from functools import cache
from itertools import product
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from benchmarks._shared.options import ResultsFile, Seeds, some_of
from benchmarks._shared.representations import METHODS, RAW, Study, one_class
from skim.embedding import TextEmbedder

DATA = "fortunes"
TOPICS = (
    "art",
    "computers",
    "education",
    "food",
    "law",
    "politics",
    "science",
    "songs-poems",
    "startrek",
    "work",
)
EMBEDDED = "MiniLM"
UNIT = f"{EMBEDDED}-unit"  # scaled to length one, as the model was trained
REPRESENTATIONS = (RAW, EMBEDDED, UNIT)
MIN_LENGTH = 20  # characters
MAX_TEXTS = 300  # per topic, so that no topic provides most outliers
N_COMPONENTS = 100

STUDY = Study({DATA: (DATA,)}, {each: (each, "") for each in REPRESENTATIONS})


def load_fortunes(folder):
    """Load the texts of Debian's package "fortunes" that are about a subject.

    Returns texts and the numbers of their topics. Sources are left out, as they alone
    may give the topic away; so are short and repeated texts. Of a topic with more
    than `MAX_TEXTS`, some are taken evenly from the whole file.
    """
    seen: set = set()
    texts, labels = [], []
    for number, topic in enumerate(TOPICS):
        content = (folder / topic).read_text(encoding="utf-8")
        found = [clean(part) for part in re.split(r"(?m)^%$", content)]
        found = [text for text in dict.fromkeys(found) if len(text) >= MIN_LENGTH]
        found = [text for text in found if text not in seen]
        seen.update(found)
        if len(found) > MAX_TEXTS:
            places = np.linspace(0, len(found), MAX_TEXTS, endpoint=False).astype(int)
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


def texts(
    representation: some_of(REPRESENTATIONS) = None,
    method: some_of(METHODS) = None,
    topic: some_of(TOPICS) = None,
    seeds: Seeds = 3,
    folder: Annotated[
        Path, typer.Option(help="Folder with the files of Debian's package fortunes.")
    ] = Path("/usr/share/games/fortunes"),
    output: ResultsFile = Path("texts-results/results.csv"),
):
    """Find texts of other topics among those of one topic.

    Each topic in turn is the inliers, and 5 % of all rows are texts of the others.
    Compares the weighted counts of words, reduced to 100 components, with a language
    model's embedding, as it is and scaled to length one.
    """
    if not all((folder / each).exists() for each in TOPICS):
        raise typer.BadParameter(f"no fortunes in {folder}; see --folder.")
    found, labels = load_fortunes(folder)

    @cache
    def embedded():
        embedder = TextEmbedder(normalize=False)
        return embedder.fit_transform(found)

    def load_task(task):
        _, inliers, seed, shown, _ = task
        rows, y = one_class(labels, TOPICS.index(inliers), seed)
        if shown == RAW:
            return words([found[row] for row in rows], seed), y
        X = embedded()[rows]
        return normalize(X) if shown == UNIT else X, y

    tasks = [
        (DATA, inliers, seed, shown, detector)
        for seed, inliers, detector, shown in product(
            range(seeds), topic, method, representation
        )
    ]
    STUDY.carry_out(tasks, load_task, output)
