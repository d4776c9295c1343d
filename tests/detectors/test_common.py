"""What scikit-learn asks of every estimator, with the settings of the papers as well.

The checks fit each estimator a hundred times; few epochs suffice for what they claim.
"""

from sklearn.utils.estimator_checks import parametrize_with_checks

from skim import (
    IMBoostDetector,
    NetworkDetector,
)
from tests.conftest import make_quick

ESTIMATORS = [
    *(make_quick(kind, epochs=4) for kind in ("altbi", "odim", "autoencoder")),
    NetworkDetector("flow", epochs=2, n_estimators=2),
    IMBoostDetector(make_quick("altbi", epochs=4, random_state=None)),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
