"""What every estimator must do."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from skim import (
    ALTBIDetector,
    IMAutoencoderDetector,
    IMBoostDetector,
    NetworkDetector,
    ODIMDetector,
)

ESTIMATORS = [
    ALTBIDetector(),
    ODIMDetector(),
    IMAutoencoderDetector(),
    NetworkDetector("flow", epochs=30),
    NetworkDetector("autoencoder", epochs=30),
    NetworkDetector("vae", epochs=30),
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
