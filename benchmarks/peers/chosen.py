"""Peers that choose inside: subsets, L0 with squares, the lasso and the relaxed lasso; for numbers and for classes.

Columns are brought to variance one in each fit, and coefficients back; both are not charged where a package would do so
itself. Those who have no cross-validation of their own get one written here, on the folds of the problem.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.special import expit

from benchmarks.peers import needs
from benchmarks.peers.answers import Linearly, Vector
from benchmarks.peers.fastsparsegams import SOUND, coefficients
from benchmarks.peers.refits import largest

PENALTIES = 60  # on a path of the lasso
SMALLEST = 0.01  # the last of them against the first
MIXES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the lasso and least squares on its support
RIDGES = (1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0)  # of classes, in units of unit columns
CLASS_PENALTIES = 15
GAMMAS = 8
SCREENED = 3000  # words that fastsparsegams gets at most, those best aligned with the labels: more take minutes


@dataclass(frozen=True, eq=False)
class Standard:
    """Rows with columns of mean zero and variance one, and the way back; sparse columns keep their mean."""

    X: Any
    mean: Any
    scale: Vector

    @classmethod
    def of(cls, X: Any) -> Standard:
        if sparse.issparse(X):
            scale = np.sqrt(np.maximum(np.asarray(X.multiply(X).mean(axis=0)).ravel(), 0.0))
            scale = np.where(scale > 0, scale, 1.0)
            return cls(sparse.csc_array(X @ sparse.diags_array(1 / scale)), np.zeros(scale.size), scale)
        mean, scale = X.mean(axis=0), X.std(axis=0)
        scale = np.where(scale > 1e-12, scale, 1.0)
        return cls(np.asfortranarray((X - mean) / scale), mean, scale)

    def back(self, c: Vector, intercept: float) -> Linearly:
        x = np.asarray(c, dtype=np.float64) / self.scale
        return Linearly(x, float(intercept) - float(self.mean @ x))


Paths = Callable[[Any, Vector], Sequence[Linearly]]


def cross_validated(problem: Any, path: Paths, loss: Callable[[Vector, Vector], float]) -> Linearly:
    """Of the settings of a path that is the same for all folds, the one with the smallest loss on what was left out."""
    total: Any = 0.0
    for fold in np.unique(problem.folds):
        out = problem.folds == fold
        answers = path(problem.X[~out], problem.y[~out])
        total = total + np.array([loss(problem.y[out], a.predict(problem.X[out])) for a in answers])
    return path(problem.X, problem.y)[int(np.argmin(total))]


def squares(y: Vector, values: Vector) -> float:
    return float(np.sum((y - values) ** 2))


def logs(y: Vector, margins: Vector) -> float:
    return float(np.logaddexp(0.0, -y * margins).sum())


# Numbers


@needs("abess", prepare=lambda problem, **words: Standard.of(problem.X))
def abess(problem: Any, ready: Standard) -> Linearly:
    from abess.linear import LinearRegression

    from benchmarks.peers.abess import in_large_units

    centre, unit = problem.y.mean(), np.linalg.norm(problem.y - problem.y.mean())
    y = in_large_units(problem.y - centre)
    model = LinearRegression(support_size=[0, *problem.ks], cv=5).fit(ready.X, y, cv_fold_id=problem.folds)
    back = unit / np.linalg.norm(y)
    return ready.back(back * np.ravel(model.coef_), back * float(model.intercept_) + centre)


@needs("abess", prepare=lambda problem, **words: Standard.of(problem.X))
def abess_each(problem: Any, ready: Standard) -> Linearly:
    """The training residual at every k, of a path through all smaller sizes; its time is of no interest."""
    from abess.linear import LinearRegression

    from benchmarks.peers.abess import in_large_units
    from benchmarks.peers.refits import refit

    y = problem.y - problem.y.mean()
    residuals = []
    for k in problem.ks:
        sizes = range(1, k + 1)
        model = LinearRegression(support_size=sizes, fit_intercept=False, ic_type="loss").fit(
            ready.X, in_large_units(y)
        )
        answer = refit(ready.X, y, np.flatnonzero(np.ravel(model.coef_)))
        residuals.append(y - answer.image(ready.X))
    return Linearly(along=lambda problem: residuals)


@needs("fastsparsegams", prepare=lambda problem, **words: Standard.of(problem.X))
def l0l2(problem: Any, ready: Standard, *, gammas: int = 10) -> Linearly:
    """With its own folds, as many; y in units of its deviation. One gamma is none."""
    import fastsparsegams as fs

    centre, unit = problem.y.mean(), problem.y.std()
    squares = {"penalty": "L0L2", "num_gamma": gammas, "gamma_min": 1e-3} if gammas > 1 else {"penalty": "L0"}
    model = fs.cvfit(
        np.array(ready.X, order="F"), (problem.y - centre) / unit, algorithm="CD", num_folds=5,
        max_support_size=min(max(problem.ks), ready.X.shape[1] - 1), **squares, **SOUND,
    )  # fmt: skip
    means = [np.ravel(m) for m in model.cv_means]
    g = int(np.argmin([m.min() for m in means]))
    i = int(np.argmin(means[g]))
    c = np.asarray(model.coeffs[g].todense())[:, i]
    return ready.back(unit * c, unit * float(np.ravel(model.intercepts[g])[i]) + centre)


def _lasso(problem: Any, relaxed: bool) -> Paths:
    """Penalties are shares of the largest useful one, the same shares in each fold."""
    import adelie as ad

    def path(X: Any, y: Vector) -> list[Linearly]:
        ready, centred = Standard.of(X), y - y.mean()
        top = float(np.abs(ready.X.T @ centred).max()) / y.size
        found = ad.grpnet(
            ready.X, ad.glm.gaussian(centred), intercept=False, lmda_path=top * np.geomspace(1, SMALLEST, PENALTIES),
            early_exit=False, n_threads=1, progress_bar=False,
        ).betas.toarray()  # fmt: skip
        mixes = MIXES if relaxed else (1.0,)
        return [
            ready.back(mix * c + (1 - mix) * free, y.mean())
            for c, free in _freed(ready.X, centred, found, relaxed)
            for mix in mixes
        ]

    return path


def _freed(X: Vector, y: Vector, path: Vector, wanted: bool) -> list[tuple[Vector, Vector]]:
    """Each point of a path with least squares on its support; where that is half of the rows or more, with itself."""
    pairs = []
    for c in path:
        support = np.flatnonzero(c)
        free = c
        if wanted and 0 < support.size <= y.size // 2:
            free = np.zeros_like(c)
            free[support] = linalg.lstsq(X[:, support], y, lapack_driver="gelsy")[0]
        pairs.append((c, free))
    return pairs


@needs("adelie")
def lasso(problem: Any, ready: Any) -> Linearly:
    return cross_validated(problem, _lasso(problem, relaxed=False), squares)


@needs("adelie")
def relaxed_lasso(problem: Any, ready: Any) -> Linearly:
    return cross_validated(problem, _lasso(problem, relaxed=True), squares)


# Classes


def ridge_logistic(A: Vector, t: Vector, ridge: float, steps: int = 50) -> Vector:
    """Minimise sum log(1 + exp(-t (A w + c))) + (ridge / 2) |w|^2 by Newton's method; w and, at the end, c."""
    B = np.concatenate([A, np.ones((len(A), 1))], axis=1) * t[:, None]
    paid = np.append(np.full(A.shape[1], ridge), 0.0)

    def value(v: Vector) -> float:
        return float(np.logaddexp(0.0, -(B @ v)).sum() + paid @ v**2 / 2)

    v = np.zeros(B.shape[1])
    now = value(v)
    for _ in range(steps):
        p = expit(-(B @ v))
        gradient = paid * v - B.T @ p
        hessian = (B.T * (p * (1 - p))) @ B + np.diag(paid + 1e-10)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            step = -linalg.solve(hessian, gradient, assume_a="pos")
        length = 1.0
        while (after := value(v + length * step)) > now + 1e-4 * length * float(gradient @ step) and length > 1e-8:
            length /= 2
        if after >= now:
            break
        v, gain, now = v + length * step, now - after, after
        if gain <= 1e-11 * now:
            break
    return v


