"""The detector for tables as they are."""

import io
import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_info, threadpool_limits

from skim import ALTBIDetector, IMBoostDetector, TableDetector
from skim.tables import TableEncoder, list_causes
from skim.tables._cells import LevelCells
from skim.tables._reasons import Row
from skim.tables._table_model import TableModel

N_ROWS = 400
QUICK = ALTBIDetector(n_estimators=2, epochs=5, stopping=None)


def quick(**params):
    return TableDetector(QUICK, random_state=0, **params)


def orders(seed=0, n_rows=N_ROWS):
    """Return a table of orders without errors."""
    rng = np.random.default_rng(seed)
    ordered = pd.Timestamp("2023-01-01") + pd.to_timedelta(
        rng.integers(0, 365, n_rows), unit="D"
    )
    delivered = ordered + pd.to_timedelta(rng.integers(1, 9, n_rows), unit="D")
    city = rng.choice(["Hamburg", "Munich", "Vienna", "Graz"], n_rows)
    country = np.where(np.isin(city, ["Vienna", "Graz"]), "Austria", "Germany")
    return pd.DataFrame(
        {
            "order": [f"A{i:05}" for i in range(n_rows)],
            "city": city,
            "country": country,
            "channel": rng.choice(["shop", "web"], n_rows, p=[0.6, 0.4]),
            "price": (50 + 10 * rng.normal(size=n_rows)).round(2).astype(str),
            "weight": (rng.lognormal(1, 0.5, n_rows)).round(3),
            "age": rng.integers(18, 80, n_rows),
            "ordered": ordered.strftime("%Y-%m-%d"),
            "delivered": delivered.strftime("%Y-%m-%d"),
        }
    )


# Row, column, value, kind of reason and what is expected, as far as it is certain.
ERRORS = [
    (11, "city", "Humburg", "misspelling", "Hamburg"),
    (22, "price", "-49.5", "sign", None),
    (33, "price", "#REF!", "unreadable", "a number"),
    (44, "price", "5100", "high", None),
    (55, "age", 999, "code", None),
    (66, "ordered", "1923-05-01", "low", None),
    (77, "delivered", "2023-02-31", "unreadable", "a date"),
    (88, "channel", "fax", "rare", "shop, web"),
]


@pytest.fixture(scope="module")
def spoilt():
    table = orders()
    for row, column, value, *_ in ERRORS:
        table.loc[row, column] = value
    table.loc[99, ["ordered", "delivered"]] = "2023-06-20", "2023-06-01"
    table.loc[100, ["city", "country"]] = "Vienna", "Germany"
    return table


@pytest.fixture(scope="module")
def fitted(spoilt):
    return TableDetector(random_state=0).fit(spoilt)


def test_no_rows_have_no_reasons_and_no_causes(fitted, spoilt):
    reasons = fitted.reasons(spoilt[:0])
    assert reasons.columns.tolist() == fitted.reasons(spoilt[:9]).columns.tolist()
    assert len(list_causes(reasons)) == len(reasons) == 0
    with pytest.raises(ValueError, match=r"needs the result of TableDetector\.reasons"):
        list_causes(spoilt)


@pytest.mark.parametrize(("row", "column", "value", "kind", "expected"), ERRORS)
def test_a_wrong_cell_is_found_and_named(
    fitted, spoilt, row, column, value, kind, expected
):
    rank = (fitted.training_scores_ < fitted.training_scores_[row]).sum()
    assert rank < len(ERRORS) + 4 or kind == "rare"
    reason = fitted.reasons(spoilt.iloc[[row]]).iloc[0]
    assert (reason["row"], reason["kind"], reason["column"]) == (row, kind, column)
    assert reason["value"] == str(value)
    if expected is not None:
        assert reason["expected"] == expected


def test_columns_that_contradict_each_other_are_found(fitted, spoilt):
    reasons = fitted.reasons(spoilt.iloc[[99, 100]], n_reasons=1)
    assert reasons["kind"].tolist() == ["order", "conflict"]
    assert reasons["expected"][0] == "no later than delivered 2023-06-01"
    assert reasons["expected"][1] == "Austria, as in other rows with city Vienna"


def test_a_contradiction_that_training_never_had_is_found_in_new_rows():
    detector = quick().fit(orders())
    new = orders(1, 5).assign(city="Vienna", country="Germany")
    assert detector.reasons(new, n_reasons=1)["kind"].eq("conflict").all()
    assert (detector.predict(new) == -1).all()


