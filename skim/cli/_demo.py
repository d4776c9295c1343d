"""A demonstration on a table that comes with scikit-learn."""

from rich.console import Console
from rich.table import Table

from skim import datasets
from skim.cli import _work
from skim.cli._results import Results
from skim.cli._talk import Talk

LOADERS = {
    "breast-cancer": datasets.load_breast_cancer_outliers,
    "wine": datasets.load_wine_outliers,
    "digits": datasets.load_digits_outliers,
}
SHOWN = 10


def run(name, report, seed):
    """Fit a detector, show the most unusual rows and write the report."""
    talk = Talk(quiet=False)
    _work.import_report()
    with _work.whole_file(report) as draft:
        data, known = LOADERS[name](return_X_y=True, as_frame=True)
        talk.say(f"{name}: {len(data):,} rows, {data.shape[1]} columns")
        talk.say(f"{int(known.sum())} rows are known outliers")
        model = _work.new_model("altbi", contamination="auto", seed=seed)
        with talk.step("Fitting ALTBIDetector"):
            model.fit(data)
        results = Results(
            model,
            data,
            scores=model[-1].training_scores_,
            top=None,
            n_reasons=3,
            n_jobs=1,
        )
        Console(markup=False, highlight=False).print(_strangest(results, known))
        flagged = results.scores > 0
        found = int((flagged & (known == 1)).sum())
        print(
            f"{flagged.sum():,} rows are flagged, including {found} of the "
            f"{known.sum()} known outliers."
        )
        _work.make_report(model, data, draft, talk, source=name)
    print(f"The report is {report}; open it in a browser.")


def _strangest(results, known):
    table = Table(box=None, padding=(0, 2, 0, 0), title="The most unusual rows")
    table.add_column("row", justify="right")
    table.add_column("score", justify="right")
    table.add_column("known")
    table.add_column("reasons")
    for row, score, reasons in results.strangest(SHOWN):
        label = "outlier" if known.iloc[row] else ""
        table.add_row(f"{row + 1}", f"{score:.1f}", label, reasons)
    return table
