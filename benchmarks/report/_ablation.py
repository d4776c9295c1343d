"""The paper's ablation: what the warm-up and the embedding add."""

import numpy as np
import pandas as pd

from benchmarks._shared.representations import METHODS
from skim.datasets import load_published_scores

EMBEDDED = "+EMA +embedding"
# A step: the end of the detector's name here, and of the published method's.
STEPS = {
    "raw": ("-paper", ""),
    "+EMA": ("-paper+EMA", "+EMA"),
    EMBEDDED: (None, "+EMA+embedding"),
    "skim's default": ("", None),
}


def ablation(summary, embedded=None):
    """Return the mean AUROC of the original methods, step by step.

    A row per method and step has "tables", "embedded" (how many of them), "measured"
    and "published". All means of a method are over the same tables, those that every
    step of it was run on. As in the paper, only some tables are embedded, with the
    AUROC in `embedded` by method; the others keep what they have with the warm-up.
    There are no rows without tables of ADBench that a method was run on with its
    paper's settings.
    """
    if summary.group != "tabular":
        return pd.DataFrame()
    rows = []
    table = summary.table("auroc")
    published = load_published_scores()
    for method in METHODS:
        run = {
            step: table[f"{method}{end}"]
            for step, (end, _) in STEPS.items()
            if end is not None and f"{method}{end}" in table
        }
        if "raw" not in run:
            continue
        sets = pd.DataFrame(run).dropna().index
        known = pd.Series((embedded or {}).get(method, {}), dtype=float)
        known = known[known.index.isin(sets)]
        if len(known) and "+EMA" in run:
            run[EMBEDDED] = run["+EMA"].copy()
            run[EMBEDDED].update(known)
        for step, (_, end) in STEPS.items():
            theirs = {} if end is None else published[f"{method}{end}"]
            rows.append(
                {
                    "method": method,
                    "step": step,
                    "tables": len(sets),
                    "embedded": len(known) if step in run and step == EMBEDDED else 0,
                    "measured": run[step][sets].mean() if step in run else np.nan,
                    "published": pd.Series(theirs, dtype=float).reindex(sets).mean(),
                }
            )
    return pd.DataFrame(rows)
