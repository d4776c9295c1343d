"""Any table becomes finite numbers, or an error in one clear sentence."""

import datetime
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from skim import ALTBIDetector
from skim.report import write_report
from skim.tables import ColumnDecision, TableEncoder

N = 200
RNG = np.random.default_rng(0)
DAYS = pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 365, N), unit="D")


@parametrize_with_checks([TableEncoder(), TableEncoder(max_levels=5)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def orders():
    """A table with columns of every kind."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "order": np.arange(N) + 7000,
            "price": rng.lognormal(size=N),
            "country": rng.choice(["DE", "FR", "IT"], N),
            "shop": rng.choice([f"shop {i}" for i in range(60)], N),
            "when": DAYS,
            "paid": rng.random(N) > 0.3,
        }
    )
    table.loc[5:9, "price"] = np.nan
    table.loc[7:8, "country"] = None
    return table


def decision(values, name="column", **params):
    """Return the decision on a column that stands beside a numeric one."""
    params = {"max_levels": 20} | params
    table = pd.DataFrame({name: values})
    table["other"] = np.random.default_rng(0).normal(size=len(table))
    return TableEncoder(**params).fit(table).decisions_[0]


def features(values, **params):
    """Return the features of a column as a frame."""
    encoder = TableEncoder(**params).set_output(transform="pandas")
    return encoder.fit_transform(pd.DataFrame({"c": values}))


TREATMENTS = {
    "numbers": (RNG.normal(size=N), "number"),
    "integers": (RNG.integers(0, 9, N), "number"),
    "booleans": (RNG.random(N) > 0.5, "number"),
    "booleans with missing values": ([True, False, None, True] * 50, "number"),
    "numbers as objects": (np.array([1, 2.5, None, 4] * 50, object), "number"),
    "numbers in text": ([f"{v:.3f}" for v in RNG.normal(size=N)], "number"),
    "prices": ([f"€ {v:,.2f}" for v in RNG.normal(size=N) * 1e4], "number"),
    "percentages": ([f"{v} %" for v in RNG.integers(0, 99, N)], "number"),
    "a few words": ([*map(str, RNG.normal(size=N - 5)), *"abcde"], "number"),
    "durations": (pd.to_timedelta(RNG.integers(0, 99, N), unit="s"), "number"),
    "few words": (RNG.choice(["a", "b"], N), "category"),
    "categories": (pd.Categorical(RNG.choice(["a", "b"], N)), "category"),
    "words and numbers": ([1, "one", 2, "two"] * 50, "category"),
    "postal codes": ([f"{v:05d}" for v in RNG.integers(100, 120, N)], "category"),
    "one value, some missing": (["x", None] * 100, "category"),
    "one number, some missing": ([3.0, None] * 100, "category"),
    "many words": ([f"shop {v}" for v in RNG.integers(0, 90, N)], "frequency"),
    "dates": (DAYS, "date"),
    "dates with a time zone": (DAYS.tz_localize("Europe/Berlin"), "date"),
    "dates as objects": (np.array(DAYS.date, object), "date"),
    "dates in text": (DAYS.strftime("%Y-%m-%d"), "date"),
    "German dates": (DAYS.strftime("%d.%m.%Y"), "date"),
    "American dates": (DAYS.strftime("%m/%d/%Y %H:%M"), "date"),
    "times": ([f"{v // 60}:{v % 60:02d}" for v in RNG.integers(600, 1440, N)], "date"),
    "counting": (np.arange(N) + 12, "identifier"),
    "counting, shuffled": (RNG.permutation(N), "identifier"),
    "all different": ([f"row {i}" for i in range(N)], "identifier"),
    "constant": (np.ones(N), "dropped"),
    "one word": (["x"] * N, "dropped"),
    "nothing": ([None] * N, "dropped"),
    "only missing-value marks": (["?", "n/a", "-", " "] * 50, "dropped"),
    "no finite numbers": ([np.inf, np.nan] * 100, "dropped"),
    "lists": ([[1], [2]] * 100, "dropped"),
    "free text": ([f"{i} " + "words and words " * 6 for i in range(N)], "dropped"),
}


@pytest.mark.parametrize("kind", TREATMENTS)
def test_treatment_of_a_column(kind):
    values, treatment = TREATMENTS[kind]
    found = decision(values)
    assert isinstance(found, ColumnDecision)
    assert found.treatment == treatment, found.reason
    assert found.reason


@pytest.mark.parametrize("name", ["id", "ID", "customer_id", "CustomerId", "user uuid"])
def test_a_name_distinguishes_identifiers_from_numbers_and_codes(name):
    distinct = RNG.permutation(10 * N)[:N]
    assert decision(distinct, name).treatment == "identifier"
    assert decision(RNG.integers(0, 5, N), name).treatment == "category"
    assert decision(RNG.normal(size=N), name).treatment == "number"
    assert decision(distinct, "paid").treatment == "number"


def test_parameters_override_the_rules():
    integers = RNG.integers(0, 5, N)
    for params, treatment in [
        ({"categorical": ["c"]}, "category"),
        ({"ids": ["c"]}, "identifier"),
        ({"drop": ["c"]}, "dropped"),
        ({"drop": [0]}, "dropped"),
        ({"drop": ["c"], "categorical": ["c"], "ids": ["c"]}, "dropped"),
    ]:
        assert decision(integers, "c", **params).treatment == treatment
    with pytest.raises(ValueError, match="drop names an unknown column 'colour'"):
        decision(integers, drop=["colour"])
    with pytest.raises(ValueError, match="categorical names an unknown column 2"):
        decision(integers, categorical=[2])


NUMBERS = {
    ",": {"1,5": 1.5, "1.234,5": 1234.5, "1 234,5": 1234.5, "1\u202f234,5": 1234.5}
    | {"-3,25 €": -3.25, "12,5 %": 12.5},
    ".": {"1,234": 1234, "1,234.5": 1234.5, "$3": 3, "1e3": 1000, ".5": 0.5},
}


@pytest.mark.parametrize("decimal", NUMBERS)
def test_numbers_in_text_are_parsed(decimal):
    for text, number in NUMBERS[decimal].items():
        encoded = features([text, *(f"{v}{decimal}75" for v in range(1, 30))])
        assert encoded.iloc[0, 0] == number
        assert encoded.iloc[3, 0] == 3.75


def test_missing_numbers_are_imputed_by_the_median_and_flagged():
    encoded = features([1.0, np.nan, 3.0, np.inf, 8.0])
    assert list(encoded.columns) == ["c", "c_missing"]
    assert list(encoded["c"]) == [1, 3, 3, 3, 8]
    assert list(encoded["c_missing"]) == [0, 1, 0, 1, 0]


def test_rare_levels_and_missing_values_have_features_of_their_own():
    values = ["a"] * 150 + ["b"] * 150 + ["c", "d", None]
    assert list(features(values, max_levels=3).columns) == ["c_frequency"]
    encoded = features(values, max_levels=4)
    assert list(encoded.columns) == ["c_a", "c_b", "c_(rare)", "c_(missing)"]
    assert (encoded.sum(axis=1) == 1).all()
    assert list(encoded.iloc[-3:].to_numpy().argmax(axis=1)) == [2, 2, 3]


def test_frequent_text_gets_higher_values():
    values = [f"rare {i}" for i in range(30)] + ["often"] * 70
    encoded = features(values)["c_frequency"]
    assert np.allclose(encoded.iloc[0], np.log(0.01))
    assert np.allclose(encoded.iloc[-1], np.log(0.7))


def test_dates_become_day_weekday_and_hour():
    monday = datetime.datetime(2024, 1, 1, 6, 30)
    encoded = features([monday + datetime.timedelta(days=d, hours=d) for d in range(9)])
    assert list(encoded.columns) == ["c_day", "c_weekday", "c_hour"]
    assert list(encoded["c_weekday"][:8]) == [0, 1, 2, 3, 4, 5, 6, 0]
    np.testing.assert_allclose(encoded["c_hour"][:3], [6.5, 7.5, 8.5])
    np.testing.assert_allclose(np.diff(encoded["c_day"]), 1)


def test_a_constant_hour_is_not_a_feature():
    days = pd.date_range("2024-01-01 07:00", periods=300)
    assert list(features(days).columns) == ["c_day", "c_weekday"]


def test_later_dates_count_as_the_last_day_unless_far_away():
    days = pd.date_range("2024-01-01", "2024-01-31")
    encoder = TableEncoder().fit(pd.DataFrame({"c": days}))

    def day(date):
        return encoder.transform(pd.DataFrame({"c": [pd.Timestamp(date)]}))[0, 0]

    first, last = day("2024-01-01"), day("2024-01-31")
    assert last - first == 30
    assert day("2024-02-20") == last
    assert day("2023-12-20") == first
    assert day("2030-01-01") > last + 365
    assert day("1900-01-01") < first - 365


@pytest.mark.parametrize("max_levels", [0, 20])
def test_unseen_values_look_unusual(orders, max_levels):
    encoder = TableEncoder(max_levels=max_levels)
    model = make_pipeline(encoder, ALTBIDetector(random_state=0)).fit(orders)
    some = orders.iloc[20:40]
    usual = model.score_samples(some)
    spread = np.subtract(*np.quantile(usual, [0.75, 0.25]))  # one row is an outlier
    for column, value in [
        ("price", np.inf),
        ("country", "XX"),
        ("shop", "a new one"),
        ("when", pd.NaT),
        ("when", pd.Timestamp("2999-12-31")),
    ]:
        new = some.copy()
        new[column] = value
        found = model.score_samples(new)
        assert np.median(usual - found) > spread / 2, column


def test_a_value_missing_for_the_first_time_is_beyond_all_numbers():
    encoder = TableEncoder().fit(pd.DataFrame({"c": [3.0, 5.0, 4.0]}))
    assert encoder.transform(pd.DataFrame({"c": [np.nan]}))[0, 0] > 5
    widest = pd.DataFrame({"c": [-1.7e308, 1.7e308]})
    assert np.isfinite(TableEncoder().fit(widest).transform(widest * np.nan)).all()


@pytest.mark.parametrize("max_levels", [0, 3])
def test_values_are_recognised_in_any_type(max_levels):
    codes = pd.DataFrame({"c": [1, 2, 3] * 20, "n": np.arange(60.0) ** 2})
    encoder = TableEncoder(categorical=["c"], max_levels=max_levels).fit(codes)
    expected = encoder.transform(codes)
    for dtypes in ({"c": float}, str, "category"):
        assert np.array_equal(encoder.transform(codes.astype(dtypes)), expected)
    as_categories = codes.astype(str).astype("category")
    assert np.array_equal(encoder.transform(as_categories), expected)


def test_origins_name_the_column_behind_each_feature(orders):
    encoder = TableEncoder().fit(orders)
    names = encoder.get_feature_names_out()
    assert len(names) == len(encoder.origins_) == encoder.transform(orders).shape[1]
    assert len(set(names)) == len(names)
    for name, origin in zip(names, encoder.origins_, strict=True):
        assert name.startswith(origin)
    assert set(encoder.origins_) == set(orders.columns) - {"order"}
    assert [d.column for d in encoder.decisions_] == list(orders.columns)


def test_duplicate_feature_names_are_numbered():
    table = pd.DataFrame({"a": ["x", "y"] * 5, "a_x": np.arange(10.0) ** 2})
    names = TableEncoder(max_levels=2).fit(table).get_feature_names_out()
    assert sorted(names) == ["a_x", "a_x_2", "a_y"]


def test_decisions_do_not_depend_on_the_order_of_the_rows(orders):
    shuffled = orders.sample(frac=1, random_state=0)
    encoder, other = TableEncoder().fit(orders), TableEncoder().fit(shuffled)
    assert encoder.decisions_ == other.decisions_
    assert np.array_equal(encoder.transform(orders), other.transform(orders))


def test_input_is_not_modified(orders):
    before = orders.copy(deep=True)
    TableEncoder().fit(orders).transform(orders)
    pd.testing.assert_frame_equal(orders, before)


def test_polars_frames_and_arrays_are_accepted(orders):
    expected = TableEncoder().fit_transform(orders)
    polars, array = pl.from_pandas(orders), orders.to_numpy(object)
    assert np.array_equal(TableEncoder().fit_transform(polars), expected)
    encoder = TableEncoder().fit(array)
    assert [d.column for d in encoder.decisions_] == [f"x{j}" for j in range(6)]
    assert np.array_equal(encoder.transform(array), expected)


def test_pipeline_clone_and_pickle(orders):
    encoder = TableEncoder(drop=["shop"])
    model = make_pipeline(encoder, ALTBIDetector(epochs=5, random_state=0)).fit(orders)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.score_samples(orders), model.score_samples(orders))
    assert clone(model)[0].drop == ["shop"]
    assert not hasattr(clone(model)[0], "decisions_")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame({"a": [1.0, 1.0], "b": [None, None]}), "No column can be used"),
        (pd.DataFrame({"a": [1.0]}), "1 sample"),
        (pd.DataFrame({"a": []}), "0 sample"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), "name 'a'; rename"),
    ],
)
def test_unusable_tables_are_refused(table, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder().fit(table)


def test_a_failed_fit_leaves_the_encoder_unfitted(orders):
    encoder = TableEncoder().fit(orders)
    with pytest.raises(ValueError, match="No column"):
        encoder.fit(orders[["order"]])
    with pytest.raises(ValueError, match="not fitted"):
        encoder.transform(orders)


CELLS = st.one_of(
    st.none(),
    st.floats(),
    st.integers(),
    st.booleans(),
    st.text(max_size=6),
    st.sampled_from(["1,5", "2024-01-31", "31.12.2024", "?", "12:30", "007", "%", "€"]),
    st.datetimes(),
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(CELLS, min_size=2, max_size=12),
    st.lists(CELLS, min_size=1, max_size=6),
    st.sampled_from([0, 3, 20]),
)
def test_features_are_finite_whatever_the_cells(old, new, max_levels):
    table = pd.DataFrame({"c": pd.Series(old, dtype=object)})
    table["n"] = np.arange(len(table)) ** 2
    encoder = TableEncoder(max_levels=max_levels).fit(table)
    assert np.isfinite(encoder.transform(table)).all()
    new_table = pd.DataFrame({"c": pd.Series(new, dtype=object), "n": 1.0})
    assert np.isfinite(encoder.transform(new_table)).all()


def test_two_numbers_in_a_cell_are_not_one():
    assert decision([f"{i} {i % 7}" for i in range(N)]).treatment == "identifier"


def test_torch_is_not_imported():
    code = "import sys, skim.tables; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "call", ["read_table('t.csv')", "TableEncoder().fit([[1], [2]])"]
)
def test_without_pandas_the_extra_is_named(call):
    code = f"""
import sys
from skim.tables import TableEncoder, read_table
sys.modules["pandas"] = None
try:
    {call}
except ImportError as error:
    sys.exit("pip install 'skim-od[cli]'" not in str(error))
sys.exit("no error")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_column_of_unreadable_numbers_is_refused():
    train = pd.DataFrame({"price": np.arange(40) / 7, "size": np.arange(40) % 5})
    encoder = TableEncoder().fit(train)
    text = train.astype({"price": str})
    np.testing.assert_allclose(encoder.transform(text), encoder.transform(train))
    text["price"] = text["price"].str.replace(".", ",")
    with pytest.raises(ValueError, match="values in column 'price' cannot be read"):
        encoder.transform(text)
    assert np.isfinite(encoder.transform(text[:5])).all()  # few may be just outliers


def test_a_report_reads_numbers_and_dates_in_text(tmp_path):
    pytest.importorskip("jinja2")
    rng = np.random.default_rng(0)
    amounts = [f"{v:.2f}".replace(".", ",") for v in rng.normal(1000, 100, 80)]
    days = pd.date_range("2024-01-01", periods=80).strftime("%d.%m.%Y")
    table = pd.DataFrame({"amount": amounts, "day": days})
    model = make_pipeline(TableEncoder(), ALTBIDetector(epochs=5, random_state=0))
    page = write_report(model.fit(table), table, tmp_path / "page.html").read_text()
    assert "the only one in" not in page
    assert "of rows" in page
