"""IMBoost, by what it asks, and its rivals."""

import time

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from skim import IMBoostDetector

N_TREES = 50  # of every forest


def networks_and_forests(exam):
    """Yield the results of everything that starts with the same networks."""
    detector = IMBoostDetector(random_state=exam.seed)
    start = time.process_time()
    detector.fit(exam.X)
    seconds = time.process_time() - start
    losses = -detector.training_scores_
    unlabelled = np.array([], dtype=int), losses, -detector.offset_
    yield from exam.results("ALTBI", lambda size: unlabelled)
    asked = {}
    for strategy in ("informative", "random"):
        name = "IMBoost" if strategy == "informative" else f"IMBoost ({strategy})"
        found = ask_in_rounds(exam, detector, strategy)
        asked[strategy] = {size: chosen for size, (chosen, *_) in found.items()}
        yield from exam.results(name, found.get)
    start = time.process_time()
    detector.fit(exam.X, labels=exam.labels(asked["informative"][exam.budgets["5%"]]))
    more = time.process_time() - start
    times = seconds, seconds + more, np.nan, np.nan, 1 + more / seconds
    yield "time", "5%", exam.budgets["5%"], *times
    with_score = np.column_stack([exam.X, losses])
    own, random = asked["informative"], asked["random"]
    for name, X, questions in (
        ("forest", exam.X, random),
        ("forest + score", with_score, random),
        ("forest + score (IMBoost's questions)", with_score, own),
    ):
        yield from exam.results(name, forest_of(exam, X, losses, questions))


def ask_in_rounds(exam, detector, strategy):
    """Return the rows asked about, scores and threshold, by number of labels.

    The detector is fitted to the same data again, so that its networks are kept.
    """
    asked, found = np.array([], dtype=int), {}
    detector.fit(exam.X)
    for size in exam.rounds():
        if strategy == "random":
            asked = exam.at_random[:size]
        else:
            more = detector.query(size - len(asked), among=exam.open_rows)
            asked = np.r_[asked, more]
        detector.fit(exam.X, labels=exam.labels(asked))
        found[size] = asked, -detector.training_scores_, -detector.offset_
    return found


def forest_of(exam, X, losses, questions):
    """Return results of a forest; without answers of both kinds, those of ALTBI."""

    def by_budget(size):
        rows = questions[size]
        if not exam.has_both(rows):
            return rows, losses, None
        forest = RandomForestClassifier(
            N_TREES, class_weight="balanced", random_state=exam.seed
        ).fit(X[rows], exam.is_outlier[rows])
        return rows, forest.predict_proba(X)[:, 1], None

    return by_budget


def paper(exam):
    """Yield the results of the original method."""

    def by_budget(size):
        detector = IMBoostDetector.paper(random_state=exam.seed)
        detector.fit_oracle(
            exam.X,
            lambda rows: exam.is_outlier[rows],
            n_rounds=min(5, size),
            n_per_round=max(size // 5, 1),
            among=exam.open_rows,
        )
        rows = np.flatnonzero(~np.isnan(detector.labels_))
        return rows, -detector.training_scores_, -detector.offset_

    yield from exam.results("IMBoost.paper()", by_budget)


def aad_forest(exam):
    """Yield the results of coniferest's AADForest, which asks about the strangest."""
    from coniferest.aadforest import AADForest

    asked, found = np.array([], dtype=int), {}
    forest = AADForest(n_trees=N_TREES, random_seed=exam.seed, n_jobs=1)
    forest.fit(exam.X)
    for size in exam.rounds():
        is_open = exam.may_ask.copy()
        is_open[asked] = False
        order = np.argsort(forest.score_samples(exam.X), kind="stable")
        asked = np.r_[asked, order[is_open[order]][: size - len(asked)]]
        forest = AADForest(n_trees=N_TREES, random_seed=exam.seed, n_jobs=1)
        answers = np.where(exam.is_outlier[asked], -1, 1)
        forest.fit_known(exam.X, exam.X[asked], answers)
        found[size] = asked, -forest.score_samples(exam.X), None
    yield from exam.results("AADForest", found.get)


def xgbod(exam):
    """Yield the results of PyOD's XGBOD on random questions."""
    import xgboost  # noqa: F401
    from pyod.models.xgbod import XGBOD

    def by_budget(size):
        rows = exam.at_random[:size]
        if not exam.has_both(rows):
            detector = IMBoostDetector(random_state=exam.seed).fit(exam.X)
            return rows, -detector.training_scores_, None
        model = XGBOD(random_state=exam.seed, n_jobs=1)
        model.fit(exam.X[rows], exam.is_outlier[rows].astype(int))
        return rows, model.decision_function(exam.X), None

    yield from exam.results("XGBOD", by_budget)


GROUPS = {
    "networks": networks_and_forests,
    "paper": paper,
    "AADForest": aad_forest,
    "XGBOD": xgbod,
}
