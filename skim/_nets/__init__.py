"""Stacked networks in torch, and nothing of scikit-learn.

This package is the door to torch. Importing it is free; torch is loaded when one of
its names is used for the first time.
"""

from importlib import import_module

_NAMES = {
    "_autoencoder": "AutoencoderShape",
    "_boosting": "Boosting",
    "_contrastive": "encode train_encoder",
    "_memory": "as_tensor compute device_or_cpu outside_compute resolve_device "
    "seeded_generator",
    "_module": "ModuleShape",
    "_run": "Adam GradientDescent NonFiniteLossError Run half_sum low_loss_weights",
    "_scoring": "snapshot_losses",
    "_vae": "VAEShape",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = list(_MODULES)


def __getattr__(name):
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
