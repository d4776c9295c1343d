"""IMBoost: labels, questions and what is learned from the answers."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
import skops.io
from skim._reasons import deciding_labels
from sklearn.base import clone
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skim import ALTBIDetector, IMBoostDetector

QUICK = {"epochs": 14, "n_estimators": 2, "n_snapshots": 3, "random_state": 0}
QUICK_PAPER = {"epochs": 12, "warm_up": 6, "max_width": 16, "random_state": 0}
STRATEGIES = ("informative", "mixture", "random", "extremes", "strangest")


def quick(**params):
    return IMBoostDetector(**(QUICK | params))


def quick_paper(**params):
    return IMBoostDetector.paper(**(QUICK_PAPER | params))


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
    return quick(store_stages=True).fit(hidden[0], labels=labels)


@pytest.mark.parametrize("make", [quick, quick_paper])
def test_without_labels_it_is_altbi(make, hidden):
    detector = make()
    names = ALTBIDetector().get_params()
    params = {k: v for k, v in detector.get_params().items() if k in names}
    expected = ALTBIDetector(**params).fit(hidden[0])
    for unknown in (None, np.full(300, np.nan), [None] * 300):
        detector.fit(hidden[0], labels=unknown)
        assert np.array_equal(detector.training_scores_, expected.training_scores_)
        assert detector.offset_ == expected.offset_
        assert detector.labels_ is None
        assert len(detector.label_rows_) == 0


def test_y_is_ignored(hidden):
    X, is_outlier = hidden
    scores = quick().fit(X, is_outlier).training_scores_
    assert np.array_equal(scores, quick().fit(X).training_scores_)


def test_labels_help_on_rows_without_them(hidden, labels, learned):
    X, is_outlier = hidden
    rest = np.isnan(labels)
    before = average_precision_score(
        is_outlier[rest], -quick().fit(X).training_scores_[rest]
    )
    after = average_precision_score(is_outlier[rest], -learned.training_scores_[rest])
    assert after > before + 0.2


def test_labels_in_the_training_of_the_networks_change_their_scores(hidden, labels):
    X, _ = hidden
    outliers, inliers = labels == 1, labels == 0
    before = quick_paper(epochs=40).fit(X).training_scores_
    after = quick_paper(epochs=40).fit(X, labels=labels)
    assert len(after.label_rows_) == 0
    gain = after.training_scores_ - before
    assert gain[inliers].mean() > gain[outliers].mean()


@pytest.mark.parametrize("make", [quick, quick_paper])
@pytest.mark.parametrize(
    "convert",
    [
        list,
        pd.Series,
        lambda labels: pd.array(labels, dtype="Int8"),
        lambda labels: pd.array(labels, dtype="boolean"),
        lambda labels: [None if np.isnan(label) else bool(label) for label in labels],
        lambda labels: [pd.NA if np.isnan(label) else int(label) for label in labels],
    ],
)
def test_labels_of_any_type_are_the_same(make, convert, hidden, labels):
    expected = make(epochs=8).fit(hidden[0], labels=labels)
    detector = make(epochs=8).fit(hidden[0], labels=convert(labels))
    assert np.array_equal(detector.labels_, labels, equal_nan=True)
    assert np.array_equal(detector.training_scores_, expected.training_scores_)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.ones(7), r"shape \(7,\), but there are 300 rows"),
        (np.ones((300, 1)), "one label per row"),
        (np.full(300, -1), "labels contains -1"),
        (["yes"] * 300, "must be numbers"),
    ],
)
def test_wrong_labels_are_refused_before_training(hidden, wrong, message):
    detector = quick()
    with pytest.raises(ValueError, match=message):
        detector.fit(hidden[0], labels=wrong)
    assert not hasattr(detector, "history_")


@pytest.mark.parametrize("make", [quick, quick_paper])
@pytest.mark.parametrize("kind", [0, 1])
def test_labels_of_one_kind(make, kind, hidden, labels):
    one_kind = np.where(labels == kind, labels, np.nan)
    detector = make().fit(hidden[0], labels=one_kind)
    assert np.isfinite(detector.training_scores_).all()
    assert len(detector.query(5)) == 5


def test_known_outliers_alone_help(hidden, labels):
    X, is_outlier = hidden
    known = np.where(labels == 1, 1, np.nan)
    rest = np.isnan(known)
    scores = quick().fit(X).training_scores_[rest]
    before = average_precision_score(is_outlier[rest], -scores)
    detector = quick().fit(X, labels=known)
    after = average_precision_score(is_outlier[rest], -detector.training_scores_[rest])
    assert after > before + 0.2


def test_known_inliers_alone_are_not_flagged(hidden):
    X, _ = hidden
    before = quick().fit(X)
    was_flagged = before.training_scores_ < before.offset_
    labels = np.full(300, np.nan)
    labels[was_flagged] = 0
    after = quick().fit(X, labels=labels)
    flagged = after.training_scores_ < after.offset_
    assert not (flagged & was_flagged).any()
    offset = after.offset_
    assert after.set_contamination(0.3).set_contamination("auto").offset_ == offset


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("n_labels", [1, 4, 30])
def test_labels_of_one_kind_at_most_double_or_halve_the_outliers(
    kind, n_labels, hidden
):
    X, is_outlier = hidden
    before = np.sum(quick().fit_predict(X) == -1)
    labels = np.full(300, np.nan)
    labels[np.flatnonzero(is_outlier == kind)[:n_labels]] = kind
    after = np.sum(quick().fit_predict(X, labels=labels) == -1)
    factor = min(1 + n_labels / 5, 2)
    assert round(before / factor) <= after <= round(before * factor)


@pytest.mark.parametrize("make", [quick, quick_paper])
def test_all_rows_labelled(make, hidden):
    X, is_outlier = hidden
    detector = make().fit(X, labels=is_outlier)
    assert np.isfinite(detector.training_scores_).all()
    assert len(detector.query()) == 0


def test_duplicates_with_contradicting_labels(hidden, labels):
    X, _ = hidden
    X = np.r_[X, X]
    labels = np.r_[labels, 1 - labels]
    detector = quick().fit(X, labels=labels)
    scores = detector.training_scores_
    assert np.array_equal(scores[:300], scores[300:])


def test_missing_cells(hidden, labels):
    X = hidden[0].copy()
    X[::7, 2] = np.nan
    detector = quick().fit(X, labels=labels)
    assert np.array_equal(detector.score_samples(X), detector.training_scores_)


# What a fitted detector can do -----------------------------------------------


def test_new_rows_are_scored_like_training_rows(hidden, learned):
    X, _ = hidden
    scores = learned.score_samples(X)
    assert np.array_equal(scores, learned.training_scores_)
    alone = [learned.score_samples(X[i : i + 1]).item() for i in range(0, 300, 50)]
    assert np.array_equal(alone, scores[::50])
    decision = learned.decision_function(X)
    assert np.array_equal(learned.predict(X), np.where(decision < 0, -1, 1))
    far = np.full((1, 5), 1e300)
    assert np.isfinite(learned.score_samples(far)).all()


def test_fit_predict_takes_labels(hidden, labels, learned):
    predicted = quick().fit_predict(hidden[0], labels=labels)
    assert np.array_equal(predicted, learned.predict(hidden[0]))


def test_contamination_sets_the_threshold(hidden, learned):
    detector = pickle.loads(pickle.dumps(learned)).set_contamination(0.1)
    assert (detector.predict(hidden[0]) == -1).sum() == 30


def test_the_last_stage_is_the_score(hidden, learned):
    *_, last = learned.staged_score_samples(hidden[0])
    assert np.array_equal(last, learned.score_samples(hidden[0]))


def test_members_agree_with_their_mean_where_there_is_one(hidden, labels):
    detector = quick(n_estimators=1).fit(hidden[0], labels=labels)
    scores, (own,) = detector._score_by_member(hidden[0])
    assert np.array_equal(scores, detector.training_scores_)
    np.testing.assert_allclose(own, scores)


def test_rows_that_are_likely_outliers_are_flagged(hidden, labels, learned):
    X, _ = hidden
    assert learned.offset_ == 0
    known = ~np.isnan(labels)
    assert np.array_equal(learned.predict(X)[known] == -1, labels[known] == 1)
    copy = pickle.loads(pickle.dumps(learned)).set_contamination(0.2)
    assert (copy.predict(X) == -1).sum() == 60
    assert copy.set_contamination("auto").offset_ == 0


def test_a_wrong_answer_does_not_excuse_absurd_rows(hidden):
    X = hidden[0].copy()
    X[[10, 20, 30], [0, 1, 2]] = 1e6
    labels = np.full(300, np.nan)
    labels[[10, 40, 280]] = 0, 0, 1
    detector = quick().fit(X, labels=labels)
    assert detector.predict(X[[10, 20, 30]]).tolist() == [1, -1, -1]


def test_influences_are_what_labels_add_to_the_log_odds(hidden, labels, learned):
    X, _ = hidden
    influences = learned.label_influences(X)
    assert influences.shape == (300, len(learned.label_rows_))
    by_loss = -learned.training_scores_ - influences.sum(axis=1)
    order = quick().fit(X).training_scores_.argsort()
    assert np.all(np.diff(by_loss[order]) <= 1e-9)
    speaks_for = influences[0] > 0
    assert np.array_equal(speaks_for, labels[learned.label_rows_] == 1)


@pytest.mark.parametrize("contamination", ["auto", 0.1])
@pytest.mark.parametrize("kinds", [(0,), (0, 1)])
def test_the_label_named_is_one_that_changed_the_verdict(
    contamination, kinds, hidden, labels
):
    X, _ = hidden
    known = np.where(np.isin(labels, kinds), labels, np.nan)
    before = quick(contamination=contamination).fit(X)
    after = quick(contamination=contamination).fit(X, labels=known)
    texts = deciding_labels(after, X, -after.training_scores_, str)
    changed = before.predict(X) != after.predict(X)
    is_named = np.array([bool(text) for text in texts])
    assert np.array_equal(is_named, changed & np.isin(after.predict(X) == -1, kinds))
    for row in np.flatnonzero(is_named):
        kind = "an outlier" if after.predict(X[[row]]) == -1 else "an inlier"
        like, said = texts[row].removeprefix("like ").split(", ")
        assert said == f"labelled {kind}"
        assert known[int(like)] == (kind == "an outlier")


def test_without_labels_there_are_no_influences(hidden):
    assert quick().fit(hidden[0]).label_influences(hidden[0]).shape == (300, 0)


def test_contributions_are_those_of_the_networks(hidden, learned):
    expected = quick().fit(hidden[0]).explain(hidden[0])
    assert np.array_equal(learned.explain(hidden[0]), expected)


def test_pickle_and_skops_keep_scores_and_questions(hidden, learned, tmp_path):
    skops.io.dump(learned, tmp_path / "detector.skops")
    unknown = skops.io.get_untrusted_types(file=tmp_path / "detector.skops")
    assert all(name.startswith("skim.") for name in unknown)
    for copy in (
        pickle.loads(pickle.dumps(learned)),
        skops.io.load(tmp_path / "detector.skops", trusted=unknown),
    ):
        assert np.array_equal(copy.score_samples(hidden[0]), learned.training_scores_)
        assert np.array_equal(copy.query(7), learned.query(7))


def test_labels_are_routed_through_a_pipeline(hidden, labels):
    X, _ = hidden
    with sklearn.config_context(enable_metadata_routing=True):
        detector = quick().set_fit_request(labels=True)
        pipeline = make_pipeline(StandardScaler(), detector).fit(X, labels=labels)
    scaled = StandardScaler().fit_transform(X)
    expected = quick().fit(scaled, labels=labels).training_scores_
    assert np.array_equal(pipeline.score_samples(X), expected)


def test_partial_fit_forgets_the_labels(hidden, labels):
    detector = quick().fit(hidden[0], labels=labels).partial_fit(hidden[0])
    expected = ALTBIDetector(**QUICK).fit(hidden[0]).partial_fit(hidden[0])
    assert detector.labels_ is None
    assert np.array_equal(detector.training_scores_, expected.training_scores_)
    with pytest.raises(ValueError, match="query needs fit"):
        detector.query()


def test_clone_forgets_the_labels(learned):
    copy = clone(learned)
    assert copy.get_params() == learned.get_params()
    assert not hasattr(copy, "labels_")


# Going on --------------------------------------------------------------------


@pytest.mark.parametrize("make", [quick, quick_paper])
def test_labels_in_several_rounds_are_as_good_as_at_once(make, hidden, labels):
    X, _ = hidden
    detector = make(warm_start=True).fit(X)
    for n_known in (100, 200, 300):
        so_far = np.where(np.arange(300) < n_known, labels, np.nan)
        detector.fit(X, labels=so_far)
    once = make().fit(X, labels=labels)
    assert np.array_equal(detector.training_scores_, once.training_scores_)
    assert np.array_equal(detector.query(10), once.query(10))
    assert len(detector.history_["epoch"]) == len(once.history_["epoch"])


@pytest.mark.parametrize("make", [quick, quick_paper])
def test_more_epochs_with_labels_are_as_good_as_one_long_run(make, hidden, labels):
    X, _ = hidden
    detector = make(warm_start=True).fit(X, labels=labels)
    detector.set_params(epochs=20).fit(X, labels=labels)
    once = make(epochs=20).fit(X, labels=labels)
    assert np.array_equal(detector.training_scores_, once.training_scores_)


def test_new_labels_train_no_networks(hidden, labels, monkeypatch):
    detector = quick(warm_start=True).fit(hidden[0])
    monkeypatch.setattr(detector, "_train", None)
    detector.fit(hidden[0], labels=labels)
    assert set(np.flatnonzero(~np.isnan(labels))) <= set(detector.label_rows_)


@pytest.mark.parametrize("make", [quick, quick_paper])
def test_bad_data_do_not_end_a_run_that_can_be_resumed(make, hidden, labels):
    X, _ = hidden
    detector = make(warm_start=True).fit(X, labels=labels)
    before = detector.score_samples(X)
    with pytest.raises(ValueError, match="features"):
        detector.fit(X[:, :3], labels=1 - labels)
    assert np.array_equal(detector.score_samples(X), before)
    assert np.array_equal(detector.labels_, labels, equal_nan=True)
    detector.fit(X, labels=labels)
    assert np.array_equal(detector.score_samples(X), before)


def test_a_warm_up_that_leaves_no_room_is_refused(hidden):
    with pytest.raises(ValueError, match="less than epochs=5"):
        quick_paper(epochs=5, warm_up=5).fit(hidden[0])
    with pytest.raises(ValueError, match="needs stopping=None"):
        quick(warm_up=5).fit(hidden[0])


def test_an_interrupted_fit_of_labels_leaves_the_previous_one(hidden, labels):
    X, _ = hidden
    detector = quick(warm_start=True).fit(X, labels=labels)
    before = detector.score_samples(X)

    def interrupted(rows):
        raise KeyboardInterrupt

    detector._learn_labels = interrupted
    with pytest.raises(KeyboardInterrupt):
        detector.fit(X, labels=1 - labels)
    del detector._learn_labels
    assert np.array_equal(detector.labels_, labels, equal_nan=True)
    assert np.array_equal(detector.score_samples(X), before)
    assert np.array_equal(detector.training_scores_, before)


@pytest.mark.parametrize("change", [{"n_snapshots": 1}, {"burn_in": 0.8}])
def test_new_labels_with_other_parameters_are_as_good_as_one_fit(
    change, hidden, labels
):
    X, _ = hidden
    detector = quick(warm_start=True).fit(X)
    with pytest.warns(UserWarning, match="nothing to train"):
        detector.set_params(**change).fit(X, labels=labels)
    once = quick(**change).fit(X, labels=labels)
    assert np.array_equal(detector.training_scores_, once.training_scores_)


def test_an_oracle_may_be_asked_after_a_fit(hidden, monkeypatch):
    X, is_outlier = hidden
    detector = quick(warm_start=True).fit(X)
    monkeypatch.setattr(detector, "_train", None)
    detector.fit_oracle(X, lambda rows: is_outlier[rows])
    again = quick().fit_oracle(X, lambda rows: is_outlier[rows])
    assert np.array_equal(detector.training_scores_, again.training_scores_)


# Asking ----------------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_questions_are_about_unlabelled_rows(strategy, hidden, labels, learned):
    rows = learned.query(400, strategy=strategy)
    assert sorted(rows) == np.flatnonzero(np.isnan(labels)).tolist()
    assert np.array_equal(learned.query(9, strategy=strategy), rows[:9])
    some = np.arange(40, 60)
    asked = learned.query(8, strategy=strategy, among=some)
    assert len(asked) == 8
    assert set(asked) <= set(some)
    mask = np.isin(np.arange(300), some)
    assert np.array_equal(learned.query(8, strategy=strategy, among=mask), asked)


def test_strategies_ask_what_they_say(hidden):
    detector = quick().fit(hidden[0])
    ranks = detector.training_scores_.argsort().argsort()
    assert ranks[detector.query(3, strategy="strangest")].tolist() == [0, 1, 2]
    assert ranks[detector.query(3, strategy="extremes")].tolist() == [0, 299, 1]
    at_random = detector.query(40, strategy="random")
    assert 100 < ranks[at_random].mean() < 200


def test_mixture_asks_where_the_two_gaussians_meet():
    rng = np.random.default_rng(0)
    detector = quick().fit(rng.normal(size=(300, 2)))
    detector.training_scores_ = -np.r_[rng.normal(0, 1, 200), rng.normal(4, 1, 100)]
    losses = -detector.training_scores_[detector.query(5, strategy="mixture")]
    assert np.all((losses > 1) & (losses < 3))


def test_wrong_questions_are_refused(learned):
    with pytest.raises(ValueError, match="strategy must be one of"):
        learned.query(strategy="best")
    with pytest.raises(ValueError, match="among must be row numbers below 300"):
        learned.query(among=[300])


@pytest.mark.parametrize("make", [quick, quick_paper])
def test_an_oracle_is_asked_in_rounds(make, hidden):
    X, is_outlier = hidden
    asked = []

    def oracle(rows):
        asked.append(rows)
        return is_outlier[rows]

    even = np.arange(0, 300, 2)
    detector = make().fit_oracle(X, oracle, n_rounds=3, among=even)
    assert [len(rows) for rows in asked] == [6, 6, 6]
    rows = np.concatenate(asked)
    assert len(set(rows)) == 18
    assert set(rows) <= set(even)
    assert np.array_equal(np.flatnonzero(~np.isnan(detector.labels_)), np.sort(rows))
    assert np.array_equal(detector.labels_[rows], is_outlier[rows])


def test_an_oracle_that_is_asked_at_the_end_is_as_good_as_labels(hidden):
    X, is_outlier = hidden
    detector = quick().fit_oracle(X, lambda rows: is_outlier[rows], n_per_round=10)
    again = quick().fit(X, labels=detector.labels_)
    assert np.array_equal(detector.training_scores_, again.training_scores_)


def test_rows_without_an_answer_are_not_asked_about_again(hidden):
    asked = []

    def oracle(rows):
        asked.extend(rows)
        return [None] * len(rows)

    detector = quick().fit_oracle(hidden[0], oracle)
    assert len(set(asked)) == 30
    assert detector.labels_ is None


def test_a_warm_start_may_learn_labels_of_other_rows(table):
    labels = np.full(len(table), np.nan)
    labels[:6], labels[-6:] = 0, 1
    warm = IMBoostDetector(warm_start=True, epochs=6, random_state=0).fit(table)
    order = np.random.default_rng(0).permutation(len(table))[: len(table) // 2]
    warm.fit(table[order], labels=labels[order])
    assert warm.training_scores_.shape == (len(order),)
    assert np.array_equal(warm.score_samples(table[order]), warm.training_scores_)


@pytest.mark.parametrize("n", [-1, 2.5])
def test_query_refuses_a_number_that_is_none(table, n):
    detector = IMBoostDetector(epochs=2, random_state=0).fit(table)
    with pytest.raises((TypeError, ValueError), match="n"):
        detector.query(n)
    assert len(detector.query(3, among=[])) == 0


@pytest.mark.parametrize("counts", [{"n_rounds": 0}, {"n_per_round": -1}])
def test_an_oracle_is_asked_at_least_once(table, counts):
    with pytest.raises(ValueError, match=next(iter(counts))):
        IMBoostDetector(epochs=2).fit_oracle(table, np.zeros_like, **counts)


def test_labels_without_use_are_refused(table):
    labels = np.full(len(table), np.nan)
    labels[:2] = 0, 1
    with pytest.raises(ValueError, match="no use for labels"):
        IMBoostDetector(combine=False, epochs=2).fit(table, labels=labels)
    IMBoostDetector(combine=False, epochs=2).fit(table)
