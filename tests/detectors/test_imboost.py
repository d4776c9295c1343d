"""IMBoost: labels, questions and what is learned from the answers."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
import skops.io
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skim import (
    ALTBIDetector,
    IMAutoencoderDetector,
    IMBoostDetector,
    TableDetector,
)
from skim._detectors import _base, _imboost
from skim._model._reasons import deciding_labels
from skim._training._mixture import fit_two_gaussians
from skim.networks import VAEConfig
from skim.schedules import ALTBISchedule


def small(**params):
    settings = {"epochs": 14, "n_estimators": 2, "random_state": 0}
    return ALTBIDetector(schedule=ALTBISchedule(n_snapshots=3), **settings | params)


def quick(**params):
    return IMBoostDetector(small(), random_state=0, **params)


def quick_paper(epochs=12, **params):
    detector = IMBoostDetector.paper(random_state=0, epochs=epochs, **params)
    return detector.set_params(
        detector__schedule__warm_up=6, detector__network=VAEConfig(max_width=16)
    )


@pytest.fixture(scope="module")
def hidden():
    """Two clusters: the small one is abnormal, but no less dense than the other."""
    rng = np.random.default_rng(1)
    X = np.r_[rng.normal(size=(270, 5)), rng.normal(1.7, 0.5, size=(30, 5))]
    return X, np.arange(300) >= 270


@pytest.fixture(scope="module")
def labels(hidden):
    """Every fifth row has a label."""
    return np.where(np.arange(300) % 5 == 0, hidden[1], np.nan)


@pytest.fixture(scope="module")
def learned(hidden, labels):
    return quick().fit(hidden[0], labels=labels)


@pytest.fixture(scope="module")
def without(hidden):
    return quick().fit(hidden[0])


@pytest.fixture
def n_trained(monkeypatch):
    """Counts the training runs."""
    calls = []

    def train(*args, **kwargs):
        calls.append(1)
        return original(*args, **kwargs)

    original = _base.train
    monkeypatch.setattr(_base, "train", train)
    return lambda: len(calls)


@pytest.mark.parametrize("make", [quick, quick_paper])
def test_without_labels_it_is_its_detector(make, hidden):
    boosted = make()
    expected = clone(boosted.detector).set_params(random_state=0).fit(hidden[0])
    for unknown in (None, np.full(300, np.nan), [None] * 300):
        boosted.fit(*hidden, labels=unknown)
        assert_array_equal(boosted.training_scores_, expected.training_scores_)
        assert_array_equal(boosted.score_samples(hidden[0]), expected.training_scores_)
        assert boosted.offset_ == expected.offset_
        assert np.isnan(boosted.labels_).all()
        assert len(boosted.label_rows_) == 0


@pytest.mark.parametrize(
    ("detector", "kinds"),
    [
        (small(network=VAEConfig(scaling="squash")), (1,)),
        (IMAutoencoderDetector(epochs=5, n_estimators=2), (0, 1)),
    ],
)
def test_labels_help_on_rows_without_them(detector, kinds, hidden, labels):
    X, is_outlier = hidden
    known = np.where(np.isin(labels, kinds), labels, np.nan)
    rest = np.isnan(known)
    boosted = IMBoostDetector(detector, random_state=0)
    before, after = (
        average_precision_score(is_outlier[rest], -fitted.training_scores_[rest])
        for fitted in (clone(boosted).fit(X), boosted.fit(X, labels=known))
    )
    assert after > 0.2 + before
    assert_array_equal(boosted.score_samples(X), boosted.training_scores_)


@pytest.mark.parametrize("make", [quick, quick_paper])
def test_all_rows_may_have_labels(make, hidden):
    boosted = make().fit(hidden[0], labels=hidden[1])
    assert np.isfinite(boosted.training_scores_).all()
    assert len(boosted.query(5)) == 0


def test_labels_in_the_training_of_the_networks_change_their_scores(hidden, labels):
    X, _ = hidden
    before = quick_paper(epochs=40).fit(X).training_scores_
    after = quick_paper(epochs=40).fit(X, labels=labels)
    assert len(after.label_rows_) == 0
    gain = after.training_scores_ - before
    assert gain[labels == 0].mean() > gain[labels == 1].mean()
    assert after.detector_.schedule.labels is None  # which labels_ has
    assert after.detector_.model_.schedule.labels is None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.ones(7), r"shape \(7,\), but there are 300 rows"),
        (np.ones((300, 1)), "one label per row"),
        (np.full(300, -1), "labels contains -1"),
        (["yes"] * 300, "must be numbers"),
    ],
)
def test_wrong_labels_are_refused_before_training(hidden, wrong, message, n_trained):
    boosted = quick()
    with pytest.raises(ValueError, match=message):
        boosted.fit(hidden[0], labels=wrong)
    assert n_trained() == 0
    with pytest.raises(NotFittedError):
        boosted.predict(hidden[0])


def test_known_inliers_alone_are_not_flagged(hidden, without):
    X, _ = hidden
    was_flagged = without.predict(X) == -1
    labels = np.where(was_flagged, 0, np.nan)
    after = quick().fit(X, labels=labels)
    assert not (was_flagged & (after.predict(X) == -1)).any()
    offset = after.offset_
    assert after.set_contamination(0.3).offset_ != offset
    assert after.set_contamination("auto").offset_ == offset


@pytest.mark.parametrize(("kind", "n_labels"), [(0, 30), (1, 1), (1, 30)])
def test_labels_of_one_kind_at_most_double_or_halve_the_outliers(
    kind, n_labels, hidden, without
):
    X, is_outlier = hidden
    before = np.sum(without.predict(X) == -1)
    labels = np.full(300, np.nan)
    labels[np.flatnonzero(is_outlier == kind)[:n_labels]] = kind
    after = np.sum(quick().fit_predict(X, labels=labels) == -1)
    factor = min(1 + n_labels / 5, 2)
    assert round(before / factor) <= after <= round(before * factor)


# What a fitted detector can do -----------------------------------------------


def test_new_rows_are_scored_like_training_rows(hidden, labels, learned, without):
    X, _ = hidden
    scores = learned.score_samples(X)
    assert_array_equal(scores, learned.training_scores_)
    assert_array_equal(learned.score_samples(X[100:101]), scores[100:101])
    assert np.isfinite(learned.score_samples(np.full((1, 5), 1e300))).all()
    known = ~np.isnan(labels)
    assert_array_equal(learned.predict(X)[known] == -1, labels[known] == 1)
    expected = without.detector_.explain(X, relative=True)
    assert_array_equal(learned.explain(X, relative=True), expected)
    # Labels of any type are the same.
    frame = pd.DataFrame(X, columns=list("abcde"))
    for same in (
        [None if np.isnan(label) else bool(label) for label in labels],
        pd.array(labels, dtype="Int8"),
    ):
        named = quick().fit(frame, labels=same)
        assert named.feature_names_in_.tolist() == list("abcde")
        assert_array_equal(named.score_samples(frame), scores)


def test_copies_keep_scores_and_questions(hidden, learned):
    X, _ = hidden
    data = skops.io.dumps(learned)
    unknown = skops.io.get_untrusted_types(data=data)
    assert all(name.startswith("skim.") for name in unknown)
    for copy in (
        pickle.loads(pickle.dumps(learned)),
        skops.io.loads(data, trusted=unknown),
    ):
        assert_array_equal(copy.score_samples(X), learned.training_scores_)
        assert_array_equal(copy.query(7), learned.query(7))
        assert (copy.set_contamination(0.2).predict(X) == -1).sum() == 60
        assert copy.set_contamination("auto").offset_ == learned.offset_ == 0


def test_a_wrong_answer_does_not_excuse_absurd_rows(hidden):
    X = hidden[0].copy()
    X[[10, 20, 30], [0, 1, 2]] = 1e6
    labels = np.full(300, np.nan)
    labels[[10, 40, 280]] = 0, 0, 1
    boosted = quick().fit(X, labels=labels)
    assert boosted.predict(X[[10, 20, 30]]).tolist() == [1, -1, -1]


def test_influences_are_what_labels_add_to_the_log_odds(
    hidden, labels, learned, without
):
    X, _ = hidden
    influences = learned.label_influences(X)
    assert influences.shape == (300, len(learned.label_rows_))
    by_loss = -learned.training_scores_ - influences.sum(axis=1)
    order = without.training_scores_.argsort()
    assert np.all(np.diff(by_loss[order]) <= 1e-9)
    speaks_for = influences[0] > 0
    assert_array_equal(speaks_for, labels[learned.label_rows_] == 1)
    assert without.label_influences(X).shape == (300, 0)


@pytest.mark.parametrize(("contamination", "kinds"), [("auto", (0,)), (0.1, (0, 1))])
def test_the_label_named_is_one_that_changed_the_verdict(
    contamination, kinds, hidden, labels
):
    X, _ = hidden
    known = np.where(np.isin(labels, kinds), labels, np.nan)
    before = quick(contamination=contamination).fit(X)
    after = quick(contamination=contamination).fit(X, labels=known)
    texts = deciding_labels(after, X, after.training_scores_)
    changed = before.predict(X) != after.predict(X)
    is_named = np.array([bool(text) for text in texts])
    assert_array_equal(is_named, changed & np.isin(after.predict(X) == -1, kinds))
    assert is_named.any()
    for row in np.flatnonzero(is_named):
        kind = "an outlier" if after.predict(X[[row]]) == -1 else "an inlier"
        like, said = texts[row].removeprefix("like training row ").split(", ")
        assert said == f"labelled {kind}"
        assert known[int(like) - 1] == (kind == "an outlier")


def test_labels_are_routed_through_a_pipeline(hidden, labels):
    X, _ = hidden
    with sklearn.config_context(enable_metadata_routing=True):
        boosted = quick().set_fit_request(labels=True)
        pipeline = make_pipeline(StandardScaler(), boosted).fit(X, labels=labels)
    scaled = StandardScaler().fit_transform(X)
    expected = quick().fit(scaled, labels=labels).training_scores_
    assert_array_equal(pipeline.score_samples(X), expected)


# Fitting again ---------------------------------------------------------------


def test_new_labels_train_nothing_again(hidden, labels, learned, n_trained):
    X, is_outlier = hidden
    boosted = quick().fit(X)
    for n_known in (100, 200, 300):
        so_far = np.where(np.arange(300) < n_known, labels, np.nan)
        boosted.fit(X.copy(), labels=so_far)
    boosted = pickle.loads(pickle.dumps(boosted)).fit(X, labels=labels)
    assert n_trained() == 1
    assert_array_equal(boosted.training_scores_, learned.training_scores_)
    assert_array_equal(boosted.query(10), learned.query(10))
    boosted.fit_oracle(X, lambda rows: is_outlier[rows])
    assert n_trained() == 1
    again = quick().fit_oracle(X, lambda rows: is_outlier[rows])
    assert n_trained() == 2
    assert_array_equal(boosted.training_scores_, again.training_scores_)


@pytest.mark.parametrize(
    "change",
    [
        {},  # but the data
        {"detector__schedule__burn_in": 0.8},
        {"random_state": 1},
        {"detector": quick_paper().detector},  # labels enter its training
    ],
)
def test_a_fit_to_something_else_trains_again(change, hidden, labels, n_trained):
    X, _ = hidden
    boosted = IMBoostDetector(small(random_state=None), random_state=0).fit(X)
    if not change:
        X = X + 1e-9
    boosted.set_params(**change).fit(X, labels=labels)
    assert n_trained() == 2
    fresh = clone(boosted).fit(X, labels=labels)
    assert_array_equal(boosted.training_scores_, fresh.training_scores_)


@pytest.mark.parametrize("make", [quick, quick_paper])
def test_a_fit_that_fails_leaves_the_previous_one(make, hidden, labels, monkeypatch):
    X, _ = hidden
    boosted = make().fit(X, labels=labels)
    before = boosted.score_samples(X)

    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(_imboost, "evenly_spaced", interrupted)
    with pytest.raises(KeyboardInterrupt):
        boosted.fit(X, labels=1 - labels)
    with pytest.raises(ValueError, match="0 feature"):
        boosted.fit(X[:, :0], labels=1 - labels)
    assert_array_equal(boosted.labels_, labels)
    assert_array_equal(boosted.score_samples(X), before)
    assert_array_equal(boosted.training_scores_, before)


# Asking ----------------------------------------------------------------------


def test_questions_are_about_unlabelled_rows(labels, learned):
    rows = learned.query(400)
    assert sorted(rows) == np.flatnonzero(np.isnan(labels)).tolist()
    assert_array_equal(learned.query(9), rows[:9])
    some = np.arange(40, 60)
    asked = learned.query(8, among=some)
    assert len(asked) == 8
    assert set(asked) <= set(some)
    mask = np.isin(np.arange(300), some)
    assert_array_equal(learned.query(8, among=mask), asked)
    assert len(learned.query(3, among=[])) == 0
    with pytest.raises(ValueError, match="n == -1, must be >= 0"):
        learned.query(-1)


def test_questions_are_about_rows_in_doubt(without):
    distance = np.abs(without.training_scores_ - without.offset_)
    assert distance[without.query(1)] <= np.sort(distance)[5]


def test_questions_of_the_original_method_are_about_rows_between_two_groups(hidden):
    boosted = quick_paper(epochs=20).fit(hidden[0])
    losses = -boosted.training_scores_
    low, high = fit_two_gaussians(losses).means
    asked = losses[boosted.query(5)]
    assert np.all((asked > low) & (asked < high))


def test_wrong_settings_of_the_original_method_are_refused(hidden):
    with pytest.raises(ValueError, match="less than epochs=6"):
        quick_paper(epochs=6).fit(hidden[0])
    with pytest.raises(ValueError, match="needs stopping=None"):
        quick_paper(stopping="entropy").fit(hidden[0])


@pytest.mark.parametrize("make", [quick, quick_paper])
def test_an_oracle_is_asked_in_rounds(make, hidden):
    X, is_outlier = hidden
    asked = []

    def oracle(rows):  # does not answer the first question of a round
        asked.append(rows)
        return [None, *is_outlier[rows[1:]]]

    even = np.arange(0, 300, 2)
    boosted = make().fit_oracle(X, oracle, n_rounds=3, among=even)
    assert [len(rows) for rows in asked] == [6, 6, 6]
    rows = np.concatenate(asked)
    assert len(set(rows)) == 18
    assert set(rows) <= set(even)
    rows = np.concatenate([each[1:] for each in asked])
    assert_array_equal(np.flatnonzero(~np.isnan(boosted.labels_)), np.sort(rows))
    assert_array_equal(boosted.labels_[rows], is_outlier[rows])
    if make is quick:
        again = quick().fit(X, labels=boosted.labels_)
        assert_array_equal(boosted.training_scores_, again.training_scores_)


# Tables ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    size = rng.normal(size=120)
    colour = np.where(np.arange(120) % 2, "green", "blue").astype(object)
    colour[7] = "gren"
    return pd.DataFrame({"size": size, "double": 2 * size, "colour": colour})


def test_a_detector_of_tables_learns_labels(frame, n_trained):
    detector = TableDetector(ALTBIDetector(epochs=5, n_estimators=2))
    boosted = IMBoostDetector(detector, random_state=0).fit(frame)
    plain = clone(detector).set_params(random_state=0).fit(frame)
    assert_array_equal(boosted.training_scores_, plain.training_scores_)
    assert_array_equal(boosted.predict(frame), plain.predict(frame))
    labels = np.full(120, np.nan)
    labels[[7, 3, *boosted.query(4)]] = 0, 1, 0, 0, 1, 1
    boosted.fit(frame, labels=labels)
    assert n_trained() == 2
    assert plain.training_scores_[7] < plain.training_scores_[3]
    assert boosted.training_scores_[7] > boosted.training_scores_[3]
    assert_array_equal(boosted.score_samples(frame), boosted.training_scores_)
    assert boosted.feature_names_in_.tolist() == ["size", "double", "colour"]
    influences = boosted.label_influences(frame)
    assert influences.shape == (120, len(boosted.label_rows_))
    reasons = boosted.reasons(frame.iloc[[7]])
    assert reasons.equals(plain.reasons(frame.iloc[[7]]))
    assert (reasons["kind"][0], reasons["expected"][0]) == ("misspelling", "green")
    copy = pickle.loads(pickle.dumps(boosted))
    assert_array_equal(copy.predict(frame), boosted.predict(frame))


def test_answers_about_a_table_are_kept_if_the_oracle_fails(frame):
    def oracle(rows):
        rounds.append(rows)
        if len(rounds) == 3:
            raise ConnectionError
        return rows % 2

    rounds = []
    boosted = IMBoostDetector(TableDetector(ALTBIDetector(epochs=2, n_estimators=2)))
    with pytest.raises(ConnectionError):
        boosted.fit_oracle(frame, oracle)
    known = np.concatenate(rounds[:2])
    assert_array_equal(np.flatnonzero(~np.isnan(boosted.labels_)), np.sort(known))
    assert_array_equal(boosted.labels_[known], known % 2)
