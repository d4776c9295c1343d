import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from skim import ALTBIDetector
from skim._utils import hidden_and_latent_widths
from skim.networks import VAEConfig
from skim.schedules import ALTBISchedule


def test_paper_settings_are_the_published_recipe():
    detector = ALTBIDetector.paper()
    schedule, network = detector.schedule, detector.network
    assert (detector.n_estimators, network.n_importance) == (1, 50)
    assert (network.scaling, network.n_components) == ("minmax", None)
    assert (detector.epochs, schedule.updates_per_epoch) == (90, 5)
    assert schedule.late_epochs(90) == list(range(72, 91))
    assert schedule.normalize_losses
    sizes = [schedule.batch_size_of(epoch) for epoch in range(1, 91)]
    assert sizes == [128] * 10 + [int(128 * 1.03**k) for k in range(80)]
    assert sum(sizes) * 5 == pytest.approx(212_000, rel=0.01)


def test_snapshots_do_not_depend_on_later_epochs(table):
    one, late = ALTBISchedule(n_snapshots=1), ALTBISchedule(burn_in=7 / 12)
    short = ALTBIDetector(epochs=8, schedule=one, random_state=0).fit(table)
    long = ALTBIDetector(epochs=12, schedule=late, random_state=0).fit(table)
    assert (short.best_epoch_, long.snapshot_epochs_[0]) == (8, 8)
    assert np.array_equal(
        long.model_.snapshots.weights[0], short.model_.snapshots.weights[0]
    )


def test_truncation_ignores_the_worst_rows(table, is_outlier):
    def final_loss_of_outliers(keep_quantile):
        schedule = ALTBISchedule(keep_quantile=keep_quantile)
        detector = ALTBIDetector(epochs=40, schedule=schedule, random_state=0)
        return -detector.fit(table).training_scores_[is_outlier].mean()

    assert final_loss_of_outliers(0.9) > final_loss_of_outliers(1.0)


def test_widths_are_the_published_ones_and_can_be_limited(table):
    widths = {3: (32, 16, 2), 6: (32, 16, 4), 99: (32, 16, 8), 100: (128, 64, 32)}
    widths |= {400: (256, 128, 64), 1500: (512, 256, 128)}
    for n_features, expected in widths.items():
        assert hidden_and_latent_widths(n_features, 512) == expected
    assert hidden_and_latent_widths(2000, 64) == (64, 32, 16)
    narrow = ALTBIDetector(epochs=1, network=VAEConfig(max_width=8)).fit(table)
    assert (
        narrow.model_.snapshots.weights.size
        < ALTBIDetector(epochs=1).fit(table).model_.snapshots.weights.size
    )


def test_default_finds_outliers_of_a_real_table(adbench):
    path = adbench / "Classical" / "38_thyroid.npz"
    with np.load(path, allow_pickle=False) as file:
        X, y = file["X"], file["y"]
    detector = ALTBIDetector(random_state=0).fit(X)
    assert roc_auc_score(y, -detector.training_scores_) > 0.93
