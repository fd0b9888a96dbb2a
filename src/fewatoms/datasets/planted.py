"""Data of any size, made from an answer that was chosen first: sparse vectors, low-rank matrices, lost phases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from fewatoms import _checks

from ._dataset import Dataset, ShortRepr
from ._draws import Seed, generator, signs


@dataclass(frozen=True, eq=False, repr=False)
class LowRankData(ShortRepr):
    """Some entries of a matrix of low rank: values[i] = (left right')[rows[i], cols[i]], plus noise where asked for.

    `rows`, `cols` and `values` have shape (number of observed entries,), in row-major order without repetition;
    `shape` is (p, q); `left` is (p, rank) and `right` (q, rank).
    """

    rows: NDArray[np.intp]
    cols: NDArray[np.intp]
    values: NDArray[np.float64]
    shape: tuple[int, int]
    left: NDArray[np.float64]
    right: NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class LowRankPlusSparseData(ShortRepr):
    """A matrix X = low_rank_left low_rank_right' + sparse, of shape (p, q), and its two parts.

    `low_rank_left` is (p, rank), `low_rank_right` (q, rank), `sparse` a `scipy.sparse.coo_array` of shape (p, q).
    """

    X: NDArray[np.float64]
    low_rank_left: NDArray[np.float64]
    low_rank_right: NDArray[np.float64]
    sparse: coo_array


@dataclass(frozen=True, eq=False, repr=False)
class PhaseData(ShortRepr):
    """Magnitudes b = |A x|^2, shape (m,), of linear measurements A, shape (m, n), of a vector x, shape (n,)."""

    A: NDArray[Any]
    x: NDArray[Any]
    b: NDArray[np.float64]


def sparse_regression(
    m: int,
    n: int,
    k: int,
    *,
    noise: float = 0.0,
    correlation: float = 0.0,
    coefficients: Literal["signs", "gaussian"] = "signs",
    rng: Seed = None,
) -> Dataset:
    """Plant k coefficients in a regression with Gaussian columns.

    b = M x + e;  M has entries N(0, 1/m), and columns i and j of correlation `correlation` ** |i - j|.

    Parameters
    ----------
    m, n
        Rows and columns of M, a dense array with contiguous columns.
    k
        Number of nonzeros of x, at random places; 1 to n.
    noise
        |e| / |M x|, met exactly; the direction of e is uniform.
    correlation
        Of neighbouring columns, strictly between -1 and 1.
    coefficients
        "signs": +1 or -1. "gaussian": standard normal, so that some may be too small to be found.
    rng
        Whatever `numpy.random.default_rng` accepts; None means a fixed seed.

    Notes
    -----
    Not done: columns have norm one only on average; nothing ensures that x can be recovered.

    Reference: none in particular; with correlation this is the usual autoregressive design of the lasso literature.
    """
    m = _checks.integer("m", m, 1)
    n = _checks.integer("n", n, 1)
    k = _checks.integer("k", k, 1, n, f"n = {n}")
    noise = _checks.number("noise", noise)
    between = "a number strictly between -1 and 1"
    correlation = _checks.real("correlation", correlation, between)
    _checks.require(-1 < correlation < 1, "correlation", between, correlation)
    _checks.require(coefficients in ("signs", "gaussian"), "coefficients", '"signs" or "gaussian"', coefficients)
    rng = generator(rng)

    columns = rng.standard_normal((n, m)) / np.sqrt(m)
    if correlation:
        fresh = np.sqrt(1 - correlation**2)
        for j in range(1, n):
            columns[j] = correlation * columns[j - 1] + fresh * columns[j]
    M = columns.T
    x = np.zeros(n)
    x[rng.choice(n, k, replace=False)] = signs(rng, k) if coefficients == "signs" else rng.standard_normal(k)
    clean = M @ x
    b = clean + _noise(rng, clean, noise)
    extent = f"relative noise {noise:g}" if noise else "no noise"
    description = f"A regression with {k} of {n} coefficients nonzero, {m} observations and {extent}."
    return Dataset("sparse_regression", M, b, x, k, description)


def low_rank(
    p: int,
    q: int,
    rank: int,
    *,
    observed: float = 1.0,
    noise: float = 0.0,
    rng: Seed = None,
) -> LowRankData:
    """Observe some entries of a random matrix of low rank.

    values = (left right')[rows, cols] + e;  the factors are Gaussian, scaled so that entries have mean square one.

    Parameters
    ----------
    p, q
        Rows and columns of the matrix.
    rank
        1 to min(p, q).
    observed
        Share of the p q entries that is seen, above 0 and at most 1: round(observed p q) of them, at least one, all
        sets of that size equally likely.
    noise
        |e| / |values without e|, met exactly; the direction of e is uniform.
    rng
        Whatever `numpy.random.default_rng` accepts; None means a fixed seed.

    Notes
    -----
    Not done: with few entries, a row or a column may not be seen at all. The matrix is formed only if all of it is
    observed.

    Reference: E. J. Candès, B. Recht, "Exact matrix completion via convex optimization", Found. Comput. Math. 9, 2009.
    """
    p, q, rank = _sizes(p, q, rank)
    share = "a number above 0 and at most 1"
    observed = _checks.real("observed", observed, share)
    _checks.require(0 < observed <= 1, "observed", share, observed)
    noise = _checks.number("noise", noise)
    rng = generator(rng)

    left, right = _factors(rng, p, q, rank)
    rows, cols = _entries(rng, (p, q), max(1, round(observed * p * q)))
    if rows.size == p * q:
        clean = (left @ right.T).ravel()
    else:  # one factor at a time, since rows.size x rank numbers may be too many
        clean = np.zeros(rows.size)
        for u, v in zip(left.T, right.T, strict=True):
            clean += u[rows] * v[cols]
    return LowRankData(rows, cols, clean + _noise(rng, clean, noise), (p, q), left, right)


def low_rank_plus_sparse(
    p: int, q: int, rank: int, *, corrupted: float = 0.1, rng: Seed = None
) -> LowRankPlusSparseData:
    """Corrupt a few entries of a random matrix of low rank.

    X = left right' + S;  the factors are Gaussian, scaled so that entries have mean square one;  the nonzeros of S are
    a random sign times (1 + |standard normal|), so that none is too small to matter.

    Parameters
    ----------
    p, q
        Rows and columns of X, a dense array.
    rank
        1 to min(p, q).
    corrupted
        Share of the p q entries that S changes, 0 to 1: round(corrupted p q) of them, all sets of that size equally
        likely.
    rng
        Whatever `numpy.random.default_rng` accepts; None means a fixed seed.

    Notes
    -----
    Not done: no dense noise; nothing ensures that the two parts can be told apart.

    Reference: E. J. Candès, X. Li, Y. Ma, J. Wright, "Robust principal component analysis?", J. ACM 58, 2011.
    """
    p, q, rank = _sizes(p, q, rank)
    share = "a number between 0 and 1"
    corrupted = _checks.real("corrupted", corrupted, share)
    _checks.require(0 <= corrupted <= 1, "corrupted", share, corrupted)
    rng = generator(rng)

    left, right = _factors(rng, p, q, rank)
    rows, cols = _entries(rng, (p, q), round(corrupted * p * q))
    changes = signs(rng, rows.size) * (1 + np.abs(rng.standard_normal(rows.size)))
    X = left @ right.T
    X[rows, cols] += changes
    return LowRankPlusSparseData(X, left, right, coo_array((changes, (rows, cols)), shape=(p, q)))


def phases(n: int, m: int, *, complex: bool = True, rng: Seed = None) -> PhaseData:
    """Measure a random vector and lose the phases (or, in the real case, the signs).

    b = |A x|^2;  A and x have standard Gaussian entries: real of variance one, or complex with E|a|^2 = 1.

    Parameters
    ----------
    n
        Length of x.
    m
        Number of measurements.
    complex
        Whether A and x are complex.
    rng
        Whatever `numpy.random.default_rng` accepts; None means a fixed seed.

    Notes
    -----
    Not done: no noise; x is not normalised, and b fixes it at best up to one phase (or sign).

    Reference: E. J. Candès, T. Strohmer, V. Voroninski, "PhaseLift: exact and stable signal recovery from magnitude
    measurements via convex programming", Comm. Pure Appl. Math. 66, 2013.
    """
    n = _checks.integer("n", n, 1)
    m = _checks.integer("m", m, 1)
    if not isinstance(complex, bool | np.bool_):
        raise TypeError(f"complex must be True or False; got {complex!r}")
    rng = generator(rng)

    A = _gaussian(rng, (m, n), complex)
    x = _gaussian(rng, (n,), complex)
    return PhaseData(A, x, np.abs(A @ x) ** 2)


def _sizes(p: int, q: int, rank: int) -> tuple[int, int, int]:
    p = _checks.integer("p", p, 1)
    q = _checks.integer("q", q, 1)
    return p, q, _checks.integer("rank", rank, 1, min(p, q), f"min(p, q) = {min(p, q)}")


def _factors(rng: np.random.Generator, p: int, q: int, rank: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    scale = rank**-0.25
    return scale * rng.standard_normal((p, rank)), scale * rng.standard_normal((q, rank))


def _entries(rng: np.random.Generator, shape: tuple[int, int], count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows and columns of `count` different entries, in row-major order."""
    p, q = shape
    places = np.arange(p * q) if count == p * q else np.sort(rng.choice(p * q, count, replace=False, shuffle=False))
    rows, cols = np.divmod(places, q)
    return rows.astype(np.intp, copy=False), cols.astype(np.intp, copy=False)


def _noise(rng: np.random.Generator, clean: NDArray[np.float64], relative: float) -> NDArray[np.float64] | float:
    """A vector in a uniform direction with norm `relative` |clean|; plain zero, and no draw, if that is zero."""
    if not relative:
        return 0.0
    direction = rng.standard_normal(clean.shape)
    return direction * float(relative * np.linalg.norm(clean) / np.linalg.norm(direction))


def _gaussian(rng: np.random.Generator, shape: tuple[int, ...], complex: bool) -> NDArray[Any]:
    if not complex:
        return rng.standard_normal(shape)
    real, imaginary = rng.standard_normal((2, *shape))
    drawn: NDArray[np.complex128] = (real + 1j * imaginary) / np.sqrt(2)
    return drawn
