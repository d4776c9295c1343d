"""The content of the page, and errors."""

import builtins
import os
import re

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from sklearn.exceptions import NotFittedError

from skim import ALTBIDetector, IMBoostDetector, TableDetector
from skim._model._reasons import Reason
from skim.report import write_report
from skim.tables import list_causes
from tests.report.conftest import HOSTILE, REVERSING


def read(path):
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def text_of(element):
    return re.sub(r"\s+", " ", element.get_text()).strip()


def listed(soup):
    """The strangest rows: number, name, loss, whether flagged, and reasons."""
    return [
        {
            "number": int(row.select_one(".number").get_text()),
            "name": row.select_one(".name").get_text() if row.select(".name") else "",
            "loss": float(row.select_one(".loss")["value"]),
            "is_flagged": row.select_one(".flag").get_text() == "outlier",
            "reasons": [text_of(reason) for reason in row.select(".reasons li")],
        }
        for row in soup.select(".row")
    ]


@pytest.fixture(scope="module")
def soup(page):
    return read(page)


# Rows and causes ------------------------------------------------------------------


def test_the_strangest_rows_are_those_with_the_lowest_scores(soup, detector, people):
    scores = pd.Series(detector.score_samples(people)).nsmallest(50)
    rows = listed(soup)
    assert [row["number"] for row in rows] == [row + 1 for row in scores.index]
    assert [row["name"] for row in rows] == [f"p{row}" for row in scores.index]
    assert [row["loss"] for row in rows] == list(-scores)
    is_flagged = detector.predict(people)[scores.index] == -1
    assert [row["is_flagged"] for row in rows] == list(is_flagged)
    assert "6 of 150 rows (4.0%) are outliers" in text_of(soup.select_one(".lead"))
    assert text_of(soup.select_one(".notes")) == "1 row repeats another."
    found = detector.reasons(people.iloc[[77]])
    fields = found[["kind", "column", "value", "expected"]].itertuples(index=False)
    (strange,) = (row for row in rows if row["number"] == 78)
    assert strange["reasons"] == [str(Reason(*line)) for line in fields]


def test_cells_and_columns_are_there_on_demand(soup, people):
    (row,) = soup.select("#row-78")
    cells = {text_of(d.dt): text_of(d.dd) for d in row.select("details .cells div")}
    assert len(cells) == people.shape[1]
    assert cells["height"] == "280.125"
    assert [text_of(cell.dt) for cell in row.select(".blamed")] == ["height"]
    lines = [
        [text_of(cell) for cell in line.find_all(["th", "td"])]
        for line in soup.select("#columns tbody tr")
    ]
    assert [line[1] for line in lines] == ["number", "number", "frequency", "dropped"]
    assert lines[2][2] == "3 levels"
    assert lines[3][3] == str(people["note"].isna().sum())


def test_rows_with_the_same_cause_are_one_entry(soup, detector, people):
    outliers = people[detector.predict(people) == -1]
    expected = list_causes(detector.reasons(outliers))
    shown = {
        text_of(entry.summary): [int(n.get_text()) for n in entry.select(".number")]
        for entry in soup.select(".causes details")
    }
    assert len(shown) == len(expected)
    heights = next(rows for words, rows in shown.items() if "height above" in words)
    assert sorted(heights) == [4, 31, 78]
    assert any(words.startswith("3 rows: height above") for words in shown)
    targets = {a["href"] for a in soup.select(".causes a")}
    assert {"#row-4", "#row-8"} <= targets


def test_scores_can_be_given(detector, people, tmp_path):
    scores = detector.score_samples(people)
    part = [77, 5, 3]
    path = tmp_path / "x.html"
    write_report(detector, people.iloc[part], path, scores=scores[part])
    rows = listed(read(path))
    assert [row["number"] for row in rows] == [1, 3, 2]
    assert [row["name"] for row in rows] == ["77", "", "5"]
    assert rows[0]["reasons"][0].startswith("height 280.125")
    assert read(path).h1.get_text() == "Outlier report"


# Hostile text, size and form ------------------------------------------------------


def test_nothing_of_the_table_reaches_the_page_raw(soup, page):
    text = page.read_text(encoding="utf-8")
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert not soup.find_all("script")
    assert r"gnp\u202e.exe\x1b[31m" in text_of(soup.select_one("#columns"))
    assert soup.title.string == r"Outliers in people & gnp\u202e.exe\x1b[31m"
    assert HOSTILE in text_of(soup.select_one("#row-8 .cells"))


def test_charts_are_inline_and_described(soup):
    charts = soup.find_all("svg")
    assert [chart["role"] for chart in charts] == ["img", "img"]
    assert "150 rows, 6 of which are above the threshold" in charts[0]["aria-label"]
    assert "median" in charts[1]["aria-label"]
    for chart, words in zip(charts, ("rows (logarithmic)", "epoch"), strict=True):
        assert words in [text.get_text() for text in chart.find_all("text")]
    assert not soup.select("svg style")


def test_the_page_is_well_formed(soup):
    ids = [element["id"] for element in soup.find_all(id=True)]
    assert len(set(ids)) == len(ids)
    links = [link["href"] for link in soup.find_all("a")]
    assert {link.removeprefix("#") for link in links} <= set(ids)
    headings = [h.name for h in soup.find_all(re.compile("h[1-6]"))]
    assert headings == ["h1", "h2", "h2"] + 50 * ["h3"] + 3 * ["h2"]
    assert soup.html["lang"] == "en"


