"""
Watch the effect
================

A plain autoencoder is trained on a table with outliers. The losses of the inliers fall
first; the outliers follow. In between, the loss tells them apart.
"""

# %%
# Malignant tumours are the outliers here, one in twenty rows. The labels are used for
# the picture alone; the detector never sees them.

from skim import IMAutoencoderDetector
from skim.datasets import load_breast_cancer_outliers
from skim.inspection import IMTrajectoryDisplay, trajectory

X, y = load_breast_cancer_outliers(return_X_y=True)
detector = IMAutoencoderDetector(random_state=0)
display = IMTrajectoryDisplay.from_estimator(detector, X, y)

# %%
# The shaded window is where the AUROC is at least 0.9. What was drawn can be had as
# numbers, too.

path = display.trajectory
print(path.window(threshold=0.9))
path.to_frame().iloc[::20, :6]

# %%
# Without labels, the losses and their separation remain.

path = trajectory(detector, X)
IMTrajectoryDisplay(path).plot()
