import pytest

from skim.pyod import ALTBI, ODIM, IMAutoencoder
from tests.conftest import QUICK

PYOD = {"altbi": ALTBI, "odim": ODIM, "autoencoder": IMAutoencoder}


@pytest.fixture(params=PYOD)
def pair(request):
    """Makes a quick detector of each kind, for PyOD or for scikit-learn."""
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
