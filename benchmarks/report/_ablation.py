"""The paper's ablation: what the warm-up and the embedding add."""

import numpy as np
import pandas as pd

from skim.datasets import load_published_scores

METHODS = ("ALTBI", "ODIM")
# A step: the end of the detector's name here, and of the published method's.
STEPS = {
    "raw": ("-paper", ""),
    "+EMA": ("-paper+EMA", "+EMA"),
    "+EMA +embedding": (None, "+EMA+embedding"),
    "skim's default": ("", None),
}


def ablation(summary, embedded=None):
    """Take the mean AUROC of the original methods, step by step.

    All means of a method are over the same tables, those that every step of it was
    run on. As in the paper, only some tables are embedded; the others keep what
    they have with the warm-up.

    Parameters
    ----------
    summary : Summary
    embedded : dict of str to dict of str to float, default=None
        For each method, the AUROC of the embedded tables.

    Returns
    -------
    steps : DataFrame
        One row a method and step: "method", "step", "tables", "embedded" (how many
        of them), "measured" and "published". None if no tables of ADBench were run.
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
            if f"{method}{end}" in table
        }
        if "raw" not in run:
            continue
        sets = pd.DataFrame(run).dropna().index
        known = pd.Series((embedded or {}).get(method, {}), dtype=float)
        known = known[known.index.isin(sets)]
        if len(known) and "+EMA" in run:
            run["+EMA +embedding"] = run["+EMA"].copy()
            run["+EMA +embedding"].update(known)
        for step, (_, end) in STEPS.items():
            theirs = {} if end is None else published[f"{method}{end}"]
            rows.append(
                {
                    "method": method,
                    "step": step,
                    "tables": len(sets),
                    "embedded": len(known) if "embedding" in step else 0,
                    "measured": run[step][sets].mean() if step in run else np.nan,
                    "published": pd.Series(theirs, dtype=float).reindex(sets).mean(),
                }
            )
    return pd.DataFrame(rows)