def test_rows_of_the_next_months_are_not_strange_for_their_dates():
    table, later = orders(), orders(1, 200)
    for name in ("ordered", "delivered"):
        days = pd.to_datetime(later[name]) + pd.Timedelta("300 days")
        later[name] = days.dt.strftime("%Y-%m-%d")
    assert (TableDetector(random_state=0).fit(table).predict(later) == -1).mean() < 0.1


def test_no_value_is_within_the_range_that_was_expected_instead(fitted, spoilt):
    strangest = np.argsort(fitted.training_scores_)[:60]
    reasons = fitted.reasons(spoilt.iloc[strangest], n_reasons=None)
    numbers = reasons[reasons["column"].isin(["weight", "price"])]
    numbers = numbers[numbers["kind"].isin(["high", "low"])]
    assert len(numbers) > 3
    for value, expected in zip(numbers["value"], numbers["expected"], strict=True):
        low, high = map(float, expected.split(" to "))
        assert not low <= float(value) <= high


def test_the_name_of_a_file_is_no_table():
    with pytest.raises(TypeError, match="not the name of a file"):
        TableDetector().fit("orders.csv")


def test_ranges_are_in_the_units_of_the_column(fitted, spoilt):
    reason = fitted.reasons(spoilt.iloc[[44]]).iloc[0]
    low, high = map(float, reason["expected"].split(" to "))
    assert 15 < low < 35
    assert 65 < high < 85


@pytest.fixture(scope="module")
def written():
    """Return reasons of cells that are written in many ways."""
    rng = np.random.default_rng(0)
    minutes = pd.to_timedelta(rng.integers(0, 300 * 1440, N_ROWS), unit="min")
    moments = pd.Timestamp("2023-01-01") + minutes
    table = pd.DataFrame(
        {
            "day": moments.strftime("%d.%m.%Y"),
            "moment": (moments + pd.Timedelta(days=1)).strftime("%Y-%m-%d %H:%M:%S"),
            "time": [f"{hour:02}:30" for hour in rng.integers(8, 12, N_ROWS)],
            "weight": [f"{x:.1f} kg" for x in rng.normal(60, 5, N_ROWS)],
            "pay": 100 * rng.integers(300, 800, N_ROWS),
            "sex": rng.choice(["female", "male"], N_ROWS),
        }
    )
    wrong = {"day": "01.02.1990", "moment": "1990-02-01 12:00:00", "time": "23:50"}
    wrong |= {"weight": "heavy", "pay": 7, "sex": "unknown"}
    for row, (column, value) in enumerate(wrong.items()):
        table.loc[row, column] = value
    table.loc[6, "sex"] = "mael"
    detector = TableDetector(QUICK, random_state=0).fit(table)
    return detector.reasons(table[:6], n_reasons=1).set_index("column")


@pytest.mark.parametrize(
    ("column", "pattern"),
    [
        ("day", r"\d\d\.01\.2023 to \d\d\.1[01]\.2023"),
        ("moment", r"2023-01-\d\d \d\d:\d\d to 2023-10-\d\d \d\d:\d\d"),
        ("time", "08:30 to 11:30"),
        ("weight", r"a number such as [56]\d(\.\d)? kg"),
        ("pay", r"\d+00 to \d+00"),
        ("sex", "(fe)?male, (fe)?male"),
    ],
)
def test_what_is_expected_is_written_like_the_column(written, column, pattern):
    assert re.fullmatch(pattern, written.loc[column, "expected"])


def test_causes_say_that_dates_are_too_early_or_too_late(written):
    causes = list_causes(written.reset_index().loc[:2])["cause"].tolist()
    starts = "day before ", "moment before ", "time after 11:30"
    assert all(map(str.startswith, causes, starts))


@pytest.mark.parametrize(
    ("level", "meant"),
    [
        ("Gremany", "Germany"),
        ("germany ", "Germany"),
        ("Enginereing", "Engineering"),
        ("Westport", None),
        ("Ohio Dept. of Agriculture", None),
        ("Genoa", None),
    ],
)
def test_a_misspelling_differs_by_few_letters(level, meant):
    names = ["Germany", "Engineering", "Leesport", "Florida Dept. of Agriculture"]
    text = pd.Series([*names * 20, level])
    cells = LevelCells.of(text, text.isna().to_numpy())
    assert cells.meaning(level) == meant
    assert LevelCells.of(text[:-1], np.zeros(80, bool)).meaning(level) == meant


def test_few_other_rows_are_flagged(fitted):
    wrong = {row for row, *_ in ERRORS} | {99, 100}
    flagged = set(np.flatnonzero(fitted.training_scores_ < fitted.offset_))
    assert wrong <= flagged
    assert len(flagged - wrong) <= 0.02 * N_ROWS


