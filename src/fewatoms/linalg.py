"""The one caller of ARPACK and LAPACK's decompositions: it knows their limits, seeds, counts and fall-backs.

Everything random here starts from the generator of the open ledger; everything that multiplies by an implicit matrix is
counted there. Where none is open a fixed seed is used and the count is dropped.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from fewatoms._types import Array, FloatArray, IntArray, Matrix, ModelDual
from fewatoms.ledger import current
from fewatoms.threads import single_thread as single_thread

PIECE = 1 << 16  # numbers worked on together where no temporary is wanted
DENSE_SIDE = (
    300  # a full decomposition up to the work for a square matrix of this side costs no more than a partial one
)


# Reading z -----------------------------------------------------------------------------------------------------------


def dense(columns: Matrix) -> FloatArray:
    """Columns, dense or sparse, as an array."""
    return np.asarray(columns.toarray() if sp.issparse(columns) else columns)


def filled_rows(columns: Matrix) -> tuple[IntArray | slice, FloatArray]:
    """The rows in which columns have entries, the first in any case, and the columns there, as an array."""
    if not sp.issparse(columns):
        return slice(None), np.asarray(columns)
    rows = np.unique(np.append(columns.indices, 0))
    return rows, np.asarray(sp.csr_array(columns)[rows].toarray())


def rowwise(factors: FloatArray | None, block: Array) -> Array:
    """The rows of a block times these factors, if there are any."""
    return block if factors is None else factors[:, None] * block


def columnwise(block: Matrix, factors: FloatArray) -> Matrix:
    """The columns of a block, dense or sparse, times a factor each."""
    return block @ sp.diags_array(factors) if sp.issparse(block) else block * factors


def as_flat(z: ModelDual) -> Array:
    """z as a flat array in C order. An implicit z is formed: as many products as its shorter side is long."""
    return written(z).ravel()


def written(z: ModelDual) -> Array:
    """z as an array, in the shape that it has."""
    if implicit(z):
        return _form(z)
    return np.asarray(z.toarray() if sp.issparse(z) else z)


def implicit(z: ModelDual) -> bool:
    """Whether z is known by its products alone."""
    return isinstance(z, LinearOperator)


def transposed(z: ModelDual) -> Any:
    """The conjugate transpose, in the form that z has."""
    return z.H if implicit(z) else z.conj().T


def as_matrix(z: ModelDual, shape: tuple[int, int]) -> Any:
    """z as a matrix of the given shape: sparse and implicit ones as they are, arrays reshaped without a copy."""
    if implicit(z) or sp.issparse(z):
        return z
    return np.asarray(z).reshape(shape)


def hermitian_part(z: ModelDual, n: int) -> Any:
    """(Z + Z^H) / 2 for arrays and sparse matrices. Implicit matrices come from `Quadratic` and are Hermitian."""
    z = as_matrix(z, (n, n))
    return z if implicit(z) else 0.5 * (z + z.conj().T)


def _form(z: LinearOperator) -> Array:
    """An implicit matrix, written out from its shorter side: the identity it meets is no larger than the result."""
    p, q = z.shape
    current().svd_products += min(p, q)
    return np.asarray(z @ np.eye(q)) if q <= p else np.asarray(z.H @ np.eye(p)).conj().T


def _counted(z: Any) -> LinearOperator:
    """z as a LinearOperator whose products are counted in the session."""
    tally = current()

    def forward(x: Array) -> Array:
        tally.svd_products += 1 if x.ndim == 1 else x.shape[1]
        tally.tick()
        return z @ x

    adjoint = transposed(z)

    def backward(x: Array) -> Array:
        tally.svd_products += 1 if x.ndim == 1 else x.shape[1]
        return adjoint @ x

    kind = np.result_type(z.dtype, np.float64)  # ARPACK works in the precision that it is told
    return LinearOperator(z.shape, matvec=forward, rmatvec=backward, matmat=forward, rmatmat=backward, dtype=kind)


class Hermitian(LinearOperator):  # type: ignore[misc]
    """An implicit Hermitian matrix, which remembers the largest eigenpairs found: several parts of a run ask for them.

    product : X -> Z X for a vector or a block of them
    """

    def __init__(self, n: int, product: Callable[[Array], Array], dtype: Any) -> None:
        super().__init__(np.dtype(dtype), (n, n))
        self._product = product
        self.leading: tuple[FloatArray, Array] | None = None

    def _matvec(self, x: Array) -> Array:
        return self._product(x)

    def _matmat(self, X: Array) -> Array:
        return self._product(X)

    def _adjoint(self) -> Hermitian:
        return self


def digest(values: FloatArray) -> str:
    """Of numbers, whatever their layout in memory; 0 and -0 are one."""
    flat = np.ascontiguousarray(values, dtype=np.float64).ravel() + 0.0
    return hashlib.blake2b(flat.tobytes(), digest_size=16).hexdigest()


def dot_of_sizes(a: FloatArray, b: FloatArray) -> float:
    """The sum of |a_i b_i|, a piece at a time: no temporary of their length."""
    pieces = (slice(i, i + PIECE) for i in range(0, a.size, PIECE))
    return float(sum(np.abs(a[some] * b[some]).sum() for some in pieces))


def length(v: Array) -> float:
    """The length of a vector, also where its square is no number."""
    return float(scipy.linalg.norm(v, check_finite=False))  # BLAS scales it; NumPy's norm does not


# The largest entries -------------------------------------------------------------------------------------------------


def top_k(values: Array, k: int) -> IntArray:
    """Indices of the k largest values, largest first; ties go to the lower index.

    Read in chunks against a running threshold: on long arrays this is several times faster than a full partition and
    needs no copy of `values`.
    """
    k = min(k, values.size)
    if k <= 0:
        return np.empty(0, dtype=np.intp)
    chunk = max(1 << 16, 4 * k)
    kept = np.empty(0, dtype=np.intp)
    floor = None
    for start in range(0, values.size, chunk):
        piece = values[start : start + chunk]
        fresh = np.arange(piece.size) if floor is None else np.flatnonzero(piece > floor)
        kept = np.concatenate([kept, fresh + start])
        if kept.size > k:
            inside = values[kept]
            cut = np.partition(inside, inside.size - k)[inside.size - k]
            # strictly better ones all stay; the places left go to ties in order of index
            above = kept[inside > cut]
            kept = np.sort(np.concatenate([above, kept[inside == cut][: k - above.size]]))
        if kept.size == k:
            floor = values[kept].min()
    return kept[np.argsort(-values[kept], kind="stable")].astype(np.intp)


# Decompositions ------------------------------------------------------------------------------------------------------


def top_svd(
    z: Any, k: int, near: tuple[Array, Array] | None = None, tol: float = 0.0
) -> tuple[Array, FloatArray, Array]:
    """The k largest singular triplets of a matrix: U (p x k), s, V (q x k), largest first, with Z v_i = s_i u_i.

    Small matrices are decomposed in full; larger ones by ARPACK run to machine precision from a seeded start, because
    these values back certificates, unless `tol` (relative, of their squares) says that less will do. `near` are
    singular vectors U, V of a similar matrix: the start then lies half in their span and half anywhere, so that a new
    leading vector is still found. Signs are fixed (largest entry of u positive).
    """
    p, q = z.shape
    k = min(k, p, q)
    if p * q * min(p, q) <= DENSE_SIDE**3 or 3 * k >= min(p, q):
        return _dense_svd(z, k)
    try:
        tall = _counted(z) if p >= q else _counted(z).H
        n = tall.shape[1]
        gram = LinearOperator((n, n), matvec=lambda x: tall.rmatvec(tall.matvec(x)), dtype=tall.dtype)
        # of close eigenvalues ARPACK's vectors are not quite orthonormal
        start = None if near is None else near[1 if p >= q else 0]
        v = np.linalg.qr(_arpack(gram, k, "LM", start, tol)[1])[0]
        u, s, turn = scipy.linalg.svd(tall.matmat(v), full_matrices=False)
    except (ArpackError, np.linalg.LinAlgError):  # no convergence, or a zero matrix
        return (np.eye(p, k), np.zeros(k), np.eye(q, k)) if _nothing(z) else _dense_svd(z, k)
    v = v @ turn.conj().T
    return _signed(u, s, v) if p >= q else _signed(v, s, u)


def _arpack(
    A: LinearOperator, k: int, which: str, near: Array | None = None, tol: float = 0.0
) -> tuple[FloatArray, Array]:
    """A few eigenpairs, to machine precision unless `tol` asks for less. The session's generator makes start and
    restarts.

    (That is why `svds` is not called: it keeps the generator to itself, and repeated values need restarts.)
    """
    rng = current().rng
    start = rng.standard_normal(A.shape[0]).astype(A.dtype)
    if near is not None and near.shape[1]:
        inside = near.sum(axis=1)
        start = start / np.linalg.norm(start) + inside / max(float(np.linalg.norm(inside)), 1e-300)
    seeded = {"rng": rng} if "rng" in signature(eigsh).parameters else {}  # since SciPy 1.17
    values, vectors = eigsh(A, k=k, which=which, v0=start, tol=tol, maxiter=20 * A.shape[0], **seeded)
    return values, vectors


def _nothing(z: Any) -> bool:
    """Whether a sparse or implicit matrix is zero, which may be too large to be written out."""
    if implicit(z):
        return not np.any(z @ np.random.default_rng(0).standard_normal(z.shape[1]))
    return bool(sp.issparse(z) and not z.data.any())


def _dense_svd(z: Any, k: int) -> tuple[Array, FloatArray, Array]:
    full = written(z)
    with single_thread():
        u, s, vh = scipy.linalg.svd(full, full_matrices=False)
    return _signed(u[:, :k], s[:k], vh[:k].conj().T)


def _signed(u: Array, s: FloatArray, v: Array) -> tuple[Array, FloatArray, Array]:
    lead = u[np.abs(u).argmax(axis=0), np.arange(u.shape[1])]
    phase = np.where(lead == 0, 1.0, lead / np.where(lead == 0, 1.0, np.abs(lead)))
    return u / phase, s, v / phase


def top_eigh(z: Any, k: int, tol: float = 0.0) -> tuple[FloatArray, Array]:
    """The k algebraically largest eigenvalues of a Hermitian matrix, largest first, with their vectors (n x k).

    They back certificates and are found to machine precision, unless `tol` (relative, for partial decompositions)
    says that less will do.
    """
    n = z.shape[0]
    k = min(k, n)
    if n <= DENSE_SIDE or 3 * k >= n:
        return _dense_eigh(z, k)
    memory = z if isinstance(z, Hermitian) else None
    if memory is not None and memory.leading is not None and memory.leading[0].size >= k:
        return memory.leading[0][:k], memory.leading[1][:, :k]
    more = min(n, max(k, 2)) if memory is not None and not tol else k  # who asks for one asks for the next
    try:
        values, vectors = _arpack(_counted(z), more, "LA", tol=tol)
    except ArpackError:
        return (np.zeros(k), np.eye(n, k)) if _nothing(z) else _dense_eigh(z, k)
    order = np.argsort(-values, kind="stable")
    values, vectors = values[order], _signed(vectors[:, order], values, vectors[:, order])[0]
    if memory is not None and not tol:
        memory.leading = values, vectors
    return values[:k], vectors[:, :k]


def _dense_eigh(z: Any, k: int) -> tuple[FloatArray, Array]:
    full, n = written(z), z.shape[0]
    with single_thread():
        values, vectors = scipy.linalg.eigh(full, subset_by_index=[n - k, n - 1])
    values, vectors = values[::-1], vectors[:, ::-1]
    return values, _signed(vectors, values, vectors)[0]


def svd_above(z: Any, t: float, guess: int) -> tuple[Array, FloatArray, Array]:
    """All singular triplets of z with values above t. `guess` is how many are expected; more are fetched as needed."""
    k = max(1, guess)
    while True:
        u, s, v = top_svd(z, k)
        if s.size < k or s.size == min(z.shape) or s[-1] <= t:
            keep = s > t
            return u[:, keep], s[keep], v[:, keep]
        k = 2 * k


def eigh_above(z: Any, t: float, guess: int) -> tuple[FloatArray, Array]:
    """All eigenpairs of a Hermitian z with values above t."""
    k = max(1, guess)
    while True:
        values, vectors = top_eigh(z, k)
        if values.size == z.shape[0] or values[-1] <= t:
            keep = values > t
            return values[keep], vectors[:, keep]
        k = 2 * k


def orthonormal(*blocks: Array) -> Array:
    """An orthonormal basis of the span of the blocks' columns; directions below rounding are left out."""
    stacked = np.concatenate(blocks, axis=1)
    if stacked.shape[1] == 0:
        return stacked
    q, r, _ = scipy.linalg.qr(stacked, mode="economic", pivoting=True)
    size = np.abs(np.diag(r))
    return np.asarray(q[:, size > 1e-12 * max(size[0], 1e-300)])


