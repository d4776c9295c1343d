"""A demonstration on a table that comes with scikit-learn."""

from rich.console import Console
from rich.table import Table

from skim import datasets
from skim.cli import _work
from skim.cli._reporter import Reporter

LOADERS = {
    "breast-cancer": datasets.load_breast_cancer_outliers,
    "wine": datasets.load_wine_outliers,
    "digits": datasets.load_digits_outliers,
}
SHOWN = 10


def run(name, report, seed):
    """Fit a detector, show the strangest rows and write the report."""
    reporter = Reporter(quiet=False)
    _work.import_report()
    with _work.whole_file(report) as draft:
        data, known = LOADERS[name](return_X_y=True, as_frame=True)
        reporter.say(f"{name}: {len(data):,} rows, {data.shape[1]} columns")
        reporter.say(f"{int(known.sum())} rows are known outliers")
        model = _work.new_model("altbi", contamination="auto", seed=seed)
        with reporter.step("Fitting TableDetector"):
            model.fit(data)
        encoder = _work.encoder_of(model)
        columns = _work.row_columns(data, encoder, ids=[], keep=[])
        results = _work.find_results(
            model,
            data,
            reporter,
            columns=columns,
            scores=model.training_scores_,
            top=None,
            n_reasons=3,
        )
        Console(markup=False, highlight=False).print(_strangest(results, known))
        found = int((results.is_outlier & (known == 1)).sum())
        print(
            f"{results.is_outlier.sum():,} rows are flagged, including {found} of the "
            f"{known.sum()} known outliers."
        )
        _work.make_report(model, results, draft, reporter, source=name)
    print(f"The report is {report}; open it in a browser.")


def _strangest(results, known):
    table = Table(box=None, padding=(0, 2, 0, 0), title="The strangest rows")
    table.add_column("row", justify="right")
    table.add_column("loss", justify="right")
    table.add_column("known")
    table.add_column("reasons")
    rows = results.strangest(SHOWN)
    for row, reasons in zip(rows, results.explain(rows), strict=True):
        label = "outlier" if known.iloc[row] else ""
        loss = f"{results.losses[row]:.{results.n_decimals}f}"
        table.add_row(f"{row + 1}", loss, label, str(reasons))
    return table