def test_every_row_has_a_reason(fitted, spoilt):
    reasons = fitted.reasons(spoilt, n_reasons=2)
    counts = reasons["row"].value_counts()
    assert set(counts.index) == set(spoilt.index)
    assert counts.max() <= 2
    assert (reasons["expected"] != "").all()


def test_rows_with_the_same_cause_are_listed_together():
    table = orders(1)
    table.loc[[3, 30, 300], "weight"] = 900.0, 950.0, 980.0
    table.loc[5, "city"] = "Munihc"
    detector = TableDetector(QUICK, random_state=0).fit(table)
    causes = list_causes(detector.reasons(table.iloc[[3, 5, 30, 300]]))
    assert causes["n_rows"].tolist() == [3, 1]
    assert causes["rows"][0] == [3, 30, 300]
    assert causes["cause"][0].startswith("weight above ")
    assert causes["cause"][1] == "city Munihc, a misspelling of Munich"


def test_groups_are_judged_by_themselves():
    rng = np.random.default_rng(0)
    store = np.repeat(np.arange(20), 30)
    level = np.repeat(np.exp(rng.uniform(3, 9, 20)), 30)
    sales = level * (1 + 0.05 * rng.normal(size=600))
    sales[217] *= 0.2
    table = pd.DataFrame({"store": store, "sales": sales.round(1)})
    plain = TableDetector(random_state=0).fit(table)
    by_store = TableDetector(by="store", random_state=0).fit(table)
    assert by_store.training_scores_.argmin() == 217
    assert by_store.training_scores_[217] < by_store.offset_
    assert plain.training_scores_[217] > plain.offset_
    low, high = by_store.reasons(table.iloc[[217]])["expected"][0].split(" to ")
    assert float(low) < level[217] < float(high)
    table["store"] = table["store"].map("store {:02}".format).replace("store 07", "x")
    table.loc[3, "store"] = "stroe 00"
    by_name = TableDetector(by="store", random_state=0).fit(table)
    (reason,) = by_name.reasons(table.iloc[[3]]).to_dict("records")
    assert (reason["kind"], reason["expected"]) == ("misspelling", "store 00")
    new = table.iloc[:2].assign(store=[99, None])
    assert np.isfinite(by_store.score_samples(new)).all()


def test_a_row_does_not_depend_on_its_batch_nor_on_the_type_of_the_table(fitted):
    table = orders(2)
    scores = fitted.score_samples(table)
    assert_array_equal(fitted.score_samples(table.iloc[7:9]), scores[7:9])
    assert_array_equal(fitted.score_samples(pl.from_pandas(table)), scores)
    assert_array_equal(fitted.predict(table), np.where(scores < fitted.offset_, -1, 1))
    chance = fitted.outlier_probability(table)
    assert ((chance > 0.5) == (scores < fitted.offset_)).all()


def test_new_levels_gaps_and_unreadable_cells_are_scored(fitted):
    table = orders(3, 40)
    usual = fitted.score_samples(table)
    for row, (column, value) in enumerate(
        [("city", "Hambrug"), ("age", "x"), ("price", "12.5.1"), ("ordered", "soon")]
    ):
        other = table.astype({"age": object})
        other.loc[row, column] = value
        scores = fitted.score_samples(other)
        assert scores[row] < min(usual[row], fitted.offset_)
        assert_allclose(np.delete(scores, row), np.delete(usual, row))


def test_the_seed_decides_and_the_global_state_is_left_alone(spoilt):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first, second = (TableDetector(QUICK, random_state=3).fit(spoilt) for _ in range(2))
    assert_array_equal(first.training_scores_, second.training_scores_)
    assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_nested_parameters_clones_and_files():
    table = orders(4, 80)
    detector = clone(TableDetector(QUICK, random_state=0))
    detector.set_params(detector__epochs=3).fit(table)
    assert detector.detector_.history_["epoch"][-1] == 3
    again = pickle.loads(pickle.dumps(detector))
    assert_array_equal(again.score_samples(table), detector.training_scores_)
    skops = pytest.importorskip("skops.io")
    file = io.BytesIO(skops.dumps(detector)).getvalue()
    known = skops.get_untrusted_types(data=file)
    assert all(name.startswith(("skim.", "numpy.", "pandas.")) for name in known)
    again = skops.loads(file, trusted=known)
    assert_array_equal(again.score_samples(table), detector.training_scores_)


def test_clean_training_data_promises_a_share_of_new_rows():
    detector = TableDetector(contamination=0.0, random_state=0).fit(orders(5, 1000))
    share = np.mean(detector.predict(orders(6, 4000)) == -1)
    assert 0.01 / 3 < share < 0.01 * 3


