"""What every estimator must do."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from skim import (
    ALTBIDetector,
    IMAutoencoderDetector,
    IMBoostDetector,
    ODIMDetector,
)

ESTIMATORS = [
    ALTBIDetector(),
    ODIMDetector(),
    IMAutoencoderDetector(),
    ALTBIDetector.paper(),
    IMBoostDetector(),
    IMBoostDetector.paper(),
    ODIMDetector.paper(),
    IMAutoencoderDetector.paper(epochs=100),
    IMAutoencoderDetector.theorem(epochs=20),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
