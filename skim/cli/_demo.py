"""A demonstration on a table that comes with scikit-learn."""

import numpy as np
import pandas as pd

from skim import datasets
from skim.cli import _work
from skim.cli._files import whole_file
from skim.cli._reporter import Reporter, plain
from skim.cli._results import Results
from skim.cli._screen import print_rows

LOADERS = {
    "breast-cancer": datasets.load_breast_cancer_outliers,
    "wine": datasets.load_wine_outliers,
    "digits": datasets.load_digits_outliers,
}


def run(name, report, seed):
    """Fit a detector, show the strangest rows and write the report."""
    reporter = Reporter(quiet=False)
    _work.import_report()
    with whole_file(report) as draft:
        data, known = LOADERS[name](return_X_y=True, as_frame=True)
        is_known = np.asarray(known) == 1
        reporter.say(f"{name}: {len(data):,} rows, {data.shape[1]} columns")
        reporter.say(f"{is_known.sum()} rows are known outliers")
        model = _work.new_model(contamination="auto", seed=seed)
        with reporter.step("Fitting TableDetector"):
            model.fit(data)
        ids = pd.DataFrame({"known": np.where(is_known, "outlier", "inlier")})
        results = Results(model, data, ids, scores=model.training_scores_)
        print_rows(results, results.strangest(_work.N_LISTED))
        print(
            f"{results.is_outlier.sum():,} rows are flagged, including "
            f"{(results.is_outlier & is_known).sum()} of the {is_known.sum()} known "
            "outliers."
        )
        _work.make_report(results, draft, reporter, name)
    print(plain(f"The report is {report}; open it in a browser."))