@needs("sklearn")
def l1_then_l2(problem: Any, ready: Any) -> Linearly:
    """The 1-norm down a path; for each k the k largest of the first point that has as many; a ridge on those."""
    return cross_validated(problem, lambda X, t: _top_k(X, t, problem.ks), logs)


def _top_k(X: Any, t: Vector, ks: Sequence[int]) -> list[Linearly]:
    from sklearn.linear_model import LogisticRegression

    ready = Standard.of(X)
    y = (t > 0) - np.mean(t > 0)
    top = float(np.abs(ready.X.T @ y).max())
    rows = sparse.csr_array(ready.X) if sparse.issparse(ready.X) else np.ascontiguousarray(ready.X)
    found, reached = [], 0
    for penalty in top * np.geomspace(1, 1e-3, CLASS_PENALTIES + 1)[1:]:
        model = LogisticRegression(l1_ratio=1, solver="liblinear", C=1 / penalty, intercept_scaling=10, random_state=0)
        found.append(model.fit(rows, t).coef_[0])
        reached = int(np.count_nonzero(found[-1]))
        if reached >= max(ks):
            break
    answers = []
    for k in ks:
        c = next((c for c in found if np.count_nonzero(c) >= k), found[-1])
        support = largest(c, k)
        A = ready.X[:, support].toarray() if sparse.issparse(ready.X) else ready.X[:, support]
        lengths = np.linalg.norm(A - A.mean(axis=0), axis=0)
        for ridge in RIDGES:
            v, full = ridge_logistic(A / lengths, t, ridge), np.zeros(c.size)
            full[support] = v[:-1] / lengths
            answers.append(ready.back(full, v[-1]))
    return answers


