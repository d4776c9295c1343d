"""The inlier-memorization effect while a detector trains."""

from skim.inspection._display import IMTrajectoryDisplay
from skim.inspection._trajectory import IMWindow, Trajectory, im_window, trajectory

__all__ = ["IMTrajectoryDisplay", "IMWindow", "Trajectory", "im_window", "trajectory"]
