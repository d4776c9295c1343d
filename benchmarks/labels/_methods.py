"""IMBoost, by what it asks, and its rivals."""

import contextlib
import io
import time
from unittest import mock

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from skim import ALTBIDetector, IMBoostDetector

N_TREES = 50  # of every forest
MIN_CLEAN = 50  # rows that networks are trained on alone


class MissingRivalError(ImportError):
    """A rival is not installed."""


def networks_and_forests(exam):
    """Yield the results of everything that starts with the same networks."""
    detector = IMBoostDetector(random_state=exam.seed)
    start = time.process_time()
    detector.fit(exam.X)
    seconds = time.process_time() - start
    losses = -detector.training_scores_
    unlabelled = np.array([], dtype=int), losses, -detector.offset_
    yield from exam.results("ALTBI", lambda size: unlabelled)
    rows = detector._scaled(exam.X).kept()
    asked = {}
    for strategy in ("informative", "random", "strangest"):
        name = "IMBoost" if strategy == "informative" else f"IMBoost ({strategy})"
        found = ask_in_rounds(exam, detector, rows, strategy)
        asked[strategy] = {size: chosen for size, (chosen, *_) in found.items()}
        yield from exam.results(name, found.get)
    start = time.process_time()
    learn(detector, rows, exam.labels(asked["informative"][exam.budgets["5%"]]))
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
        forest = forest_of(exam, X, losses, questions)
        yield from exam.results(name, forest)


def other_strategies(exam):
    """Yield the results of the strategies of the original method."""
    detector = IMBoostDetector(random_state=exam.seed).fit(exam.X)
    rows = detector._scaled(exam.X).kept()
    for strategy in ("mixture", "extremes"):
        found = ask_in_rounds(exam, detector, rows, strategy)
        yield from exam.results(f"IMBoost ({strategy})", found.get)


def known_beforehand(exam):
    """Yield the results with known outliers alone, and with known inliers alone."""
    detector = IMBoostDetector(random_state=exam.seed).fit(exam.X)
    rows = detector._scaled(exam.X).kept()
    losses, threshold = -detector.training_scores_, -detector.offset_
    budgets = exam.budgets | {"all": len(exam.open_rows)}
    unlabelled = np.array([], dtype=int), losses, threshold
    yield from exam.results("ALTBI", lambda size: unlabelled, budgets)
    kinds = exam.is_outlier[exam.at_random]
    outliers, inliers = (exam.at_random[kinds == kind] for kind in (1, 0))

    def learned(known):
        learn(detector, rows, exam.labels(known))
        return known, -detector.training_scores_, -detector.offset_

    def forest(size):
        model = new_forest(exam)
        model.fit(exam.X, np.isin(np.arange(len(exam.X)), outliers[:size]))
        return outliers[:size], model.predict_proba(exam.X)[:, 1], None

    def clean(size):
        known = inliers[:size]
        if len(known) < MIN_CLEAN:
            return known, losses, threshold
        novelty = ALTBIDetector(random_state=exam.seed).fit(exam.X[known])
        return known, -novelty.score_samples(exam.X), -novelty.offset_

    for name, by_budget in (
        ("IMBoost (known outliers)", lambda size: learned(outliers[:size])),
        ("forest (all others as inliers)", forest),
        ("IMBoost (known inliers)", lambda size: learned(inliers[:size])),
        ("ALTBI.fit(known inliers)", clean),
    ):
        yield from exam.results(name, by_budget, budgets)


def ask_in_rounds(exam, detector, rows, strategy):
    """Return the rows asked about, scores and threshold, by number of labels."""
    asked, found = np.array([], dtype=int), {}
    learn(detector, rows, None)
    fixed = {"random": exam.at_random}
    if strategy == "strangest":
        n_open = len(exam.open_rows)
        fixed[strategy] = detector.query(
            n_open, strategy=strategy, among=exam.open_rows
        )
    for size in exam.rounds():
        if strategy in fixed:
            asked = fixed[strategy][:size]
        else:
            n_more = size - len(asked)
            new = detector.query(n_more, strategy=strategy, among=exam.open_rows)
            asked = np.r_[asked, new]
        if strategy not in fixed or size in exam.budgets.values():
            learn(detector, rows, exam.labels(asked))
            found[size] = asked, -detector.training_scores_, -detector.offset_
    return found


