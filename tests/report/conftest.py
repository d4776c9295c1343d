import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from skim import IMAutoencoderDetector
from skim.report import write_report
from skim.tables import TableEncoder

SCRIPT = "<script>document.title = 'taken over'</script>"
HOSTILE = '</script><b title="x">&amp;'


@pytest.fixture(scope="session")
def people():
    """A table of 120 rows; row "p7" has a unique colour, "p3" an extreme height."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "height": rng.normal(170, 8, 120).round(1),
            HOSTILE: rng.normal(size=120),
            "colour": rng.choice(["red", "blue"], 120),
        },
        index=[f"p{i}" for i in range(120)],
    )
    X.loc["p3", "height"] = 260.5
    X.loc["p7", "colour"] = SCRIPT
    return X


@pytest.fixture(scope="session")
def fitted(people):
    """A pipeline fitted to the table."""
    detector = IMAutoencoderDetector(epochs=40, contamination=0.05, random_state=0)
    return make_pipeline(TableEncoder(max_levels=3), detector).fit(people)


@pytest.fixture(scope="session")
def page(tmp_path_factory, fitted, people):
    """The report on the table."""
    path = tmp_path_factory.mktemp("report") / "people.html"
    return write_report(fitted, people, path, source="people & more.csv", top=20)
