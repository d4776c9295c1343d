"""Networks for :class:`skim.NetworkDetector`: plain torch modules to use or to copy."""

from skim.networks._autoencoder import Autoencoder
from skim.networks._flow import Flow
from skim.networks._vae import VAE

__all__ = ["VAE", "Autoencoder", "Flow"]

BUILT_IN = {"flow": Flow, "autoencoder": Autoencoder, "vae": VAE}
