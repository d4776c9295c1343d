"""What the results of the study say: families first, then suites and halves."""

import numpy as np
import pandas as pd

from benchmarks._shared.measure import METRICS
from benchmarks._shared.sources import HALVES, half_of, source_of

N_DRAWS = 10_000


def interval(differences, seed=0):
    """Return a 95 % bootstrap interval for a mean, drawing families."""
    values = np.asarray(differences)
    draws = np.random.default_rng(seed).integers(
        len(values), size=(N_DRAWS, len(values))
    )
    return tuple(np.quantile(values[draws].mean(axis=1), [0.025, 0.975]))


def family_means(runs):
    """Return means over seeds, then over the tasks of a family.

    Returns a DataFrame with the suite and the family in its index, and columns (value,
    detector). Tasks that not all detectors have are left out.
    """
    values = [*METRICS, "flagged", "seconds"]
    tasks = runs.groupby(["suite", "family", "task", "detector"])[values].mean()
    tasks = tasks.unstack("detector")
    tasks = tasks[tasks["auroc"].notna().all(axis=1)]
    tasks = tasks.reindex(columns=runs["detector"].unique(), level="detector")
    return tasks.groupby(["suite", "family"]).mean()


def parts(means):
    """Return parts of the families by title: all, each half, each suite."""
    halves = means.index.get_level_values("family").map(source_of).map(half_of)
    suites = means.index.get_level_values("suite")
    found = {"all": means}
    found |= {half: means[halves == half] for half in HALVES}
    found |= {suite: means[suites == suite] for suite in suites.unique()}
    return {title: own for title, own in found.items() if len(own)}


def levels(means):
    """Return mean AUROC / AUPRC of each detector on each part of the families.

    The last columns, over all families: the share of new inliers that are flagged, if
    there are any, and the median of CPU seconds.
    """
    table = pd.DataFrame(
        {
            f"{title} ({len(own)})": _pair(own["auroc"].mean(), own["auprc"].mean())
            for title, own in parts(means).items()
        }
    )
    flagged = means["flagged"].mean()
    if flagged.notna().any():
        table["new inliers flagged"] = flagged.round(4)
    table["CPU seconds"] = means["seconds"].median().round(3)
    return table.rename_axis("AUROC / AUPRC").reset_index()


def _pair(auroc, auprc):
    return auroc.map("{:.3f}".format) + " / " + auprc.map("{:.3f}".format)


def differences(means, reference):
    """Return each detector's lead over a reference, with intervals."""
    rows = []
    for title, own in parts(means).items():
        for detector in own["auroc"].columns.drop(reference):
            row = {"data": title, "families": len(own), "detector": detector}
            for metric in METRICS:
                values = own[metric][detector] - own[metric][reference]
                low, high = interval(values)
                row[metric.upper()] = (
                    f"{values.mean():+.3f} ({low:+.3f} to {high:+.3f})"
                )
            ahead = own["auroc"][detector] > own["auroc"][reference]
            rows.append(row | {"families ahead": int(ahead.sum())})
    return pd.DataFrame(rows)


def by_family(means):
    """Return the metrics of all detectors on each family, and its half."""
    table = means[list(METRICS)].round(4)
    table.columns = [f"{metric.upper()}, {name}" for metric, name in table.columns]
    table = table.reset_index()
    table.insert(2, "half", table["family"].map(source_of).map(half_of))
    return table
