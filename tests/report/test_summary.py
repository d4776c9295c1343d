"""What is said about the number of outliers and about labels."""

from types import SimpleNamespace

import numpy as np
import pytest

from skim.report._summary import agreement, verdict


@pytest.mark.parametrize(
    ("heaviness", "n_extreme", "words"),
    [
        (0.02, 0, "; no gap sets them apart, so the number is a convention."),
        (0.1, 2, ", 2 of them more than 7 interquartile ranges above the median "),
        (0.1, 10, ": the gap to the others is over 3 times the usual."),
        (1.0, 0, ", more than 7 interquartile ranges above the median loss."),
    ],
)
def test_the_number_of_outliers_says_what_it_rests_on(heaviness, n_extreme, words):
    n, n_outliers = 1000, 10
    losses = ((np.arange(n) + 0.5) / n) ** -heaviness
    losses[:n_extreme] += 1000
    offset = -losses[n_outliers - 1 : n_outliers + 1].mean()
    detector = SimpleNamespace(
        contamination="auto", training_scores_=-losses, offset_=offset
    )
    text = verdict(detector, losses, is_training=True)
    assert text.startswith(f"10 of 1,000 rows (1.0%) are outliers{words}")


def test_agreement_counts_the_labels_on_the_right_side_of_the_threshold():
    labels = np.array([1, 0, 0, np.nan, 1])
    is_outlier = np.array([True, True, False, True, False])
    text = agreement(labels, is_outlier)
    assert text == "The threshold agrees with 2 of 4 labels (50%)."
