import pytest

from skim.pyod import ALTBI, ODIM, IMAutoencoder
from tests.conftest import make_quick

PYOD = {"altbi": ALTBI, "odim": ODIM, "autoencoder": IMAutoencoder}


def make_pyod(kind="autoencoder", *, contamination=0.1, **params):
    """Make a quick PyOD detector with the parameters of a quick skim detector."""
    params = make_quick(kind, **params).get_params(deep=False)
    return PYOD[kind](**params | {"contamination": contamination})


@pytest.fixture(scope="session")
def fitted_pyod(table):
    """A quick PyOD detector, fitted to the table; not to be changed."""
    return make_pyod().fit(table)
