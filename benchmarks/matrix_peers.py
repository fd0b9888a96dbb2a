"""The peers of matrix completion behind one signature, each in settings that suit it, and ourselves as a user calls us.

`method.prepare(entries)` brings the entries into the form the package wants, which is not charged; then
`method.solve(prepared, k, setting)` fits, and returns something with `predict(rows, cols)`. A method with several
settings (sweeps, epochs, tolerances) names them from the cheapest to the dearest: whoever asks for an error runs them
in this order and keeps the first that reaches it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import svds

Vector = NDArray[np.float64]
Indices = NDArray[np.integer[Any]]

CHUNK = 1 << 20  # entries predicted at a time


@dataclass(frozen=True, eq=False)
class Entries:
    """Some entries of a matrix, row by row."""

    rows: Indices
    cols: Indices
    values: Vector
    shape: tuple[int, int]

    @property
    def size(self) -> int:
        return self.values.size

    def coo(self) -> sparse.coo_matrix:
        """For cmfrec, which refuses other indices; zeros among the values stay entries."""
        places = self.rows.astype(np.int32, copy=False), self.cols.astype(np.int32, copy=False)
        return sparse.coo_matrix((self.values, places), shape=self.shape)

    def csr(self) -> sparse.csr_matrix:
        A = sparse.csr_matrix((self.values, (self.rows, self.cols)), shape=self.shape)
        A.sort_indices()
        return A

    def dense(self) -> Vector:
        """With NaN where nothing is known."""
        X = np.full(self.shape, np.nan)
        X[self.rows, self.cols] = self.values
        return X


class Predicts(Protocol):
    def predict(self, rows: Indices, cols: Indices) -> Vector: ...


@dataclass(frozen=True, eq=False)
class LowRank:
    """unit times (left right' + center + row and column biases)."""

    left: Any
    right: Any
    center: float = 0.0
    row: Any = 0.0
    col: Any = 0.0
    unit: float = 1.0
    given: sparse.coo_matrix | None = None

    def predict(self, rows: Indices, cols: Indices) -> Vector:
        """Where `given` says what was fitted, factors of rows and columns without entries count as zero."""
        out = np.empty(rows.size)
        row, col = (np.broadcast_to(x, n) for x, n in ((self.row, len(self.left)), (self.col, len(self.right))))
        with np.errstate(invalid="ignore"):  # what was in memory may be no number at all
            left, right = np.array(self.left, dtype=np.float64), np.array(self.right, dtype=np.float64)
        if self.given is not None:
            for factor, places in ((left, self.given.row), (right, self.given.col)):
                factor[np.bincount(places, minlength=len(factor)) == 0] = 0.0
        for start in range(0, rows.size, CHUNK):
            part = slice(start, start + CHUNK)
            i, j = rows[part], cols[part]
            out[part] = np.einsum("ij,ij->i", left[i], right[j]) + row[i] + col[j]
        return self.unit * (out + self.center)


@dataclass(frozen=True, eq=False)
class Filled:
    """What an imputer gives: the whole matrix, with the entries it was given as they came."""

    matrix: Vector

    def predict(self, rows: Indices, cols: Indices) -> Vector:
        return self.matrix[rows, cols]


@dataclass(frozen=True)
class Method:
    """A name to print, the package it needs, and how to call it.

    `imputes`: the entries given come back untouched, so that an error over them would say nothing.
    `slow`: to be run in a process of its own, with a time limit.
    `ranked`: whether k is the rank of what it returns; others are free to use more.
    `biased`: with row and column biases beside the k factors.
    """

    name: str
    package: str
    prepare: Callable[[Entries], Any]
    solve: Callable[[Any, int, Any], Predicts]
    settings: tuple[Any, ...] = (None,)
    imputes: bool = False
    slow: bool = False
    ranked: bool = True
    biased: bool = False

    @property
    def installed(self) -> bool:
        return find_spec(self.package) is not None


# Ourselves


def ours(entries: Entries, k: int, setting: Any = None, **wishes: Any) -> Any:
    """Default settings; making the operator is charged."""
    import fewatoms as fa

    M = fa.Sampling(entries.rows, entries.cols, entries.shape)
    return fa.fit(M, entries.values, atoms=fa.RankOne(*entries.shape), k=k, **wishes)


def ours_chosen(entries: Entries, k: int, setting: Any = None, *, ranks: tuple[int, ...] = (5, 10)) -> Any:
    """With biases; rank and ridge by entries held out inside."""
    import fewatoms as fa

    M = fa.Sampling(entries.rows, entries.cols, entries.shape)
    path = fa.fit_path(M, entries.values, atoms=fa.RankOne(*entries.shape), k=ranks, biases=True)
    path.choose_k("held-out")
    return path.best


# cmfrec


def cmf(X: Any, k: int, niter: int, *, lambda_: float = 1.0, plain: bool = True, **wishes: Any) -> LowRank:
    """Alternating least squares in single precision, as its manual advises for speed: COO, nothing kept for later.

    `plain` leaves biases and centre out, which makes the model the same as ours. Exact solves leave the factors of rows
    and columns without entries as whatever was in memory, so predictions count them as zero.
    """
    from cmfrec import CMF

    model = CMF(
        k=k,
        lambda_=lambda_,
        niter=niter,
        nthreads=1,
        precompute_for_predictions=False,
        **({"user_bias": False, "item_bias": False, "center": False} if plain else {}),
        **wishes,
    ).fit(X)
    beside = (0.0,) if plain else (model.glob_mean_, model.user_bias_, model.item_bias_)
    return LowRank(model.A_, model.B_, *beside, given=X)


# scikit-surprise


@dataclass(frozen=True, eq=False)
class _Trainset:
    inner: Any
    unit: float
    shape: tuple[int, int]


def surprise_trainset(entries: Entries, *, standardise: bool = False) -> _Trainset:
    """The package's own form. Its step length suits ratings: other data are given to it with variance one."""
    import pandas as pd
    from surprise import Dataset, Reader

    unit = float(entries.values.std()) if standardise else 1.0
    values = entries.values / unit
    frame = pd.DataFrame({"row": entries.rows, "col": entries.cols, "value": values})
    reader = Reader(rating_scale=(float(values.min()), float(values.max())))
    return _Trainset(Dataset.load_from_df(frame, reader).build_full_trainset(), unit, entries.shape)


def surprise_svd(data: _Trainset, k: int | None, epochs: int | None, **wishes: Any) -> LowRank:
    """Stochastic gradients on factors and biases; rows and columns without entries get zeros."""
    from surprise import SVD

    if k is not None:
        wishes["n_factors"] = k
    if epochs is not None:
        wishes["n_epochs"] = epochs
    model, train = SVD(random_state=0, **wishes), data.inner
    model.fit(train)
    rows = np.array([train.to_raw_uid(u) for u in range(train.n_users)])
    cols = np.array([train.to_raw_iid(i) for i in range(train.n_items)])
    left, right = (np.zeros((n, model.pu.shape[1])) for n in data.shape)
    row, col = (np.zeros(n) for n in data.shape)
    left[rows], right[cols], row[rows], col[cols] = model.pu, model.qi, model.bu, model.bi
    return LowRank(left, right, train.global_mean, row, col, unit=data.unit)


# fancyimpute


def _mend_fancyimpute() -> None:
    """fancyimpute hands scikit-learn's check_array an argument that has another name today; this renames it."""
    import fancyimpute.iterative_svd
    import fancyimpute.soft_impute
    import fancyimpute.solver
    from sklearn.utils import check_array

    def renamed(X: Any, force_all_finite: bool = True, **wishes: Any) -> Any:
        return check_array(X, ensure_all_finite=force_all_finite, **wishes)

    for module in (fancyimpute.solver, fancyimpute.soft_impute, fancyimpute.iterative_svd):
        module.check_array = renamed


def iterative_svd(X: Vector, k: int, threshold: float) -> Filled:
    _mend_fancyimpute()
    from fancyimpute import IterativeSVD

    return Filled(IterativeSVD(rank=k, convergence_threshold=threshold, verbose=False).fit_transform(X))


def soft_impute(X: Vector, k: int, threshold: float) -> Filled:
    """Its own choice of the threshold of singular values, and no cap on the rank."""
    _mend_fancyimpute()
    from fancyimpute import SoftImpute

    np.random.seed(0)  # noqa: NPY002  (the only way to make it repeat itself)
    return Filled(SoftImpute(convergence_threshold=threshold, verbose=False).fit_transform(X))


def hard_impute(X: Vector, k: int, threshold: float) -> Filled:
    """Rank k, hardly any shrinkage: with its own choice of it the error is larger."""
    _mend_fancyimpute()
    from fancyimpute import SoftImpute

    np.random.seed(0)  # noqa: NPY002
    settings = {"max_rank": k, "shrinkage_value": 1e-3, "convergence_threshold": threshold}
    return Filled(SoftImpute(**settings, verbose=False).fit_transform(X))


# scikit-learn


def column_means(X: Vector, k: int, setting: Any = None) -> Filled:
    from sklearn.impute import SimpleImputer

    return Filled(SimpleImputer(keep_empty_features=True).fit_transform(X))


def nearest_columns(X: Vector, k: int, setting: Any = None) -> Filled:
    """Columns are the samples: among rows the search takes many times as long where there are more rows."""
    from sklearn.impute import KNNImputer

    return Filled(KNNImputer(keep_empty_features=True).fit_transform(X.T).T)


def nearest_rows(X: Vector, k: int, setting: Any = None) -> Filled:
    from sklearn.impute import KNNImputer

    return Filled(KNNImputer(keep_empty_features=True).fit_transform(X))


def chained_regressions(X: Vector, k: int, rounds: int) -> Filled:
    """Every column from all others, by Bayesian ridge regression; no low rank in it."""
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    return Filled(IterativeImputer(max_iter=rounds, keep_empty_features=True).fit_transform(X))


# pymanopt


def riemannian_cg(A: sparse.csr_matrix, k: int, iterations: int) -> LowRank:
    """Conjugate gradients on matrices of rank k, from the scaled singular vectors of the entries.

    The gradient is given as a projection of the sparse residual. The first step is told how long to be: the
    package's own guess is one unit of whatever the data are in.
    """
    import pymanopt
    from pymanopt.manifolds import FixedRankEmbedded
    from pymanopt.optimizers import ConjugateGradient
    from pymanopt.optimizers.line_search import BackTrackingLineSearcher

    rows, cols, b = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)), A.indices, A.data
    manifold = FixedRankEmbedded(*A.shape, k)
    fill = A.shape[0] * A.shape[1] / b.size
    last: list[Any] = [None, None]  # cost and gradient are asked for at the same point, one after the other

    def residual(u: Vector, s: Vector, vt: Vector) -> Vector:
        if last[0] is not u:
            V = np.ascontiguousarray(vt.T)
            last[:] = u, np.einsum("ij,ij->i", (u * s).take(rows, 0), V.take(cols, 0)) - b
        return last[1]

    @pymanopt.function.numpy(manifold)
    def cost(u: Vector, s: Vector, vt: Vector) -> float:
        r = residual(u, s, vt)
        return 0.5 * float(r @ r)

    @pymanopt.function.numpy(manifold)
    def gradient(u: Vector, s: Vector, vt: Vector) -> Any:
        R = sparse.csr_matrix((residual(u, s, vt), cols, A.indptr), shape=A.shape)
        return manifold.projection((u, s, vt), R)

    u, s, vt = svds(A, k, rng=0)
    order = np.argsort(-s)
    start = type(manifold.random_point())(u[:, order], fill * s[order], vt[order])
    length = fill * manifold.norm(start, gradient(*start))
    search = BackTrackingLineSearcher(initial_step_size=length)
    found = ConjugateGradient(line_searcher=search, max_iterations=iterations, verbosity=0).run(
        pymanopt.Problem(manifold, cost, riemannian_gradient=gradient), initial_point=start
    )
    u, s, vt = found.point
    return LowRank(u * s, vt.T)


