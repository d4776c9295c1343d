"""DaskDetector on Dask's collections, and on a cluster."""

import os
import pickle
import signal
from itertools import pairwise

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from skim import IMAutoencoderDetector
from skim.distributed import DaskDetector
from skim.distributed._sample import draw, in_order, merge
from skim.tables import TableEncoder
from tests.distributed.counted import Counted

N = 300
METHODS = ["score_samples", "predict"]


@pytest.fixture(autouse=True)
def synchronous(request):
    if "cluster" in request.fixturenames:
        yield
    else:
        with dask.config.set(scheduler="synchronous"):
            yield


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, 4)) @ rng.normal(size=(4, 4))


@pytest.fixture(scope="module")
def orders():
    """Orders of which one has a rare country, and one an absurd price."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "price": rng.normal(50, 5, N).round(2),
            "weight": rng.normal(3, 0.2, N).round(3),
            "country": rng.choice(["DE", "FR"], N),
        }
    )
    table.loc[N - 1, "country"] = "XX"
    table.loc[N - 2, "price"] = 1e7
    return table


def detector():
    return IMAutoencoderDetector(epochs=5, random_state=0)


def pipeline():
    return make_pipeline(TableEncoder(), detector())


def frame_of(table, n_parts=5):
    """A Dask frame of parts of different lengths, one of them empty."""
    ends = (np.linspace(0, 1, n_parts + 1) ** 1.3 * len(table)).round().astype(int)
    parts = [table[start:end] for start, end in pairwise([0, *ends])]
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=table[:0])


@pytest.mark.parametrize("method", METHODS)
def test_results_are_bitwise_those_of_the_estimator(numbers, method):
    table = pd.DataFrame(numbers, columns=list("abcd"))
    table.index = pd.Index(np.arange(N) * 10, name="number")
    X = dd.from_pandas(table, npartitions=4)
    model = DaskDetector(detector(), n_rows=200, random_state=0).fit(X)
    lazy = getattr(model, method)(X)
    assert lazy.divisions == X.divisions
    found = lazy.compute()
    wanted = getattr(model.estimator_, method)(table)
    np.testing.assert_array_equal(found, wanted)
    pd.testing.assert_index_equal(found.index, table.index)
    assert lazy._meta.index.name == found.index.name
    assert lazy.dtype == found.dtype
    array = da.from_array(numbers, chunks=(170, 2))
    model = DaskDetector(detector(), n_rows=200, random_state=0).fit(array)
    lazy = getattr(model, method)(array)
    np.testing.assert_array_equal(lazy, getattr(model.estimator_, method)(numbers))
    assert lazy.chunks[0] == array.chunks[0]


def test_few_rows_are_all_used(orders):
    X = frame_of(orders)
    model = DaskDetector(pipeline(), n_rows=1000).fit(X)
    whole = pipeline().fit(orders)
    np.testing.assert_array_equal(model.score_samples(X), whole.score_samples(orders))


def test_what_the_sample_misses_is_strange_and_no_error(orders):
    X = dd.from_pandas(orders, npartitions=3)
    model = DaskDetector(pipeline(), n_rows=100, random_state=0).fit(X)
    assert model.estimator_[0].decisions_[2].reason == "2 levels"
    assert set(model.score_samples(X).compute().nsmallest(2).index) == {N - 2, N - 1}


def test_the_sample_is_uniform_and_does_not_depend_on_the_order_of_merging():
    table = pd.DataFrame({"n": np.arange(40)})
    counts = np.zeros(40)
    for seed in range(500):
        parts = [draw(table[i : i + 10], i, seed, 8) for i in range(0, 40, 10)]
        rows = in_order(merge(parts, 8))
        some = merge([merge(parts[2:], 8), merge(parts[1::-1], 8)], 8)
        assert rows.equals(in_order(some))
        counts[rows["n"]] += 1
    # 100 expected, with a standard deviation of 9
    assert counts.sum() == 8 * 500
    assert np.abs(counts - 100).max() < 40


def test_it_is_an_estimator_like_others(numbers):
    X = da.from_array(numbers, chunks=(200, 4))
    model = DaskDetector(detector(), n_rows=100, random_state=0)
    fitted = clone(model).set_params(estimator__epochs=3).fit(X)
    assert fitted.estimator_.epochs == 3
    assert not hasattr(model, "estimator_")
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(model.fit_predict(X), clone(model).fit(X).predict(X))
    other = clone(model).set_params(random_state=1).fit(X)
    assert (other.score_samples(X) != model.score_samples(X)).any().compute()


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.zeros((5, 2)), "not ndarray; read files with dask.dataframe"),
        ("orders/*.parquet", "must be a Dask DataFrame or Array, not str"),
        (da.zeros(20), "two-dimensional, but it has 1"),
        (da.zeros((1, 2)), "at least two are needed"),
    ],
)
def test_bad_input(X, words):
    with pytest.raises((TypeError, ValueError), match=words):
        DaskDetector(detector()).fit(X)


@pytest.fixture(scope="module")
def cluster():
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with LocalCluster(n_workers=2, **options) as cluster:
        yield cluster


def test_the_model_is_sent_to_each_worker_of_a_cluster_once(numbers, tmp_path, cluster):
    X = da.from_array(numbers, chunks=(10, 4))
    model = DaskDetector(Counted(str(tmp_path), 0.01), n_rows=100, random_state=0)
    with dask.config.set(scheduler="synchronous"):
        wanted = clone(model).fit(X).estimator_.rows_
    with Client(cluster):
        assert np.array_equal(model.fit(X).estimator_.rows_, wanted)
        scores = model.score_samples(X).compute()
    np.testing.assert_array_equal(scores, numbers[:, 0])
    workers = [path.name.split()[1] for path in tmp_path.glob("scored *")]
    assert len(workers) == 2
    for worker in workers:
        assert (tmp_path / f"loaded {worker}").read_text().count("once") == 1


@pytest.mark.filterwarnings("default")  # of distributed, about the worker
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
