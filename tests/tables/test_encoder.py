"""Any table becomes numbers, or an error in one clear sentence."""

import datetime
import pickle
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

from skim.tables import TableEncoder
from skim.tables._drift import compare, summarise

N = 200
RNG = np.random.default_rng(0)
DAYS = pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 365, N), unit="D")


@parametrize_with_checks([TableEncoder()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def orders():
    """A table with columns of every kind."""
    table = pd.DataFrame(
        {
            "order": np.arange(N) + 7000,
            "price": RNG.lognormal(size=N),
            "country": RNG.choice(["DE", "FR", "IT"], N),
            "size": [f"{v} cm" for v in RNG.integers(9, 99, N)],
            "when": DAYS,
            "paid": RNG.random(N) > 0.3,
        }
    )
    table.loc[5:9, "price"] = np.nan
    table.loc[7:8, "country"] = None
    return table


def decision(values, name="column", **params):
    """Return the decision on a column that stands beside a numeric one."""
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
    "few words": (RNG.choice(["a", "b"], N), "frequency"),
    "categories": (pd.Categorical(RNG.choice(["a", "b"], N)), "frequency"),
    "words and numbers": ([1, "one", 2, "two"] * 50, "frequency"),
    "postal codes": ([f"{v:05d}" for v in RNG.integers(100, 120, N)], "frequency"),
    "one value, some missing": (["x", None] * 100, "dropped"),
    "one number, some missing": ([3.0, None] * 100, "dropped"),
    "ranks": (["1st", "2nd", "3rd", "2nd"] * 50, "frequency"),
    "seats": ([f"{v}{'ABC'[v % 3]}" for v in RNG.integers(1, 7, N)], "frequency"),
    "ranges": (["18-24", "25-34", "35-44", "18-24"] * 50, "frequency"),
    "versions": (["1.2.3", "1.2.4", "2.0.1", "1.2.3"] * 50, "frequency"),
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
    "short words, many": ([f"a b c d e f g h i {i}" for i in range(N)], "dropped"),
}


@pytest.mark.parametrize("kind", TREATMENTS)
def test_treatment_of_a_column(kind):
    values, treatment = TREATMENTS[kind]
    found = decision(values)
    assert found.treatment == treatment, found.reason
    assert found.reason


@pytest.mark.parametrize("name", ["id", "ID", "customer_id", "CustomerId", "user uuid"])
def test_a_name_distinguishes_identifiers_from_numbers_and_codes(name):
    distinct = RNG.permutation(10 * N)[:N]
    assert decision(distinct, name).treatment == "identifier"
    assert decision(RNG.integers(0, 5, N), name).treatment == "frequency"
    assert decision(RNG.normal(size=N), name).treatment == "number"
    assert decision(distinct, "paid").treatment == "number"


def test_parameters_override_the_rules():
    integers = RNG.integers(0, 5, N)
    for params, treatment in [
        ({"categorical": ["c"]}, "frequency"),
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
    | {"-3,25 €": -3.25, "12,5 %": 12.5, "EUR 1.234,50": 1234.5},
    ".": {"1,234": 1234, "1,234.5": 1234.5, "$3": 3, "1e3": 1000, ".5": 0.5}
    | {"70.1 kg": 70.1, "USD 1,234.50": 1234.5, "€5": 5}
    | {"(41.91)": -41.91, "($1,041)": -1041, "−5": -5, "-$5": -5, "$-5": -5, "7%": 7}
    | {"36.6 °C": 36.6, "90 km/h": 90, "12 mg/dl": 12, "40 m²": 40},
}


@pytest.mark.parametrize("decimal", NUMBERS)
def test_numbers_in_text_are_parsed(decimal):
    for text, number in NUMBERS[decimal].items():
        encoded = features([text, *(f"{v}{decimal}75" for v in range(1, 30))])
        assert encoded.iloc[0, 0] == number
        assert encoded.iloc[3, 0] == 3.75


@pytest.mark.parametrize(
    ("values", "unit", "numbers"),
    [
        (["70 kg", "500 g", "71 kg"], "kg", [70, 0.5, 71]),
        (["2 km", "500 m", "1.5 km"], "km", [2, 0.5, 1.5]),
        (["30 m", "2 h", "3 h"], "h", [0.5, 2, 3]),
        (["3 days", "1 day", "2 weeks"], "days", [3, 1, 14]),
    ],
)
def test_units_of_the_same_kind_are_converted(values, unit, numbers):
    encoder = TableEncoder().fit(pd.DataFrame({"c": values * 9}))
    assert f"in {unit}, converted from" in encoder.decisions_[0].reason
    np.testing.assert_allclose(
        encoder.transform(pd.DataFrame({"c": values})).ravel(), numbers
    )


@pytest.mark.parametrize(
    ("values", "warning"),
    [
        (["$5", "€5", "$3"] * 20, "67% .* are numbers.*such as"),
        (["20 °C", "68 °F", "21 °C"] * 20, "67% .* are numbers.*such as"),
        (["17/08/1984"] * 60 + ["08/17/1984"] * 30, "67% .* dates.*'08/17/1984'"),
        (
            [*"0123456" * 10, *["unknown", "none yet", "tbd"] * 10],
            "70% .* 30 others, such as 'none yet'",
        ),
    ],
)
def test_what_keeps_a_column_from_being_numbers_or_dates_is_told(values, warning):
    with pytest.warns(UserWarning, match=f"Column 'column': {warning}"):
        assert decision(values).treatment == "frequency"


DATES = {
    "17-08-1984": "%d-%m-%Y",
    "17/8/84": "%d/%m/%y",
    "Aug 17 1984": "%b %d %Y",
    "August 17, 1984": "%B %d, %Y",
    "17 August 1984": "%d %B %Y",
    "17-Aug-84": "%d-%b-%y",
    "08/17/84": "%m/%d/%y",
    "1984/08/17": "%Y/%m/%d",
    "1984-08-17T10:00:00Z": "%Y-%m-%dT10:00:00Z",
    "Fri, 17 Aug 1984": "%a, %d %b %Y",
    "08/17/1984 11:30 PM": "%m/%d/%Y 11:30 PM",
    "17.08.1984 10:00:30": "%d.%m.%Y 10:00:30",
}


@pytest.mark.parametrize("first", DATES)
def test_dates_as_people_write_them(first):
    expected = pd.date_range("1984-08-17", periods=30, freq="3D")
    values = [first, *expected[1:].strftime(DATES[first])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder = TableEncoder().fit(pd.DataFrame({"c": values}))
    assert encoder.decisions_[0].treatment == "date"
    days = encoder.transform(pd.DataFrame({"c": values}))[:, 0]
    np.testing.assert_array_equal(days.astype("datetime64[D]"), expected)


@pytest.mark.parametrize(
    ("text", "guess", "other"),
    [
        ("03/04/2024", "month first", "day first"),
        ("03-04-2024", "day first", "month first"),
    ],
)
def test_an_order_that_cannot_be_told_is_guessed_with_a_warning(text, guess, other):
    values = [text.replace("04", f"{i:02d}") for i in range(1, 13)] * 5
    with pytest.warns(UserWarning, match=f"read as {guess}; .* set dates='{other}'"):
        assert guess in decision(values).reason
    for order in (guess, other):
        found = decision(values, dates=order)  # which warns of nothing
        assert order in found.reason


def test_gaps_are_unknown_in_columns_of_every_kind():
    n = 40
    table = pd.DataFrame(
        {
            "number": np.arange(n) ** 2.0,
            "text": ["1,5", "2,5"] * 20,
            "day": pd.date_range("2024-01-01", periods=n),
            "level": ["a", "b"] * 20,
            "word": [f"w{i % 6}" for i in range(n)],
        }
    )
    table.iloc[3:5] = None
    encoder = TableEncoder().set_output(transform="pandas")
    encoded = encoder.fit_transform(table)
    assert encoded.iloc[3:5].isna().all(axis=None)
    assert encoded.drop(index=[3, 4]).notna().all(axis=None)


def test_unreadable_numbers_are_unknown_and_told():
    values = [*map(str, range(100, 199)), "abc"]
    found = decision(values)
    assert found.treatment == "number"
    assert found.reason == "numbers in text; 1 unreadable, such as 'abc'"
    assert features(values)["c"].isna().sum() == 1


def test_nearly_unique_text_is_an_identifier_or_free_text():
    names = [f"{i} of {i}" for i in range(N)]
    found = decision(names[:-10] + names[:10])
    assert (found.treatment, found.reason) == ("identifier", "190 values in 200 rows")
    # Half of the rows share a cabin with another row at most: nothing is common.
    cabins = [f"B{i}" for i in range(95)] + [f"C{i // 2}" for i in range(100)]
    assert decision(cabins + ["D"] * 5).treatment == "identifier"
    texts = [f"{i}: the customer was not at home and will call again" for i in range(N)]
    assert "free text" in decision(texts).reason
    assert "TextEmbedder" in decision(texts).reason


def test_an_infinite_number_is_far_from_all_others_and_not_a_gap():
    table = pd.DataFrame(RNG.normal(size=(N, 2)), columns=list("ab"))
    table.iloc[7, 0], table.iloc[9, 1] = np.inf, -np.inf
    encoder = TableEncoder()
    encoded = encoder.fit_transform(table)
    assert encoder.decisions_[1].reason == "numbers; 1 infinite"
    assert encoded[7, 0] > 50 * np.abs(encoded[:7]).max()
    assert encoded[9, 1] < -50 * np.abs(encoded[:7]).max()


def test_dates_become_day_weekday_and_hour():
    monday = datetime.datetime(2024, 1, 1, 6, 30)
    encoded = features([monday + datetime.timedelta(days=d, hours=d) for d in range(9)])
    assert list(encoded.columns) == ["c_day", "c_weekday", "c_hour"]
    assert list(encoded["c_weekday"][:8]) == [0, 1, 2, 3, 4, 5, 6, 0]
    np.testing.assert_allclose(encoded["c_hour"][:3], [6.5, 7.5, 8.5])
    np.testing.assert_allclose(np.diff(encoded["c_day"]), 1)
    texts = ["17.08.1984 10:00:36", "18.08.1984 11:30 PM", "19.08.1984 at 9:15"]
    np.testing.assert_allclose(features(texts)["c_hour"], [10.01, 23.5, 9.25])


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


def test_a_new_level_is_rarer_than_any_that_was_seen():
    table = pd.DataFrame({"c": ["a"] * 60 + ["b"] * 39 + ["once"]})
    encoder = TableEncoder().fit(table)
    new = encoder.transform(pd.DataFrame({"c": ["new"]}))[0, 0]
    assert new < encoder.transform(table).min()


def test_values_are_described_as_the_column_has_them():
    n = 80
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "year": rng.integers(1950, 2020, n),
            "share": rng.random(n).round(2),
            "exact": rng.normal(size=n) * 1e3,
            "mass": [f"{v:.1f} kg" for v in rng.normal(70, 5, n)],
            "price": [f"€{v:.2f}".replace(".", ",") for v in rng.normal(0, 50, n)],
            "paid": rng.random(n) > 0.5,
            "took": pd.to_timedelta(rng.integers(0, 9999, n), unit="s"),
            "colour": ["D", "E", "E", "F"] * 20,
        }
    )
    encoder = TableEncoder().fit(table)
    for column, value, text in [
        ("year", 1983.7, "1984"),
        ("share", 0.2512, "0.25"),
        ("share", 0.5, "0.5"),
        ("exact", 1234.56789, "1234.57"),
        ("mass", 70.123, "70.1 kg"),
        ("price", -3.499, "-€3,5"),
        ("paid", 0.8, "True"),
        ("took", 5025.0, "1:23:45"),
        (0, 1983.7, "1984"),
        ("year", np.nan, "missing"),
    ]:
        assert encoder.describe(column, value) == text, column
    with pytest.raises(ValueError, match="unknown column 'x'; the columns are year"):
        encoder.describe("x", 1.0)
    with pytest.raises(ValueError, match="'colour' is not treated as a number"):
        encoder.describe("colour", 1.0)


