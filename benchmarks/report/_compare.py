"""A run beside the published numbers."""

import pandas as pd

from benchmarks.report._summary import Summary
from skim.datasets import load_published_scores

# Detectors whose published numbers go by another name.
PUBLISHED_NAMES = {
    "ALTBI": "ALTBI",
    "ALTBI-paper": "ALTBI",
    "ALTBI-paper+EMA": "ALTBI+EMA",
    "ODIM": "ODIM",
    "ODIM-paper": "ODIM",
    "ODIM-paper+EMA": "ODIM+EMA",
}
# The published numbers of ALTBI and ODIM on images are those on ViT's embeddings,
# the baselines' those on ResNet18's.
OURS = ("tabular", "image-vit", "text")
BASELINES = ("tabular", "image", "text")


def compare_with_published(results, metric="auroc"):
    """Put the results of a run beside the published ones of the same methods.

    `results` is the folder or results.jsonl of a run, or its `Summary.results`. The
    defaults of ALTBI and ODIM stand beside the originals.
    """
    if not isinstance(results, pd.DataFrame):
        results = Summary.read(results).results
    published = load_published_scores(metric)
    rows = []
    for row in results.itertuples():
        ours = row.detector in PUBLISHED_NAMES
        method = PUBLISHED_NAMES.get(row.detector, row.detector)
        value = published.get(method, {}).get(row.dataset)
        if value is None or row.group not in (OURS if ours else BASELINES):
            continue
        measured = getattr(row, metric)
        known = (row.dataset, row.group, row.detector)
        rows.append((*known, measured, value, measured - value, row.parts))
    columns = ["dataset", "group", "detector", "measured", "published", "difference"]
    return pd.DataFrame(rows, columns=[*columns, "parts"])
