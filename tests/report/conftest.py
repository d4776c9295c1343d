import numpy as np
import pandas as pd
import pytest

from skim import ALTBIDetector, TableDetector
from skim.networks import VAEConfig
from skim.report import write_report

HOSTILE = "<script>document.title = 'taken over'</script>"
REVERSING = "gnp\u202e.exe\x1b[31m"


@pytest.fixture(scope="session")
def people():
    """A table of 150 rows: three are too tall, one has a unique colour."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "height": rng.normal(170, 8, 150).round(1),
            REVERSING: rng.normal(size=150),
            "colour": rng.choice(["red", "blue"], 150),
            "note": rng.choice(["x", None], 150),
        }
    )
    table.loc[[3, 30, 77], "height"] = [260.5, 270.25, 280.125]
    table.loc[7, "colour"] = HOSTILE
    return table


@pytest.fixture(scope="session")
def networks():
    """A detector for numbers that is quick to train."""
    return ALTBIDetector(epochs=10, n_estimators=2, network=VAEConfig(), random_state=0)


@pytest.fixture(scope="session")
def detector(people, networks):
    return TableDetector(networks, contamination=0.04).fit(people)


@pytest.fixture(scope="session")
def page(tmp_path_factory, detector, people):
    """The report on the table, in which rows are also called p0, p1, ..."""
    path = tmp_path_factory.mktemp("report") / "people.html"
    ids = [f"p{i}" for i in range(len(people))]
    return write_report(
        *(detector, people, path),
        source=f"people & {REVERSING}",
        ids=ids,
        notes=["1 row repeats another."],
    )
