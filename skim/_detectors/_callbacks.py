"""scikit-learn's callbacks, where this version of scikit-learn has them."""

from skim import _nets as nets


class FitCallbacks:
    """Calls the callbacks of one fit."""

    def __init__(self, estimator, X, y, n_epochs, new_context):
        self.estimator = estimator
        self.data = {"X": X, "y": y}
        self.is_used = hasattr(estimator, "_skl_callbacks")
        if self.is_used:
            self._context = new_context(max_subtasks=n_epochs)
            self._context.call_on_fit_task_begin(estimator=estimator, **self.data)

    def end_epoch(self, as_if_fitted):
        """Announce that an epoch is over; return whether to stop."""
        if not self.is_used:
            return False
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
        if self.is_used:
            self._context.call_on_fit_task_end(
                estimator=self.estimator, reconstruction_attributes=dict, **self.data
            )
