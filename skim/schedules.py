"""Schedules: how the networks of a detector are trained."""

from skim._training._boosting import IMBoostSchedule
from skim._training._schedules import ALTBISchedule, BestEpochSchedule, ODIMSchedule

__all__ = ["ALTBISchedule", "BestEpochSchedule", "IMBoostSchedule", "ODIMSchedule"]
