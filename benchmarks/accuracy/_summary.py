"""What the results of the study say, source by source."""

import numpy as np
import pandas as pd

from benchmarks._shared.sources import HALVES, half_of, source_means, source_of
from skim.datasets._published import METRICS

N_DRAWS = 10_000
CHOSEN, CONFIRMED = HALVES
SHOWN = {"auroc": "AUROC", "auprc": "AUPRC"}
DIFFERENCES = (
    "topic",
    "variant",
    *(
        f"{metric}{column}"
        for metric in SHOWN.values()
        for column in ("", ", interval", ", chosen on", ", confirmed on")
    ),
    "confirmed on: AUROC, interval",
    "sources better / worse",
    "tasks × seeds",
    "time",
)
COLUMNS = (
    "file",
    "dataset",
    "group",
    "n",
    "detector",
    "seed",
    *METRICS,
    "cpu_seconds",
)
REFERENCES = ("IsolationForest", "kNN")  # by their names in the results


def read(records, detectors):
    """Return the results of detectors with their present settings as a DataFrame.

    Parameters
    ----------
    records : list of dict
    detectors : list of Detector
    """
    present = {(each.name, each.fingerprint()) for each in detectors}
    return _frame(
        record
        for record in records
        if (record["detector"], record["settings"]) in present
    )


def before(records, name):
    """Return the last results of a detector, whatever its settings were."""
    own = [record for record in records if record["detector"] == name]
    return _frame(each for each in own if each["settings"] == own[-1]["settings"])


def _frame(records):
    records = [record for record in records if record["status"] == "ok"]
    return pd.DataFrame(records).reindex(columns=COLUMNS)


def of(results, detector):
    """Return the results of one detector."""
    return results[results["detector"] == detector]


def interval(differences, n_draws=N_DRAWS, seed=0):
    """Return a 95 % bootstrap interval for a mean, drawing sources."""
    values = np.asarray(differences)
    if not len(values):
        return np.nan, np.nan
    draws = np.random.default_rng(seed).integers(
        len(values), size=(n_draws, len(values))
    )
    return tuple(np.quantile(values[draws].mean(axis=1), [0.025, 0.975]))


class Comparison:
    """A detector beside another, on the tasks and seeds that both have.

    Parameters
    ----------
    own, other : DataFrame
        Results as from `read`. A detector without a random state has one seed only,
        which is compared with each of the other's.

    Attributes
    ----------
    differences : DataFrame
        Metrics of `own` minus those of `other`, by source.
    n_tasks, n_seeds : int
    time : float
        Processor time as a multiple of the other's, median over tasks.
    """

    def __init__(self, own, other):
        keys = ["file", "seed"]
        if other["seed"].nunique() == 1:
            other, keys = other.drop(columns="seed"), ["file"]
        both = own.merge(other, on=keys, suffixes=("", " of other"))
        for metric in METRICS:
            both[metric] -= both[f"{metric} of other"]
        both["time"] = both["cpu_seconds"] / both["cpu_seconds of other"]
        tasks = both.groupby(["file", "dataset"])[[*METRICS, "time"]].mean()
        families = tasks.index.get_level_values("dataset")
        self.differences = source_means(tasks[list(METRICS)], families)
        self.n_tasks, self.n_seeds = len(tasks), both["seed"].nunique()
        self.time = tasks["time"].median()

    def half(self, half):
        """Return the differences on the sources of one half."""
        return self.differences[self.differences.index.map(half_of) == half]

    def row(self):
        """Return it as cells of `DIFFERENCES`, but for the first two, as text."""
        cells = []
        for metric in METRICS:
            values = self.differences[metric]
            cells += [signed(values.mean()), between(values)]
            cells += [signed(self.half(half)[metric].mean()) for half in HALVES]
        cells.append(between(self.half(CONFIRMED)["auroc"]))
        signs = np.sign(self.differences["auroc"].round(4))
        cells.append(f"{(signs > 0).sum()} / {(signs < 0).sum()}")
        cells.append(f"{self.n_tasks} × {self.n_seeds}")
        return [*cells, "" if np.isnan(self.time) else f"{self.time:.2f}"]


def signed(value):
    """Return a difference as text, nothing for none."""
    return "" if np.isnan(value) else f"{value:+.4f}"


def between(values):
    """Return the interval of some differences as text."""
    low, high = interval(values)
    return "" if np.isnan(low) else f"{low:+.4f} to {high:+.4f}"


def parts(results):
    """Return the parts of the data by title: which families each has, by what unit."""
    families = results["dataset"].unique()
    half = {name: half_of(source_of(name)) for name in families}
    keel = [name for name in families if name.startswith("keel/")]
    found = {
        "confirming half of the sources": [
            name for name in families if half[name] == CONFIRMED
        ],
        "choosing half of the sources": [
            name for name in families if half[name] == CHOSEN
        ],
        "all sources": list(families),
        "ADBench, tables": [name for name in families if name not in keel],
        "KEEL, families": keel,
    }
    return {title: own for title, own in found.items() if own}


