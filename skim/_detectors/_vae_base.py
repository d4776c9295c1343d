"""What the detectors built on the variational autoencoder share."""

from numbers import Integral, Real

from sklearn.utils._param_validation import Interval

from skim import _nets as nets
from skim._detectors._base import IMDetector
from skim._utils import hidden_and_latent_widths


class VAEDetector(IMDetector):
    """Base class of the detectors built on the variational autoencoder.

    Warning: this class should not be used directly. Use derived classes instead.
    """

    _parameter_constraints: dict = {
        **IMDetector._parameter_constraints,
        "n_importance": [Interval(Integral, 1, None, closed="left")],
        "max_width": [Interval(Integral, 8, None, closed="left")],
        "batch_size": [Interval(Integral, 2, None, closed="left")],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
    }

    _shape_name = "VAEShape"
    _fixed_params = (*IMDetector._fixed_params, "n_importance", "max_width")

    def _shape_params(self, n_features):
        *hidden, n_latent = hidden_and_latent_widths(n_features, self.max_width)
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
