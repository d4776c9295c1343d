"""skim detectors for PyOD, and PyOD detectors for scikit-learn."""

try:
    from pyod.models.base import BaseDetector as _BaseDetector  # noqa: F401
except ImportError as error:
    raise ImportError("skim.pyod needs PyOD: pip install 'skim-od[pyod]'") from error

from skim.pyod._adapter import PyODDetector, from_pyod
from skim.pyod._detectors import ALTBI, ODIM, IMAutoencoder

__all__ = ["ALTBI", "ODIM", "IMAutoencoder", "PyODDetector", "from_pyod"]
