"""
The window of four networks
===========================

The inlier-memorization effect is a property of training, not of one network. Here, four
networks are trained on the data of the paper's simulation, without truncation and
without early stopping.
"""

# %%
# The first one is the network of the paper's theorem, written as a module. The flow and
# the deep autoencoder are built in, and the VAE is that of ALTBI.

import matplotlib.pyplot as plt
import torch
from torch import nn

from skim import ALTBIDetector, NetworkDetector
from skim.datasets import make_im_clusters
from skim.inspection import im_window, trajectory
from skim.networks import VAEConfig
from skim.schedules import ALTBISchedule


class Shallow(nn.Module):
    """Autoencoder with one hidden layer and without biases."""

    def __init__(self, n_features):
        super().__init__()
        self.encode = nn.Linear(n_features, 32, bias=False)
        self.decode = nn.Linear(32, n_features, bias=False)

    def forward(self, x):
        """Return the loss of each row."""
        x = x / x.shape[1] ** 0.5
        return (x - self.decode(torch.tanh(self.encode(x)))).square().sum(1)


detectors = {
    "shallow autoencoder": NetworkDetector(Shallow, scaling="minmax"),
    "deep autoencoder": NetworkDetector("autoencoder", scaling="minmax"),
    "VAE": ALTBIDetector(network=VAEConfig(scaling="minmax")),
    "flow": NetworkDetector("flow", scaling="minmax"),
}

# %%
# The dotted line marks an AUROC of 0.9, above which the loss counts as telling outliers
# from inliers.

X, y, _ = make_im_clusters(cluster_std=2.5, random_state=0)
schedule = ALTBISchedule(
    learning_rate=1e-3,
    batch_size=500,
    max_batch_size=500,
    keep_quantile=1.0,
    n_snapshots=1,
)
figure, ax = plt.subplots(layout="constrained")
for name, detector in detectors.items():
    detector.set_params(
        n_estimators=1, epochs=100, schedule=schedule, stopping=None, random_state=0
    )
    path = trajectory(detector, X, y)
    print(name, im_window(path.auroc, threshold=0.9, epochs=path.epoch))
    ax.plot(path.epoch, path.auroc, label=name)
ax.axhline(0.9, color="black", lw=0.6, ls=":")
ax.set(xlabel="Epoch", ylabel="AUROC")
ax.legend()