# Rows and columns alone


def means(entries: Entries, k: int | None = None, setting: Any = None) -> LowRank:
    """Mean of the row plus mean of the column minus mean of all; what has no entries counts as average."""
    mean = float(entries.values.mean())
    effects = []
    for where, n in zip((entries.rows, entries.cols), entries.shape, strict=True):
        counts = np.bincount(where, minlength=n)
        effects.append(np.bincount(where, entries.values - mean, minlength=n) / np.maximum(counts, 1))
    nothing = (np.zeros((n, 0)) for n in entries.shape)
    return LowRank(*nothing, mean, *effects)


# The lists


def _itself(entries: Entries) -> Entries:
    return entries


SWEEPS = (2, 3, 4, 5, 6, 8, 10, 15, 30)
CHOLESKY = {"use_cg": False, "finalize_chol": False}
"""Exact small solves: its manual calls them better but slower; with few factors they are faster too."""
GRADIENTS = {"use_cg": True, "finalize_chol": False}

OURS = Method("fewatoms", "fewatoms", _itself, ours)
OURS_BIASED = Method("fewatoms+b", "fewatoms", _itself, partial(ours, biases=True), biased=True)

TEMPERATURES = [
    OURS,
    OURS_BIASED,
    Method("cmfrec CG", "cmfrec", Entries.coo, partial(cmf, **GRADIENTS), SWEEPS),
    Method("cmfrec", "cmfrec", Entries.coo, partial(cmf, **CHOLESKY), SWEEPS),
    Method("cmfrec+b", "cmfrec", Entries.coo, partial(cmf, plain=False, **CHOLESKY), SWEEPS, biased=True),
    Method("pymanopt", "pymanopt", Entries.csr, riemannian_cg, (10, 15, 20, 30, 50, 100)),
    Method(
        "surprise",
        "surprise",
        partial(surprise_trainset, standardise=True),
        partial(surprise_svd, reg_all=0.0),
        (10, 20, 30, 60),
        biased=True,
    ),
    Method("IterativeSVD", "fancyimpute", Entries.dense, iterative_svd, (1e-3, 1e-4, 1e-5), imputes=True),
    Method("SoftImpute k", "fancyimpute", Entries.dense, hard_impute, (1e-2, 1e-3, 1e-4), imputes=True),
    Method("SoftImpute", "fancyimpute", Entries.dense, soft_impute, (1e-3,), imputes=True, ranked=False),
    Method("column means", "sklearn", Entries.dense, column_means, imputes=True, ranked=False),
    Method("KNN columns", "sklearn", Entries.dense, nearest_columns, imputes=True, ranked=False, slow=True),
    Method("KNN rows", "sklearn", Entries.dense, nearest_rows, imputes=True, ranked=False, slow=True),
    Method(
        "IterativeImp", "sklearn", Entries.dense, chained_regressions, (2,), imputes=True, ranked=False, slow=True
    ),
]  # fmt: skip

