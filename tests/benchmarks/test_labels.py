"""The study of what a few labels are worth."""

import pytest

from benchmarks.labels import _methods as methods
from benchmarks.labels._protocol import Exam
from skim import ALTBIDetector, IMBoostDetector
from tests.benchmarks.commands import run_twice


@pytest.fixture
def exam(table, is_outlier):
    return Exam(table, is_outlier, seed=0)


@pytest.fixture
def quick(monkeypatch):
    """Makes the detectors of the study quick."""
    detector = ALTBIDetector(epochs=5, n_estimators=1, random_state=0)
    monkeypatch.setattr(
        methods, "IMBoostDetector", lambda **params: IMBoostDetector(detector, **params)
    )


def test_all_methods_ask_about_one_half_only(exam, quick, monkeypatch):
    asked = []
    results = Exam.results

    def watched(self, method, by_budget):
        asked.extend((method, size, by_budget(size)[0]) for size in exam.rounds()[::6])
        return results(self, method, by_budget)

    monkeypatch.setattr(Exam, "results", watched)
    lines = list(methods.networks_and_forests(exam))
    assert {line[0] for line in lines} >= {"ALTBI", "IMBoost", "forest", "time"}
    for method, size, rows in asked:
        assert exam.may_ask[rows].all()
        assert len(set(rows)) == len(rows) == (0 if method == "ALTBI" else size)


def test_the_command_resumes_where_it_stopped(own_data, tmp_path, quick):
    output = tmp_path / "labels.csv"
    command = ["labels", "--data", own_data[0], "--seeds", 1, "--group", "networks"]
    assert "forest + score" in run_twice(*command, output=output)
    assert output.read_text().count("IMBoost (random)") == 5