def test_threshold_by_a_share(fitted):
    detector = pickle.loads(pickle.dumps(fitted)).set_contamination(0.05)
    assert (detector.training_scores_ < detector.offset_).sum() == 0.05 * N_ROWS
    with pytest.raises(ValueError, match="fit"):
        detector.set_contamination(0.0)


def test_a_failed_fit_leaves_the_detector_as_it_was(spoilt):
    detector = TableDetector(QUICK, random_state=0).fit(spoilt)
    scores = detector.training_scores_
    with pytest.raises(ValueError, match="unknown column 'nowhere'"):
        detector.set_params(by="nowhere").fit(spoilt)
    with pytest.raises(ValueError, match="'prise'; did you mean 'price'"):
        detector.set_params(by="prise").fit(spoilt)
    assert detector.training_scores_ is scores


@pytest.mark.parametrize(
    ("table", "match"),
    [
        (pd.DataFrame({"a": [1.0]}), "minimum of 2"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), "Duplicate column"),
        (pd.DataFrame({"a": [None, None], "b": ["", ""]}), "No column"),
    ],
)
def test_tables_without_rows_or_columns_are_refused(table, match):
    with pytest.raises(ValueError, match=match):
        TableDetector(QUICK).fit(table)


@parametrize_with_checks([TableDetector(QUICK, random_state=0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_a_wrong_order_names_the_date_that_is_too_early():
    table = orders(2)
    table["paid"] = pd.to_datetime(table["delivered"]) + pd.Timedelta(days=30)
    table.loc[7, ["ordered", "delivered"]] = "2023-06-20", "2023-06-24"
    table.loc[7, "paid"] = pd.Timestamp("2023-06-01")
    table.loc[8, "paid"] = pd.Timestamp("1923-06-01")
    detector = TableDetector(QUICK, random_state=0).fit(table)
    reasons = detector.reasons(table.iloc[[7, 8]]).set_index("row")
    assert set(reasons.loc[7, "expected"]) == {"no later than paid 2023-06-01"}
    assert reasons.loc[[8], "column"].tolist() == ["paid"]


def test_wide_tables_cost_no_more_per_cell(monkeypatch):
    """Only the reasons that are given are written, and names are looked up."""
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 300)))
    detector = quick().fit(table)
    written, write = [], Row.expected
    monkeypatch.setattr(
        Row, "expected", lambda *args: written.append(args) or write(*args)
    )
    monkeypatch.setattr(TableEncoder, "get_feature_names_out", None)
    assert len(detector.reasons(table, n_reasons=2)) == len(written) <= 40


def test_blas_has_one_thread_also_outside_of_the_networks(monkeypatch, spoilt):
    inside = []

    def watched(self, *args):
        inside.extend(
            library["num_threads"]
            for library in threadpool_info()
            if library["user_api"] == "blas"
        )
        return codes(self, *args)

    codes = TableModel.codes
    monkeypatch.setattr(TableModel, "codes", watched)
    with threadpool_limits(2, user_api="blas"):
        detector = quick().fit(spoilt)
        for method in (detector.score_samples, detector.reasons):
            method(spoilt[:5])
    assert set(inside) == {1}


@pytest.mark.parametrize("by", [None, "x0"])
@pytest.mark.parametrize("share", [0.02, 1.0])
def test_numbers_next_to_the_largest_give_finite_scores(share, by):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    X[:, 0] = np.arange(80) % 3
    giant = X.copy()
    giant[:, 1] = np.where(rng.random(80) < share, np.sign(X[:, 1]) * 1e308, X[:, 1])
    for training in (X, giant):
        detector = quick(by=by).fit(training)
        assert np.isfinite(detector.score_samples(giant)).all()
        detector.reasons(giant)


def test_the_mask_of_a_masked_array_counts_as_missing():
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[7, 1] = 1e6
    mask = X > 1e5
    masked, gappy = np.ma.masked_array(X, mask), np.where(mask, np.nan, X)
    expected = quick().fit(gappy)
    for make in (quick, lambda: IMBoostDetector(quick())):
        detector = make().fit(masked)
        scores = detector.score_samples(masked)
        np.testing.assert_array_equal(scores, detector.score_samples(gappy))
        np.testing.assert_array_equal(scores, expected.training_scores_)


