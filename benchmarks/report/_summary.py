"""Averages, ranks and significance of a benchmark's results."""

from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from benchmarks._store import Store
from benchmarks.detectors import DETECTORS
from skim.datasets import load_published_scores
from skim.datasets._adbench import adbench_files

METRICS = ("auroc", "auprc")
SUFFIXES = {"image-vit": " (ViT)", "text-roberta": " (RoBERTa)"}
REFERENCE = "ALTBI"
PUBLISHED_ONLY = (
    "DAGMM",
    "DROCC",
    "GOAD",
    "ICL",
    "PlanarFlow",
    "DDPM",
    "DTE-NP",
    "DTE-IG",
    "DTE-C",
)


class Summary:
    """What the records of a run say.

    Parameters
    ----------
    records : list of dict
        As `benchmarks._store.Store.read` returns them.

    Attributes
    ----------
    results : DataFrame
        One row a data set and detector: means over seeds and then over parts,
        "seeds" (the fewest of a part), "parts", and "title", the data set with its
        embedding.
    failures : DataFrame
        The tasks without a result, and why.
    """

    @classmethod
    def read(cls, path):
        """Summarise a results.jsonl, or the one in a folder."""
        path = Path(path)
        return cls(Store(path / "results.jsonl" if path.is_dir() else path).read())

    def __init__(self, records):
        frame = pd.DataFrame(records)
        if frame.empty or not (frame["status"] == "ok").any():
            raise ValueError("There is no result to report.")
        self.failures = frame[frame["status"] != "ok"].reindex(
            columns=["dataset", "file", "group", "detector", "seed", "status", "error"]
        )
        self.results = _per_dataset(frame[frame["status"] == "ok"])

    @property
    def group(self):
        """The group that averages are over: the tables, if there are any."""
        groups = list(self.results["group"])
        return "tabular" if "tabular" in groups else groups[0]

    def table(self, metric):
        """Return data sets by detectors; published-only methods come last."""
        chosen = self.results[self.results["group"] == self.group]
        wide = chosen.pivot(index="dataset", columns="detector", values=metric)
        published = load_published_scores(metric)
        for name in PUBLISHED_ONLY if self.group == "tabular" else ():
            wide[name] = [published[name][dataset] for dataset in wide.index]
        return wide

    @cached_property
    def averages(self):
        """One row a detector, over the sets of `group`, the best AUROC first.

        "complete" tells whether there is a result on every one of them; the means
        of the others are over fewer sets, and `reference_auroc` and
        `reference_auprc` are those of the default ALTBI on the same ones.
        """
        tables = {metric: self.table(metric) for metric in METRICS}
        rows = []
        for name in tables["auroc"]:
            row = {"detector": name, "family": family_of(name)}
            for metric, table in tables.items():
                done = table[name].notna()
                row[metric] = table[name][done].mean()
                row[f"reference_{metric}"] = (
                    table[REFERENCE][done].mean() if REFERENCE in table else np.nan
                )
            row["n_sets"] = int(done.sum())
            row["complete"] = bool(done.all())
            chosen = self.results["group"] == self.group
            mine = self.results[chosen & (self.results["detector"] == name)]
            row["seeds"] = mine["seeds"].min() if len(mine) else np.nan
            row["median_seconds"] = mine["cpu_seconds"].median()
            rows.append(row)
        frame = pd.DataFrame(rows).sort_values(
            ["complete", "auroc"], ascending=[False, False], ignore_index=True
        )
        for metric in METRICS:
            ranks = self.mean_ranks(metric)
            frame[f"{metric}_rank"] = frame["detector"].map(ranks)
        return frame

    def mean_ranks(self, metric):
        """Return the mean rank of every complete detector; 1 is the best."""
        table = self.table(metric).dropna(axis=1)
        ranks = rankdata(-table.to_numpy(), axis=1)
        return pd.Series(ranks.mean(axis=0), index=table.columns).sort_values()

    def critical_difference(self, metric, alpha=0.05):
        """Return the mean ranks, Nemenyi's critical difference and Friedman's p."""
        table = self.table(metric).dropna(axis=1)
        n_sets, n_detectors = table.shape
        ranks = self.mean_ranks(metric)
        if n_detectors < 3 or n_sets < 2:
            return ranks, np.nan, np.nan
        q = studentized_range.ppf(1 - alpha, n_detectors, np.inf) / np.sqrt(2)
        difference = q * np.sqrt(n_detectors * (n_detectors + 1) / (6 * n_sets))
        p_value = friedmanchisquare(*table.to_numpy().T).pvalue
        return ranks, difference, p_value

    def duels(self, metric="auroc"):
        """Return, per detector, on how many sets the reference wins and loses."""
        table = self.table(metric)
        if REFERENCE not in table:
            return pd.DataFrame(columns=["detector", "wins", "ties", "losses"])
        rows = []
        for name in table.columns.drop(REFERENCE):
            gap = (table[REFERENCE] - table[name]).dropna().round(3)
            counts = ((gap > 0).sum(), (gap == 0).sum(), (gap < 0).sum())
            rows.append((name, *map(int, counts), gap.mean()))
        columns = ["detector", "wins", "ties", "losses", "mean_gap"]
        return pd.DataFrame(rows, columns=columns).sort_values("mean_gap")


def family_of(name):
    """Return "skim", "pyod", "published" or "own"."""
    if name in DETECTORS:
        return DETECTORS[name].family
    return "published" if name in PUBLISHED_ONLY else "own"


def _per_dataset(frame):
    for column in ("seconds", "cpu_seconds", "peak_gb"):
        if column not in frame:
            frame = frame.assign(**{column: np.nan})
    names = ["dataset", "group", "detector"]
    values = ["auroc", "auprc", "seconds", "cpu_seconds", "peak_gb", "n", "p"]
    parts = frame.groupby([*names, "file"], as_index=False).agg(
        **{value: (value, "mean") for value in values}, seeds=("seed", "nunique")
    )
    sets = parts.groupby(names, as_index=False).agg(
        **{value: (value, "mean") for value in values},
        seeds=("seeds", "min"),
        n_parts=("file", "nunique"),
    )
    all_parts = pd.Series(
        [(file.dataset, file.group) for file in adbench_files()]
    ).value_counts()
    total = [all_parts.get((row.dataset, row.group), 1) for row in sets.itertuples()]
    counts = zip(sets["n_parts"], total, strict=True)
    sets["parts"] = ["" if n == m else f"{n} of {m}" for n, m in counts]
    sets["title"] = sets["dataset"] + sets["group"].map(SUFFIXES).fillna("")
    return sets.drop(columns="n_parts")