@needs("fastsparsegams")
def l0l2_classes(problem: Any, ready: Any) -> Linearly:
    """On the folds of the problem: its own cross-validation fails on sparse columns. Penalties are those that it finds
    for all rows; its loss is a sum, so that they shrink with the rows, while columns of unit length leave gamma alone.
    """
    grid = _l0l2(problem.X, problem.y, max(problem.ks), None)[0]
    scales = [np.array(one) / problem.y.size for one in grid]

    def path(X: Any, t: Vector) -> list[Linearly]:
        return _l0l2(X, t, max(problem.ks), [list(one * t.size) for one in scales])[1]

    return cross_validated(problem, path, logs)


def _l0l2(X: Any, t: Vector, most: int, grid: Any) -> tuple[list[Any], list[Linearly]]:
    import fastsparsegams as fs

    ready = Standard.of(X)
    aligned = np.abs(ready.X.T @ ((t > 0) - np.mean(t > 0)))
    words = sparse.issparse(X) and aligned.size > SCREENED
    kept = largest(aligned, SCREENED) if words else np.arange(aligned.size)
    A = sparse.csc_matrix(ready.X[:, kept]) if sparse.issparse(ready.X) else np.array(ready.X[:, kept], order="F")
    if sparse.issparse(A):
        A.indices, A.indptr = A.indices.astype(np.int32), A.indptr.astype(np.int32)  # it takes no others
    found = {"num_gamma": GAMMAS} if grid is None else {"lambda_grid": grid, "num_lambda": None, "num_gamma": None}
    model = fs.fit(
        A, t, loss="Logistic", penalty="L0L2", algorithm="CD", gamma_max=10.0, gamma_min=1e-3,
        max_support_size=most, **found, **SOUND,
    )  # fmt: skip
    answers = []
    for g, penalties in enumerate(model.lambda_0 if grid is None else grid):
        block, heights = np.asarray(model.coeffs[g].todense()), np.ravel(model.intercepts[g])
        for i in range(len(penalties)):  # a path that has ended stays where it is
            at = min(i, block.shape[1] - 1)
            c = np.zeros(aligned.size)
            c[kept] = block[:, at]
            answers.append(ready.back(c, float(heights[at])))
    return model.lambda_0, answers


# Classes at a given k


def _refitted(problem: Any, supports: Any) -> Linearly:
    """Of several supports, fitted anew without shrinkage, the best."""
    best, answer = np.inf, Linearly(np.zeros(problem.X.shape[1]))
    for support in supports:
        v, x = ridge_logistic(problem.X[:, support], problem.t, 0.0), np.zeros(problem.X.shape[1])
        x[support] = v[:-1]
        found = Linearly(x, float(v[-1]))
        if (loss := logs(problem.t, found.predict(problem.X))) < best:
            best, answer = loss, found
    return answer


@needs("abess", prepare=lambda problem, **words: problem.ordered)
def abess_classes(problem: Any, X: Vector, *, path: bool = False) -> Linearly:
    """k at once, or by a path through all smaller sizes."""
    from abess.linear import LogisticRegression

    sizes = range(1, problem.k + 1) if path else [problem.k]
    model = LogisticRegression(support_size=sizes, ic_type="loss").fit(X, (problem.t > 0).astype(float))
    return _refitted(problem, [np.flatnonzero(np.ravel(model.coef_))])


@needs("fastsparsegams", prepare=lambda problem, **words: problem.ordered)
def l0_classes(problem: Any, X: Vector) -> Linearly:
    import fastsparsegams as fs

    from benchmarks.peers.refits import supports

    model = fs.fit(X, problem.t, loss="Logistic", penalty="L0", algorithm="CDPSI", max_support_size=problem.k, **SOUND)
    return _refitted(problem, supports(coefficients(model), problem.k))


@needs("adelie", prepare=lambda problem, **words: problem.ordered)
def lasso_classes(problem: Any, X: Vector) -> Linearly:
    import adelie as ad

    from benchmarks.peers.refits import ALPHAS, EPS, supports

    model = ad.grpnet(
        X, ad.glm.binomial((problem.t > 0).astype(float)), lmda_path_size=ALPHAS, min_ratio=10 * EPS, early_exit=False,
        n_threads=1, progress_bar=False,
    )  # fmt: skip
    return _refitted(problem, supports(model.betas.toarray(), problem.k))
