"""Units, orders, signs and formats that do not matter."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import fewatoms as fa
from methods.listed.small import (
    PAIRS,
    TAKEN,
    instance,
)

# Units, orders, signs and formats -------------------------------------------------------------------------------------


def assert_same(found, expected, names=None, rel=1e-8):
    names = (lambda i: i) if names is None else names
    assert {names(i) for i in found.indices.tolist()} == set(expected.indices.tolist())
    assert found.misfit == pytest.approx(expected.misfit, rel=rel, abs=1e-12)
    assert found.status is expected.status


asked = pytest.mark.parametrize("misfit", [None, 0.3], ids=["k alone", "with a bound"])


@asked
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", TAKEN)
def test_the_units_of_b_and_of_M_do_not_matter(name, seed, misfit):
    A, b, _ = instance(seed)
    options = {"atoms": TAKEN[name], "k": 5, "misfit": misfit}
    s = fa.fit(A, b, **options)
    for f, g in [(1e5, 1.0), (1e-6, 1e-3), (3.0, 1e4)]:
        t = fa.fit(g * A, f * b, **options)
        assert_same(t, s)
        np.testing.assert_allclose(t.x, f / g * s.x, rtol=1e-6, atol=1e-9 * f / g * np.abs(s.x).max())
        assert t.loss == pytest.approx(f**2 * s.loss, rel=1e-8)


@asked
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", TAKEN)
def test_the_order_and_the_signs_of_columns_do_not_matter(name, seed, misfit):
    A, b, rng = instance(seed)
    atoms = TAKEN[name]
    s = fa.fit(A, b, atoms=atoms, k=5, misfit=misfit)
    order = rng.permutation(40)
    if name == "groups":
        t = fa.fit(A[:, order], b, atoms=fa.Groups(PAIRS[order]), k=5, misfit=misfit)
        assert_same(t, s)
    else:
        t = fa.fit(A[:, order], b, atoms=atoms, k=5, misfit=misfit)
        assert_same(t, s, lambda i: int(order[i]))
    np.testing.assert_allclose(t.x, s.x[order], atol=1e-7)
    if name != "nonnegative":
        signs = rng.choice([-1.0, 1.0], 40)
        t = fa.fit(A * signs, b, atoms=atoms, k=5, misfit=misfit)
        assert_same(t, s)
        np.testing.assert_allclose(t.x, signs * s.x, atol=1e-7)
        assert_same(fa.fit(A, -b, atoms=atoms, k=5, misfit=misfit), s)


@asked
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", TAKEN)
def test_the_units_of_single_columns_do_not_matter(name, seed, misfit):
    A, b, rng = instance(seed)
    s = fa.fit(A, b, atoms=TAKEN[name], k=5, misfit=misfit)
    units = 10.0 ** rng.uniform(-3, 3, 40)
    for M in (A * units, sp.csc_array(A * units)):
        t = fa.fit(M, b, atoms=TAKEN[name], k=5, misfit=misfit)
        assert_same(t, s)
        np.testing.assert_allclose(t.x * units, s.x, atol=1e-6)


@pytest.mark.parametrize("loss", [fa.Huber(0.5), fa.Logistic()], ids=repr)
def test_the_units_of_single_columns_do_not_matter_to_smooth_losses(loss):
    A, b, rng = instance(0, m=60)
    if isinstance(loss, fa.Logistic):
        A, b = np.where(b > 0, 1.0, -1.0)[:, None] * A, np.zeros(60)
    s = fa.fit(A, b, atoms=fa.SignedOneHot(40), k=3, loss=loss)
    units = 10.0 ** rng.uniform(-3, 3, 40)
    t = fa.fit(A * units, b, atoms=fa.SignedOneHot(40), k=3, loss=loss)
    assert set(t.indices.tolist()) == set(s.indices.tolist())
    assert t.loss == pytest.approx(s.loss, rel=1e-6)


def mapped_to_disk(A, folder):
    np.save(folder / "M.npy", A)
    return np.load(folder / "M.npy", mmap_mode="r")


def locked(A):
    A = A.copy()
    A.flags.writeable = False
    return A


def shuffled(A):
    """CSR with the entries of each row in no order, some of them explicit zeros."""
    S = sp.csr_array(np.where(A == 0, 1.0, A))
    rng = np.random.default_rng(0)
    for row in range(S.shape[0]):
        span = slice(S.indptr[row], S.indptr[row + 1])
        order = rng.permutation(S.indptr[row + 1] - S.indptr[row])
        S.indices[span], S.data[span] = S.indices[span][order], S.data[span][order]
    S.has_sorted_indices = False
    S.data[A[np.repeat(np.arange(A.shape[0]), np.diff(S.indptr)), S.indices] == 0] = 0.0
    return S


FORMATS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "strided": lambda A: np.repeat(A, 2, axis=1)[:, ::2],
    "read-only": locked,
    "csc": sp.csc_array,
    "csr": sp.csr_array,
    "coo": sp.coo_array,
    "old csc": sp.csc_matrix,
    "unsorted, with zeros": shuffled,
    "list": lambda A: A.tolist(),
    "single": lambda A: A.astype(np.float32),
    "single, sparse": lambda A: sp.csr_array(A.astype(np.float32)),
    "integers": lambda A: A.astype(np.int32),
    "integers, sparse": lambda A: sp.csc_array(A.astype(np.int64)),
    "on disk": None,
}


def snapshot(M):
    if sp.issparse(M):
        parts = (M.row, M.col, M.data) if M.format == "coo" else (M.indptr, M.indices, M.data)
        return [part.copy() for part in parts]
    return [np.array(M)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("options", [{"misfit": 0.3}, {"free": "intercept"}], ids=["bound", "free"])
@pytest.mark.parametrize("kind", FORMATS)
def test_the_format_does_not_matter(kind, options, tmp_path):
    A, b, rng = instance(2)
    A, b = np.round(8 * A) * (rng.random(A.shape) < 0.8), np.round(8 * b)  # exact in every format
    s = fa.fit(A, b, atoms=fa.SignedOneHot(40), k=5, **options)
    M = mapped_to_disk(A, tmp_path) if kind == "on disk" else FORMATS[kind](A)
    before, data = snapshot(M), b.astype(np.float32 if "single" in kind else np.int64 if "int" in kind else float)
    data.flags.writeable = False
    t = fa.fit(M, data, atoms=fa.SignedOneHot(40), k=5, **options)
    assert_same(t, s)
    np.testing.assert_allclose(t.x, s.x, atol=1e-8)
    for now, then in zip(snapshot(M), before, strict=True):
        np.testing.assert_array_equal(now, then)


@pytest.mark.parametrize("level", [0.1, 0.3, 1.0])
def test_columns_that_free_ones_explain_are_no_matter_of_units(level):
    y = np.random.default_rng(0).standard_normal(9)
    s = fa.fit(np.full((9, 1), level), y, atoms=fa.SignedOneHot(1), k=1, free="intercept")
    assert s.cardinality == 0
    assert s.success
    none = fa.fit(np.ones((9, 2)), y, atoms=fa.Mapped(np.zeros((2, 1)), fa.NonnegativeOneHot(1)), k=1)
    assert none.cardinality == 0
    with pytest.raises(ValueError, match="units"):
        fa.fit(np.full((9, 2), 1e-200), y, atoms=fa.SignedOneHot(2), k=1)
