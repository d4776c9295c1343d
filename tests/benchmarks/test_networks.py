"""The study of other networks."""

import json

import pandas as pd
import pytest

from benchmarks.networks import ALTBI, DETECTORS, accuracy_rows
from benchmarks.networks._windows import ARCHITECTURES, WAYS, auroc_path, summary
from tests.benchmarks.commands import run_command


def record(detector, file, seed, auroc, cpu_seconds, **changed):
    return {
        "status": "ok",
        "detector": detector.name,
        "settings": detector.fingerprint(),
        "file": file,
        "seed": seed,
        "auroc": auroc,
        "auprc": auroc / 2,
        "cpu_seconds": cpu_seconds,
    } | changed


def test_accuracies_are_of_the_fits_that_all_have():
    flow = DETECTORS[1]
    records = [
        record(ALTBI, "wine", 0, 0.9, 1.0),
        record(ALTBI, "glass", 0, 0.7, 3.0),
        record(ALTBI, "cover", 0, 0.1, 9.0),  # the flow has no result there
        record(flow, "wine", 0, 0.8, 4.0),
        record(flow, "glass", 0, 0.6, 4.0),
        record(flow, "cover", 0, 0.2, 4.0, settings="of an earlier time"),
    ]
    altbi, own = accuracy_rows(records)
    assert altbi[:2] == ("ALTBI", pytest.approx(0.8))
    assert own[1] == pytest.approx(0.7)
    assert own[4:] == (pytest.approx(0.35), pytest.approx(2.0), "2 × 1")


def test_windows_are_averaged_over_the_members():
    task = ["flow", "plain", 1.0, 2, 4]
    auroc = [[0.5, 0.5], [0.95, 0.5], [0.92, 0.8], [0.6, 0.85]]
    (row,) = summary(
        [{"task": task, "epochs": [1, 2, 4, 6], "auroc": auroc}]
    ).itertuples()
    assert row.start == 2
    assert row.length == pytest.approx((3 + 0) / 2)
    assert row.peak == pytest.approx((0.95 + 0.85) / 2)
    assert row.end == pytest.approx((0.6 + 0.85) / 2)


@pytest.mark.parametrize("network", ARCHITECTURES)
def test_every_architecture_is_followed(network):
    epochs, auroc = auroc_path(network, "truncated", 1.0, 2, 12)
    assert epochs == [*range(1, 11), 12]
    assert pd.DataFrame(auroc).shape == (11, 2)


def test_the_study_writes_tables_and_pictures_and_repeats_nothing(
    adbench, tmp_path, monkeypatch
):
    monkeypatch.setattr("benchmarks.networks._windows.SPREADS", (1.0,))
    brief = [
        each._replace(params=each.params | {"epochs": 3}) for each in DETECTORS[:2]
    ]
    monkeypatch.setattr("benchmarks.networks.DETECTORS", brief)
    options = ("--data", "wine", "--seeds", "1", "--epochs", "2", "--output", tmp_path)
    told = run_command("networks", *options)
    assert "flow" in told
    lines = (tmp_path / "windows.jsonl").read_text().splitlines()
    assert len(lines) == len(ARCHITECTURES) * len(WAYS)
    assert json.loads(lines[0])["task"][0] == "shallow autoencoder"
    assert (tmp_path / "windows.svg").stat().st_size > 0
    assert len(pd.read_csv(tmp_path / "accuracy.csv")) == 2
    run_command("networks", *options)
    assert (tmp_path / "windows.jsonl").read_text().splitlines() == lines
