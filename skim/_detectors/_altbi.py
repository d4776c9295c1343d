"""ALTBI: truncated losses, growing batches, an ensemble over epochs."""

import numpy as np
from numpy.typing import NDArray

from skim._detectors._base import BaseDetector
from skim._detectors._docs import with_shared_docs
from skim._model._networks import VAEConfig
from skim._training._schedules import ALTBISchedule


@with_shared_docs
class ALTBIDetector(BaseDetector):
    """Outlier detector that memorises the inliers under a truncated loss.

    Several small variational autoencoders are trained side by side for a limited
    number of updates. After a few epochs, only the rows with the smaller losses
    of each batch train the networks, and the batches grow. Rows that are still
    poorly explained are outliers: a row's score is its negated loss, averaged over
    the members and over snapshots of the training run [1]_.

    The number of updates does not depend on the number of rows, so large tables take
    hardly longer to fit than small ones.

    Read more in the :doc:`user guide </user_guide>`.

    Parameters
    ----------
    n_estimators : int, default=5
        Number of networks, trained side by side.

    epochs : int, default=100
        Number of epochs or, if `stopping` chooses when to stop, the largest number.
        How long to train is the choice that matters most.

    network : "vae" or VAEConfig, default="vae"
        The network. :class:`~skim.networks.VAEConfig` has settings such as the
        scaling of the features.

    <altbi_parameters>

    <parameters>

    Attributes
    ----------
    <altbi_attributes>

    <attributes>

    See Also
    --------
    ODIMDetector : Stops each member where its losses separate best.
    IMAutoencoderDetector : A plain one-hidden-layer autoencoder.
    sklearn.ensemble.IsolationForest : Detector based on random trees.

    Notes
    -----
    :meth:`paper` gives the settings of the original method: one member, 50 latent
    codes, min-max scaled features, and the last 19 of 90 epochs, with normalized
    losses. When you score with labels, mind that inliers are +1 here: scikit-learn's
    "roc_auc" with outliers labelled 1 gives one minus the area.

    References
    ----------
    .. [1] S. Cho, J. Hwang, K.-Y. Bak and D. Kim, "ALTBI: Constructing Improved Outlier
           Detection Models via Optimization of Inlier-Memorization Effect", AAAI
           Conference on Artificial Intelligence, 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from skim import ALTBIDetector
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(size=(200, 3)), [[6.0, -6.0, 6.0]]]
    >>> detector = ALTBIDetector(contamination=0.005, random_state=0).fit(X)
    >>> detector.predict([[0.0, 0.0, 0.0], [6.0, -6.0, 6.0]])
    array([ 1, -1])
    """

    def __init__(
        self,
        *,
        n_estimators=5,
        epochs=100,
        network="vae",
        schedule="altbi",
        stopping="entropy",
        ema_steps=0,
        contamination="auto",
        random_state=None,
        n_jobs=None,
        device="cpu",
        store_snapshots=False,
        verbose=0,
    ):
        self.n_estimators = n_estimators
        self.epochs = epochs
        self.network = network
        self.schedule = schedule
        self.stopping = stopping
        self.ema_steps = ema_steps
        self.contamination = contamination
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.store_snapshots = store_snapshots
        self.verbose = verbose

    @staticmethod
    def _published():
        return {
            "n_estimators": 1,
            "epochs": 90,
            "network": published_vae(n_importance=50),
            "schedule": ALTBISchedule(
                learning_rate=1e-3,
                max_batch_size=20_000,
                truncate_after=10,
                burn_in=71 / 90,
                n_snapshots=19,
                normalize_losses=True,
            ),
            "stopping": None,
        }

    @property
    def snapshot_epochs_(self) -> NDArray[np.int_]:
        """The epochs of the snapshots; the latest of the members' if they differ."""
        return self.history_["epoch"][self.model_.snapshots.entries].max(axis=1)

    @property
    def best_epoch_(self) -> int:
        """The best epoch; the latest of `best_epochs_` if they differ."""
        return int(self.best_epochs_.max())


def published_vae(n_importance):
    """Return the settings of the network in the papers."""
    return VAEConfig(
        n_importance=n_importance, max_width=512, n_components=None, scaling="minmax"
    )
