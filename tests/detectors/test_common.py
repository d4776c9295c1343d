"""What scikit-learn asks of every estimator, with the settings of the papers as well.

The checks fit each estimator a hundred times; few epochs suffice for what they claim.
"""

from sklearn.utils.estimator_checks import parametrize_with_checks

from skim import (
    ALTBIDetector,
    IMAutoencoderDetector,
    IMBoostDetector,
    NetworkDetector,
    ODIMDetector,
)
from skim.schedules import IMBoostSchedule
from tests.conftest import make_quick

ESTIMATORS = [
    *(make_quick(kind, epochs=4) for kind in ("altbi", "odim", "autoencoder")),
    NetworkDetector("flow", epochs=2, n_estimators=2),
    IMBoostDetector(make_quick("altbi", epochs=4, random_state=None)),
    ALTBIDetector.paper(epochs=4).set_params(network__n_importance=2),
    ODIMDetector.paper(epochs=2, n_estimators=2),
    IMAutoencoderDetector.paper(epochs=4),
    IMAutoencoderDetector.theorem(epochs=4),
    NetworkDetector.paper("autoencoder", epochs=2),
    IMBoostDetector.paper(epochs=4, schedule=IMBoostSchedule(warm_up=2)),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
