"""scikit-learn's clothes: estimators for matrices with missing entries, and with gross errors."""

from fewatoms.estimators.completion import MatrixCompletion
from fewatoms.estimators.robust import RobustPCA

__all__ = ["MatrixCompletion", "RobustPCA"]
