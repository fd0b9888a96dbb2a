"""Checkers of what operators offer, one per capability."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import scipy.sparse as sp

from fewatoms import linalg
from fewatoms._types import Array, FloatArray
from fewatoms.capabilities import (
    ColumnBlocks,
    FactorFits,
    FactorImages,
    Intensities,
    Norms,
    SampledEntries,
    SeenAsIs,
    SparseColumns,
    need,
)
from fewatoms.faces import Factors, SymmetricFactors
from fewatoms.norms import dense
from fewatoms.operators import Operator
from fewatoms.testing.restrictions import check_reduced
from fewatoms.testing.saying import Draw, at_most, gaussian, orthonormal, require, same


def check_offered(M: Operator, draw: Draw, tol: float) -> None:
    """Every capability that an operator offers."""
    for capability, check in OF_OPERATORS.items():
        if M.offers(capability) is not None:
            check(M, draw, tol)


def _column_blocks(M: Operator, draw: Draw, tol: float) -> None:
    """Reading is no product, and what is read is what products would give."""
    outer, counter = M.counted()
    at_hand, (m, n) = need(outer, ColumnBlocks), M.shape
    whole = M.apply_block(np.eye(n))
    require(0 <= at_hand.image_size <= m, "ColumnBlocks: 0 <= image_size <= m", f"{at_hand.image_size} for m = {m}")
    for some in (np.array([n - 1, 0, n // 2], dtype=np.intp), np.empty(0, dtype=np.intp)):
        same("ColumnBlocks: read(i) = M e_i", dense(at_hand.read(some)), dense(whole)[:, some], tol)
    for width in (1, 2):
        X = draw.standard_normal((n, width))
        same("ColumnBlocks: times(X) = M X", dense(at_hand.times(X)), dense(M.apply_block(X)), tol)
    weights = draw.uniform(0.5, 2.0, m)
    left_out = weights * (draw.random(m) < 0.7)
    for w, named in ((None, ""), (weights, " with weights"), (left_out, " with weights of 0")):
        lengths = at_hand.column_lengths(w)
        if lengths is not None:
            root = np.ones(m) if w is None else np.sqrt(w)
            squares = np.linalg.norm(root[:, None] * dense(whole), axis=0) ** 2  # whose roots have half their digits
            same(f"ColumnBlocks: squares of column_lengths() = |M e_i|^2{named}", lengths**2, squares, tol)
    require(counter.products == 0, "ColumnBlocks: reading is no product", f"{counter.products} products")


def _sparse_columns(M: Operator, draw: Draw, tol: float) -> None:
    """What all columns have in common with sparse ones is sparse, and what products would give."""
    outer, counter = M.counted()
    Y = draw.standard_normal((M.shape[0], 3)) * (draw.random((M.shape[0], 3)) < 0.3)
    found = need(outer, SparseColumns).crossed(sp.csc_array(Y))
    require(sp.issparse(found), "SparseColumns: crossed(Y) is sparse", type(found).__name__)
    same("SparseColumns: crossed(Y) = M* Y", dense(found), dense(M.adjoint_block(Y)), tol)
    require(counter.products == 0, "SparseColumns: reading is no product", f"{counter.products} products")


def _distinct(told: str, places: Array, high: int, count: int) -> None:
    require(len(places) == count, f"{told}: one for each datum", f"{len(places)} against {count}")
    inside = count == 0 or bool(places.min() >= 0 and places.max() < high)
    require(inside, f"{told} lie in x", f"up to {places.max()} of {high}")
    require(np.unique(places).size == count, f"{told} occur once", f"{np.unique(places).size} of {count}")


def _seen_as_is(M: Operator, draw: Draw, tol: float) -> None:
    (m, n), given = M.shape, need(M, SeenAsIs).places()
    places = np.arange(n) if given is None else np.asarray(given)
    _distinct("SeenAsIs: places()", places, n, m)
    x, y = draw.standard_normal(n), draw.standard_normal(m)
    same("SeenAsIs: Mx = x[places]", M.apply(x), x[places], tol)
    spread = np.zeros(n)
    spread[places] = y
    same("SeenAsIs: (M*y)[places] = y, 0 elsewhere", np.asarray(linalg.as_flat(M.adjoint(y))), spread, tol)


def _sampled_entries(M: Operator, draw: Draw, tol: float) -> None:
    entries = need(M, SampledEntries)
    (p, q), m = entries.matrix_shape, M.shape[0]
    require(M.model_shape == (p, q), "SampledEntries: matrix_shape = model_shape", f"{(p, q)} against {M.model_shape}")
    rows, cols = entries.positions
    _distinct("SampledEntries: positions", rows * q + cols, p * q, m)
    U, V, values = draw.standard_normal((p, 2)), draw.standard_normal((q, 2)), draw.standard_normal(m)
    before = values.copy()
    product = U @ V.T
    same("SampledEntries: Mx = x[positions]", M.apply(product), product[rows, cols], tol)
    by_row, by_col = entries.counts
    same("SampledEntries: counts of rows", by_row, np.bincount(rows, minlength=p), 0.0)
    same("SampledEntries: counts of columns", by_col, np.bincount(cols, minlength=q), 0.0)
    same("SampledEntries: sampled(U, V) = (U V^T)[positions]", entries.sampled(U, V), product[rows, cols], tol)
    starts, others, sorted_values = entries.row_by_row(values)
    same("SampledEntries: row_by_row says where rows start", np.diff(starts), by_row, 0.0)
    found, expected = np.zeros((p, q)), np.zeros((p, q))
    found[np.repeat(np.arange(p), np.diff(starts)), others] = sorted_values
    expected[rows, cols] = values
    same("SampledEntries: row_by_row(values) are the values row by row", found, expected, 0.0)
    require(
        np.array_equal(values, before), "SampledEntries: row_by_row leaves values as they are", "they were modified"
    )


def sides(M: Operator) -> tuple[int, int]:
    """A matrix shape of the model: its own, or the squarest one for a flat model."""
    if len(M.model_shape) == 2:
        return M.model_shape[0], M.model_shape[1]
    n = M.shape[1]
    p = max(d for d in range(1, math.isqrt(n) + 1) if n % d == 0)
    return p, n // p


def _factor_fits(M: Operator, draw: Draw, tol: float) -> None:
    p, q = sides(M)
    for r, s in ((min(p, 2), min(q, 2)), (1, min(q, 3)), (0, 0)):
        face = Factors(orthonormal(draw, p, r), orthonormal(draw, q, s))
        check_reduced("FactorFits: restrict_factors", need(M, FactorFits).restrict_factors(face), M, face, draw, tol)


def _factor_images(M: Operator, draw: Draw, tol: float) -> None:
    p, q = sides(M)
    for r, s in ((2, 3), (1, 1)):
        U, V = draw.standard_normal((p, r)), draw.standard_normal((q, s))
        pairs = [M.apply(np.outer(u, v).reshape(M.model_shape)) for u in U.T for v in V.T]
        found = need(M, FactorImages).factor_images(U, V)
        same("FactorImages: factor_images(U, V) = M(u_a v_b^T) for all a, b", found, np.stack(pairs, axis=1), tol)


def _intensities(M: Operator, draw: Draw, tol: float) -> None:
    offered = need(M, Intensities)
    n, m = M.model_shape[0], M.shape[0]
    require(offered.complex == M.complex, "Intensities: complex is M's", f"{offered.complex} against {M.complex}")
    for r in (1, 2):
        L, y = gaussian(draw, (n, r), M.complex), draw.standard_normal(m)
        image, pull = offered.measure_factor(L)
        same("Intensities: measure_factor(L) = M(L L^H)", image, M.apply(L @ L.conj().T), tol)
        z = linalg.as_flat(M.adjoint(y)).reshape(n, n)
        same("Intensities: its gradient = 2 (M*y) L", pull(y), 2.0 * z @ L, tol)
    squares = offered.row_squares()
    if squares is not None:
        same("Intensities: row_squares() = M(identity)", squares, M.apply(np.eye(n)), tol)
    A, L = offered.vectors(), gaussian(draw, (n, 2), M.complex)
    same("Intensities: |vectors() L|^2 = M(L L^H)", (np.abs(A @ L) ** 2).sum(axis=1), M.apply(L @ L.conj().T), tol)
    face = SymmetricFactors(orthonormal(draw, n, min(n, 2), M.complex))
    check_reduced("Intensities: restrict_symmetric", offered.restrict_symmetric(face), M, face, draw, tol)


def _norms(M: Operator, draw: Draw, tol: float) -> None:
    """Claimed norms are tried on all columns and on random atoms (rank-one ones after some ascent), not proven."""
    outer, counter = M.counted()
    known, n = need(outer, Norms), M.shape[1]
    columns, middle = known.column_norms(), (n + 1) // 2
    blocks = [np.arange(middle), np.arange(middle, n)] if n > 1 else [np.arange(1)]
    spectral = known.block_norms(blocks)
    bounds = (("|M(u v^T)| <= rank_one_norm()", known.rank_one_norm(), _ascend_pairs),
              ("|M(v v^H)| <= psd_norm()", known.psd_norm(), _ascend_psd))  # fmt: skip
    require(counter.products == 0, "Norms: bounds cost no products", f"{counter.products} products")
    if columns is not None:
        A = dense(M.apply_block(np.eye(n)))
        _bounds("Norms: |M e_i| <= column_norms()[i]", np.linalg.norm(A, axis=0), columns, tol)
    if spectral is not None:
        A = dense(M.apply_block(np.eye(n)))
        sizes = np.array([np.linalg.norm(A[:, block], 2) for block in blocks])
        _bounds("Norms: the spectral norm of a block <= block_norms(blocks)", sizes, spectral, tol)
    for identity, bound, ascend in bounds:
        if bound is not None and len(M.model_shape) == 2:
            at_most(f"Norms: {identity}", ascend(M, draw), bound, bound, tol)


def _bounds(identity: str, sizes: FloatArray, bounds: FloatArray, tol: float) -> None:
    require(sizes.shape == bounds.shape, identity, f"{bounds.size} bounds for {sizes.size}")
    worst = int(np.argmax(sizes - bounds))
    at_most(identity, float(sizes[worst]), float(bounds[worst]), float(sizes.max()), tol)


STEPS = 5  # of ascent


def _ascend_pairs(M: Operator, draw: Draw) -> float:
    """The largest |M(u v^T)| met on a few steps, each to the pair that M*(M(u v^T)) exposes."""
    p, q = M.model_shape
    u, v = orthonormal(draw, p, 1, M.complex), orthonormal(draw, q, 1, M.complex)
    largest = 0.0
    for _ in range(STEPS):
        image = M.apply(u @ v.conj().T)
        largest = max(largest, float(np.linalg.norm(image)))
        left, _, right = np.linalg.svd(linalg.as_flat(M.adjoint(image)).reshape(p, q))
        u, v = left[:, :1], right[:1].conj().T
    return largest


def _ascend_psd(M: Operator, draw: Draw) -> float:
    """The same over v v^H."""
    n = M.model_shape[0]
    if M.model_shape != (n, n):
        return 0.0
    v, largest = orthonormal(draw, n, 1, M.complex), 0.0
    for _ in range(STEPS):
        image = M.apply(v @ v.conj().T)
        largest = max(largest, float(np.linalg.norm(image)))
        z = linalg.as_flat(M.adjoint(image)).reshape(n, n)
        v = np.linalg.eigh(0.5 * (z + z.conj().T))[1][:, -1:]
    return largest


OF_OPERATORS: Mapping[type, Callable[[Operator, Draw, float], None]] = {
    ColumnBlocks: _column_blocks,
    SeenAsIs: _seen_as_is,
    SparseColumns: _sparse_columns,
    SampledEntries: _sampled_entries,
    FactorFits: _factor_fits,
    FactorImages: _factor_images,
    Intensities: _intensities,
    Norms: _norms,
}
