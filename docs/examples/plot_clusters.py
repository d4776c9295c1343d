"""
Tight clusters make for a long window
=====================================

The tighter the clusters of inliers, the longer the loss of a network tells inliers from
outliers. Here, the same network is trained on loose and on tight clusters.
"""

# %%
# Three clusters, with outliers between and around them:

import matplotlib.pyplot as plt

from skim import IMAutoencoderDetector
from skim.datasets import make_im_clusters
from skim.inspection import trajectory
from skim.theory import cluster_geometry

figure, axes = plt.subplots(1, 3, figsize=(11, 3.5), layout="constrained")
for ax, cluster_std in zip(axes, (1.0, 4.0), strict=False):
    X, y, clusters = make_im_clusters(cluster_std=cluster_std, random_state=0)
    geometry = cluster_geometry(X, clusters, y)
    ax.scatter(*X[y == 0].T, s=5, color="#56b4e9")
    ax.scatter(*X[y == 1].T, s=15, marker="x", color="#9a3412")
    ax.set_title(f"δ − 4 ε_c = {geometry.persistence:.2f}")
    path = trajectory(IMAutoencoderDetector.paper(epochs=300, random_state=0), X, y)
    axes[2].plot(path.epoch, path.auroc, label=f"standard deviation {cluster_std:g}")
axes[2].axhline(0.9, color="black", lw=0.6)
axes[2].set(xlabel="Epoch", ylabel="AUROC")
axes[2].legend()
