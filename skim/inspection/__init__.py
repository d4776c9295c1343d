"""Plots of the inlier-memorization effect and of explanations."""

from skim.inspection._displays import ExplanationDisplay, LossHistogramDisplay
from skim.inspection._trajectory import IMWindow, Trajectory, im_window, trajectory
from skim.inspection._trajectory_display import IMTrajectoryDisplay

__all__ = [
    "ExplanationDisplay",
    "IMTrajectoryDisplay",
    "IMWindow",
    "LossHistogramDisplay",
    "Trajectory",
    "im_window",
    "trajectory",
]
