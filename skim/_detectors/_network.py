"""The schedule of ALTBI with any network."""

from sklearn.utils._param_validation import StrOptions

from skim._detectors._altbi import ALTBIDetector
from skim._detectors._base import BaseDetector
from skim._detectors._docs import with_shared_docs
from skim._model._networks import ModuleConfig


@with_shared_docs
class NetworkDetector(BaseDetector):
    """Outlier detector that trains any network as ALTBI trains its own.

    The inlier-memorization effect is a property of training, not of one network. Here
    the network is a torch module that gives every row a loss: a built-in one, or one of
    your own. An ensemble of them is trained side by side, with the truncated loss,
    the growing batches, the early stopping and the snapshots of
    :class:`ALTBIDetector`. A row's score is its negated loss, averaged over the members
    and the snapshots.

    Read more in :doc:`the page on networks </networks>`.

    Parameters
    ----------
    network : {"flow", "autoencoder"} or callable, default="flow"
        A network of :mod:`skim.networks` by its name, or a callable that makes a
        :class:`torch.nn.Module` for a number of features, such as the class itself. Its
        `forward` takes rows, a tensor of shape (n_rows, n_features) with values in
        [0, 1], and returns one loss per row, best on the scale of a negative
        log-likelihood. See the notes.

    n_estimators : int, default=5
        Number of networks, trained side by side.

    epochs : int, default=100
        Number of epochs or, if `stopping` chooses when to stop, the largest number.
        How long to train is the choice that matters most.

    scaling : {"squash", "minmax"}, default="squash"
        How features are scaled. "squash" maps standardised values z to
        ``(tanh(z / 3) + 1) / 2``, "minmax" the training range to [0, 1]. With
        "squash", a cell far from all others of its column adds its distance to the
        loss, which squashing would hide.

    <altbi_parameters>

    <parameters>

    Attributes
    ----------
    <altbi_attributes>

    <attributes>

    See Also
    --------
    ALTBIDetector : The same with a variational autoencoder; much faster.
    skim.networks : The built-in networks.

    Notes
    -----
    The members are stacked by :func:`torch.func.vmap`, which forbids Python code that
    depends on values, such as ``if loss > 1``. Buffers are kept for each member,
    so batch normalization works. In evaluation mode, the loss of a row must be
    deterministic and independent of other rows: random numbers are for
    ``self.training``, or drawn once in the constructor and registered as a buffer.

    A module may have a method `feature_losses` that returns what each cell adds to
    the loss, a tensor of shape (n_rows, n_features). :meth:`explain` then returns these
    terms, and missing cells are left out of the loss. Without it, missing cells are
    replaced by ordinary ones, and :meth:`explain` returns integrated gradients [1]_,
    which add up to the difference between the loss of a row and that of a row of
    ordinary cells.

    The detector can be pickled if the callable can, as those defined at the top level
    of a module can.

    References
    ----------
    .. [1] M. Sundararajan, A. Taly and Q. Yan, "Axiomatic Attribution for Deep
           Networks", International Conference on Machine Learning, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from skim import NetworkDetector
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(size=(500, 3)), [[6.0, -6.0, 6.0]]]
    >>> detector = NetworkDetector("flow", contamination=0.005, random_state=0).fit(X)
    >>> detector.predict([[0.0, 0.0, 0.0], [6.0, -6.0, 6.0]])
    array([ 1, -1])

    """

    _parameter_constraints: dict = {
        **BaseDetector._parameter_constraints,
        "network": [StrOptions({"flow", "autoencoder"}), callable],
        "scaling": [StrOptions({"squash", "minmax"})],
    }

    _networks: dict = {}  # names are those of modules

    def __init__(
        self,
        network="flow",
        *,
        n_estimators=5,
        epochs=100,
        scaling="squash",
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
        self.network = network
        self.n_estimators = n_estimators
        self.epochs = epochs
        self.scaling = scaling
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
        settings = ALTBIDetector.paper().get_params(deep=False)
        return settings | {"network": "flow", "scaling": "minmax"}

    def _network(self):
        return ModuleConfig(network=self.network, scaling=self.scaling)

    snapshot_epochs_ = ALTBIDetector.snapshot_epochs_
    best_epoch_ = ALTBIDetector.best_epoch_
