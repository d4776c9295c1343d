"""What the detectors built on the variational autoencoder share."""

from numbers import Integral, Real

from sklearn.utils._param_validation import Interval, StrOptions

from skim import _nets as nets
from skim._detectors._base import FAR_LOSS, IMDetector
from skim._detectors._components import MAX_COMPONENTS, MIN_FEATURES, ComponentScaler
from skim._detectors._scaling import InputScaler
from skim._utils import hidden_and_latent_widths


class VAEDetector(IMDetector):
    """Base class of the detectors built on the variational autoencoder.

    Warning: this class should not be used directly. Use derived classes instead.
    """

    _parameter_constraints: dict = {
        **IMDetector._parameter_constraints,
        "n_importance": [Interval(Integral, 1, None, closed="left")],
        "max_width": [Interval(Integral, 8, None, closed="left")],
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto"}),
            None,
        ],
        "batch_size": [Interval(Integral, 2, None, closed="left")],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
    }

    _shape_name = "VAEShape"
    _fixed_params = (
        *IMDetector._fixed_params,
        "n_importance",
        "max_width",
        "n_components",
    )

    def _new_scaler(self, n_features):
        n_components = self.n_components
        if n_components == "auto":
            n_components = MAX_COMPONENTS if n_features >= MIN_FEATURES else None
        if n_components is None:
            return InputScaler(self.scaling, far_loss=FAR_LOSS)
        return ComponentScaler(n_components, far_loss=FAR_LOSS)

    def _shape_params(self, n_features):
        max_width = self.max_width
        if isinstance(self._scaler, ComponentScaler):
            max_width = min(max_width, MAX_COMPONENTS // 2)
        *hidden, n_latent = hidden_and_latent_widths(n_features, max_width)
        return {
            "n_features": n_features,
            "hidden": hidden,
            "n_latent": n_latent,
            "n_samples": self.n_importance,
        }

    def _new_optimiser(self, weights):
        return nets.Adam(
            weights, learning_rate=self.learning_rate, weight_decay=self.weight_decay
        )
