"""Labels in the report."""

import copy

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.pipeline import make_pipeline

from skim import ALTBIDetector, IMBoostDetector
from skim.report import write_report
from skim.tables import TableEncoder
from tests.report.test_report import read, text_of


@pytest.fixture(scope="module")
def labelled(people):
    """A pipeline fitted with six labels, and all labels."""
    labels = pd.Series(np.nan, index=people.index)
    labels[["p3", "p7"]] = 1
    labels[["p10", "p20", "p30", "p40"]] = 0
    base = ALTBIDetector(epochs=10, random_state=0)
    detector = IMBoostDetector(base, contamination=0.05, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        detector.set_fit_request(labels=True)
        model = make_pipeline(TableEncoder(), detector).fit(people, labels=labels)
    return model, labels


def test_labelled_rows_are_marked_and_compared_with_the_threshold(
    labelled, people, tmp_path
):
    model, labels = labelled
    path = write_report(model, people, tmp_path / "labelled.html", top=120)
    soup = read(path)
    said = {
        row.select_one(".name").get_text(): row.select_one(".said").get_text()
        for row in soup.select("#top-table tbody tr")
        if row.select_one(".said")
    }
    assert said == {
        name: "labelled outlier" if label else "labelled inlier"
        for name, label in labels.dropna().items()
    }
    flagged = pd.Series(model.predict(people) == -1, index=people.index)
    known = labels.dropna()
    agrees = known == flagged[known.index]
    text = text_of(soup.select_one("#labels"))
    assert text.startswith("6 rows have labels: 2 outliers and 4 inliers.")
    assert f"agrees with {agrees.sum()} of 6" in text
    assert all(name in text for name in known.index[~agrees])


def test_a_threshold_that_contradicts_labels_names_their_rows(
    labelled, people, tmp_path
):
    model, _ = labelled
    wrong = copy.deepcopy(model)
    wrong[-1].set_contamination(0.5)
    chosen = model[-1].training_scores_.argsort()[[0, 1]]
    wrong[-1].labels_ = np.full(120, np.nan)
    wrong[-1].labels_[chosen] = [1, 0]
    path = write_report(wrong, people, tmp_path / "wrong.html")
    soup = read(path)
    text = text_of(soup.select_one("#labels"))
    other = people.index[chosen[1]]
    assert f"agrees with 1 of 2 (50%), but not on {other}." in text


def test_rows_that_were_not_trained_on_have_no_labels(labelled, people, tmp_path):
    path = write_report(labelled[0], people[:50], tmp_path / "new.html")
    soup = read(path)
    assert soup.select_one("#labels") is None
    assert not soup.select(".said")