def test_the_same_input_gives_the_same_bytes(page, detector, people, tmp_path):
    options = {"source": f"people & {REVERSING}", "notes": ["1 row repeats another."]}
    options["ids"] = pd.Series([f"p{i}" for i in range(150)])
    with mpl.rc_context({"axes.facecolor": "black", "font.size": 30}):
        before = dict(mpl.rcParams)
        again = write_report(detector, people, tmp_path / "x.html", **options)
        assert dict(mpl.rcParams) == before
    assert again.read_bytes() == page.read_bytes()


def test_wide_tables_and_long_texts_keep_the_page_small(networks, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 300)))
    X.columns = [f"{j}" + 300 * '"' for j in range(300)]
    ids = [f"{i}" + 300 * '"' for i in range(120)]
    detector = TableDetector(networks).fit(X)
    soup = read(page := write_report(detector, X, tmp_path / "x.html", ids=ids))
    assert page.stat().st_size < 3e6
    assert len(soup.select(".row")) == 50
    assert "The first 200 of 300 columns" in text_of(soup.select_one("#columns"))
    assert "And 200 more columns." in text_of(soup.select_one(".row"))


# Detectors ------------------------------------------------------------------------


def test_labels_are_marked_and_compared_with_the_threshold(people, networks, tmp_path):
    labels = np.full(len(people), np.nan)
    labels[[3, 7]], labels[[10, 20, 30]] = 1, 0
    base = TableDetector(networks)
    detector = IMBoostDetector(base, contamination=0.04, random_state=0)
    detector.fit(people, labels=labels)
    path = write_report(detector, people, tmp_path / "x.html")
    soup = read(path)
    n_agreed = ((detector.predict(people) == -1) == labels)[~np.isnan(labels)].sum()
    assert f"agrees with {n_agreed} of 5 labels" in text_of(soup.select_one(".lead"))
    assert text_of(soup.select_one("#row-4 .label")) == "labelled outlier"
    soup = read(write_report(detector, people[:50], path))
    assert not soup.select(".label")


def test_cells_of_every_kind_are_written_in_full(networks, tmp_path):
    table = pd.DataFrame(
        {
            "shop": ["a", "b"] * 20,
            "price": np.arange(40) % 7 + 0.5,
            "day": pd.date_range("2024-01-01", periods=40),
            "whole": pd.array([None, *range(39)], dtype="Int64"),
            "large": np.arange(40) * 37 % 40 + 2**60,
        },
        index=[f"r{i}" for i in range(40)],
    )
    table.loc["r0", "price"] = 1e6
    detector = TableDetector(networks, by="shop").fit(table)
    soup = read(write_report(detector, table, tmp_path / "x.html"))
    assert listed(soup)[0]["name"] == "r0"
    cells = [text_of(cell) for cell in soup.select("#row-1 .cells dd")]
    assert cells == ["a", "1000000", "2024-01-01", "missing", str(2**60)]
    assert "shopgroup" in text_of(soup.select_one("#columns"))


def test_the_page_says_how_the_threshold_was_set(table, networks, tmp_path):
    """The detector is fitted to an array."""
    detector = TableDetector(networks).fit(table).set_contamination(0.1)
    lead = text_of(
        read(write_report(detector, table, tmp_path / "x.html")).select_one("p")
    )
    assert lead.startswith("30 of 300 rows (10.0%) are outliers, as set by contam")
    assert f"The threshold is a loss of {-detector.offset_:.5g}." in lead
    soup = read(write_report(detector, table[:9], tmp_path / "x.html"))
    words = "by the threshold of the training data (10.0% of them)"
    assert words in text_of(soup.select_one("p"))
    detector.offset_ = detector.training_scores_.min()
    soup = read(write_report(detector, table, tmp_path / "x.html"))
    assert text_of(soup.select_one("p")).startswith("0 of 300 rows")
    assert not soup.select(".causes")


# Errors ---------------------------------------------------------------------------


@pytest.mark.parametrize("module", ["jinja2", "matplotlib"])
def test_a_missing_library_names_the_extra(
    detector, people, tmp_path, monkeypatch, module
):
    real = builtins.__import__

    def importing(name, *args, **kwargs):
        if name.partition(".")[0] == module:
            raise ImportError(f"No module named {name!r}")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", importing)
    with pytest.raises(ImportError, match=r"pip install 'skim-od\[report\]'"):
        write_report(detector, people, tmp_path / "x.html")


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (TableDetector(), NotFittedError, "not fitted yet"),
        (ALTBIDetector(), TypeError, "needs a fitted TableDetector, .* not ALTBIDetec"),
    ],
)
def test_other_models_are_refused(model, error, message, people, tmp_path):
    with pytest.raises(error, match=message):
        write_report(model, people, tmp_path / "x.html")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ids": ["a", "b"]}, "ids has 2 elements, but X has 150 rows"),
        ({"scores": [1]}, "scores has 1 elements, but X has 150 rows"),
    ],
)
def test_wrong_options_are_refused(detector, people, tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        write_report(detector, people, tmp_path / "x.html", **options)
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
        write_report(detector, people, tmp_path / "nowhere" / "x.html")
    with pytest.raises(IsADirectoryError, match="is a directory"):
        write_report(detector, people, tmp_path)


def test_a_failed_write_keeps_the_old_page(detector, people, tmp_path, monkeypatch):
    page = tmp_path / "x.html"
    page.write_text("what was there before")

    def fail(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match=r"x.html cannot be written: No space left"):
        write_report(detector, people, page)
    assert [path.name for path in tmp_path.iterdir()] == ["x.html"]
    assert page.read_text() == "what was there before"
