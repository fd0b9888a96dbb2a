"""The same rows in every clothing that estimators take."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp

NAMES = ("age", "bmi", "bp", "s1", "s2", "s3", "s4", "s5")
TRUE = np.array([2.0, 0.0, -1.0, 0.0, 0.0, 0.5, 0.0, 0.0])


def columns(X):
    return dict(zip(NAMES, X.T.copy(), strict=True))


CLOTHES = {
    "array": np.asarray,
    "fortran": np.asfortranarray,
    "list": np.ndarray.tolist,
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES, index=np.arange(len(X))[::-1]),
    "nullable": lambda X: pd.DataFrame(X, columns=NAMES).convert_dtypes(),
    "arrow pandas": lambda X: pd.DataFrame(X, columns=NAMES).convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda X: pl.DataFrame(columns(X)),
    "arrow": lambda X: pa.table(columns(X)),
    "csr": sp.csr_array,
    "csc": sp.csc_matrix,
    "coo": sp.coo_array,
}
NAMED = ("pandas", "nullable", "arrow pandas", "polars", "arrow")
SERIES = {
    "array": np.asarray,
    "list": np.ndarray.tolist,
    "pandas": pd.Series,
    "nullable": lambda y: pd.Series(y).convert_dtypes(),
    "polars": lambda y: pl.Series("y", y),
    "arrow": lambda y: pa.chunked_array([y]),
}


def rows(seed=0, m=60, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, len(NAMES))) + 1.0
    return X, X @ TRUE + 3.0 + noise * rng.standard_normal(m)
