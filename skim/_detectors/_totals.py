"""From the losses of members to one score a row."""

import numpy as np

FLOAT32_MAX = float(np.finfo(np.float32).max)


def range_of(losses):
    """Return the minimum and the width, 1 where it is 0, of each member's losses."""
    width = np.ptp(losses, axis=1)
    return losses.min(axis=1), np.where(width > 0, width, 1.0)


def rescaled(losses, center, scale):
    """Centre and scale each member's losses, of shape (M, n)."""
    return (losses - center[:, None]) / scale[:, None]


def sum_members(losses):
    """Add up the members' losses, of shape (M, n).

    One member after the other, so that a row's sum does not depend on how many
    other rows there are.
    """
    total = np.zeros(losses.shape[1])
    for member_losses in losses:
        total += member_losses
    return total


def finite(values, nan):
    """Replace what overflowed, on rows beyond all measure, by the largest number."""
    return np.nan_to_num(values, nan=nan, posinf=FLOAT32_MAX, neginf=-FLOAT32_MAX)