def levels(results, families, by_source):
    """Return the mean metrics by source, or by family, of each detector.

    Returns a DataFrame with a row for each unit and columns (metric, detector). Tasks
    that not all detectors have are left out.
    """
    own = results[results["dataset"].isin(families)]
    tasks = own.groupby(["dataset", "file", "detector"])[list(METRICS)].mean()
    tasks = tasks.unstack("detector").dropna()
    names = tasks.index.get_level_values("dataset")
    return source_means(tasks, names) if by_source else tasks.groupby(names).mean()


def against(results, name):
    """Return a detector beside the references, on each part of the data.

    Returns two tables: mean metrics, and gains over IsolationForest with intervals.
    """
    results = results[results["detector"].isin([name, *REFERENCES])]
    means, gains = [], []
    for title, families in parts(results).items():
        table = levels(results, families, by_source="sources" in title)
        if not len(table):
            continue
        mean = {"data": title, "number": len(table)}
        gain = {"data": title}
        for metric in METRICS:
            for detector in (name, *REFERENCES):
                shown = "ALTBI" if detector == name else detector
                level = table[metric][detector].mean()
                mean[f"{SHOWN[metric]}, {shown}"] = f"{level:.3f}"
            own = table[metric][name] - table[metric]["IsolationForest"]
            gain[SHOWN[metric]] = signed(own.mean())
            gain[f"{SHOWN[metric]}, interval"] = between(own)
        means.append(mean)
        gains.append(gain | _record(table["auroc"], name))
    return pd.DataFrame(means), pd.DataFrame(gains)


def _record(auroc, name):
    """Return how often a detector is ahead, and where it is furthest behind."""
    ahead = (auroc[name] > auroc["IsolationForest"]).sum()
    behind = auroc[name] - auroc[list(REFERENCES)].max(axis=1)
    worst = behind.idxmin()
    return {
        "better than IsolationForest": f"{ahead} of {len(auroc)}",
        "worst against the better reference": f"{worst} {behind[worst]:+.3f}",
    }


def confirmed(results, names):
    """Return detectors beside the references on the confirming half, a row each."""
    rows = []
    for name in names:
        own = of(results, name)
        if not len(own):
            continue
        row = {"detector": name}
        for reference in REFERENCES:
            comparison = Comparison(own, of(results, reference))
            half = comparison.half(CONFIRMED)
            for metric in METRICS:
                title = f"{SHOWN[metric]} over {reference}"
                row[title] = signed(half[metric].mean())
                if reference == "IsolationForest":
                    row[f"{title}, interval"] = between(half[metric])
                    time = f"{comparison.time:.1f}"
        kept = results[results["detector"].isin([name, *REFERENCES])]
        families = [f for f in kept["dataset"].unique() if _half(f) == CONFIRMED]
        row |= _record(levels(kept, families, by_source=True)["auroc"], name)
        rows.append(row | {"time, multiples of IsolationForest's": time})
    return pd.DataFrame(rows)


def _half(family):
    return half_of(source_of(family))


def by_source(results, name):
    """Return the metrics of a detector and the references on each source."""
    results = results[results["detector"].isin([name, *REFERENCES])]
    table = levels(results, results["dataset"].unique(), by_source=True)
    rows = []
    for source, values in table.iterrows():
        row = {"source": source, "half": half_of(source)}
        for metric in METRICS:
            for detector in (name, *REFERENCES):
                shown = "ALTBI" if detector == name else detector
                row[f"{SHOWN[metric]}, {shown}"] = f"{values[metric, detector]:.3f}"
        rows.append(row)
    return pd.DataFrame(rows)


def spread(results, max_rows):
    """Return the standard deviation over seeds on small tables, by source.

    The last row is the mean over sources.
    """
    small = results[(results["n"] < max_rows)]
    tasks = small.groupby(["detector", "dataset", "file"]).agg(
        deviation=("auroc", "std"),
        lowest=("auroc", "min"),
        highest=("auroc", "max"),
        seeds=("seed", "nunique"),
    )
    rows = {}
    for detector, own in tasks.groupby("detector", sort=False):
        own = own.droplevel("detector")
        own["range"] = own["highest"] - own["lowest"]
        families = own.index.get_level_values("dataset")
        means = source_means(own[["deviation", "range"]], families)
        for source, (deviation, width) in means.iterrows():
            row = rows.setdefault(source, {"source": source})
            row[f"deviation, {detector}"] = deviation
            row[f"range, {detector}"] = width
    table = pd.DataFrame(list(rows.values()))
    if len(table):
        mean = table.drop(columns="source").mean().to_dict()
        table.loc[len(table)] = {"source": "mean of sources", **mean}
    return table


def times(results, name, tables):
    """Return processor seconds on some tables, and multiples of IsolationForest's."""
    rows = []
    means = results.groupby(["file", "detector"])["cpu_seconds"].mean().unstack()
    for table in tables:
        if table not in means.index or name not in means:
            continue
        own, forest = means.loc[table, name], means.loc[table].get("IsolationForest")
        multiple = np.nan if forest is None else own / forest
        rows.append({"table": table, "seconds": own, "multiple": multiple})
    return pd.DataFrame(rows, columns=["table", "seconds", "multiple"])
