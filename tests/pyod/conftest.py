import numpy as np
import pytest

from skim.pyod import ALTBI, ODIM, IMAutoencoder, Network
from tests.conftest import make_quick

PYOD = {"altbi": ALTBI, "odim": ODIM, "autoencoder": IMAutoencoder, "network": Network}


def make_pyod(kind="autoencoder", *, contamination=0.1, **params):
    """Make a quick PyOD detector with the parameters of a quick skim detector."""
    params = make_quick(kind, **params).get_params(deep=False)
    return PYOD[kind](**params | {"contamination": contamination})


@pytest.fixture(scope="session")
def fitted_pyod(table):
    """A quick PyOD detector, fitted to the table; not to be changed."""
    return make_pyod().fit(table)


@pytest.fixture
def iqr():
    """A PyThresh object; its constructor seeds numpy's global state."""
    pytest.importorskip("pythresh", reason="pythresh is not installed")
    from pyod.models.thresholds import IQR

    state = np.random.get_state()  # noqa: NPY002
    yield IQR()
    np.random.set_state(state)  # noqa: NPY002
