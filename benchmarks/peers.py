"""The peers behind one signature, each set up as its own manual would have it, and ourselves as a user calls us.

`method(M, b, k, noise=None)` returns an `Answer` with at most k atoms for least squares. Peers that take a penalty or a
misfit instead of k run a path; at each point the k largest coefficients are fitted anew, and the best fit is kept. All
refits go through the same two routines here, `refit` and `refit_logistic`. Columns are expected to be of similar norm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator
from scipy.special import expit

Vector = NDArray[np.float64]

ALPHAS = 20  # points on a path of penalties
EPS = 1e-3  # the last penalty against the first
LOGISTIC_ALPHAS = 15


@dataclass(frozen=True)
class Answer:
    """Few atoms and their coefficients; `free` holds the coefficient of the intercept, if there is one."""

    indices: NDArray[np.intp]
    coefficients: Vector
    free: Vector
    products: int | None = None

    @classmethod
    def of(cls, indices: Any, coefficients: Any, free: Any = (), products: int | None = None) -> Answer:
        indices, coefficients = np.asarray(indices, dtype=np.intp), np.asarray(coefficients, dtype=np.float64)
        order = np.argsort(indices)
        return cls(indices[order], coefficients[order], np.ravel(np.asarray(free, dtype=np.float64)), products)

    @classmethod
    def of_dense(cls, x: Any, products: int | None = None) -> Answer:
        x = np.ravel(x)
        (indices,) = np.nonzero(x)
        return cls.of(indices, x[indices], products=products)

    def counted(self, threshold: float = 1e-6) -> int:
        """Atoms with a coefficient above `threshold` times the largest."""
        size = np.abs(self.coefficients)
        return int(np.count_nonzero(size > threshold * size.max(initial=0.0)))

    def residual(self, M: Any, b: Vector, free: Any = None) -> Vector:
        if isinstance(M, LinearOperator):
            x = np.zeros(M.shape[1])
            x[self.indices] = self.coefficients
            r = b - M.matvec(x)
        else:
            r = b - M[:, self.indices] @ self.coefficients
        return r if free is None else r - np.asarray(free) @ self.free

    def misfit(self, M: Any, b: Vector, free: Any = None) -> float:
        return float(np.linalg.norm(self.residual(M, b, free)) / np.linalg.norm(b))


class Counted(LinearOperator):
    """Any operator or matrix, with its products counted; a block of p vectors counts p."""

    def __init__(self, M: Any) -> None:
        self.inner, self.products = M, 0
        self._back = M.H if isinstance(M, LinearOperator) else M.T
        super().__init__(np.dtype(np.float64), M.shape)

    def _matvec(self, x: Vector) -> Vector:
        return self._matmat(x)

    def _rmatvec(self, y: Vector) -> Vector:
        return self._rmatmat(y)

    def _matmat(self, X: Any) -> Any:
        self.products += X.shape[1] if X.ndim == 2 else 1
        return self.inner @ X

    def _rmatmat(self, Y: Any) -> Any:
        self.products += Y.shape[1] if Y.ndim == 2 else 1
        return self._back @ Y


# Refits


def refit(M: Any, b: Vector, indices: Any) -> Answer:
    """Least squares on the given columns: by Cholesky, as that is fastest, by SVD where it breaks down."""
    A = M[:, indices]
    gram, right = A.T @ A, A.T @ b
    if sparse.issparse(gram):
        gram = gram.toarray()
    try:
        factor = linalg.cho_factor(gram)
        pivots = np.diag(factor[0])
        if pivots.size and pivots.min() <= 1e-7 * pivots.max():
            raise linalg.LinAlgError("the columns are dependent to working precision")
        c = linalg.cho_solve(factor, right)
    except linalg.LinAlgError:
        c = linalg.lstsq(A.toarray() if sparse.issparse(A) else A, b)[0]
    return Answer.of(indices, c)


def largest(x: Vector, k: int) -> NDArray[np.intp]:
    """The places of the k largest entries in size, fewer if fewer are nonzero, in increasing order."""
    size = np.abs(x)
    top = np.sort(np.argpartition(size, -k)[-k:]) if k < x.size else np.arange(x.size)
    return top[size[top] > 0]


def supports(path: Iterable[Vector], k: int) -> Iterable[NDArray[np.intp]]:
    """The supports of the k largest along a path, without repetitions."""
    seen = set()
    for x in path:
        support = largest(x, k)
        if support.size and support.tobytes() not in seen:
            seen.add(support.tobytes())
            yield support


def best_refit(M: Any, b: Vector, path: Iterable[Vector], k: int) -> Answer:
    """Of all points of a path, cut to k and fitted anew, the one with the smallest misfit."""
    answers = (refit(M, b, support) for support in supports(path, k))
    return min(answers, key=lambda a: a.misfit(M, b), default=Answer.of([], []))


def logistic_loss(margins: Vector) -> float:
    return float(np.logaddexp(0.0, -margins).sum())


def refit_logistic(A: Any, t: Vector, bound: float, start: Vector) -> tuple[Vector, float]:
    """Minimise sum log(1 + exp(-(A w + t c))) over |w| <= bound and any c, from start = (w, c); returns (w, c), loss.

    A projected Newton method (Bertsekas 1982); with some fifty variables it is ten times as fast as L-BFGS-B, at the
    same loss, and the time of a refit is charged to the peers.
    """
    B = sparse.hstack([A, sparse.csr_array(t[:, None])], format="csr")
    Bt = B.T.tocsr()
    upper = np.append(np.full(A.shape[1], bound), np.inf)
    v = np.clip(start, -upper, upper)
    margins = B @ v
    loss = logistic_loss(margins)
    for _ in range(100):
        p = expit(-margins)
        gradient = -(Bt @ p)
        (moving,) = np.nonzero(~(((v >= upper) & (gradient < 0)) | ((v <= -upper) & (gradient > 0))))
        hessian = (Bt @ B.multiply((p * (1 - p))[:, None]).tocsr()).toarray()[np.ix_(moving, moving)]
        hessian[np.diag_indices_from(hessian)] += 1e-10 * np.trace(hessian) / moving.size + 1e-12
        step = np.zeros_like(v)
        step[moving] = -linalg.solve(hessian, gradient[moving], assume_a="sym")
        length = 1.0
        while length > 1e-8:
            trial = np.clip(v + length * step, -upper, upper)
            trial_margins = B @ trial
            trial_loss = logistic_loss(trial_margins)
            if trial_loss <= loss + 1e-4 * gradient @ (trial - v):
                break
            length /= 2
        else:
            break
        gain = loss - trial_loss
        v, margins, loss = trial, trial_margins, trial_loss
        if gain <= 1e-9 * loss:
            break
    return v, loss


# Peers for least squares


def omp(M: Any, b: Vector, k: int, noise: float | None = None) -> Answer:
    from sklearn.linear_model import orthogonal_mp

    return Answer.of_dense(orthogonal_mp(M, b, n_nonzero_coefs=k, precompute=False))


def omp_to_misfit(M: Any, b: Vector, misfit: float) -> Answer:
    """As few atoms as OMP needs for the misfit."""
    from sklearn.linear_model import orthogonal_mp

    return Answer.of_dense(orthogonal_mp(M, b, tol=(misfit * np.linalg.norm(b)) ** 2, precompute=False))


def celer(M: Any, b: Vector, k: int, noise: float | None = None) -> Answer:
    from celer.homotopy import celer_path

    coefficients = celer_path(M, b, "lasso", eps=EPS, n_alphas=ALPHAS, tol=1e-6)[1]
    return best_refit(M, b, coefficients.T, k)


def mcp(M: Any, b: Vector, k: int, noise: float | None = None) -> Answer:
    """MCP with gamma = 3: that number, and the tolerance, suppose columns and data of mean square one."""
    from skglm import MCPRegression

    m = b.size
    scale = np.sqrt(m) / _nonzero(_column_norms(M))
    X = (M @ sparse.diags_array(scale)).tocsc() if sparse.issparse(M) else np.asfortranarray(M * scale)
    y = b * (np.sqrt(m) / np.linalg.norm(b))
    alphas = np.abs(X.T @ y).max() / m * np.geomspace(1, EPS, ALPHAS)
    coefficients = MCPRegression(gamma=3, fit_intercept=False, tol=1e-4).path(X, y, alphas)[1]
    return best_refit(M, b, coefficients.T, k)


def abess(M: Any, b: Vector, k: int, noise: float | None = None) -> Answer:
    """The better of k at once and k by a path through all smaller sizes: either wins by far on some problems."""
    return _abess(M, b, k)


def abess_wide(M: Any, b: Vector, k: int, noise: float | None = None) -> Answer:
    """The same, with all atoms considered in every exchange, not the 128 most promising alone."""
    return _abess(M, b, k, important_search=0)


def _abess(M: Any, b: Vector, k: int, **settings: Any) -> Answer:
    from abess.linear import LinearRegression

    # An exchange must gain an amount that does not depend on the units of b; in large units none is refused for that.
    y = b * (1e3 * np.sqrt(b.size) / np.linalg.norm(b))
    found = []
    for sizes in ([k], list(range(1, k + 1))):
        model = LinearRegression(support_size=sizes, fit_intercept=False, ic_type="loss", **settings).fit(M, y)
        found.append(np.ravel(model.coef_))
    return best_refit(M, b, found, k)


def spgl1(M: Any, b: Vector, k: int, noise: float | None = None) -> Answer:
    """Basis pursuit denoising at the true noise norm; where nobody knows it, at four levels."""
    from spgl1 import spg_bpdn

    levels = np.linalg.norm(b) * np.array([0.3, 0.1, 0.03, 0.01]) if noise is None else [noise]
    return best_refit(M, b, (spg_bpdn(M, b, sigma)[0] for sigma in levels), k)


def spgl1_to_misfit(M: Any, b: Vector, misfit: float) -> Answer:
    from spgl1 import spg_bpdn

    counted = Counted(M)
    x = spg_bpdn(counted, b, misfit * np.linalg.norm(b))[0]
    return Answer.of_dense(x, products=counted.products)


# Peers for the logistic loss: `method(X, t, k, bound)` with X in CSC, labels t = +1 or -1, and an intercept


def sklearn_logistic(X: Any, t: Vector, k: int, bound: float) -> Answer:
    """liblinear, cold at each penalty: it has no warm start, and is still many times as fast as SAGA with one."""
    from sklearn.linear_model import LogisticRegression

    rows = X.tocsr()

    def path() -> Iterable[tuple[Vector, float]]:
        for alpha in _logistic_alphas(X, t):
            model = LogisticRegression(
                l1_ratio=1,
                solver="liblinear",
                C=1 / (t.size * alpha),
                intercept_scaling=10,  # liblinear penalises the intercept; less so in these units
                random_state=0,
            ).fit(rows, t)
            yield model.coef_[0], model.intercept_[0]

    return _best_logistic_refit(X, t, k, bound, path())


def skglm_logistic(X: Any, t: Vector, k: int, bound: float) -> Answer:
    from skglm import SparseLogisticRegression

    def path() -> Iterable[tuple[Vector, float]]:
        alphas = _logistic_alphas(X, t)
        # The default tolerance, 1e-4 for a gradient in the units of X, would end each fit at once on tf-idf data.
        model = SparseLogisticRegression(warm_start=True, tol=1e-3 * alphas[0])
        for alpha in alphas:
            model.set_params(alpha=alpha).fit(X, t)
            yield np.ravel(model.coef_).copy(), float(np.ravel(model.intercept_)[0])

    return _best_logistic_refit(X, t, k, bound, path())


def _logistic_alphas(X: Any, t: Vector) -> Vector:
    """Penalties of the mean loss, from just below the one that makes x = 0."""
    y = (t > 0) - np.mean(t > 0)
    return np.abs(X.T @ y).max() / t.size * np.geomspace(1, EPS, LOGISTIC_ALPHAS + 1)[1:]


def _best_logistic_refit(X: Any, t: Vector, k: int, bound: float, path: Iterable[tuple[Vector, float]]) -> Answer:
    best, answer, seen = np.inf, Answer.of([], [], [0.0]), set()
    for x, intercept in path:
        support = largest(x, k)
        if not support.size or support.tobytes() in seen:
            continue
        seen.add(support.tobytes())
        A = sparse.diags_array(t) @ X[:, support]
        v, loss = refit_logistic(A, t, bound, np.append(x[support], intercept))
        if loss < best:
            best, answer = loss, Answer.of(support, v[:-1], v[-1:])
    return answer


# Ourselves


def ours(M: Any, b: Vector, k: int | None, noise: float | None = None, **wishes: Any) -> Answer:
    """Default settings; the noise norm is not used."""
    import fewatoms as fa

    s = fa.fit(M, b, atoms=fa.SignedOneHot(M.shape[1]), k=k, **wishes)
    free = s.free_coefficients if "free" in wishes else ()
    return Answer.of(s.indices, s.coefficients, free, s.products)


def ours_logistic(M: Any, t: Vector, k: int, bound: float) -> Answer:
    """M = diag(t) X: the labels are in the operator, so the intercept's column is t."""
    import fewatoms as fa

    return ours(M, np.zeros(t.size), k, loss=fa.Logistic(), free=t[:, None], cap=bound)