def test_values_are_recognised_in_any_type():
    codes = pd.DataFrame({"c": [1, 2, 3] * 20, "n": np.arange(60.0) ** 2})
    encoder = TableEncoder(categorical=["c"]).fit(codes)
    expected = encoder.transform(codes)
    as_categories = codes.astype(str).astype("category")
    for same in (codes.astype({"c": float}), codes.astype(str), as_categories):
        assert np.array_equal(encoder.transform(same), expected)


def test_tables_of_every_kind_are_accepted_and_not_modified(orders):
    before = orders.copy(deep=True)
    encoder = TableEncoder().fit(orders)
    expected = encoder.transform(orders)
    parsed = encoder.parse(orders)
    pd.testing.assert_frame_equal(orders, before)
    assert parsed["size"].dtype == float
    names = encoder.get_feature_names_out()
    assert len(set(names)) == len(names) == expected.shape[1]
    other = TableEncoder().fit(orders.sample(frac=1, random_state=0))
    assert encoder.decisions_ == other.decisions_
    np.testing.assert_array_equal(other.transform(orders), expected)
    polars, array = pl.from_pandas(orders), orders.to_numpy(object)
    np.testing.assert_array_equal(TableEncoder().fit_transform(polars), expected)
    encoder = TableEncoder().fit(array)
    assert [d.column for d in encoder.decisions_] == [f"x{j}" for j in range(6)]
    np.testing.assert_array_equal(encoder.transform(array), expected)


