"""Averages, ranks and significance of a benchmark's results."""

from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from benchmarks._shared.measure import METRICS
from benchmarks._shared.results import Store
from benchmarks._shared.tables import parts_of
from skim.datasets import list_adbench, load_published_scores

REFERENCE = "ALTBI"
SUFFIXES = {"own": " (own)", "image-vit": " (ViT)", "text-roberta": " (RoBERTa)"}
GROUP_NAMES = {
    "tabular": "tables",
    "keel": "KEEL families",
    "own": "tables of your own",
    "image": "image sets (ResNet18)",
    "image-vit": "image sets (ViT)",
    "text": "text sets (BERT)",
    "text-roberta": "text sets (RoBERTa)",
}


class Summary:
    """Summary of the records of a run.

    Of a detector that was run with several settings, or numbers of threads, the last
    ones count, and of a user's own file, its last version. A file that fewer than
    half of the detectors of its group were run on is left out: the run was cut short
    there. A detector that failed on one part of a data set has no value for the data
    set, so that all values are over the same parts.

    `results` has a row per data set and detector: means over seeds and then over parts,
    "seeds" (the fewest of a part), "parts" (such as "2 of 10" if not all were run), and
    "title", the data set with its embedding. `group` is what averages are over: the
    tables of ADBench if there are any, or else the group with most data sets.
    """

    @classmethod
    def read(cls, path, reference=REFERENCE):
        """Summarise a results.jsonl, or the one in a folder."""
        path = Path(path)
        path = path / "results.jsonl" if path.is_dir() else path
        if not path.exists():
            raise ValueError(f"There is no {path}.")
        return cls(Store(path).read(), reference)

    def __init__(self, records, reference=REFERENCE):
        self.reference = reference
        frame = pd.DataFrame(records)
        if frame.empty or not (frame["status"] == "ok").any():
            raise ValueError("There is no result to report.")
        frame = _last_versions(_last_settings(frame))
        self.families = dict(zip(frame["detector"], frame["family"], strict=True))
        tried = frame["status"] != "no data"
        self.left_out = _hardly_begun(frame[tried])
        kept = ~frame["file"].isin(self.left_out)
        self.failures = frame[kept & (frame["status"] != "ok")].reindex(
            columns=["dataset", "file", "group", "detector", "seed", "status", "error"]
        )
        frame = frame[kept & tried]
        self._times = _times(frame)
        self.results = _per_dataset(frame)
        sets = self.results.groupby("group")["dataset"].nunique()
        self.group = "tabular" if "tabular" in sets else sets.idxmax()

    @property
    def group_name(self):
        """What to call the sets that averages are over."""
        return GROUP_NAMES[self.group]

    @cached_property
    def published(self):
        """The published baselines that were not run."""
        if self.group != "tabular":
            return []
        names = load_published_scores()
        ours = ("ALTBI", "ODIM")
        return [n for n in names if n not in self.families and not n.startswith(ours)]

    def table(self, metric, *, published=True):
        """Return data sets by detectors; published methods come last."""
        chosen = self.results[self.results["group"] == self.group]
        wide = chosen.pivot(index="dataset", columns="detector", values=metric)
        if published and self.published:
            scores = load_published_scores(metric)
            for name in self.published:
                wide[name] = [scores[name][dataset] for dataset in wide.index]
        return wide

    @cached_property
    def averages(self):
        """One row per detector, over the sets of `group`, the best AUROC first.

        "complete" tells whether there is a result on every one of them; the means
        of the others are over fewer sets, and `reference_auroc` and
        `reference_auprc` are those of the reference on the same ones, NaN if it has
        not got all of them.
        "median_seconds" counts a task that ran out of time with its limit.
        """
        tables = {metric: self.table(metric) for metric in METRICS}
        mine = self.results[self.results["group"] == self.group]
        rows = []
        for name in tables["auroc"]:
            row = {"detector": name, "family": self.families.get(name, "published")}
            for metric, table in tables.items():
                done = table[name].notna()
                row[metric] = table[name][done].mean()
                beside = table.get(self.reference, pd.Series(np.nan, table.index))
                row[f"reference_{metric}"] = beside[done].mean(skipna=False)
            row["n_sets"] = int(done.sum())
            row["complete"] = bool(done.all())
            row["seeds"] = mine[mine["detector"] == name]["seeds"].min()
            row["median_seconds"] = self.seconds(name).median()
            rows.append(row)
        frame = pd.DataFrame(rows).sort_values(
            ["complete", "auroc"], ascending=[False, False], ignore_index=True
        )
        for metric in METRICS:
            ranks = self.mean_ranks(metric)
            frame[f"{metric}_rank"] = frame["detector"].map(ranks)
        return frame

    def brief(self):
        """Return the averages of the detectors that were run, for reading."""
        found = self.averages[self.averages["family"] != "published"]
        table = found[["detector", "n_sets"]].copy()
        table["AUROC / AUPRC"] = _pairs(found["auroc"], found["auprc"])
        there = _pairs(found["reference_auroc"], found["reference_auprc"])
        table[f"{self.reference} on the same"] = there
        table["CPU seconds"] = found["median_seconds"].map("{:.3g}".format)
        return table.rename(columns={"n_sets": "data sets"})

    def embeddings(self):
        """Return the mean AUROC and AUPRC on each set of embeddings."""
        others = self.results[
            self.results["group"].isin(SUFFIXES | {"image": "", "text": ""})
        ]
        others = others.assign(both=_pairs(others["auroc"], others["auprc"]))
        table = others.pivot(index="detector", columns="title", values="both")
        return table.fillna("").reset_index()

    def seconds(self, detector):
        """Processor time by file of `group`; the limit where it ran out of time."""
        times = self._times[self._times["group"] == self.group]
        return times[times["detector"] == detector].set_index("file")["seconds"]

    def mean_ranks(self, metric):
        """Return the mean rank of every complete detector that was run."""
        table = self.table(metric, published=False).dropna(axis=1)
        ranks = rankdata(-table.to_numpy(), axis=1)
        return pd.Series(ranks.mean(axis=0), index=table.columns).sort_values()

    def critical_difference(self, metric, alpha=0.05):
        """Return the mean ranks, Nemenyi's critical difference and Friedman's p."""
        ranks = self.mean_ranks(metric)
        table = self.table(metric, published=False)[ranks.index]
        n_sets, n_detectors = table.shape
        if n_detectors < 3 or n_sets < 2:
            return ranks, np.nan, np.nan
        q = studentized_range.ppf(1 - alpha, n_detectors, np.inf) / np.sqrt(2)
        difference = q * np.sqrt(n_detectors * (n_detectors + 1) / (6 * n_sets))
        p_value = friedmanchisquare(*table.to_numpy().T).pvalue
        return ranks, difference, p_value

    def duels(self, metric="auroc"):
        """Return, per detector, on how many sets the reference wins and loses."""
        table = self.table(metric)
        columns = ["detector", "wins", "ties", "losses", "mean_gap"]
        if self.reference not in table:
            return pd.DataFrame(columns=columns)
        rows = []
        for name in table.columns.drop(self.reference):
            gap = (table[self.reference] - table[name]).dropna().round(3)
            counts = ((gap > 0).sum(), (gap == 0).sum(), (gap < 0).sum())
            rows.append((name, *map(int, counts), gap.mean()))
        return pd.DataFrame(rows, columns=columns).sort_values("mean_gap")


