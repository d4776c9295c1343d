"""The content of the page, and errors."""

import builtins
import os
import re
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from bs4 import BeautifulSoup
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skim import ALTBIDetector, IMAutoencoderDetector, ODIMDetector
from skim._detectors._base import scaled_table
from skim.report import write_report
from skim.report._charts import trajectory
from skim.report._text import interval, probability
from skim.tables import TableEncoder
from tests.detectors.test_bad_input import AWKWARD
from tests.report.conftest import HOSTILE, SCRIPT


def read(path):
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def text_of(element):
    return re.sub(r"\s+", " ", element.get_text()).strip()


def top_rows(soup):
    """The rows of the list: name, loss, whether flagged, and reasons."""
    rows, blank = [], soup.new_tag("bdi")
    for tr in soup.select("#top-table tbody tr"):
        reasons = [
            {
                "column": li.select_one(".column").get_text(),
                "value": li.select("bdi")[1].get_text(),
                "expected": text_of(li.select_one(".expected bdi") or blank),
                "place": li.select_one(".place").get_text().partition(";")[0],
            }
            for li in tr.select(".reasons li")
        ]
        flagged = tr.select_one(".flag").get_text() == "outlier"
        loss = float(tr.select_one(".loss")["data-key"])
        name = tr.th.get_text()
        rows.append(
            {"name": name, "loss": loss, "flagged": flagged, "reasons": reasons}
        )
    return rows


@pytest.fixture(scope="module")
def soup(page):
    return read(page)


# Content --------------------------------------------------------------------------


def test_the_list_holds_the_rows_with_the_lowest_scores(soup, fitted, people):
    scores = pd.Series(fitted.score_samples(people), people.index).nsmallest(20)
    rows = top_rows(soup)
    assert [row["name"] for row in rows] == list(scores.index)
    assert [row["loss"] for row in rows] == list(-scores)
    labels = pd.Series(fitted.predict(people), people.index)[scores.index]
    assert [row["flagged"] for row in rows] == list(labels == -1)
    n_flagged = int((fitted.predict(people) == -1).sum())
    assert f"{n_flagged} of 120 rows" in text_of(soup.select_one(".lead"))


def test_reasons_are_columns_of_the_input_table(soup):
    rows = {row["name"]: row["reasons"] for row in top_rows(soup)}
    (height,) = rows["p3"]
    assert height["column"] == "height"
    assert height["value"] == "260.5"
    assert height["place"] == "the highest value"
    assert rows["p7"][0]["column"] == "colour"
    assert rows["p7"][0]["place"] == "the only one in 120 rows"


def test_numbers_are_compared_with_the_range_to_expect(soup, fitted, people):
    expected = fitted[-1].reasons(fitted[:-1].transform(people)[[3]], n_reasons=1)
    shown = {row["name"]: row["reasons"] for row in top_rows(soup)}["p3"][0]
    low, high = map(float, shown["expected"].split(" to "))
    assert low == pytest.approx(expected["low"][0], abs=0.5)
    assert high == pytest.approx(expected["high"][0], abs=0.5)
    assert 150 < low < 165 < 175 < high < 190


def test_scaled_features_are_not_taken_for_the_numbers_of_the_table(people, tmp_path):
    X = people[["height", HOSTILE]]
    detector = ALTBIDetector(epochs=40, random_state=0)
    for model, is_expected in (
        (make_pipeline(StandardScaler(), detector), False),
        (make_pipeline(SimpleImputer(), detector), True),
    ):
        soup = read(write_report(model.fit(X), X, tmp_path / "x.html"))
        height = {row["name"]: row["reasons"] for row in top_rows(soup)}["p3"][0]
        assert height["column"] == "height"
        assert bool(height["expected"]) == is_expected


def test_encoded_values_are_compared_in_the_words_of_the_encoder(people, tmp_path):
    class Encoder(TableEncoder):
        def describe(self, feature, value):
            return f"{feature} of {abs(value):.0f}"

    detector = IMAutoencoderDetector(epochs=40, random_state=0)
    model = make_pipeline(Encoder(max_levels=3), detector).fit(people)
    soup = read(write_report(model, people, tmp_path / "x.html"))
    rows = {row["name"]: row["reasons"][0] for row in top_rows(soup)}
    assert rows["p7"]["expected"] == "colour_(rare) of 0"
    assert rows["p3"]["expected"].startswith("160 to")