def test_duplicate_feature_names_are_numbered():
    table = pd.DataFrame({"a": DAYS, "a_day": np.arange(N) ** 2.0})
    assert sorted(TableEncoder().fit(table).get_feature_names_out()) == [
        *("a_day", "a_day_2", "a_weekday")
    ]


def test_skops_keeps_features_and_descriptions(orders):
    skops_io = pytest.importorskip("skops.io")
    encoder = TableEncoder().fit(orders)
    file = skops_io.dumps(encoder)
    trusted = skops_io.get_untrusted_types(data=file)
    assert all(name.startswith("skim.tables.") for name in trusted)
    copy = skops_io.loads(file, trusted=trusted)
    np.testing.assert_array_equal(copy.transform(orders), encoder.transform(orders))
    assert copy.describe("price", 1.5) == encoder.describe("price", 1.5)
    again = pickle.loads(pickle.dumps(encoder))
    np.testing.assert_array_equal(again.transform(orders), encoder.transform(orders))


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
    st.sampled_from(["5 kg", "3 g", "(3)", "1:23:45", "2h 5m", "3/4/24", "inf"]),
    st.sampled_from(["1 Jan 2000", "May 2000", "€5", "30/2/2024", "25:00", "-", "3d"]),
    st.datetimes(),
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(CELLS, min_size=2, max_size=12),
    st.lists(CELLS, min_size=1, max_size=6),
)
@pytest.mark.filterwarnings("ignore:Column:UserWarning")
def test_features_are_finite_or_nan_whatever_the_cells(old, new):
    table = pd.DataFrame({"c": pd.Series(old, dtype=object)})
    table["n"] = np.arange(len(table)) ** 2
    encoder = TableEncoder().fit(table)
    new_table = pd.DataFrame({"c": pd.Series(new, dtype=object), "n": 1.0})
    for frame in (table, new_table):
        encoded = encoder.transform(frame)
        assert not np.isinf(encoded).any()
        if encoder.decisions_[0].treatment == "number":
            assert all(encoder.describe(0, value) for value in encoded[:, 0])


