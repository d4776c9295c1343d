"""Stacked networks in torch, and nothing of scikit-learn.

This package is the door to torch. Importing it is free; torch is loaded when one of
its names is used for the first time.
"""

from importlib import import_module

_MODULES = {
    "Adam": "_run",
    "AutoencoderShape": "_autoencoder",
    "Boosting": "_boosting",
    "GradientDescent": "_run",
    "ModuleShape": "_module",
    "NonFiniteLossError": "_run",
    "Run": "_run",
    "StackedAutoencoder": "_autoencoder",
    "StackedVAE": "_vae",
    "VAEShape": "_vae",
    "as_tensor": "_memory",
    "compute": "_memory",
    "device_or_cpu": "_memory",
    "encode": "_contrastive",
    "gradient_products": "_gradients",
    "half_sum": "_run",
    "low_loss_weights": "_run",
    "outside_compute": "_memory",
    "resolve_device": "_memory",
    "seeded_generator": "_memory",
    "snapshot_losses": "_scoring",
    "train_encoder": "_contrastive",
}

__all__ = list(_MODULES)


def __getattr__(name):
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
