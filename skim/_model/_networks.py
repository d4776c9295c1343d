"""Which network a detector trains, and how its inputs are scaled."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral

from skim import _nets as nets
from skim._model._components import MAX_COMPONENTS, MIN_FEATURES, ComponentScaler
from skim._model._scaling import InputScaler, RankScaler
from skim._utils import Parameters, hidden_and_latent_widths, parameter

# Loss of a cell per length of its column's tail beyond the tail: about that of half the
# range of a squashed column, under the smallest variance that a network can have.
FAR_LOSS = 50.0


@dataclass(kw_only=True, repr=False)
class NetworkConfig(Parameters):
    """Base class of the settings of networks.

    Warning: this class should not be used directly. Use derived classes instead.
    """

    scaling: str = parameter("squash", choices=("squash", "minmax"))

    def validate(self, n_features):
        """Raise if a parameter is out of its limits."""
        self.check()

    @abstractmethod
    def scaler(self, n_features):
        """Return what scales the features for the network."""

    @abstractmethod
    def shape(self, scaler):
        """Return the shape of the network for the inputs of a fitted scaler."""


@dataclass(kw_only=True, repr=False)
class VAEConfig(NetworkConfig):
    """Settings of the stacked variational autoencoder.

    Parameters
    ----------
    n_importance : int, default=1
        Number of latent codes drawn per row and update. With 1, rows are scored
        at the mean of their code.

    max_width : int, default=128
        Largest width of the networks. Up to this limit, their first block has 32
        units for fewer than 100 features, 128 for fewer than 400, 256 for fewer than
        1500 and 512 beyond; the second block has half and the latent code at most a
        quarter of that, or about the number of inputs if that is less.

    n_components : "auto" or None, default="auto"
        Whether the networks see principal components instead of the features of tables
        of 200 or more features: 128 of them, but at most one for every three rows.
        Components are min-max scaled, without normal scores, whatever `scaling` is,
        and the first block has at most 64 units. None disables this.

    scaling : {"ranks", "squash", "minmax"}, default="ranks"
        How features are scaled. "squash" maps standardised values z to
        ``(tanh(z / 3) + 1) / 2``, and "minmax" the training range to [0, 1]. With
        "ranks", the networks see every feature twice: its squashed values, and the
        normal scores of its ranks in the training data, as ``(tanh(z / 2) + 1) / 2``.
        Unless the features themselves are min-max scaled, a cell far from all others
        of its column adds its distance to the loss, which squashing would hide.

    Examples
    --------
    >>> from skim import ALTBIDetector
    >>> from skim.networks import VAEConfig
    >>> detector = ALTBIDetector(network=VAEConfig(n_importance=10))
    """

    n_importance: int = parameter(1, Integral, 1)
    max_width: int = parameter(128, Integral, 8)
    n_components: str | None = parameter("auto", choices=("auto", None))
    scaling: str = parameter("ranks", choices=("ranks", "squash", "minmax"))

    def scaler(self, n_features):
        if self.n_components == "auto" and n_features >= MIN_FEATURES:
            return ComponentScaler(MAX_COMPONENTS, far_loss=FAR_LOSS)
        if self.scaling == "ranks":
            return RankScaler(far_loss=FAR_LOSS)
        return InputScaler(self.scaling, far_loss=FAR_LOSS)

    def shape(self, scaler):
        max_width, n_inputs = self.max_width, len(scaler.fill_)
        if isinstance(scaler, ComponentScaler):
            max_width = min(max_width, MAX_COMPONENTS // 2)
        # Twice the inputs make the code longer in tables of few features, but not the
        # networks wider in those of many, which would be slow and no more accurate.
        n_features = n_inputs // 2 if isinstance(scaler, RankScaler) else n_inputs
        *hidden, _ = hidden_and_latent_widths(n_features, max_width)
        *_, n_latent = hidden_and_latent_widths(n_inputs, hidden[0])
        return nets.VAEShape(
            n_inputs, hidden, n_latent, self.n_importance, scaler.fill_
        )


@dataclass(kw_only=True, repr=False)
class AutoencoderConfig(NetworkConfig):
    r"""Settings of the autoencoder with one hidden layer, :math:`A \tanh(W x)`.

    Parameters
    ----------
    hidden_units : int, default=8
        Number of hidden units.

    train_decoder : bool, default=True
        Whether :math:`A` is trained along with :math:`W`. The theorem keeps it
        fixed.

    scaling : {"squash", "minmax"}, default="squash"
        How features are scaled. "squash" maps standardised values z to
        ``tanh(z / 3)``, "minmax" the training range to [0, 1]. Both are then divided
        by the square root of the number of features, so that no training row is
        longer than 1. With "squash", a cell far from all others of its column adds
        its distance to the loss, which squashing would hide.
    """

    hidden_units: int = parameter(8, Integral, 1)
    train_decoder: bool = True

    def scaler(self, n_features):
        # Without biases, a row at the origin is always reconstructed, so the origin
        # should be an ordinary row.
        # A far cell costs the squared error of a saturated cell for each tail's length.
        return InputScaler(
            self.scaling, centred=True, factor=n_features**-0.5, far_loss=1 / n_features
        )

    def shape(self, scaler):
        n_inputs, how = len(scaler.fill_), self.train_decoder
        return nets.AutoencoderShape(n_inputs, self.hidden_units, how, scaler.fill_)


@dataclass(kw_only=True, repr=False)
class ModuleConfig(NetworkConfig):
    """A torch module as a detector's network."""

    network: str | Callable

    def validate(self, n_features):
        """Raise if the module cannot be trained."""
        super().validate(n_features)
        self._module_shape(n_features).check()

    def scaler(self, n_features):
        return InputScaler(self.scaling, far_loss=FAR_LOSS)

    def shape(self, scaler):
        return self._module_shape(len(scaler.fill_), scaler.fill_)

    def _module_shape(self, n_inputs, fill=None):
        from skim.networks import BUILT_IN  # which loads torch

        network = self.network
        network = BUILT_IN[network] if isinstance(network, str) else network
        return nets.ModuleShape(network, n_inputs, fill=fill)
