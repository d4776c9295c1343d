"""ODIM: members stopped where their losses separate best."""

from skim._detectors._altbi import published_vae
from skim._detectors._base import BaseDetector
from skim._detectors._docs import with_shared_docs
from skim._training._schedules import ODIMSchedule


@with_shared_docs
class ODIMDetector(BaseDetector):
    """Outlier detector that stops training where the losses separate best.

    Several small variational autoencoders are trained side by side. Every few
    updates, a mixture of two Gaussians is fitted to the losses of the current
    batch; the distance between its components tells, without labels, how well
    inliers and outliers are separated. Each member is kept at its best update,
    and a row's score is its negated loss, averaged over the members [1]_.

    Read more in the :doc:`user guide </user_guide>`.

    Parameters
    ----------
    n_estimators : int, default=10
        Number of networks, trained side by side.

    epochs : int, default=1000
        Largest number of epochs.

    network : "vae" or VAEConfig, default="vae"
        The network; :class:`~skim.networks.VAEConfig` has settings such as the scaling
        of the features.

    schedule : "odim" or ODIMSchedule, default="odim"
        How the networks are trained; :class:`~skim.schedules.ODIMSchedule` has the
        learning rate, the batch size and the patience.

    stopping : {"separation", "entropy", "cohesion"} or None, default="separation"
        Early-stopping criterion. Each member is kept at the check that is best by this
        criterion, on the latest batch for "separation", and on a sample of rows
        otherwise. None means the last check. See
        :doc:`the page on when to stop </choosing_epochs>`.

    <parameters>

    Attributes
    ----------
    <attributes>

    See Also
    --------
    ALTBIDetector : Trains under a truncated loss; usually more accurate.
    IMAutoencoderDetector : The same stopping rule on a plain autoencoder.

    Notes
    -----
    :meth:`paper` gives the settings of the original method: ten members, 50 latent
    codes, min-max scaled features and a patience of 100 updates. The original sums
    the members' losses where this class averages them, which gives the same ranking.

    References
    ----------
    .. [1] D. Kim, J. Hwang, J. Lee, K. Kim and Y. Kim, "ODIM: Outlier Detection via
           Likelihood of Under-fitted Generative Models", International Conference
           on Machine Learning, 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from skim import ODIMDetector
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(size=(200, 3)), [[6.0, -6.0, 6.0]]]
    >>> detector = ODIMDetector(contamination=0.005, random_state=0).fit(X)
    >>> detector.predict([[0.0, 0.0, 0.0], [6.0, -6.0, 6.0]])
    array([ 1, -1])
    """

    def __init__(
        self,
        *,
        n_estimators=10,
        epochs=1000,
        network="vae",
        schedule="odim",
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
            "network": published_vae(n_importance=50),
            "schedule": ODIMSchedule(patience_updates=100),
        }
