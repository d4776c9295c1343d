"""Which network a detector trains, and how its inputs are scaled."""

import pickle
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real

from skim import _nets as nets
from skim._model._components import MAX_COMPONENTS, MIN_FEATURES, ComponentScaler
from skim._model._scaling import InputScaler, TwoViewScaler
from skim._utils import Parameters, hidden_and_latent_widths

# Loss of a cell per length of its column's tail beyond the tail: about that of half the
# range of a squashed column, under the smallest variance that a network can have.
FAR_LOSS = 50.0

ACTIVATIONS = ("tanh", "relu", "sigmoid", "identity")
SCALINGS = ("squash", "minmax")


@dataclass(kw_only=True, repr=False)
class NetworkConfig(Parameters):
    """Base class of the settings of networks.

    Warning: this class should not be used directly. Use derived classes instead.
    """

    def views(self, scaler, n_estimators):
        """Return how many members see each view of the inputs of a fitted scaler."""
        return (n_estimators,)


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
        1500 and 512 beyond; the second block has half and the latent code a
        quarter of that.

    n_components : int, "auto" or None, default="auto"
        Largest number of principal components that the networks see instead of the
        features; there is at most one for every three rows. "auto" means 128 for
        tables of 200 or more features, and None for narrower ones; None disables the
        reduction. Components are min-max scaled, whatever `scaling` is.

    scaling : {"squash", "minmax"}, default="squash"
        How features are scaled. "squash" maps standardised values z to
        ``(tanh(z / 3) + 1) / 2``, "minmax" the training range to [0, 1].

    far_loss : float, default=50.0
        With "squash", a cell far from all others of its column adds its distance, in
        reaches of the column's tail, times this to the loss; squashing would hide it.

    n_normal : int, default=0
        Number of additional members that see the features as normal scores, the
        quantiles of the normal distribution that correspond to their ranks, instead of
        their values. Their losses count a third as much as those of the others, on a
        common scale. Not used for components.

    Examples
    --------
    >>> from skim import ALTBIDetector
    >>> from skim.networks import VAEConfig
    >>> detector = ALTBIDetector(network=VAEConfig(n_importance=10))
    """

    n_importance: int = 1
    max_width: int = 128
    n_components: int | str | None = "auto"
    scaling: str = "squash"
    far_loss: float = FAR_LOSS
    n_normal: int = 0

    def validate(self, n_features):
        """Raise if a parameter is out of its limits."""
        self.check("n_importance", Integral, 1)
        self.check("far_loss", Real, 0)
        self.check("n_normal", Integral, 0)
        if self.n_normal and self.scaling != "squash":
            raise ValueError(f"n_normal={self.n_normal} needs scaling='squash'.")
        self.check("max_width", Integral, 8)
        if self.n_components not in ("auto", None):
            self.check("n_components", Integral, 1)
        check_choice("scaling", self.scaling, SCALINGS)

    def scaler(self, n_features):
        """Return what scales the features for the network."""
        n_components = self.n_components
        if n_components == "auto":
            n_components = MAX_COMPONENTS if n_features >= MIN_FEATURES else None
        if n_components is None and self.n_normal:
            return TwoViewScaler(far_loss=self.far_loss)
        if n_components is None:
            return InputScaler(self.scaling, far_loss=self.far_loss)
        return ComponentScaler(n_components, far_loss=FAR_LOSS)

    def views(self, scaler, n_estimators):
        """Return how many members see each view of a fitted scaler."""
        if isinstance(scaler, TwoViewScaler):
            return n_estimators, self.n_normal
        return super().views(scaler, n_estimators)

    def shape(self, scaler, views):
        """Return the shape of the network for the inputs of a fitted scaler."""
        max_width, n_inputs = self.max_width, len(scaler.fill_) // len(views)
        if isinstance(scaler, ComponentScaler):
            max_width = min(max_width, MAX_COMPONENTS // 2)
        *hidden, n_latent = hidden_and_latent_widths(n_inputs, max_width)
        return nets.VAEShape(
            n_inputs,
            hidden,
            n_latent,
            self.n_importance,
            fill=scaler.fill_[:n_inputs],
            views=views if len(views) > 1 else (),
        )


@dataclass(kw_only=True, repr=False)
class AutoencoderConfig(NetworkConfig):
    r"""Settings of the autoencoder with one hidden layer, :math:`A\,\phi(W x)`.

    Parameters
    ----------
    hidden_units : int, default=8
        Number of hidden units.

    activation : {"tanh", "relu", "sigmoid", "identity"}, default="tanh"
        The function :math:`\phi`.

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

    hidden_units: int = 8
    activation: str = "tanh"
    train_decoder: bool = True
    scaling: str = "squash"

    def validate(self, n_features):
        """Raise if a parameter is out of its limits."""
        self.check("hidden_units", Integral, 1)
        check_choice("activation", self.activation, ACTIVATIONS)
        check_choice("scaling", self.scaling, SCALINGS)

    def scaler(self, n_features):
        """Return what scales the features for the network."""
        # Without biases, a row at the origin is always reconstructed, so the origin
        # should be an ordinary row.
        # A far cell costs the squared error of a saturated cell for each tail's length.
        return InputScaler(
            self.scaling, centred=True, factor=n_features**-0.5, far_loss=1 / n_features
        )

    def shape(self, scaler, views):
        """Return the shape of the network for the inputs of a fitted scaler."""
        return nets.AutoencoderShape(
            len(scaler.fill_),
            self.hidden_units,
            self.activation,
            self.train_decoder,
            fill=scaler.fill_,
        )


@dataclass(kw_only=True, repr=False)
class ModuleConfig(NetworkConfig):
    """A torch module as a detector's network."""

    network: str | Callable
    scaling: str = "squash"

    def validate(self, n_features):
        """Raise if the module cannot be trained; warn if it cannot be pickled."""
        check_choice("scaling", self.scaling, SCALINGS)
        with nets.outside_compute():
            nets.check_module(nets.ModuleShape(self.network, n_features))
        try:
            pickle.dumps(self.network)
        except (pickle.PicklingError, AttributeError, TypeError):
            warnings.warn(
                f"pickle cannot store network={self.network!r}, nor this detector; "
                "define the network at the top level of a module.",
                stacklevel=5,
            )

    def scaler(self, n_features):
        """Return what scales the features for the network."""
        return InputScaler(self.scaling, far_loss=FAR_LOSS)

    def shape(self, scaler, views):
        """Return the shape of the network for the inputs of a fitted scaler."""
        return nets.ModuleShape(self.network, len(scaler.fill_), fill=scaler.fill_)


def check_choice(name, value, choices):
    """Raise unless a value is one of some strings."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {choices}, not {value!r}.")
