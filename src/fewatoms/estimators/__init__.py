"""scikit-learn's clothes: estimators for pipelines and searches, whose answers are those of `fit`, `fit_path` and
`fit_many`. `import fewatoms` does not import them, since scikit-learn takes its time."""

try:
    from sklearn.utils.validation import validate_data as _since_1_6  # noqa: F401
except ImportError:
    raise ImportError("fewatoms.estimators needs scikit-learn 1.6 or newer: pip install 'fewatoms[sklearn]'") from None

from fewatoms.estimators.classification import SparseClassifier, SparseClassifierCV
from fewatoms.estimators.coding import SparseCoder
from fewatoms.estimators.completion import MatrixCompletion
from fewatoms.estimators.regression import SparseRegressor, SparseRegressorCV
from fewatoms.estimators.robust import RobustPCA

__all__ = [
    "MatrixCompletion",
    "RobustPCA",
    "SparseClassifier",
    "SparseClassifierCV",
    "SparseCoder",
    "SparseRegressor",
    "SparseRegressorCV",
]