def test_probabilities_stand_beside_the_losses(soup, fitted, people):
    features = fitted[:-1].transform(people)
    expected = np.sort(fitted[-1].outlier_probability(features))[::-1][:20]
    shown = [float(td["data-key"]) for td in soup.select("td.probability")]
    assert shown == pytest.approx(list(expected))
    flagged = [row["flagged"] for row in top_rows(soup)]
    assert flagged == [chance > 0.5 for chance in shown]


def test_rows_strange_in_most_columns_show_their_rarest_values(table, tmp_path):
    X = np.c_[table, np.arange(300) % 7]  # the last column says nothing
    X[290] = [*table[:285].max(axis=0) + 50, 3]
    detector = ALTBIDetector(random_state=0).fit(X)
    soup = read(write_report(detector, X, tmp_path / "x.html"))
    row = soup.find("th", string="290", attrs={"class": "name"}).parent
    assert "Strange as a whole: most of its values" in text_of(row)
    assert {place.get_text() for place in row.select(".place")} == {"the highest value"}
    assert "x6" not in [name.get_text() for name in row.select(".column")]


def test_values_near_what_to_expect_are_no_reasons(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8))
    detector = ALTBIDetector(random_state=0).fit(X)
    soup = read(write_report(detector, X, tmp_path / "x.html", top=50))
    rows = soup.select("#top-table tbody tr")
    is_whole = ["no single value explains it" in text_of(row) for row in rows]
    reasons = detector.reasons(X, n_reasons=None).set_index(["row", "feature"])
    for row, whole in zip(rows, is_whole, strict=True):
        cells = reasons.loc[int(row.th.get_text())]
        side = np.where(cells["value"] > cells["expected"], cells["high"], cells["low"])
        deviation = (cells["value"] - cells["expected"]).abs()
        found = (
            cells["is_outside"]
            & (deviation > 1.5 * (side - cells["expected"]).abs())
            & (cells["contribution"] >= cells["contribution"].max() / 4)
        )
        named = [name.get_text() for name in row.select(".column")]
        assert whole == (not found.any())
        if not whole:
            assert named == list(cells.index[found][:3])
    assert 0 < sum(is_whole) < 50


def test_missing_cells_are_shown_as_missing(table, tmp_path):
    X = table.copy()
    X[::3, 1] = np.nan
    X[7] = np.nan
    X[8, 0] = 1e4
    X[8, 2] = np.nan
    soup = read(write_report(ALTBIDetector(random_state=0).fit(X), X, tmp_path / "x"))
    first = top_rows(soup)[0]
    assert first["name"] == "8"
    assert [reason["column"] for reason in first["reasons"]] == ["x0"]
    assert "101 missing" in text_of(soup.select_one("#columns"))
    soup.select_one(".settings").decompose()
    assert not re.search(r"\b(nan|inf)\b", str(soup.body))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((2.9, 17.2, 1048.0), "3 to 17"),
        ((2.9, 17.2, 1048.0, True), "3 to 17"),
        ((2.4, 16.8, 17.0, True), "3 to 16"),
        ((0.0, 0.0, 1.0, True), "0"),
        ((0.1234, 0.5678, 1.0), "0.12 to 0.57"),
        ((0.1234, 0.5678, 0.568), "0.1234 to 0.5678"),
        ((12345.0, 27345.0, 5.0), "12000 to 27000"),
        ((2024.13, 2024.19, 0.0), "2024.130 to 2024.190"),
        ((-0.2, 15.0, 20.0), "0 to 15"),
        ((1e-9, 3e-9, 1.0), "1e-09 to 3e-09"),
        ((3.5, 3.5, 4.0), "3.5"),
    ],
)
def test_ranges_are_written_with_few_digits(arguments, text):
    assert interval(*arguments) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.5, "50.0%"), (1.0, ">99.9%"), (0.0, "<0.1%")]
)
def test_probabilities_are_never_certain(value, text):
    assert probability(value) == text


def test_columns_to_blame_are_averages_of_relative_contributions(soup, fitted, people):
    features = fitted[:-1].transform(people)
    top = np.argsort(fitted.score_samples(people), kind="stable")[:20]
    relative = fitted[-1].explain(features[top], relative=True)
    whole = [
        "Strange as a whole" in text_of(tr) for tr in soup.select("#top-table tbody tr")
    ]
    single = ~np.array(whole)
    columns = np.c_[relative[:, 0], relative[:, 1], relative[:, 2:].sum(axis=1)]
    shares = columns[single].clip(0)
    shares = (shares / shares.sum(axis=1, keepdims=True)).mean(axis=0)
    expected = dict(zip(people.columns, 100 * shares, strict=True))
    listed = {
        li.bdi.get_text(): float(li.select(".label span")[0].get_text()[:-1])
        for li in soup.select("#blame li")
    }
    assert listed == pytest.approx(expected, abs=0.051)


