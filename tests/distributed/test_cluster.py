"""DaskDetector on a cluster."""

import os
import signal

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from sklearn.base import clone

from skim.distributed import DaskDetector
from tests.distributed.conftest import cut
from tests.distributed.counted import Counted

# A killed worker makes distributed reporter.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def cluster():
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with LocalCluster(n_workers=2, **options) as cluster:
        yield cluster


def test_the_cluster_has_no_influence_on_the_result(numbers, tmp_path, cluster):
    table = pd.DataFrame(numbers, columns=list("abcd"))
    for i, part in enumerate(cut(table)):
        part.to_parquet(tmp_path / f"{i}.parquet", index=False)
    model = DaskDetector(Counted(str(tmp_path)), n_rows=100, random_state=0)
    wanted = model.set_params(scheduler="synchronous").fit(tmp_path).estimator_.rows_
    assert wanted.shape == (100, 4)
    with Client(cluster, set_as_default=False) as client:
        for scheduler in (cluster, cluster.scheduler_address, client):
            fitted = clone(model.set_params(scheduler=None))
            fitted.set_params(scheduler=scheduler).fit(tmp_path)
            np.testing.assert_array_equal(fitted.estimator_.rows_, wanted)
        scores = client.compute(fitted.score_samples(tmp_path)).result()
        np.testing.assert_array_equal(scores, numbers[:, 0])


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_the_model_is_sent_to_each_worker_once(numbers, tmp_path, cluster, kind):
    X = da.from_array(numbers, chunks=(10, 4))
    if kind == "frame":
        X = X.to_dask_dataframe(columns=list("abcd"))
    with Client(cluster) as client:  # the current client
        model = DaskDetector(Counted(str(tmp_path), seconds=0.01)).fit(X)
        scores = client.compute(model.score_samples(X)).result()
    np.testing.assert_array_equal(scores, numbers[:, 0])
    workers = list(tmp_path.glob("scored *"))
    assert len(workers) == 2
    for worker in workers:
        path = tmp_path / worker.name.replace("scored", "loaded")
        assert path.read_text().count("once") == 1


def test_a_killed_worker_costs_no_rows(numbers, tmp_path, cluster):
    X = da.from_array(numbers, chunks=(5, 4))
    with Client(cluster) as client:
        model = DaskDetector(Counted(str(tmp_path), seconds=0.05)).fit(X)
        future = client.compute(model.score_samples(X))
        while not list(tmp_path.glob("scored *")):
            pass
        victim = int(next(tmp_path.glob("scored *")).name.split()[1])
        os.kill(victim, signal.SIGKILL)
        np.testing.assert_array_equal(future.result(timeout=60), numbers[:, 0])


def test_a_scheduler_that_is_not_there_is_told(numbers):
    X = da.from_array(numbers, chunks=(100, 4))
    model = DaskDetector(Counted(""), scheduler="tcp://127.0.0.1:9")
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "0.5s"}),
        pytest.raises(ConnectionError, match="No Dask scheduler answers at tcp://127"),
    ):
        model.fit(X)
    with pytest.raises(TypeError, match="scheduler must be"):
        model.set_params(scheduler=3).fit(X)


def test_progress_is_shown_on_request(numbers, cluster, capfd):
    X = da.from_array(numbers, chunks=(100, 4))
    model = DaskDetector(Counted(""), verbose=1, random_state=0)
    model.fit(X)
    assert "100%" in capfd.readouterr().err
    model.set_params(scheduler=cluster, verbose=0).fit(X)
    assert capfd.readouterr() == ("", "")
    model.set_params(verbose=1).fit(X)
    assert "100%" in "".join(capfd.readouterr())