def test_without_pandas_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'skim-od\[cli\]'"):
        TableEncoder().fit([[1], [2]])


def test_tables_differ_also_in_what_was_constant():
    table = pd.DataFrame({"unit": ["kg"] * N, "x": RNG.normal(size=N)})
    encoder = TableEncoder().fit(table)
    before = summarise(encoder, table)
    assert compare(before, before, encoder.describe) == []
    after = summarise(encoder, table.assign(unit="lb"))
    (difference,) = compare(before, after, encoder.describe)
    assert difference == "unit is lb in 100.0% (0.0%)"


def test_a_stray_unit_or_code_does_not_decide_about_a_column():
    weights = [f"{20 + i % 90 / 10:.1f}" for i in range(500)]
    ages = [str(1 + i % 90) for i in range(500)]
    table = pd.DataFrame({"weight": ["2500 g", *weights], "age": ["007", *ages]})
    table["zip"] = ["1234", "02134", *[str(10_000 + i % 90) for i in range(499)]]
    table["house"] = ["12A", "14B", *ages[1:]]
    encoder = TableEncoder().fit(table)
    treatments = [decision.treatment for decision in encoder.decisions_]
    assert treatments == ["number", "number", "frequency", "frequency"]
    assert "1 unreadable, such as '2500 g'" in encoder.decisions_[0].reason
    assert encoder.transform(table)[0, 1] == 7