def test_values_and_names_are_escaped(soup, page):
    assert len(soup.find_all("script")) == 1
    rows = {row["name"]: row["reasons"][0] for row in top_rows(soup)}
    assert rows["p7"]["value"] == SCRIPT
    names = [th.get_text() for th in soup.select("#columns tbody th")]
    assert names == ["height", HOSTILE, "colour"]
    assert soup.h1.get_text() == "Outliers in people & more.csv"
    assert page.read_text(encoding="utf-8").count("</script>") == 1


def test_decisions_are_shown_column_by_column(soup):
    cells = [text_of(row) for row in soup.select("#columns tbody tr")]
    assert "number numbers" in cells[0]
    assert "category 3 levels" in cells[2]
    assert "number (2), category (1)" in text_of(soup.select_one("#columns p"))
    assert "5 features" in text_of(soup.select_one(".facts"))


def test_pictures_have_text_alternatives(soup):
    for svg in soup.find_all("svg"):
        assert svg.get("aria-hidden") == "true" or svg["aria-label"]
    label = soup.select_one("#scores svg")["aria-label"]
    assert "120 rows" in label
    assert soup.html["lang"] == "en"
    headings = [h.name for h in soup.find_all(re.compile("h[1-6]"))]
    assert headings == ["h1"] + 7 * ["h2"]


def test_links_within_the_page_have_targets(soup):
    ids = Counter(element["id"] for element in soup.find_all(id=True))
    assert set(ids.values()) == {1}
    targets = [e["href"] for e in soup.select("[href^='#']")]
    assert {target[1:] for target in targets} <= set(ids)


def test_the_map_numbers_the_ten_strangest(soup):
    labels = [int(text.get_text()) for text in soup.select("#map text.rank")]
    assert sorted(labels) == list(range(1, 11))


def test_votes_count_the_members_that_list_a_row(soup, fitted, people):
    features = fitted[:-1].transform(people)
    scores = fitted.score_samples(people)
    table = scaled_table(fitted[-1], features)
    by_member = -fitted[-1].model_.losses_by_member(table)
    np.testing.assert_allclose(by_member.mean(axis=0), scores)
    k = 12  # a tenth of the rows
    own = [set(np.argsort(member)[:k]) for member in by_member]
    expected = [
        sum(row in mine for mine in own) for row in np.argsort(scores, kind="stable")
    ]
    votes = [int(td["data-key"]) for td in soup.select(".votes")]
    assert votes == expected[:20]
    pairs = [len(a & b) / k for a in own for b in own if a is not b]
    overlap = f"{100 * np.mean(pairs):.1f}".removesuffix(".0")
    assert f"{overlap}% of their 12 strangest rows" in text_of(
        soup.select_one("#agreement")
    )


def test_same_input_gives_the_same_bytes(page, fitted, people, tmp_path):
    again = write_report(
        fitted, people, tmp_path / "x.html", source="people & more.csv", top=20
    )
    assert again.read_bytes() == page.read_bytes()


def test_a_long_history_keeps_a_criterion_that_is_rarely_evaluated():
    n = 1000
    history = {f"loss_q{level}": np.ones(n) for level in ("05", "25", "50", "75", "95")}
    history["criterion"] = np.where(np.arange(n) % 100 == 50, np.arange(n), np.nan)
    chart = trajectory(history | {"epoch": np.arange(n)}, "epoch", np.array([5]))
    assert len(chart["criterion"].partition("L")[2].split()) == 2 * 10


def test_every_detector_has_a_page(quick, table, is_outlier, tmp_path):
    detector = quick(epochs=40).fit(table)
    soup = read(write_report(detector, table, tmp_path / "x.html", top=10))
    assert soup.h1.get_text() == "Outlier report"
    names = [int(row["name"]) for row in top_rows(soup)]
    assert is_outlier[names].mean() > 0.7
    paths = [path["d"] for path in soup.select("#training path")]
    assert all(re.fullmatch(r"[MhLz0-9. ]+", d) for d in paths if "v" not in d.lower())


