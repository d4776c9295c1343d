import pytest
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor

from benchmarks._shared.detectors import Detector, choose
from benchmarks._shared.measure import measure
from skim import ALTBIDetector
from skim.schedules import ALTBISchedule
from tests.benchmarks import detectors as mine


def test_families_names_and_paths_can_be_chosen():
    assert len(choose(["pyod"])) == 17
    assert [each.name for each in choose(["altbi", "ALTBI", "IForest"])] == [
        "ALTBI",
        "IForest",
    ]
    (own,) = choose(["tests.benchmarks.detectors:Good"])
    assert (own.name, own.family) == ("Good", "own")
    (own,) = choose(["Mine=tests.benchmarks.detectors:Good"])
    assert own.name == "Mine"
    assert isinstance(own.build(seed=3), mine.Good)
    assert own.build(seed=3).random_state == 3
    for names, message in (
        (["iforst"], "choose from IForest"),
        (["altbi=a:b"], "'altbi' is taken"),
        (["a:Mine", "b:Mine"], "'Mine' is taken"),
    ):
        with pytest.raises(ValueError, match=message):
            choose(names)


def test_fingerprint_follows_the_parameters():
    def fingerprint(**params):
        return Detector("x", "skim:ALTBIDetector", params, "skim").fingerprint()

    assert fingerprint() == fingerprint(epochs=100)
    assert fingerprint() != fingerprint(epochs=101)
    assert fingerprint() == fingerprint(schedule=ALTBISchedule())
    assert fingerprint() != fingerprint(schedule=ALTBISchedule(batch_size=64))
    assert fingerprint(verbose=object()) == fingerprint(verbose=object())


def test_fingerprint_follows_the_code_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    code = tmp_path / "under_work.py"
    code.write_text("class Mine:\n    pass\n")
    (detector,) = choose(["under_work:Mine"])
    before = detector.fingerprint()
    assert detector.fingerprint() == before
    code.write_text("class Mine:\n    changed = True\n")
    assert detector.fingerprint() != before


def test_outliers_score_high_whatever_the_convention(table, is_outlier):
    for detector in (
        IsolationForest(random_state=0),
        LocalOutlierFactor(),
        ALTBIDetector(epochs=20, random_state=0),
        mine.Good(),
    ):
        assert measure(detector, table, is_outlier * 1).auroc > 0.9
    for detector, message in (
        (mine.NotANumber(), "1 of 300 scores are NaN"),
        (mine.TooFew(), "299"),
    ):
        with pytest.raises(ValueError, match=message):
            measure(detector, table, is_outlier)
