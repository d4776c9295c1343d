"""scikit-learn's callbacks."""

from skim import _nets as nets


class FitCallbacks:
    """Calls the callbacks of one fit.

    Parameters
    ----------
    estimator : estimator
        With support for callbacks.
    X, y : array-like
        As they were given to `fit`.
    """

    def __init__(self, estimator, X, y):
        self.estimator = estimator
        self.data = {"X": X, "y": y}

    def begin(self, n_epochs):
        """Announce that the fit begins."""
        self._context = self.estimator._init_callback_context(max_subtasks=n_epochs)
        self._context.call_on_fit_task_begin(estimator=self.estimator, **self.data)

    def end_epoch(self, as_if_fitted):
        """Announce that an epoch is over; return whether to stop.

        Parameters
        ----------
        as_if_fitted : callable
            Returns the attributes of an estimator whose training ended here.
        """
        with nets.outside_compute():
            context = self._context.subcontext(task_name="epoch")
            context.call_on_fit_task_begin(estimator=self.estimator, **self.data)
            return context.call_on_fit_task_end(
                estimator=self.estimator,
                reconstruction_attributes=as_if_fitted,
                **self.data,
            )

    def end(self):
        """Announce that the fit is over."""
        self._context.call_on_fit_task_end(
            estimator=self.estimator, reconstruction_attributes=dict, **self.data
        )