def _pairs(first, second):
    return [f"{a:.3f} / {b:.3f}" for a, b in zip(first, second, strict=True)]


def _last_settings(frame):
    """Keep the last settings and number of threads of each detector."""
    kept = pd.Series(True, frame.index)
    for column in ("settings", "threads"):
        kept &= frame[column] == frame.groupby("detector")[column].transform("last")
    return frame[kept]


def _last_versions(frame):
    """Keep the last version of each file of the user's own."""
    own = frame["group"] == "own"
    last = frame[own].groupby("dataset")["file"].transform("last")
    kept = ~own | (frame["file"] == last.reindex(frame.index))
    return frame[kept]


def _hardly_begun(frame):
    n_detectors = frame.groupby("group")["detector"].nunique()
    tried = frame.groupby(["group", "file"])["detector"].nunique()
    few = [n < n_detectors[group] / 2 for (group, _), n in tried.items()]
    return sorted(tried.index.get_level_values("file")[few])


def _times(frame):
    """Mean processor time by detector and file, the limit for what ran out of it."""
    frame = frame[frame["status"].isin(["ok", "timeout"])]
    if "cpu_seconds" not in frame:
        frame = frame.assign(cpu_seconds=np.nan)
    columns = (frame["status"], frame["limits"], frame["threads"])
    limits = [
        limit[0] * threads if status == "timeout" else np.nan  # limits are per thread
        for status, limit, threads in zip(*columns, strict=True)
    ]
    seconds = frame["cpu_seconds"].fillna(pd.Series(limits, frame.index))
    names = ["group", "detector", "file"]
    times = frame.assign(seconds=seconds).dropna(subset="seconds")
    return times.groupby(names, as_index=False)["seconds"].mean()


def _per_dataset(frame):
    """Means over seeds and parts, where there is a result for every part."""
    names = ["dataset", "group", "detector"]
    n_parts = frame.groupby(["dataset", "group"])["file"].nunique()
    values = ["auroc", "auprc", "seconds", "cpu_seconds", "peak_gb", "n", "p"]
    frame = frame[frame["status"] == "ok"]
    frame = frame.reindex(columns=dict.fromkeys([*frame.columns, *values]))
    parts = frame.groupby([*names, "file"], as_index=False).agg(
        **{value: (value, "mean") for value in values}, seeds=("seed", "nunique")
    )
    sets = parts.groupby(names, as_index=False).agg(
        **{value: (value, "mean") for value in values},
        seeds=("seeds", "min"),
        n_parts=("file", "nunique"),
    )
    places = pd.MultiIndex.from_frame(sets[["dataset", "group"]])
    sets = sets[sets["n_parts"].to_numpy() == n_parts.loc[places].to_numpy()]
    known = pd.Series(list(parts_of(list_adbench()).values())).value_counts()
    sets["parts"] = [
        f"{row.n_parts} of {known[row.group, row.dataset]}"
        if row.group not in ("keel", "own")
        and row.n_parts < known[row.group, row.dataset]
        else ""
        for row in sets.itertuples()
    ]
    sets["title"] = sets["dataset"] + sets["group"].map(SUFFIXES).fillna("")
    return sets.drop(columns="n_parts").reset_index(drop=True)
