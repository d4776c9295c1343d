import numpy as np
import pytest

from skim.pyod import ALTBI, ODIM, IMAutoencoder, Network
from tests.conftest import QUICK

PYOD = {
    "altbi": ALTBI,
    "odim": ODIM,
    "autoencoder": IMAutoencoder,
    "network": Network,
}


@pytest.fixture(params=PYOD)
def pair(request):
    """Makes quick detectors of each kind, for PyOD and for scikit-learn."""
    skim_class, settings = QUICK[request.param]

    def make(cls, **params):
        return cls(**({"random_state": 0} | settings | params))

    return (
        lambda **params: make(PYOD[request.param], **params),
        lambda **params: make(skim_class, **params),
    )


@pytest.fixture
def quick(pair):
    """Makes a quick PyOD detector of each kind."""
    return pair[0]


@pytest.fixture
def iqr():
    """A PyThresh object; its constructor seeds numpy's global state."""
    pytest.importorskip("pythresh", reason="pythresh is not installed")
    from pyod.models.thresholds import IQR

    state = np.random.get_state()  # noqa: NPY002
    yield IQR()
    np.random.set_state(state)  # noqa: NPY002
