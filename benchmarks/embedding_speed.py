"""Speed and memory of the pretrained embedders, with one thread."""

import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks._shared.processes import in_process, peak_megabytes, seconds
from benchmarks._shared.results import print_table
from skim.embedding import (
    MissingWeightsError,
    TabPFNEmbedder,
    TextEmbedder,
    ViTEmbedder,
)

WORDS = ["the", "payment", "of", "invoice", "arrived", "late", "by", "card", "today"]


def embedding_speed(
    n_images: Annotated[int, typer.Option(help="Images for the speed.")] = 64,
    n_texts: Annotated[int, typer.Option(help="Texts for the speed.")] = 320,
    n_rows: Annotated[int, typer.Option(help="Rows of a table for the speed.")] = 1024,
    batch_size: Annotated[int, typer.Option(help="Rows at a time.")] = 32,
    repeat: Annotated[int, typer.Option(help="Number of runs; the best counts.")] = 5,
    files: Annotated[
        str, typer.Option(help="Numbers of image files to compare the memory of.")
    ] = "200,2000",
):
    """Compare embedders with direct calls of their networks; measure peak memory."""
    speeds = [
        (name, *in_process(compare, kind, number, size, repeat))
        for name, kind, number, size in (
            ("ViT-Tiny, arrays of 256 x 256", "images", n_images, batch_size),
            ("ViT-Tiny, files of 256 x 256", "files", n_images, batch_size),
            ("all-MiniLM-L6-v2, 1 to 60 words", "texts", n_texts, batch_size),
            ("TabPFN v2, 10 columns", "table", n_rows, TabPFNEmbedder().batch_size),
        )
    ]
    title = "Rows per second of processor time, one thread"
    print_table(("network", "directly", "embedder", "ratio"), speeds, title)
    numbers = map(int, files.split(","))
    peaks = [(n, *in_process(peak_memory, n, batch_size)) for n in numbers]
    title = "Peak memory while files of 256 x 256 pixels are embedded"
    print_table(("files", "before, MB", "peak, MB"), peaks, title, digits=".0f")


def compare(kind, n_rows, batch_size, repeat):
    """Return rows per second of a network and of its embedder, and their ratio.

    They are timed in turns, by processor time: there is one thread, and the machine
    may be busy. Preparing the input, with transformers' own classes, counts for both.
    The ratio is the median over the runs.
    """
    import torch

    prepare = {"images": _images, "files": _files, "texts": _texts, "table": _table}
    with tempfile.TemporaryDirectory() as folder:
        try:
            rows, call, embedder = prepare[kind](Path(folder), n_rows, batch_size)
        except MissingWeightsError as error:
            sys.exit(str(error))

        def directly():
            with torch.inference_mode():
                for start in range(0, n_rows, batch_size):
                    call(rows[start : start + batch_size])

        def embed():
            embedder.transform(rows)

        runs = [
            [seconds(each, time.process_time) for each in (directly, embed)]
            for _ in range(repeat + 1)
        ]
    runs = np.array(runs[1:])
    return *(n_rows / runs.min(axis=0)), np.median(runs[:, 0] / runs[:, 1])


def peak_memory(n_files, batch_size):
    """Return the peak memory in MB, with a network that does next to nothing."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        paths = _image_files(Path(folder), rng, n_files)
        embedder = ViTEmbedder(model=_colour, batch_size=batch_size).fit(paths)
        embedder.transform(paths[:batch_size])
        before = peak_megabytes()
        embedder.transform(paths)
    return before, peak_megabytes()


# What is measured -----------------------------------------------------------------


def _images(folder, n_images, batch_size):
    images = _pictures(np.random.default_rng(0), n_images)
    call, embedder = _vit_tiny(folder / "checkpoint", batch_size)
    return images, lambda batch: call(list(batch)), embedder.fit(images)


def _files(folder, n_images, batch_size):
    from PIL import Image

    paths = _image_files(folder, np.random.default_rng(0), n_images)
    call, embedder = _vit_tiny(folder / "checkpoint", batch_size)

    def read_and_call(batch):
        call([Image.open(path).convert("RGB") for path in batch])

    return paths, read_and_call, embedder.fit(paths)


def _texts(folder, n_texts, batch_size):
    import transformers

    from skim.embedding._checkpoints import find_checkpoint

    folder = find_checkpoint("sentence-transformers/all-MiniLM-L6-v2", "text")
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 61, n_texts)
    texts = [" ".join(rng.choice(WORDS, size=n)) for n in lengths]
    network = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)

    def call(batch):
        options = {"padding": True, "truncation": True, "return_tensors": "pt"}
        network(**tokenizer(batch, **options))

    return texts, call, TextEmbedder(model=folder, batch_size=batch_size).fit(texts)


def _table(folder, n_rows, batch_size):
    """Embed rows by a context of 500, with the columns as they are."""
    from tabpfn import TabPFNRegressor

    from skim.embedding._tabpfn_model import AS_GIVEN, find_regressor

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 10))
    context = rng.normal(size=(500, 10))
    embedder = TabPFNEmbedder(batch_size=batch_size, random_state=0).fit(context)
    network = TabPFNRegressor(
        model_path=str(find_regressor("v2")),
        n_estimators=1,
        device="cpu",
        fit_mode="fit_with_cache",
        inference_config=AS_GIVEN,
    ).fit(context[:, 1:], context[:, 0])
    return X, lambda batch: network.get_embeddings(batch[:, 1:]), embedder


def _vit_tiny(folder, batch_size):
    """Return a ViT-Tiny with random weights as a function, and its embedder."""
    import torch
    import transformers

    torch.manual_seed(0)
    config = transformers.ViTConfig(
        hidden_size=192, num_attention_heads=3, intermediate_size=768
    )
    transformers.ViTModel(config).save_pretrained(folder)
    transformers.ViTImageProcessorPil().save_pretrained(folder)
    network = transformers.ViTModel.from_pretrained(folder).eval()
    prepare = transformers.ViTImageProcessorPil.from_pretrained(folder)
    embedder = ViTEmbedder(model=folder, batch_size=batch_size)
    return lambda images: network(**prepare(images, return_tensors="pt")), embedder


def _pictures(rng, n_images):
    """Smooth pictures, of a size between those of a thumbnail and of a photograph."""
    coarse = rng.integers(0, 256, (n_images, 8, 8, 3), dtype=np.uint8)
    return coarse.repeat(32, axis=1).repeat(32, axis=2)


def _image_files(folder, rng, n_images):
    from PIL import Image

    paths = [folder / f"{row}.jpg" for row in range(n_images)]
    for path in paths:
        Image.fromarray(_pictures(rng, 1)[0]).save(path)
    return paths


def _colour(batch):
    return batch.mean((2, 3))
