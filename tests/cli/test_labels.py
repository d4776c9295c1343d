"""Labels files: which rows they are about, and how they are written."""

import os
import re

import numpy as np
import pandas as pd
import pytest

from skim.cli._labels import Labels

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@pytest.fixture
def table():
    return pd.DataFrame(
        {
            "order": [f"a{i}" for i in range(6)],
            "price": [1.5, 2.0, np.nan, 4.0, 5.0, 6.0],
            "items": [1, 2, 3, 4, 5, 6],
        }
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "labels.csv"


def labels_of(path, table, found=("order",), ids=()):
    return Labels(path, table, list(found), ids=list(ids), source="orders.csv")


def by_number(path, table):
    return labels_of(path, table, found=())


def written(path):
    """The file, without the times."""
    return TIME.sub("T", path.read_text())


def test_answers_are_written_one_by_one_and_taken_back(path, table):
    labels = labels_of(path, table)
    assert not path.exists()
    labels.answer(3, 1)
    assert written(path) == "order,label,answered\na3,1,T\n"
    labels.answer(0, 0)
    labels.answer(5, None)
    assert written(path) == "order,label,answered\na3,1,T\na0,0,T\na5,,T\n"
    again = labels_of(path, table)
    np.testing.assert_equal(again.values, [0, np.nan, np.nan, 1, np.nan, np.nan])
    assert np.flatnonzero(again.is_seen).tolist() == [0, 3, 5]
    assert [again.take_back(), again.take_back()] == [5, 0]
    assert written(path) == "order,label,answered\na3,1,T\na5,,\na0,,\n"
    assert np.flatnonzero(again.is_seen).tolist() == [3]
    assert again.answered == [3]


def test_rows_may_move_if_they_have_identifiers(path, table):
    labels_of(path, table).answer(3, 1)
    moved = table[::-1].reset_index(drop=True)
    assert np.flatnonzero(labels_of(path, moved).values == 1).tolist() == [2]


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table[::-1],
        lambda table: table[:3],
        lambda table: table.assign(price=table["price"] * 2),
        lambda table: table.assign(new=1),
    ],
    ids=["moved", "shorter", "other values", "another column"],
)
def test_a_changed_table_is_noticed(path, table, change):
    labels = by_number(path, table)
    labels.answer(3, 1)
    # The checksum is of the values, not of their types, and not of other rows.
    other = table.astype({"items": float, "order": "category"})
    other.loc[0, "items"] = np.nan
    for same in (table, other):
        assert np.flatnonzero(by_number(path, same).values == 1).tolist() == [3]
    with pytest.raises(
        ValueError, match=r"line 2 \(row 4\): orders.csv (has changed|does not have)"
    ):
        by_number(path, change(table).reset_index(drop=True))


def test_names_that_are_not_unique_are_not_used(path, table):
    table.loc[5, "order"] = "a4"
    labels = labels_of(path, table)
    labels.answer(5, 1)
    assert re.search(r"^row,checksum,label,answered\n6,[a-p]{8},1,", path.read_text())
    assert labels_of(path, table).values[5] == 1


def test_identifiers_of_the_user_must_identify_rows(path, table):
    table.loc[5, "order"] = "a4"
    with pytest.raises(ValueError, match=r"identifies all rows \(tried order\)"):
        labels_of(path, table, ids=["order"])
    labels_of(path, table, ids=["order", "items"]).answer(5, 0)
    assert written(path) == "order,items,label,answered\na4,6,0,T\n"
    table["order"] = [None, *"bcdef"]
    with pytest.raises(ValueError, match="identifies all rows"):
        labels_of(path, table, ids=["order"])


def test_what_people_add_survives(path, table):
    path.write_bytes(
        '\ufeffnote;label;order\r\n"says Eve; sure";1;a3\r\n;;\r\nodd;;a5\r\n'.encode()
    )
    labels = labels_of(path, table)
    assert labels.values[3] == 1
    labels.answer(0, 0)
    assert written(path) == (
        'note;label;order;answered\n"says Eve; sure";1;a3;\nodd;;a5;\n;0;a0;T\n'
    )


def test_numbers_can_be_written_by_hand(path, table):
    path.write_text("row,label\n2,1\n6,0.0\n")
    labels = by_number(path, table)
    np.testing.assert_equal(np.flatnonzero(labels.values == 1), [1])
    labels.answer(0, 1)
    assert re.search(r"^1,1,[a-p]{8},", path.read_text(), flags=re.MULTILINE)
    assert by_number(path, table).values[5] == 0


@pytest.mark.parametrize("number", ["0", "7", "many", ""])
def test_numbers_that_no_row_has_are_refused(path, table, number):
    path.write_text(f"row,label\n2,1\n{number},1\n")
    message = rf"line 3 \(row {number}\): orders.csv does not have this row"
    with pytest.raises(ValueError, match=message):
        by_number(path, table)


def test_columns_of_the_same_name_are_told_apart(path, table):
    table = table.rename(columns={"order": "label"})
    labels_of(path, table, found=["label"]).answer(1, 1)
    assert written(path) == "label,skim_label,answered\na1,1,T\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("order,label\na1,1\na2,0\na1,0\n", r"line 4 \(order a1\): an earlier line"),
        ("order,label\na1,1\nb1,0\n", r"line 3 \(order b1\): orders.csv does not"),
        ("order,label\na1,2\n", r"line 2 \(order a1\): the label must be 1, 0"),
        ("order,said\na1,1\n", "has no column 'label'"),
        (
            "customer,label\na1,1\n",
            r"no column in common .*\(tried order or row\).* --id",
        ),
        ("order,label\na1,1\na2,1,what\n", "Expected 2 fields in line 3, saw 3"),
        ("order,label,note\na1,1,für\n", "save it as CSV in UTF-8"),
    ],
)
def test_files_that_make_no_sense_are_refused(path, table, text, message):
    path.write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=message):
        labels_of(path, table)
    assert path.read_text(encoding="latin-1") == text


def test_the_file_is_whole_at_any_time(path, table, monkeypatch):
    labels = labels_of(path, table)
    labels.answer(0, 1)
    before = path.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        labels.answer(1, 1)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]
