"""What older versions of scikit-learn do not have."""

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands for scikit-learn's support of callbacks where there is none."""


__all__ = ["CallbackSupportMixin"]