RATINGS = {"plain": False, "use_cg": True}  # as a user of cmfrec calls it
MOVIELENS = [
    Method("fewatoms", "fewatoms", _itself, ours_chosen),
    Method("fewatoms k=5", "fewatoms", _itself, lambda e, k, setting: ours(e, 5, biases=True)),
    Method("fewatoms k=10", "fewatoms", _itself, lambda e, k, setting: ours(e, 10, biases=True)),
    Method("cmfrec", "cmfrec", Entries.coo, partial(cmf, lambda_=12.0, **RATINGS), (30,)),
    Method("cmfrec Cholesky", "cmfrec", Entries.coo, partial(cmf, lambda_=12.0, **RATINGS | CHOLESKY), (30,)),
    Method("surprise", "surprise", surprise_trainset, lambda t, k, setting: surprise_svd(t, None, None)),
    Method("means", "numpy", _itself, means),
]
LAMBDAS = (1.0, 4.0, 12.0, 40.0)
JESTER = [
    Method("fewatoms", "fewatoms", _itself, partial(ours, biases=True)),
    *(
        Method(f"cmfrec{name} {lam:g}", "cmfrec", Entries.coo, partial(cmf, lambda_=lam, **RATINGS | how), (30,))
        for name, how in (("", {}), (" Cholesky", CHOLESKY))
        for lam in LAMBDAS
    ),
    Method("surprise", "surprise", surprise_trainset, lambda t, k, setting: surprise_svd(t, None, None)),
    Method("means", "numpy", _itself, means),
]

PACKAGES = [
    "fewatoms", "numpy", "scipy", "numba", "cmfrec", "scikit-surprise", "fancyimpute", "scikit-learn", "pymanopt",
]  # fmt: skip
