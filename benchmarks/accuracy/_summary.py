"""What the results of the study say, source by source."""

import numpy as np
import pandas as pd

from benchmarks._shared.measure import METRICS
from benchmarks._shared.sources import HALVES, half_of, source_means, source_of

N_DRAWS = 10_000
CHOSEN, CONFIRMED = HALVES
REFERENCES = ("IsolationForest", "kNN")  # by their names in the results
TIMED = ("cardio", "shuttle", "donors", "InternetAds")


def interval(differences, seed=0):
    """Return a 95 % bootstrap interval for a mean, drawing sources."""
    values = np.asarray(differences)
    draws = np.random.default_rng(seed).integers(
        len(values), size=(N_DRAWS, len(values))
    )
    return tuple(np.quantile(values[draws].mean(axis=1), [0.025, 0.975]))


def levels(results, detectors, families=None, by_source=True):
    """Return the mean metrics of some detectors by source, or by family.

    Returns a DataFrame with a row for each unit and columns (metric, detector). Tasks
    that not all of the detectors have are left out.
    """
    own = results[results["detector"].isin(detectors)]
    if families is not None:
        own = own[own["dataset"].isin(families)]
    tasks = own.groupby(["dataset", "file", "detector"])[list(METRICS)].mean()
    tasks = tasks.unstack("detector").dropna()
    names = tasks.index.get_level_values("dataset")
    return source_means(tasks, names) if by_source else tasks.groupby(names).mean()


def parts(families):
    """Return the parts of the data by title: which families each has."""
    half = {name: half_of(source_of(name)) for name in families}
    keel = [name for name in families if name.startswith("keel/")]
    found = {
        "confirming half of the sources": [f for f in families if half[f] == CONFIRMED],
        "choosing half of the sources": [f for f in families if half[f] == CHOSEN],
        "all sources": list(families),
        "ADBench, tables": [name for name in families if name not in keel],
        "KEEL, families": keel,
    }
    return {title: own for title, own in found.items() if own}


def against(results, name):
    """Return a detector beside the references, on each part of the data.

    Returns two tables: mean metrics, and gains over IsolationForest with intervals.
    """
    means, gains = [], []
    own = results[results["detector"].isin([name, *REFERENCES])]
    for title, families in parts(own["dataset"].unique()).items():
        table = levels(own, [name, *REFERENCES], families, "sources" in title)
        if not len(table):
            continue
        auroc = table["auroc"]
        behind = auroc[name] - auroc[list(REFERENCES)].max(axis=1)
        ahead = (auroc[name] > auroc["IsolationForest"]).sum()
        gain = _gains(table, name, "IsolationForest")
        gains.append(
            {"data": title}
            | gain
            | {
                "better than IsolationForest": f"{ahead} of {len(table)}",
                "worst against the better reference": f"{behind.idxmin()} "
                f"{behind.min():+.3f}",
            }
        )
        means.append({"data": title, "number": len(table)} | _texts(table.mean(), name))
    return pd.DataFrame(means), pd.DataFrame(gains)


def _gains(table, name, other):
    """Return mean differences and their intervals, as text."""
    found = {}
    for metric in METRICS:
        values = table[metric][name] - table[metric][other]
        low, high = interval(values)
        found[metric.upper()] = f"{values.mean():+.4f}"
        found[f"{metric.upper()}, interval"] = f"{low:+.4f} to {high:+.4f}"
    return found


def _texts(values, name):
    return {
        f"{metric.upper()}, {'ALTBI' if detector == name else detector}": (
            f"{values[metric, detector]:.3f}"
        )
        for metric in METRICS
        for detector in (name, *REFERENCES)
    }


def by_source(results, name):
    """Return the metrics of a detector and the references on each source."""
    table = levels(results, [name, *REFERENCES])
    return pd.DataFrame(
        {"source": source, "half": half_of(source)} | _texts(values, name)
        for source, values in table.iterrows()
    )


def differences(results, variants, name):
    """Return by how much variants are ahead of a detector, on each half."""
    rows = []
    for variant in variants:
        table = levels(results, [variant, name])
        halves = table.index.map(half_of)
        for title, own in (("all", table), *((h, table[halves == h]) for h in HALVES)):
            if len(own):
                row = {"variant": variant, "sources": title, "number": len(own)}
                rows.append(row | _gains(own, variant, name))
    return pd.DataFrame(rows)


def times(results, name):
    """Return processor seconds on some tables, and multiples of IsolationForest's."""
    means = results.groupby(["file", "detector"])["cpu_seconds"].mean().unstack()
    means = means[means.index.isin(TIMED)].reindex(columns=[name, "IsolationForest"])
    table = means[[name]].set_axis(["seconds"], axis=1)
    table["multiple"] = means[name] / means["IsolationForest"]
    return table.round(4).rename_axis("table").reset_index()