def test_pickles_of_another_version_warn_or_are_refused(spoilt):
    detector = quick().fit(spoilt)
    with_labels = IMBoostDetector(quick()).fit(spoilt)
    for stored, lost in (
        (detector.model_, "scales"),
        (detector.model_.neighbours, "space"),
    ):
        state = stored.__getstate__() | {}
        del state[lost]
        with pytest.raises(ValueError, match=r"another version of skim .*fit it again"):
            type(stored).__new__(type(stored)).__setstate__(state)
    for stored in (detector, detector.encoder_, with_labels):
        state = stored.__getstate__() | {"_skim_version": "0.0.9"}
        with pytest.warns(InconsistentVersionWarning, match=r"skim.\w+ from .*0.0.9"):
            type(stored)().__setstate__(state)


def test_a_number_is_compared_with_those_of_the_same_level():
    rng = np.random.default_rng(0)
    product = rng.integers(0, 12, 600)
    price = np.exp(2 + product / 2) * np.exp(rng.normal(0, 0.08, 600))
    price[np.flatnonzero(product == 2)[3]] *= 10  # a usual price of other products
    price[np.flatnonzero(product == 9)[5]] = np.nan
    table = pd.DataFrame({"product": [f"lamp {k}" for k in product], "price": price})
    wrong = np.flatnonzero(product == 2)[3]
    table["price"] = table["price"].round(2)
    detector = TableDetector(random_state=0).fit(table)
    assert np.argmin(detector.training_scores_) == wrong
    (reason,) = detector.reasons(table.iloc[[wrong]]).to_dict("records")
    assert reason["kind"] == "context"
    assert reason["column"] == "price"
    assert reason["expected"].endswith("as in other rows with product lamp 2")
    low, high = reason["expected"].split(",")[0].split(" to ")
    usual = price[product == 2]
    assert usual.min() - 3 < float(low) < np.median(usual) < float(high) < 30

    new = table.iloc[[wrong]].assign(product="lamp 99")  # nothing to compare with
    assert detector.reasons(new)["kind"].tolist() != ["context"]


def test_new_rows_that_equal_clean_ones_are_hardly_ever_flagged():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(400, 3)) + 0.0
    detector = TableDetector(contamination=0.0, random_state=0).fit(X)
    strange = [[9.0, -5.0, 9.0]]
    scores = detector.score_samples(np.r_[X[:20], strange])
    assert scores[-1] < scores[:-1].min()
    assert detector.predict(strange) == [-1]
    is_flagged = detector.predict(X) == -1
    assert is_flagged.mean() <= 0.01
    assert all((row == X).all(axis=1).sum() <= 2 for row in X[is_flagged])


def test_numbers_that_are_never_known_with_a_level_have_no_context():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=80), "b": rng.normal(size=80)})
    table["level"] = rng.choice(["x", "y"], 80)
    table.loc[:39, "level"] = None
    table.loc[40:, "b"] = np.nan
    detector = TableDetector(QUICK, random_state=0).fit(table)
    assert np.isfinite(detector.score_samples(table)).all()


def test_what_clean_data_never_had_is_strange():
    rng = np.random.default_rng(0)
    clean = pd.DataFrame({"a": rng.normal(size=800).round(2), "b": 1, "c": "x"})
    clean["d"] = rng.choice(["u", "v"], 800)
    detector = TableDetector(contamination=0.0, random_state=0).fit(clean)
    new = clean.iloc[[0] * 5].reset_index(drop=True)
    new["a"] = [*new["a"][:4], np.inf]
    new.loc[1, "b"], new.loc[2, "c"], new.loc[3, "d"] = 2, "y", "w"
    assert detector.predict(new).tolist() == [1, -1, -1, -1, -1]
    reasons = detector.reasons(new.iloc[1:], n_reasons=1)
    assert reasons[["column", "value", "expected"]].iloc[:3].to_numpy().tolist() == [
        ["b", "2", "1"],
        ["c", "y", "x"],
        ["d", "w", "v, u"],
    ]
    clean.loc[7, "a"] = np.inf
    detector = TableDetector(QUICK, contamination=0.0).fit(clean)
    assert np.isfinite(detector.score_samples(new)).all()


def test_a_detector_keeps_its_own_seed_and_threads(spoilt):
    own = clone(QUICK).set_params(random_state=5, n_jobs=2)
    found = TableDetector(own, random_state=0, n_jobs=1).fit(spoilt).detector_
    assert (found.random_state, found.n_jobs) == (5, 2)
    found = TableDetector(QUICK, random_state=3, n_jobs=1).fit(spoilt).detector_
    assert (found.random_state, found.n_jobs) == (3, 1)


def test_a_boolean_that_is_rare_is_named_by_its_value(spoilt):
    table = spoilt.assign(paid=[False] + [True] * (len(spoilt) - 1))
    causes = list_causes(TableDetector(QUICK, random_state=0).fit(table).reasons(table))
    assert "paid False" in causes["cause"].tolist()
