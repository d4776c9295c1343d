"""What the detectors built on the variational autoencoder share."""

from numbers import Integral, Real

from sklearn.utils._param_validation import Interval

from skim._base import IMDetector


class VAEDetector(IMDetector):
    """Base class of the detectors built on the variational autoencoder.

    Warning: this class should not be used directly. Use derived classes instead.
    """

    _parameter_constraints: dict = {
        **IMDetector._parameter_constraints,
        "n_importance": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 2, None, closed="left")],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
    }

    def _layer_sizes(self, n_features):
        return (n_features, *hidden_and_latent_widths(n_features))

    def _shape(self):
        from skim.nets import VAEShape

        n_features, wide, narrow, n_latent = self.layer_sizes_
        return VAEShape(n_features, (wide, narrow), n_latent)

    def _new_network(self, weights, generator):
        from skim.nets import StackedVAE

        return StackedVAE(
            self._shape(), weights, n_samples=self.n_importance, generator=generator
        )

    def _new_optimiser(self, network):
        from skim.nets import Adam

        return Adam(
            network.weights,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
        )

    def _scoring_noise(self, generator):
        import torch

        shape = (self.n_estimators, self.layer_sizes_[-1], self.n_importance)
        noise = torch.zeros(shape, device=self.device_)
        if self.n_importance > 1:
            noise.normal_(generator=generator)
        return noise


def hidden_and_latent_widths(n_features):
    """Return the widths of the two hidden blocks and of the latent code."""
    if n_features >= 1500:
        return 512, 256, 128
    if n_features >= 400:
        return 256, 128, 64
    if n_features >= 100:
        return 128, 64, 32
    if n_features >= 8:
        return 32, 16, 8
    if n_features == 7:
        return 32, 16, 6
    if n_features >= 4:
        return 32, 16, 4
    return 32, 16, 2