def low_rank_plus(pairs: list[tuple[float, Array, Array, Array]], step: float, z: Any) -> Any:
    """sum_j a_j U_j C_j V_j^H + step Z, as a dense matrix if z is dense and as a LinearOperator otherwise."""
    if isinstance(z, np.ndarray):
        return sum((a * (u @ c) @ v.conj().T for a, u, c, v in pairs), start=step * z)
    z_adjoint = transposed(z)

    def forward(x: Array) -> Array:
        return sum((a * (u @ (c @ (v.conj().T @ x))) for a, u, c, v in pairs), start=step * (z @ x))

    def backward(x: Array) -> Array:
        return sum((a * (v @ (c.conj().T @ (u.conj().T @ x))) for a, u, c, v in pairs), start=step * (z_adjoint @ x))

    kinds = [z.dtype, *(u.dtype for _, u, _, _ in pairs)]
    return LinearOperator(
        z.shape, matvec=forward, rmatvec=backward, matmat=forward, rmatmat=backward, dtype=np.result_type(*kinds)
    )


# Small systems --------------------------------------------------------------------------------------------------------


def definite_solver(G: FloatArray, least: float = 0.0) -> Callable[[FloatArray], FloatArray]:
    """x -> G^+ x: by Cholesky where G, its diagonal scaled to 1, is safely definite, and by eigenvectors elsewhere.

    least : share of the largest entry of the diagonal up to which the others are nothing but rounding
    """
    diagonal = np.sqrt(np.maximum(np.diag(G), 0.0))
    seen = diagonal > math.sqrt(least) * diagonal.max(initial=0.0)
    units = np.where(seen, 1.0 / np.where(seen, diagonal, 1.0), 0.0 if least else 1.0)
    G = units[:, None] * G * units
    factor, bad = scipy.linalg.lapack.dpotrf(G, clean=0) if len(G) else (G, 0)
    if not bad and np.diag(factor).min(initial=1.0) > 1e-6:
        return lambda h: units * np.asarray(scipy.linalg.lapack.dpotrs(factor, units * h)[0] if h.size else h)
    values, vectors = np.linalg.eigh(G)
    keep = values > 1e-14 * max(values[-1], 1e-300)
    return lambda h: units * np.asarray(vectors[:, keep] @ ((vectors[:, keep].T @ (units * h)) / values[keep]))