def test_new_rows_can_be_reported_on(fitted, people, tmp_path):
    new = people.iloc[[7, 3, 20]]
    soup = read(write_report(fitted, new, tmp_path / "x.html", ids=["a", "b", "c"]))
    assert {row["name"] for row in top_rows(soup)[:2]} == {"a", "b"}
    assert "trained on 120 rows" in text_of(soup.select_one(".facts"))


def test_an_extreme_value_keeps_the_page_readable(quick, table, tmp_path):
    new = table.copy()
    new[0, 0] = 1e300
    detector = quick(scaling="minmax").fit(table)
    soup = read(write_report(detector, new, tmp_path / "x.html"))
    first = top_rows(soup)[0]
    assert first["name"] == "0"
    assert first["reasons"][0]["place"] == "the highest value"
    assert len(soup.select_one("#scores .histogram")["d"].split("M")) > 10


@pytest.mark.parametrize("case", AWKWARD)
def test_awkward_data_has_a_page(quick, case, tmp_path):
    X = AWKWARD[case]
    soup = read(write_report(quick().fit(X), X, tmp_path / "x.html"))
    assert len(top_rows(soup)) == min(len(X), 50)
    soup.select_one(".settings").decompose()
    assert not re.search(r"\b(nan|inf|None)\b", str(soup.body))


def test_one_row_and_one_member(table, tmp_path):
    detector = ALTBIDetector(n_estimators=1, epochs=10, random_state=0).fit(table)
    soup = read(write_report(detector, table, tmp_path / "x.html"))
    assert "only one member" in text_of(soup.select_one("#agreement"))
    soup = read(write_report(detector, table[:1], tmp_path / "x.html"))
    assert len(top_rows(soup)) == 1


def test_polars_gives_the_same_page_as_pandas(table, tmp_path):
    pandas = pd.DataFrame(table, columns=list("abcdef"))
    polars = pl.DataFrame(table, schema=list("abcdef"))
    pages = []
    for X in (pandas, polars):
        detector = ALTBIDetector(epochs=10, random_state=0).fit(X)
        pages.append(write_report(detector, X, tmp_path / "x.html").read_bytes())
    assert pages[0] == pages[1]


def test_arrays_do_not_need_pandas(table, tmp_path, monkeypatch):
    detector = ALTBIDetector(epochs=10, random_state=0).fit(table)
    expected = write_report(detector, table, tmp_path / "x.html").read_bytes()
    hide(monkeypatch, "pandas")
    assert write_report(detector, table, tmp_path / "x.html").read_bytes() == expected


def test_columns_are_traced_through_an_imputer_by_name(people, tmp_path):
    X = people[["height", HOSTILE]].copy()
    X.iloc[:12, 1] = np.nan
    model = make_pipeline(SimpleImputer(), ALTBIDetector(epochs=40, random_state=0))
    soup = read(write_report(model.fit(X), X, tmp_path / "x.html", top=120))
    rows = {row["name"]: row["reasons"] for row in top_rows(soup)}
    assert rows["p3"][0]["column"] == "height"
    values = [reason["value"] for reasons in rows.values() for reason in reasons]
    assert "missing" in values
    assert "12 missing" in text_of(soup.select_one("#columns"))


def test_features_that_cannot_be_traced_are_named_themselves(table, tmp_path):
    model = make_pipeline(PCA(2), ODIMDetector(epochs=3, random_state=0)).fit(table)
    soup = read(write_report(model, table, tmp_path / "x.html"))
    named = {r["column"] for row in top_rows(soup) for r in row["reasons"]}
    assert named == {"pca0", "pca1"}
    read_columns = [th.get_text() for th in soup.select("#columns tbody th")]
    assert read_columns == [f"x{j}" for j in range(6)]


def test_columns_of_every_kind_are_described(tmp_path):
    n = 100
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "date": pd.date_range("2024-01-01", periods=n),
            "flag": np.arange(n) == 5,
            "whole": pd.array([None, *range(1, n)], dtype="Int64"),
            "kind": pd.Categorical(["a", "b"] * (n // 2)),
            "empty": [None] * n,
            "x": rng.normal(size=n),
        }
    )

    class Codes(SimpleImputer):
        def fit(self, X, y=None):
            self.origins_ = list(X.columns)
            return self

        def transform(self, X):
            codes = [pd.factorize(X[name])[0] for name in X.columns]
            return np.stack(codes, axis=1).astype(float)

        def __sklearn_is_fitted__(self):
            return True

    model = make_pipeline(Codes(), ALTBIDetector(epochs=20, random_state=0)).fit(X)
    soup = read(write_report(model, X, tmp_path / "x.html", top=n))
    summaries = [text_of(tr.find_all("td")[1]) for tr in soup.select("#columns tr")[1:]]
    assert summaries[:5] == [
        "2024-01-01 to 2024-04-09, median 2024-02-20",
        "2 values, most often False (99%)",
        "1 to 99, median 50; 1 missing",
        "2 values, most often a (50%)",
        "no values; 100 missing",
    ]
    places = {
        (row["name"], reason["column"]): reason["place"]
        for row in top_rows(soup)
        for reason in row["reasons"]
    }
    assert places["5", "flag"] == "the only one in 100 rows"
    assert places["99", "date"] == "the highest value"


