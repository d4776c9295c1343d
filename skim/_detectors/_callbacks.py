"""scikit-learn's callbacks, where scikit-learn has them."""

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks yet."""


class FitHooks:
    """Calls the callbacks of one fit.

    Parameters
    ----------
    estimator : estimator
    X, y : array-like
        As they were given to `fit`.
    """

    def __init__(self, estimator, X, y):
        self.estimator = estimator
        self.data = {"X": X, "y": y}
        self._context = None

    def begin(self, n_epochs):
        """Tell that the fit begins."""
        if hasattr(self.estimator, "_init_callback_context"):
            self._context = self.estimator._init_callback_context(max_subtasks=n_epochs)
            self._context.call_on_fit_task_begin(estimator=self.estimator, **self.data)

    @property
    def are_heard(self):
        """Whether there is any callback."""
        if self._context is None:
            return False
        return bool(getattr(self._context, "_callbacks", True))

    def epoch(self, as_if_fitted):
        """Tell that an epoch is over; return whether to stop.

        Parameters
        ----------
        as_if_fitted : callable
            Returns the attributes of an estimator whose training ended here.
        """
        if self._context is None:
            return False
        context = self._context.subcontext(task_name="epoch")
        context.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        return context.call_on_fit_task_end(
            estimator=self.estimator,
            reconstruction_attributes=as_if_fitted,
            **self.data,
        )

    def end(self):
        """Tell that the fit is over."""
        if self._context is not None:
            self._context.call_on_fit_task_end(
                estimator=self.estimator, reconstruction_attributes=dict, **self.data
            )
