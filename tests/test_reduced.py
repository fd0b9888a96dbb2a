"""Reduced operators: how they are summed, what they hold, columns beside free ones."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import naive
from contracts.families import (
    generator,
    over,
    places,
    vector_operators,
)
from fewatoms import (
    Identity,
    Quadratic,
    Sampling,
    SignedOneHot,
)
from fewatoms.faces import Factors, SymmetricFactors
from fewatoms.operators import as_operator
from fewatoms.reduced import Bordered

M_ROWS = 9
WEIGHTS = generator(20).uniform(0.2, 3.0, M_ROWS)
FREE = np.column_stack([np.ones(M_ROWS), np.arange(M_ROWS) ** 2.0])
GROUPS = np.array([0, 2, 1, 0, 2, 3, 1])
NINE_ROWS = {name: M for name, M in vector_operators(7, M_ROWS).items() if M.shape[0] == M_ROWS}
every_matrix = pytest.mark.parametrize(("name", "M"), **over(NINE_ROWS))


def test_normal_equations_in_many_blocks(monkeypatch):
    """The blocks that Gram matrices are summed in may be as small as a row."""
    for module in ("reduced", "operators.on_factors", "operators.sampling"):
        monkeypatch.setattr(f"fewatoms.{module}.BLOCK", 8)
    rng = generator(3)
    U, V = (np.linalg.qr(rng.standard_normal((n, 2)))[0] for n in (5, 6))
    weights = rng.uniform(0.5, 2.0, 30)
    cases = [
        (Identity((5, 6)), Factors(U, V)),
        (Sampling(*places(5, 6, 0.5, 1), (5, 6)), Factors(U, V)),
        (Quadratic(rng.standard_normal((20, 5))), SymmetricFactors(U)),
        (as_operator(rng.standard_normal((20, 9))), SignedOneHot(9).expose(rng.standard_normal(9), 4)),
    ]
    for M, face in cases:
        b, w = rng.standard_normal(M.shape[0]), weights[: M.shape[0]]
        R = naive.reduced_matrix(M, face)
        for some in (None, w):
            G, h = M.restrict(face).normal_equations(b, some)
            expected_G, expected_h = naive.normal_equations(R, b, some)
            np.testing.assert_allclose(G, expected_G, atol=1e-12)
            np.testing.assert_allclose(h, expected_h, atol=1e-12)


def test_wide_sparse_columns_stay_sparse():
    A = sp.random_array((50_000, 120), density=1e-3, rng=generator(4), format="csr")
    face = SignedOneHot(120).expose(generator(5).standard_normal(120), 100)
    reduced = as_operator(A).restrict(face)
    assert sp.issparse(reduced.matrix)
    R = A.tocsc()[:, face.indices] @ sp.diags_array(face.signs)
    c, b = np.ones(100), np.ones(50_000)
    np.testing.assert_allclose(reduced.apply(c), R @ c, atol=1e-12)
    G, h = reduced.normal_equations(b, 2 * b)
    np.testing.assert_allclose(G, 2 * (R.T @ R).toarray(), atol=1e-12)
    np.testing.assert_allclose(h, 2 * R.T @ b, atol=1e-12)
    np.testing.assert_allclose(reduced.norms() ** 2, R.multiply(R).sum(axis=0), atol=1e-12)


def test_memory_of_sampled_normal_equations():
    """Nothing of m times k squared numbers is held, and nothing of m times k either with the compiled loop."""
    p, q, k, m = 200, 200, 10, 20_000
    rng = generator(6)
    U, V = (np.linalg.qr(rng.standard_normal((n, k)))[0] for n in (p, q))
    M = Sampling(*places(p, q, m / (p * q), 7), (p, q))
    reduced = M.restrict(Factors(U, V))
    b, weights = rng.standard_normal(m), rng.uniform(0.5, 1.0, m)
    reduced.normal_equations(b, weights)
    tracemalloc.start()
    try:
        G, h = reduced.normal_equations(b, weights)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.4 * 8 * m * k * k
    assert peak < 6 * 8 * m * k
    R = (U[M.rows][:, :, None] * V[M.cols][:, None, :]).reshape(m, k * k)
    np.testing.assert_allclose(G, R.T @ (weights[:, None] * R), atol=1e-9)
    np.testing.assert_allclose(h, R.T @ (weights * b), atol=1e-9)


@pytest.mark.parametrize("free", [None, FREE], ids=["alone", "with free columns"])
@pytest.mark.parametrize("width", [0, 4])
@pytest.mark.parametrize("kind", ["dense", "csc", "csr"])
def test_bordered_is_the_matrix_of_both(kind, width, free):
    draw = generator(7)
    A = draw.standard_normal((M_ROWS, width)) * (draw.random((M_ROWS, width)) < 0.6)
    given = {"dense": A, "csc": sp.csc_array(A), "csr": sp.csr_array(A)}[kind]
    R = A if free is None else np.column_stack([A, free])
    op = Bordered(given, free)
    assert op.dim == R.shape[1]
    c, r, w = draw.standard_normal(op.dim), draw.standard_normal(M_ROWS), draw.uniform(0.1, 2, M_ROWS)
    np.testing.assert_allclose(op.apply(c), R @ c, atol=1e-12)
    np.testing.assert_allclose(op.adjoint(r), R.T @ r, atol=1e-12)
    np.testing.assert_allclose(op.gram(w), R.T @ (w[:, None] * R), atol=1e-9)
    np.testing.assert_allclose(op.diagonal(w), np.diag(R.T @ (w[:, None] * R)), atol=1e-9)
    for weights in (None, w):
        for found, expected in zip(op.normal_equations(r, weights), naive.normal_equations(R, r, weights), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-9)