def test_wide_tables_and_long_texts_keep_the_page_small(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 520)))
    X.columns = [f"{j}" + 300 * '"' for j in range(520)]
    detector = ALTBIDetector(epochs=1, n_estimators=2, random_state=0)
    ids = [f"{i}" + 300 * '"' for i in range(300)]
    page = write_report(detector.fit(X), X, tmp_path / "x.html", ids=ids, top=250)
    assert page.stat().st_size < 1e6
    assert "The first 200 columns" in text_of(read(page).select_one("#columns"))


# Errors ---------------------------------------------------------------------------


def hide(monkeypatch, module):
    """Make a module impossible to import."""
    real = builtins.__import__

    def importing(name, *args, **kwargs):
        if name.partition(".")[0] == module:
            raise ImportError(f"No module named {name!r}")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", importing)


@pytest.fixture(scope="module")
def detector(people):
    X = people[["height", HOSTILE]]
    return ALTBIDetector(epochs=5, random_state=0).fit(X.to_numpy())


def test_a_missing_jinja2_names_the_extra(detector, tmp_path, monkeypatch):
    hide(monkeypatch, "jinja2")
    with pytest.raises(ImportError, match=r"pip install 'skim-od\[report\]'"):
        write_report(detector, np.ones((3, 2)), tmp_path / "x.html")


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (ALTBIDetector(), NotFittedError, "not fitted yet"),
        (make_pipeline(PCA(), ALTBIDetector()), NotFittedError, "not fitted yet"),
        (IsolationForest(), TypeError, "skim detector.*not IsolationForest"),
        (make_pipeline(PCA()), TypeError, "skim detector.*not PCA"),
        ("detector", TypeError, "skim detector.*not str"),
    ],
)
def test_models_that_are_not_fitted_detectors_are_refused(
    model, error, message, tmp_path
):
    with pytest.raises(error, match=message):
        write_report(model, np.ones((3, 2)), tmp_path / "x.html")


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.empty((0, 2)), "no rows"),
        (np.ones((3, 5)), "5 features, but the model is expecting 2"),
        (np.ones(3), r"two-dimensional, but its shape is \(3,\)"),
    ],
)
def test_wrong_data_is_refused(detector, X, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        write_report(detector, X, tmp_path / "x.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("top", [0, -1, 501, 2.5, "10"])
def test_a_top_out_of_range_is_refused(detector, top, tmp_path):
    with pytest.raises(ValueError, match="top must be an integer from 1 to 500"):
        write_report(detector, np.ones((3, 2)), tmp_path / "x.html", top=top)


def test_ids_of_the_wrong_length_are_refused(detector, tmp_path):
    with pytest.raises(ValueError, match="ids has 2 names, but X has 3 rows"):
        write_report(detector, np.ones((3, 2)), tmp_path / "x.html", ids=["a", "b"])


def test_paths_that_cannot_be_written_are_refused(detector, tmp_path):
    X = np.ones((3, 2))
    with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
        write_report(detector, X, tmp_path / "nowhere" / "x.html")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_report(detector, X, tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_refused(detector, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="cannot be written"):
        write_report(detector, np.ones((3, 2)), tmp_path / "x.html")


def test_a_failed_write_keeps_the_old_page(detector, tmp_path, monkeypatch):
    page = tmp_path / "x.html"
    page.write_text("what was there before")

    def fail(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match=r"x.html could not be written: No space left"):
        write_report(detector, np.ones((3, 2)), page)
    assert [path.name for path in tmp_path.iterdir()] == ["x.html"]
    assert page.read_text() == "what was there before"


def test_invalid_unicode_is_replaced(detector, tmp_path):
    page = write_report(detector, np.ones((1, 2)), tmp_path / "x.html", ids=["\ud800"])
    assert top_rows(read(page))[0]["name"] == "?"
