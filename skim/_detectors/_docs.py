"""What the docstrings of all detectors have in common."""

from skim._utils import shared_docs

PARAMETERS = """ema_steps : int, default=0
    Number of updates of the warm-up of :class:`EMAWarmStart`; 0 disables it. The
    paper uses 50.

contamination : "auto" or float, default="auto"
    Share of outliers in the training data, in [0, 0.5], which sets the
    threshold. With "auto", the threshold lies where the losses of the training
    data thin out: in a gap of their upper tail if there is a wide one, and else so
    that about 1 to 3 % of the rows are outliers. 0 means that the training data is
    clean, and needs an :class:`~skim.schedules.ALTBISchedule`: all rows train the
    networks, three times as long and without early stopping, and the threshold is
    such that about 1 % of new clean rows are flagged, estimated from members that
    were not trained on them.

random_state : int, RandomState instance or None, default=None
    Controls the initial weights, the batches and the latent noise. Pass an int
    for reproducible scores.

n_jobs : int, default=None
    Number of threads that score rows; training uses one. None means 1 unless in
    a :obj:`joblib.parallel_config` context, -1 all processors. Scores do not
    depend on it.

device : str, default="cpu"
    Where to compute: any device of torch, or "auto" for a GPU if there is one.

store_snapshots : bool, default=False
    Whether to keep the weights after every entry of `history_`, for
    :meth:`staged_score_samples`.

verbose : int, default=0
    Whether to show a progress bar on standard error."""

ATTRIBUTES = """history_ : dict of str to ndarray
    Record of the training run, with one element per check of it, which comes after
    every epoch but with an :class:`~skim.schedules.ODIMSchedule`: "epoch", "update",
    "batch_size", the quantiles of the losses "loss_q05", "loss_q25", "loss_q50",
    "loss_q75" and "loss_q95", and the "criterion" for early stopping, NaN where it
    was not evaluated. ``pandas.DataFrame(detector.history_)`` makes it a table.

best_epochs_ : ndarray of shape (n_members,)
    The epoch after which each member was kept.

offset_ : float
    Threshold: ``decision_function = score_samples - offset_``.

training_scores_ : ndarray of shape (n_samples,)
    Scores of the training data, as `score_samples` returns them; of the rows
    `training_rows_` if there are more than a million.

held_out_scores_ : ndarray of shape (n_samples,) or None
    With ``contamination=0``, estimates of what the training data would score had no
    member seen it, which set the threshold; None otherwise.

training_rows_ : ndarray of shape (n_sampled,) or None
    If there are more than a million rows, a random sample of 200,000 trains the
    networks and sets the threshold; all rows set the scaling. These are the
    sampled indices, in the order of `training_scores_`. None for smaller tables.

model_ : FittedModel
    What was learned, as arrays, such as ``model_.snapshots.weights``. Its interface may
    change.

n_features_in_ : int
    Number of features seen during `fit`.

feature_names_in_ : ndarray of shape (`n_features_in_`,)
    Names of features seen during `fit`. Defined only when `X` has
    feature names that are all strings."""

ALTBI_PARAMETERS = """schedule : "altbi" or ALTBISchedule, default="altbi"
    How the networks are trained; :class:`~skim.schedules.ALTBISchedule` has
    settings such as the learning rate and the truncation.

stopping : {"entropy", "separation", "cohesion"} or None, default="entropy"
    Early-stopping criterion. The best epoch is the one at which a sample of rows
    is best by this criterion; None means the last epoch. See
    :doc:`the page on when to stop </choosing_epochs>`."""

ALTBI_ATTRIBUTES = """best_epoch_ : int
    The best epoch, or the last one without early stopping; the latest of
    `best_epochs_` if the schedule keeps each member at its own.

snapshot_epochs_ : ndarray of int
    The epochs, counted from 1, of the snapshots."""

with_shared_docs = shared_docs(
    parameters=PARAMETERS,
    attributes=ATTRIBUTES,
    altbi_parameters=ALTBI_PARAMETERS,
    altbi_attributes=ALTBI_ATTRIBUTES,
)
