"""How rows are embedded with TabPFN, once targets and weights are chosen."""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from skim import _nets as nets
from skim.embedding._tabpfn_targets import split_context
from skim.embedding._tabpfn_weights import find_checkpoint, written_weights


@dataclass(frozen=True)
class Recipe:
    """Everything that determines an embedding, besides the rows and the context."""

    targets: np.ndarray  # positions of the columns to predict
    tasks: list[str]  # one per target
    model_path: str | os.PathLike  # where to look for a checkpoint that has moved
    checkpoints: dict[str, str]  # file for each task
    weights: dict[str, np.ndarray] | None  # content of these files, if it is kept
    scale: np.ndarray  # divides the columns
    settings: dict  # of the ContextModel
    combine: str
    device: str
    seed: int

    def n_features_out(self, model, context):
        """Return the number of output features, by embedding one row."""
        width = model.embed(self._features(context[:1], self.targets[0])).shape[2]
        n_parts = self.settings["n_estimators"] * len(self.targets)
        return width * (n_parts if self.combine == "concat" else 1)

    def embed(self, X, embedding, model_of, batch_size, show_progress):
        """Add the embeddings of rows to an array of zeros, and return it.

        `model_of` returns the model for a place in `targets`. `show_progress` is called
        with the number of steps done and in total.
        """
        n_rows, n_targets = len(X), len(self.targets)
        for place, target in enumerate(self.targets):
            model = model_of(place)
            for start in range(0, n_rows, batch_size):
                rows = slice(start, start + batch_size)
                members = model.embed(self._features(X[rows], target))
                self._add(embedding[rows], members, place)
                done = place * n_rows + min(start + batch_size, n_rows)
                show_progress(done, n_targets * n_rows)
        return embedding

    def _features(self, X, target):
        return np.delete(X / self.scale, target, axis=1)

    def _add(self, embedding, members, place):
        """Add the embeddings for one target, of shape (members, n, d)."""
        n_members, n_rows, width = members.shape
        if self.combine == "mean":
            embedding += members.mean(axis=0) / len(self.targets)
        else:
            first = place * n_members * width
            side_by_side = members.transpose(1, 0, 2).reshape(n_rows, -1)
            embedding[:, first : first + n_members * width] = side_by_side

    def new_model(self, context, place):
        """Return the network for one target, conditioned on context rows."""
        from skim.embedding._tabpfn_model import ContextModel  # imports torch

        target, task = self.targets[place], self.tasks[place]
        features, values = split_context(context / self.scale, target)
        try:
            with self._checkpoint(task) as file:
                return ContextModel(
                    file,
                    task,
                    features,
                    values,
                    **self.settings,
                    device=nets.device_or_cpu(self.device),
                    seed=self.seed,
                )
        except (RuntimeError, KeyError, ValueError) as error:
            raise ValueError(
                f"Cannot run TabPFN with {self.checkpoints[task]!r}: {error}"
            ) from error

    def _checkpoint(self, task):
        """Return a context manager that yields the checkpoint file of a task."""
        name = self.checkpoints[task]
        if self.weights is not None:
            return written_weights(name, self.weights)
        if not Path(name).is_file():
            name = find_checkpoint(self.model_path, task)
        return contextlib.nullcontext(name)

    def key(self):
        """Return a key for caches, in which files count by size and time."""
        files = sorted(self.checkpoints.values())
        stats = [Path(file).stat() for file in files if Path(file).exists()]
        versions = [(stat.st_size, stat.st_mtime_ns) for stat in stats]
        return (
            (files, versions, self.tasks, self.targets),
            (self.settings, self.combine, self.seed, self.scale),
        )


def check_layers(layers):
    """Return layer numbers as a sorted list, or None for the default."""
    if layers is None:
        return None
    numbers = np.unique(layers)
    if len(numbers) == 0 or numbers.dtype.kind not in "iu" or numbers[0] < 1:
        raise ValueError(
            f"layers must be integers from 1 to the number of layers, got {layers!r}."
        )
    return numbers.tolist()
