"""Networks of the detectors.

Plain torch modules for :class:`skim.NetworkDetector`, to use or to copy, and the
settings of the networks that are built into the other detectors.
"""

from skim._model._networks import AutoencoderConfig, VAEConfig
from skim.networks._modules import Autoencoder, Flow

__all__ = ["Autoencoder", "AutoencoderConfig", "Flow", "VAEConfig"]

BUILT_IN = {"flow": Flow, "autoencoder": Autoencoder}
