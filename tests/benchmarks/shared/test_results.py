"""Results on disk: lines of JSON and CSV that survive being cut off, and pictures."""

import numpy as np

from benchmarks._shared.results import Runs, Store


def record(**entries):
    task = {"file": "a", "detector": "d", "settings": "s", "threads": 1, "seed": 0}
    return task | {"status": "ok"} | entries


def test_store_survives_a_cut_off_line(tmp_path):
    store = Store(tmp_path / "deep" / "results.jsonl")
    assert store.read() == []
    store.append(record(seed=0))
    with store.path.open("a") as file:
        file.write('{"file": "a", "detec')
    assert store.read() == [record(seed=0)]
    store.append(record(seed=1))
    store.append(record(seed=0, auroc=0.5))
    assert store.read() == [record(seed=1), record(seed=0, auroc=0.5)]


def test_only_missing_and_cut_off_runs_are_performed(tmp_path):
    runs = Runs(tmp_path / "deep" / "runs.csv", ("data", "seed"), ("auroc", "n"))
    assert runs.read().empty
    performed = []

    def run(task):
        performed.append(task)
        return [(task[1] / 3, 1), (np.nan, 2)]

    tasks = [("a", 0), ("b", 1)]
    found = runs.complete(tasks, run)
    assert runs.complete(tasks, run).equals(found)
    assert performed == tasks
    assert found["n"].tolist() == [1, 2, 1, 2]
    np.testing.assert_allclose(found["auroc"], [0, np.nan, 1 / 3, np.nan], rtol=1e-5)
    for cut in ("c,0,0.5,", "c,0,0", "c"):
        runs.path.write_text("data,seed,auroc,n\n" + cut)
        assert runs.complete([("c", 0)], run)["data"].tolist() == ["c", "c"]
    assert performed[2:] == [("c", 0)] * 3