def learn(detector, rows, labels):
    """Give a trained detector other labels, as a warm-started fit does."""
    detector.labels_ = labels
    detector._learn_labels(rows)


def losses_without_labels(exam):
    """Return the scores of ALTBI, for those who cannot learn from the answers."""
    return -IMBoostDetector(random_state=exam.seed).fit(exam.X).training_scores_


def forest_of(exam, X, losses, questions):
    """Return results of a forest; without answers of both kinds, those of ALTBI."""

    def by_budget(size):
        rows = questions[size]
        if not exam.has_both(rows):
            return rows, losses, None
        forest = new_forest(exam).fit(X[rows], exam.is_outlier[rows])
        return rows, forest.predict_proba(X)[:, 1], None

    return by_budget


def new_forest(exam):
    """Return a random forest for labels of which few are of outliers."""
    return RandomForestClassifier(
        N_TREES, class_weight="balanced", random_state=exam.seed
    )


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
    try:
        from coniferest.aadforest import AADForest
    except ImportError as error:
        raise MissingRivalError("coniferest") from error
    asked, found = np.array([], dtype=int), {}
    forest = AADForest(n_trees=N_TREES, random_seed=exam.seed, n_jobs=1)
    forest.fit(exam.X)
    for size in exam.rounds():
        scores = forest.score_samples(exam.X)
        is_open = exam.may_ask.copy()
        is_open[asked] = False
        order = np.argsort(scores, kind="stable")
        asked = np.r_[asked, order[is_open[order]][: size - len(asked)]]
        forest = AADForest(n_trees=N_TREES, random_seed=exam.seed, n_jobs=1)
        answers = np.where(exam.is_outlier[asked], -1, 1)
        forest.fit_known(exam.X, exam.X[asked], answers)
        found[size] = asked, -forest.score_samples(exam.X), None
    yield from exam.results("AADForest", found.get)


def xgbod(exam):
    """Yield the results of PyOD's XGBOD on random questions."""
    try:
        import xgboost  # noqa: F401
        from pyod.models.xgbod import XGBOD
    except ImportError as error:
        raise MissingRivalError("pyod, xgboost") from error

    def by_budget(size):
        rows = exam.at_random[:size]
        if not exam.has_both(rows):
            return rows, losses_without_labels(exam), None
        model = XGBOD(random_state=exam.seed, n_jobs=1)
        model.fit(exam.X[rows], exam.is_outlier[rows].astype(int))
        return rows, model.decision_function(exam.X), None

    yield from exam.results("XGBOD", by_budget)


def devnet(exam):
    """Yield the results of PyOD's DevNet on random questions.

    Rows without a label count as inliers. PyOD 3.6 passes the arguments of the loss in
    the wrong order, which is put right here.
    """
    try:
        import torch
        from pyod.models import devnet
    except ImportError as error:
        raise MissingRivalError("pyod") from error
    right = devnet.deviation_loss
    X = exam.X - exam.X.mean(axis=0)
    X = (X / np.maximum(X.std(axis=0), 1e-9)).astype(np.float32)

    def by_budget(size):
        rows = exam.at_random[:size]
        y = np.zeros(len(X), dtype=int)
        y[rows] = exam.is_outlier[rows]
        if not y.any():
            return rows, losses_without_labels(exam), None
        torch.manual_seed(exam.seed)
        loss = mock.patch.object(
            devnet,
            "deviation_loss",
            lambda outputs, labels: right(labels, outputs.flatten()),
        )
        with loss, contextlib.redirect_stdout(io.StringIO()):
            model = devnet.DevNet(random_seed=exam.seed).fit(X, y)
        return rows, model.decision_function(X), None

    yield from exam.results("DevNet", by_budget)


GROUPS = {
    "networks": networks_and_forests,
    "strategies": other_strategies,
    "known": known_beforehand,
    "paper": paper,
    "AADForest": aad_forest,
    "DevNet": devnet,
    "XGBOD": xgbod,
}
