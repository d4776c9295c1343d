"""Speed and memory of the pretrained embedders, with one thread."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

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
    repeat: Annotated[int, typer.Option(help="The best of so many runs counts.")] = 5,
    files: Annotated[
        str, typer.Option(help="Numbers of image files to compare the memory of.")
    ] = "200,2000",
):
    """Compare embedders with direct calls of their networks; measure peak memory."""
    speed = Table(title="Rows a second of processor time, one thread")
    for column in ("network", "directly", "embedder", "ratio"):
        speed.add_column(column)
    for name, code, number, size in (
        ("ViT-Tiny, arrays of 256 x 256", "images", n_images, batch_size),
        ("ViT-Tiny, files of 256 x 256", "files", n_images, batch_size),
        ("all-MiniLM-L6-v2, 1 to 60 words", "texts", n_texts, batch_size),
        ("TabPFN v2, 10 columns", "table", n_rows, TabPFNEmbedder().batch_size),
    ):
        found = _in_process("compare", code, number, size, repeat)
        speed.add_row(name, *(f"{found[key]:.1f}" for key in ("directly", "embedder")),
                      f"{found['ratio']:.3f}")  # fmt: skip
    memory = Table(title="Peak memory while files of 256 x 256 pixels are embedded")
    for column in ("files", "before, MB", "peak, MB"):
        memory.add_column(column)
    for n_files in map(int, files.split(",")):
        found = _in_process("peak_memory", n_files, batch_size)
        memory.add_row(str(n_files), f"{found['before']:.0f}", f"{found['peak']:.0f}")
    Console().print(speed, memory)


def compare(kind, n_rows, batch_size, repeat):
    """Return rows a second of a network and of its embedder, in turns.

    Preparing the input, with transformers' own classes, counts for both. The ratio
    is the median over the runs.
    """
    with tempfile.TemporaryDirectory() as folder:
        if kind == "texts":
            directly, embed = _texts(n_rows, batch_size)
        elif kind == "table":
            directly, embed = _table(n_rows, batch_size)
        else:
            directly, embed = _images(kind, Path(folder), n_rows, batch_size)
        runs = np.array(
            [[_seconds(directly), _seconds(embed)] for _ in range(repeat + 1)]
        )
    best = n_rows / runs[1:].min(axis=0)
    ratio = np.median(runs[1:, 0] / runs[1:, 1])
    return {"directly": best[0], "embedder": best[1], "ratio": ratio}


def peak_memory(n_files, batch_size):
    """Return the peak memory in MB, with a network that does next to nothing."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        paths = _image_files(Path(folder), rng, n_files)
        embedder = ViTEmbedder(model=_colour, batch_size=batch_size).fit(paths)
        embedder.transform(paths[:batch_size])
        before = _peak()
        embedder.transform(paths)
    return {"before": before, "peak": _peak()}


# What is measured -----------------------------------------------------------------


def _images(kind, folder, n_images, batch_size):
    import torch
    import transformers

    checkpoint = _vit_tiny(folder / "checkpoint")
    rng = np.random.default_rng(0)
    if kind == "files":
        images = _image_files(folder, rng, n_images)
    else:
        images = _pictures(rng, n_images)
    embedder = ViTEmbedder(model=checkpoint, batch_size=batch_size).fit(images)
    network = transformers.ViTModel.from_pretrained(checkpoint).eval()
    prepare = transformers.ViTImageProcessorPil.from_pretrained(checkpoint)

    def directly():
        from PIL import Image

        with torch.inference_mode():
            for start in range(0, n_images, batch_size):
                batch = list(images[start : start + batch_size])
                if kind == "files":
                    batch = [Image.open(path).convert("RGB") for path in batch]
                network(**prepare(batch, return_tensors="pt"))

    return directly, lambda: embedder.transform(images)


def _texts(n_texts, batch_size):
    import torch
    import transformers

    from skim.embedding._checkpoints import find_checkpoint

    name = "sentence-transformers/all-MiniLM-L6-v2"
    try:
        folder = find_checkpoint(name, "text")
    except MissingWeightsError as error:
        sys.exit(str(error))
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 61, n_texts)
    texts = [" ".join(rng.choice(WORDS, size=n)) for n in lengths]
    embedder = TextEmbedder(model=folder, batch_size=batch_size).fit(texts)
    network = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)

    def directly():
        with torch.inference_mode():
            for start in range(0, n_texts, batch_size):
                batch = texts[start : start + batch_size]
                tokens = tokenizer(
                    batch, padding=True, truncation=True, return_tensors="pt"
                )
                network(**tokens)

    return directly, lambda: embedder.transform(texts)


def _table(n_rows, batch_size):
    """Embed rows by a context of 500, with the columns as they are."""
    from tabpfn import TabPFNRegressor

    from skim.embedding._tabpfn_model import AS_GIVEN

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 10))
    context = rng.normal(size=(500, 10))
    settings = {"task": "regression", "batch_size": batch_size, "random_state": 0}
    try:
        embedder = TabPFNEmbedder(**settings).fit(context)
    except MissingWeightsError as error:
        sys.exit(str(error))
    network = TabPFNRegressor(
        model_path=embedder.checkpoints_["regression"],
        n_estimators=1,
        device="cpu",
        fit_mode="fit_with_cache",
        inference_config=AS_GIVEN,
    ).fit(context[:, 1:], context[:, 0])

    def directly():
        for start in range(0, n_rows, batch_size):
            network.get_embeddings(X[start : start + batch_size, 1:])

    return directly, lambda: embedder.transform(X)


def _vit_tiny(folder):
    """Save a ViT-Tiny with random weights."""
    import torch
    import transformers

    torch.manual_seed(0)
    config = transformers.ViTConfig(
        hidden_size=192, num_attention_heads=3, intermediate_size=768
    )
    transformers.ViTModel(config).save_pretrained(folder)
    transformers.ViTImageProcessorPil().save_pretrained(folder)
    return folder


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


# Measuring ------------------------------------------------------------------------


def _seconds(function):
    """Return processor time: there is one thread, and the machine may be busy."""
    start = time.process_time()
    function()
    return time.process_time() - start


def _peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _in_process(function, *arguments):
    """Call a function of this module in a process of its own."""
    code = "import sys, json; from benchmarks import embedding_speed as module; "
    code += "name, arguments = json.loads(sys.argv[1]); "
    code += "print(json.dumps(getattr(module, name)(*arguments)))"
    output = subprocess.run(
        [sys.executable, "-c", code, json.dumps([function, arguments])],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    ).stdout
    return json.loads(output.splitlines()[-1])
