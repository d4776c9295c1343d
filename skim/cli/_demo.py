"""A demonstration on a table that comes with scikit-learn."""

import numpy as np
import pandas as pd

from skim import datasets
from skim.cli import _work
from skim.cli._reporter import Reporter, plain
from skim.cli._screen import Listing

LOADERS = {
    "breast-cancer": datasets.load_breast_cancer_outliers,
    "wine": datasets.load_wine_outliers,
    "digits": datasets.load_digits_outliers,
}
N_SHOWN = 10


def run(name, report, seed):
    """Fit a detector, show the strangest rows and write the report."""
    reporter = Reporter(quiet=False)
    _work.import_report()
    with _work.whole_file(report) as draft:
        data, known = LOADERS[name](return_X_y=True, as_frame=True)
        reporter.say(f"{name}: {len(data):,} rows, {data.shape[1]} columns")
        reporter.say(f"{int(known.sum())} rows are known outliers")
        model = _work.new_model(contamination="auto", seed=seed)
        with reporter.step("Fitting TableDetector"):
            model.fit(data)
        is_outlier = np.asarray(known) == 1
        words = np.where(is_outlier, "outlier", "inlier")
        results = _work.Results(
            *(model, data),
            ids=pd.DataFrame({"known": words}),
            scores=model.training_scores_,
        )
        Listing(results, results.strangest(N_SHOWN)).print()
        n_found = int((results.is_outlier & is_outlier).sum())
        print(
            f"{results.is_outlier.sum():,} rows are flagged, including {n_found} of "
            f"the {is_outlier.sum()} known outliers."
        )
        _work.make_report(model, results, draft, reporter, source=name)
    print(plain(f"The report is {report}; open it in a browser."))