# The list


@dataclass(frozen=True)
class Method:
    """A name to print, the package it needs, and the function to call."""

    name: str
    package: str
    solve: Callable[..., Answer]

    @property
    def installed(self) -> bool:
        return find_spec(self.package) is not None


OURS = Method("fewatoms", "fewatoms", ours)
OMP = Method("OMP", "sklearn", omp)
CELER = Method("celer", "celer", celer)
MCP = Method("MCP", "skglm", mcp)
ABESS = Method("abess", "abess", abess)
ABESS_WIDE = Method("abess wide", "abess", abess_wide)
SPGL1 = Method("spgl1", "spgl1", spgl1)

OURS_LOGISTIC = Method("fewatoms", "fewatoms", ours_logistic)
SKLEARN_LOGISTIC = Method("sklearn l1", "sklearn", sklearn_logistic)
SKGLM_LOGISTIC = Method("skglm l1", "skglm", skglm_logistic)

PACKAGES = ["fewatoms", "numpy", "scipy", "numba", "scikit-learn", "celer", "skglm", "abess", "spgl1"]


def _column_norms(M: Any) -> Vector:
    return sparse.linalg.norm(M, axis=0) if sparse.issparse(M) else np.linalg.norm(M, axis=0)


def _nonzero(x: Vector) -> Vector:
    return np.where(x > 0, x, 1.0)


def unit_columns(M: Any) -> Any:
    """M with columns of norm one, zero columns left alone, in the order that all peers take without a copy."""
    return np.asfortranarray(M / _nonzero(_column_norms(M)))
