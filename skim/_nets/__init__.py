"""Networks in torch, and nothing of scikit-learn."""

from skim._nets._autoencoder import AutoencoderShape, StackedAutoencoder
from skim._nets._device import compute, device_or_cpu, resolve_device
from skim._nets._gradients import gradient_products
from skim._nets._moments import BestMoments
from skim._nets._optim import Adam, GradientDescent
from skim._nets._run import NonFiniteLossError, Run, half_sum, keep_low_losses
from skim._nets._scoring import Scorer
from skim._nets._stages import StageLog
from skim._nets._vae import StackedVAE, VAEShape

__all__ = [
    "Adam",
    "AutoencoderShape",
    "BestMoments",
    "GradientDescent",
    "NonFiniteLossError",
    "Run",
    "Scorer",
    "StackedAutoencoder",
    "StackedVAE",
    "StageLog",
    "VAEShape",
    "compute",
    "device_or_cpu",
    "gradient_products",
    "half_sum",
    "keep_low_losses",
    "resolve_device",
]
