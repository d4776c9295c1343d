"""A one-hidden-layer autoencoder, stopped where its losses separate best."""

from typing import Any, Self

from skim._detectors._base import BaseDetector
from skim._detectors._docs import with_shared_docs
from skim._model._networks import AutoencoderConfig
from skim._training._schedules import BestEpochSchedule


@with_shared_docs
class IMAutoencoderDetector(BaseDetector):
    r"""Outlier detector built on a one-hidden-layer autoencoder.

    The network is :math:`F(x) = A\,\phi(W x)`, without biases, and a row's loss is
    its squared reconstruction error :math:`\|x - F(x)\|^2`. Early in training the
    errors of inliers shrink before those of outliers do. Each member is kept at
    the epoch where a mixture of two Gaussians separates the errors best, and
    a row's score is its negated error, averaged over the members. This is the
    network for which the inlier-memorization effect has been proved [1]_.

    Read more in the :doc:`user guide </user_guide>`.

    Parameters
    ----------
    n_estimators : int, default=10
        Number of networks, trained side by side.

    epochs : int, default=100
        Largest number of epochs.

    network : "autoencoder" or AutoencoderConfig, default="autoencoder"
        The network; :class:`~skim.networks.AutoencoderConfig` has settings such as the
        number of hidden units and the scaling of the features.

    schedule : "best_epoch" or BestEpochSchedule, default="best_epoch"
        How the networks are trained; :class:`~skim.schedules.BestEpochSchedule` has
        settings such as the learning rate and the batch size.

    stopping : {"separation", "entropy", "cohesion"} or None, default="separation"
        Early-stopping criterion. Each member is kept at the epoch at which a sample of
        rows is best by this criterion; None means the last epoch. See
        :doc:`the page on when to stop </choosing_epochs>`.

    <parameters>

    Attributes
    ----------
    <attributes>

    See Also
    --------
    ALTBIDetector : Usually the more accurate choice.
    ODIMDetector : The same stopping rule on a variational autoencoder.

    Notes
    -----
    :meth:`paper` gives the network of the paper's simulation study, :meth:`theorem`
    the setting of its theorem: full-batch gradient descent with a fixed decoder.

    References
    ----------
    .. [1] K. Kim and D. Kim, "What Drives the Inlier-Memorization Effect? A Theory
           of Outlier Detection via Early Training Dynamics", 2026.

    Examples
    --------
    >>> import numpy as np
    >>> from skim import IMAutoencoderDetector
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(size=(200, 3)), [[6.0, -6.0, 6.0]]]
    >>> detector = IMAutoencoderDetector(contamination=0.005, random_state=0).fit(X)
    >>> detector.predict([[0.0, 0.0, 0.0], [6.0, -6.0, 6.0]])
    array([ 1, -1])
    """

    def __init__(
        self,
        *,
        n_estimators=10,
        epochs=100,
        network="autoencoder",
        schedule="best_epoch",
        stopping="separation",
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
            "epochs": 1000,
            "network": AutoencoderConfig(hidden_units=32, scaling="minmax"),
            "schedule": BestEpochSchedule(learning_rate=2e-4, updates_per_epoch=None),
        }

    @classmethod
    def theorem(cls, **params: Any) -> Self:
        """Make a detector in the setting of the theorem.

        Gradient descent on all rows at once, with the decoder fixed. The loss is
        summed over the rows, so a good learning rate is about one over their
        number; the default is for about a thousand rows. If `best_epochs_` is 1 or
        the losses in `history_` grow, it is too large.

        Parameters
        ----------
        **params : dict
            Parameters to override.

        Returns
        -------
        detector : IMAutoencoderDetector
        """
        settings = {
            "n_estimators": 1,
            "epochs": 1000,
            "network": AutoencoderConfig(
                hidden_units=32, train_decoder=False, scaling="minmax"
            ),
            "schedule": BestEpochSchedule(
                updates_per_epoch=1, batch_size=None, solver="gd"
            ),
        }
        return cls(**(settings | params))
