"""
Watch the effect
================

A plain autoencoder is trained on clusters with outliers around them. It learns the
inliers first, and for a while, its loss tells them from the outliers.
"""

# %%
# One row in twenty is an outlier. The labels are used only for the plot; the detector
# never sees them.

from skim import IMAutoencoderDetector
from skim.datasets import make_im_clusters
from skim.inspection import IMTrajectoryDisplay, im_window, trajectory

X, y, _ = make_im_clusters(cluster_std=4.0, random_state=0)
detector = IMAutoencoderDetector.paper(epochs=400, random_state=0)
display = IMTrajectoryDisplay.from_estimator(detector, X, y)

# %%
# The shaded window is where the AUROC is at least 0.9. The plotted values are available
# as numbers, too:

path = display.trajectory
print(im_window(path.auroc, threshold=0.9, epochs=path.epoch))
path.auroc[::100].round(3)

# %%
# Without labels, only the losses and their separation are plotted:

path = trajectory(detector.set_params(epochs=100), X)
IMTrajectoryDisplay(path).plot()
