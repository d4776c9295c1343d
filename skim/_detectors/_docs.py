"""What the docstrings of all detectors have in common."""

import re
from textwrap import indent

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

ATTRIBUTES = """offset_ : float
    Threshold: ``decision_function = score_samples - offset_``.

training_scores_ : ndarray of shape (n_samples,)
    Scores of the training data, as `score_samples` returns them; of the rows
    `training_rows_` if there are more than a million.

held_out_scores_ : ndarray of shape (n_samples,) or None
    With ``contamination=0``, scores of the training data by members that have not
    seen it; None otherwise.

training_rows_ : ndarray of shape (n_sampled,) or None
    If there are more than a million rows, a random sample of 200,000 trains the
    networks and sets the threshold; all rows set the scaling. These are the
    sampled indices, in the order of `training_scores_`. None for smaller tables.

weights_ : ndarray of shape (n_snapshots, n_estimators, n_weights)
    Weights of the snapshots.

typical_contributions_ : ndarray of shape (n_features,)
    Mean contributions of the features in a sample of the training data.

device_ : str
    The device that was used.

model_ : FittedModel
    What was learned, as arrays. Its interface may change.

n_features_in_ : int
    Number of features seen during `fit`.

feature_names_in_ : ndarray of shape (`n_features_in_`,)
    Names of features seen during `fit`. Defined only when `X` has
    feature names that are all strings."""


def with_shared_docs(cls):
    """Fill in what the docstrings of detectors have in common."""
    doc = cls.__doc__
    if doc is not None:  # as it is with python -OO
        for name, text in (("parameters", PARAMETERS), ("attributes", ATTRIBUTES)):
            (margin,) = re.findall(f"( *)<shared {name}>", doc)
            doc = doc.replace(f"{margin}<shared {name}>", indent(text, margin))
    cls.__doc__ = doc
    return cls
