"""Published scores of outlier detectors on ADBench."""

from typing import Literal

from skim.datasets._adbench import read_bundled

METRICS = ("auroc", "auprc")


def load_published_scores(
    metric: Literal["auroc", "auprc"] = "auroc",
) -> dict[str, dict[str, float]]:
    """Load published scores of 28 methods on the 57 data sets of ADBench.

    The scores are those in the paper on the inlier-memorization effect, rounded to
    three digits. ODIM and ALTBI, alone, with the EMA warm-up ("+EMA") and with
    embedding as well ("+EMA+embedding"), are averaged over three initialisations.
    The 22 baselines are from the paper on diffusion time estimation (arXiv
    2305.18593), averaged over five seeds, each trained on a bootstrap sample. Image
    and text data sets are averaged over their parts.

    Parameters
    ----------
    metric : {"auroc", "auprc"}, default="auroc"
        Area under the ROC or under the precision-recall curve.

    Returns
    -------
    scores : dict of str to dict of str to float
        ``scores[method][dataset]``, with data sets named as in
        :func:`skim.datasets.list_adbench`.

    Examples
    --------
    >>> from skim.datasets import load_published_scores
    >>> scores = load_published_scores()
    >>> scores["IForest"]["cardio"], scores["ALTBI"]["cardio"]
    (0.922, 0.845)
    """
    if metric not in METRICS:
        raise ValueError(f"metric must be one of {METRICS}, got {metric!r}.")
    rows = read_bundled(f"published_{metric}.csv")
    return {
        method: {row["dataset"]: float(row[method]) for row in rows}
        for method in rows[0]
        if method != "dataset"
    }
