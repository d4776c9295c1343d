"""DaskDetector on Dask's collections."""

import pickle

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import IsolationForest

from skim.distributed import DaskDetector
from tests.distributed.conftest import cut, detector, pipeline

METHODS = [
    "score_samples",
    "decision_function",
    "predict",
    "outlier_probability",
    "explain",
]


def frame_of(parts):
    """A Dask frame of exactly these parts, with unknown divisions."""
    delayed = [dask.delayed(part) for part in parts]
    return dd.from_delayed(delayed, meta=parts[0].iloc[:0], verify_meta=False)


def expected(estimator, method, X):
    """The method of a pipeline's detector, where the pipeline does not have it."""
    if hasattr(estimator, method):
        return getattr(estimator, method)(X)
    return getattr(estimator[-1], method)(estimator[0].transform(X))


@pytest.mark.parametrize("method", METHODS)
def test_frames_give_bitwise_what_the_estimator_gives(orders, method):
    indexed = orders.set_index(pd.Index(np.arange(len(orders)) * 10, name="number"))
    X = dd.from_pandas(indexed, npartitions=4)
    model = DaskDetector(pipeline(), n_rows=200, random_state=0).fit(X)
    lazy = getattr(model, method)(X)
    assert lazy.npartitions == 4
    assert lazy.divisions == X.divisions
    found = lazy.compute()
    np.testing.assert_array_equal(found, expected(model.estimator_, method, indexed))
    pd.testing.assert_index_equal(found.index, indexed.index)
    meta = lazy._meta
    assert type(meta) is type(found)
    assert meta.index.name == "number"
    if method == "explain":
        assert (
            list(found)
            == list(meta)
            == model.estimator_[0].get_feature_names_out().tolist()
        )
        pd.testing.assert_series_equal(meta.dtypes, found.dtypes)
    else:
        assert (meta.dtype, meta.name) == (found.dtype, found.name)


@pytest.mark.parametrize("method", METHODS)
def test_arrays_give_bitwise_what_the_estimator_gives(numbers, method):
    X = da.from_array(numbers, chunks=(170, 2))
    model = DaskDetector(detector(), n_rows=200, random_state=0).fit(X)
    lazy = getattr(model, method)(X)
    found = lazy.compute()
    np.testing.assert_array_equal(found, getattr(model.estimator_, method)(numbers))
    assert lazy.dtype == lazy._meta.dtype == found.dtype
    assert lazy.shape == found.shape
    assert lazy.chunks[0] == X.chunks[0]


def test_relative_explanations(numbers):
    X = da.from_array(numbers, chunks=(200, 4))
    model = DaskDetector(detector(), random_state=0).fit(X)
    found = model.explain(X, relative=True).compute()
    wanted = model.estimator_.explain(numbers, relative=True)
    np.testing.assert_array_equal(found, wanted)


def test_few_rows_are_all_used(orders):
    X = frame_of(cut(orders))
    model = DaskDetector(pipeline(), n_rows=1000).fit(X)
    whole = pipeline().fit(orders)
    assert model.n_samples_seen_ == model.n_samples_fit_ == len(orders)
    np.testing.assert_array_equal(
        model.score_samples(X).compute(), whole.score_samples(orders)
    )
    assert model.offset_ == whole[-1].offset_


def test_the_seed_decides_about_the_sample_and_the_scheduler_does_not(numbers):
    X = da.from_array(numbers, chunks=(60, 4))

    def scores(seed, scheduler):
        model = DaskDetector(
            detector(), n_rows=100, random_state=seed, scheduler=scheduler
        )
        return model.fit(X).estimator_.score_samples(numbers)

    first = scores(3, "synchronous")
    np.testing.assert_array_equal(first, scores(3, "threads"))
    assert (first != scores(4, "threads")).any()


def test_what_the_sample_misses_is_strange_and_no_error(orders):
    X = dd.from_pandas(orders, npartitions=3)
    rare = orders.index[-2:]
    model = DaskDetector(pipeline(), n_rows=100, random_state=0).fit(X)
    seen = model.estimator_[0].transformer_.named_transformers_["frequency"]
    assert "XX" not in str(seen.learned_)
    scores = model.score_samples(X).compute()
    assert set(scores.nsmallest(2).index) == set(rare)
    assert (model.predict(X).compute()[rare] == -1).all()


@pytest.mark.parametrize(("common", "rare"), [("no", "yes"), (0.0, 1.0)])
def test_a_rare_value_of_a_constant_column_makes_its_row_stranger(
    numbers, common, rare
):
    table = pd.DataFrame(numbers, columns=list("abcd")).assign(flag=common)
    table.loc[250, "flag"] = rare
    X = frame_of(cut(table))
    model = DaskDetector(pipeline(), n_rows=150, random_state=1).fit(X)
    assert model.n_samples_fit_ == 151  # the sample misses that row
    with_flag = model.score_samples(X).compute()[250]
    (without,) = model.estimator_.score_samples(table[250:251].assign(flag=common))
    spread = model.estimator_[-1].training_scores_.std()
    assert with_flag < without - spread


