"""How long the loss of a network distinguishes outliers, on the paper's simulation."""

import json

import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import track
from sklearn.metrics import roc_auc_score
from torch import nn

from benchmarks._shared.results import append_line
from skim import NetworkDetector
from skim.datasets import make_im_clusters
from skim.inspection import im_window
from skim.inspection._drawing import tidy

SPREADS = (1.0, 2.5, 4.0)  # of the clusters
WAYS = {
    "plain": {},
    "truncated": {"keep_quantile": 0.92, "truncate_after": 3},
    "EMA": {"ema_steps": 50},
}
# As in the paper, but with a larger step size, and so fewer epochs.
SETTINGS = {
    "stopping": None,
    "updates_per_epoch": 4,
    "batch_size": 500,
    "max_batch_size": 500,
    "keep_quantile": 1.0,
    "n_snapshots": 1,
    "learning_rate": 1e-3,
    "scaling": "minmax",
}
EVERY = 2  # epochs between two measurements, after the first ones
COLOURS = {"plain": "#084594", "truncated": "#d55e00", "EMA": "#009e73"}
STYLES = {"plain": "-", "truncated": "--", "EMA": ":"}


class Shallow(nn.Module):
    """The paper's autoencoder with one hidden layer and without biases."""

    def __init__(self, n_features):
        super().__init__()
        self.encode = nn.Linear(n_features, 32, bias=False)
        self.decode = nn.Linear(32, n_features, bias=False)

    def forward(self, x):
        """Return the squared error of each row, scaled to a length of at most 1."""
        x = x / x.shape[1] ** 0.5
        return (x - self.decode(torch.tanh(self.encode(x)))).square().sum(1)


ARCHITECTURES = {
    "shallow autoencoder": Shallow,
    "deep autoencoder": "autoencoder",
    "VAE": "vae",
    "flow": "flow",
}


def auroc_path(network, way, spread, n_seeds, epochs):
    """Return the epochs, and the AUROC of each member, (T, M), at each of them."""
    X, y, _ = make_im_clusters(cluster_std=spread, random_state=0)
    params = SETTINGS | WAYS[way] | {"n_estimators": n_seeds, "epochs": epochs}
    detector = NetworkDetector(ARCHITECTURES[network], random_state=0, **params)
    found = {}

    def observe(run, rows):
        epoch = run.n_epochs
        if epoch <= 10 or epoch % EVERY == 0:
            values = np.concatenate([part.values for _, part in rows])
            losses = detector._losses(values, *run.state())
            found[epoch] = [roc_auc_score(y, own) for own in losses]

    detector._validate_params()
    detector._fit(X, observe=observe, finish=False)
    return list(found), list(found.values())


def measure_windows(networks, n_seeds, epochs, path):
    """Return the records of some networks' runs, those of earlier calls from a file."""
    records = []
    if path.exists():
        records = [json.loads(line) for line in path.read_text().splitlines()]
    wanted = {
        (network, way, spread, n_seeds, epochs): None
        for way in WAYS
        for spread in SPREADS
        for network in networks
    }
    for record in records:
        if tuple(record["task"]) in wanted:
            wanted[tuple(record["task"])] = record
    todo = [task for task, record in wanted.items() if record is None]
    for task in track(todo, "Windows", console=Console(stderr=True)):
        found, auroc = auroc_path(*task)
        wanted[task] = {"task": task, "epochs": found, "auroc": np.round(auroc, 4)}
        wanted[task]["auroc"] = wanted[task]["auroc"].tolist()
        append_line(path, json.dumps(wanted[task]))
    return list(wanted.values())


def summary(records):
    """Return the mean window of each run over its members, as a DataFrame.

    A member without a window has a window of length 0; starts are of the others.
    """
    rows = []
    for record in records:
        network, way, spread, *_ = record["task"]
        auroc = np.array(record["auroc"])
        windows = [im_window(own, epochs=record["epochs"]) for own in auroc.T]
        lengths = [0 if w.start is None else w.stop - w.start + 1 for w in windows]
        starts = [w.start for w in windows if w.start is not None]
        rows.append(
            {
                "network": network,
                "training": way,
                "spread": spread,
                "start": np.mean(starts) if starts else np.nan,
                "length": np.mean(lengths),
                "peak": auroc.max(axis=0).mean(),
                "end": auroc[-1].mean(),
            }
        )
    return pd.DataFrame(rows)


def draw_windows(records):
    """Draw the mean AUROC over the epochs, by network and spread of the clusters."""
    networks = list(dict.fromkeys(record["task"][0] for record in records))
    size = len(SPREADS), len(networks)
    figure = Figure(figsize=(2.75 * size[1], 2.5 * size[0]), layout="constrained")
    axes = figure.subplots(*size, sharex=True, sharey=True, squeeze=False)
    places = {
        (network, spread): axes[i, j]
        for i, spread in enumerate(SPREADS)
        for j, network in enumerate(networks)
    }
    for record in records:
        network, way, spread, *_ = record["task"]
        ax = places[network, spread]
        mean = np.mean(record["auroc"], axis=1)
        style = {"color": COLOURS[way], "ls": STYLES[way], "lw": 1.4}
        ax.plot(record["epochs"], mean, label=way, **style)
    for (network, spread), ax in places.items():
        tidy(ax).axhline(0.9, color="black", lw=0.6)
        ax.set_title(f"{network}, ε_c = {spread:g}", fontsize=9)
        ax.set(ylim=(0.4, 1.0))
    for ax in axes[-1]:
        ax.set_xlabel("Epoch")
    for ax in axes[:, 0]:
        ax.set_ylabel("AUROC")
    axes[0, 0].legend(frameon=False, loc="lower right", fontsize=8)
    return figure
