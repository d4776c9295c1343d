"""Names that the oldest supported scikit-learn does not have."""

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stand-in for the mixin; there are no callbacks to support."""


__all__ = ["CallbackSupportMixin"]