def test_the_estimator_is_plain_and_outlives_dask(numbers):
    X = da.from_array(numbers, chunks=(200, 4))
    model = DaskDetector(detector(), n_rows=300, random_state=0).fit(X)
    assert type(model.estimator_) is type(detector())
    loaded = pickle.loads(pickle.dumps(model.estimator_))
    np.testing.assert_array_equal(
        loaded.score_samples(numbers), model.score_samples(X).compute()
    )
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_it_is_an_estimator_like_others(numbers):
    X = da.from_array(numbers, chunks=(200, 4))
    model = DaskDetector(detector(), n_rows=300, random_state=0)
    fitted = clone(model).set_params(estimator__epochs=3).fit(X)
    assert fitted.estimator_.epochs == 3
    assert not hasattr(model, "estimator_")
    np.testing.assert_array_equal(
        clone(model).fit_predict(X), clone(model).fit(X).predict(X)
    )


def test_other_detectors_offer_what_they_have(numbers):
    X = da.from_array(numbers, chunks=(200, 4))
    model = DaskDetector(IsolationForest(n_estimators=5, random_state=0)).fit(X)
    np.testing.assert_array_equal(
        model.score_samples(X).compute(), model.estimator_.score_samples(numbers)
    )
    assert not hasattr(model, "explain")


def test_columns_may_come_in_another_order(orders):
    X = dd.from_pandas(orders, npartitions=2)
    model = DaskDetector(pipeline(), random_state=0).fit(X)
    turned = dd.from_pandas(orders[orders.columns[::-1]], npartitions=3)
    np.testing.assert_array_equal(
        model.score_samples(turned).compute(), model.score_samples(X).compute()
    )


# Bad input -----------------------------------------------------------------------


def test_parts_without_rows_are_fine(orders):
    parts = cut(orders)
    parts.insert(2, orders[:0])
    X = frame_of([orders[:0], *parts])
    model = DaskDetector(pipeline(), n_rows=1000).fit(X)
    np.testing.assert_array_equal(
        model.predict(X).compute(), model.estimator_.predict(orders)
    )
    assert model.explain(X).compute().shape == (len(orders), 4)


def test_an_empty_column_has_the_type_of_the_others(orders):
    parts = cut(orders)
    parts[0] = parts[0].assign(country=np.nan, price=None)
    X = frame_of(parts)
    model = DaskDetector(pipeline(), n_rows=1000).fit(X)
    assert model.estimator_[0].decisions_[0].treatment == "number"
    assert np.isfinite(model.score_samples(X).compute()).all()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda part: part.drop(columns="weight"), "lacks 'weight'"),
        (lambda part: part.assign(more=1.0), "adds 'more'"),
        (lambda part: part.assign(price="dear"), "text in column 'price'"),
        (lambda part: part.assign(zip=1.0), "numbers in column 'zip'"),
    ],
)
def test_other_columns_and_types_are_refused(orders, spoil, words):
    parts = cut(orders)
    good = frame_of(parts)
    bad = frame_of([*parts[:3], spoil(parts[3]), *parts[4:]])
    model = DaskDetector(pipeline(), random_state=0)
    for use in (model.fit, model.fit(good).score_samples):
        with pytest.raises(ValueError, match=r"^partition 3 ") as error:
            getattr(use(bad), "compute", lambda: None)()
        assert words in str(error.value)
        assert len(str(error.value).splitlines()) == 1


def test_infinity_is_refused_unless_it_is_encoded(orders):
    parts = [part[["price", "weight"]] for part in cut(orders)]
    spoilt = parts[2].copy()
    spoilt.iloc[0, 0] = np.inf
    good, bad = frame_of(parts), frame_of([*parts[:2], spoilt, *parts[3:]])
    model = DaskDetector(detector(), random_state=0)
    for use in (model.fit, model.fit(good).predict):
        with pytest.raises(ValueError, match="partition 2 contains infinity in col"):
            getattr(use(bad), "compute", lambda: None)()
    labels = DaskDetector(pipeline(), random_state=0).fit_predict(bad).compute()
    assert labels[spoilt.index[0]] == -1
    array = da.from_array(np.r_[np.ones((4, 2)), [[np.inf, 1]]], chunks=(2, 2))
    with pytest.raises(ValueError, match="partition 2 contains infinity;"):
        model.fit(array)


def test_what_the_estimator_refuses_names_the_partition(numbers):
    X = da.from_array(numbers, chunks=(200, 4))
    model = DaskDetector(detector(), random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"partition \d: X has 3 features"):
        model.predict(X[:, :3]).compute()


@pytest.mark.parametrize("X", [np.ones((5, 2)), pd.DataFrame({"a": [1.0, 2.0]}), 3])
def test_tables_in_memory_are_for_the_detector_itself(X):
    with pytest.raises(TypeError, match="with the detector itself"):
        DaskDetector(detector()).fit(X)


def test_one_row_is_too_few():
    with pytest.raises(ValueError, match="X has 1 row; at least two"):
        DaskDetector(detector()).fit(da.ones((1, 3)))
    with pytest.raises(ValueError, match="two-dimensional"):
        DaskDetector(detector()).fit(da.ones(3))


def test_columns_may_have_numbers_as_names():
    X = np.random.default_rng(0).normal(size=(60, 3))
    frame = pd.DataFrame(X)
    found = DaskDetector(detector(), scheduler="sync").fit(
        dd.from_pandas(frame, npartitions=2)
    )
    scores = found.score_samples(dd.from_pandas(frame, npartitions=2)).compute()
    assert np.array_equal(scores, found.estimator_.score_samples(frame))


def test_an_unknown_scheduler_is_told_from_an_address():
    with pytest.raises(ValueError, match="neither an address"):
        DaskDetector(detector(), scheduler="thread").fit(da.zeros((20, 2)))
