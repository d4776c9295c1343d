"""Published accuracies of outlier detectors on ADBench."""

from skim.datasets._adbench import read_table

METRICS = ("auroc", "auprc")


def load_published_scores(metric="auroc"):
    """Load published accuracies of 28 methods on ADBench's 57 data sets.

    As the paper on the inlier-memorization effect gives them, rounded to three
    places: ODIM and ALTBI as they were, with the EMA warm-up ("+EMA") and with the
    embedding as well ("+EMA+embedding"), means over three initialisations; and 22
    baselines of the paper on diffusion time estimation (arXiv 2305.18593), means over
    five seeds, each trained on as many rows drawn with replacement. Image and text
    sets are averaged over their parts.

    Parameters
    ----------
    metric : {"auroc", "auprc"}, default="auroc"
        Area under the ROC or under the precision-recall curve.

    Returns
    -------
    scores : dict of str to dict of str to float
        ``scores[method][dataset]``, data sets named as in
        :func:`skim.datasets.list_adbench`.

    Examples
    --------
    >>> from skim.datasets import load_published_scores
    >>> scores = load_published_scores()
    >>> scores["IForest"]["cardio"], scores["ALTBI"]["cardio"]
    (0.922, 0.845)
    """
    if metric not in METRICS:
        raise ValueError(f"metric must be one of {METRICS}, got {metric!r}")
    baselines = read_table(f"published_baselines_{metric}.csv")
    variants = read_table(f"published_im_variants_{metric}.csv")
    columns = {name: name for name in baselines[0] if name != "dataset"}
    scores = _by_method(baselines, columns)
    for name in ("ODIM", "ALTBI"):
        scores.pop(f"{name}_ours", None)
        column = name.lower()
        columns = {
            name: column,
            f"{name}+EMA": f"{column}_ema",
            f"{name}+EMA+embedding": f"{column}_ours",
        }
        scores |= _by_method(variants, columns)
    return scores


def _by_method(rows, columns):
    return {
        method: {row["dataset"]: float(row[column]) for row in rows if row[column]}
        for method, column in columns.items()
    }
