"""Vectors: the best few columns, against all subsets; units, orders and formats that do not matter; free columns,
several data vectors, chosen atoms, bounds without k, warm starts, and data with nothing in them."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from problems.planting import spikes, squares
from scipy.optimize import minimize, nnls
from scipy.sparse.linalg import aslinearoperator

import fewatoms as fa

# The slow and obvious way ---------------------------------------------------------------------------------------------


def refit(A, b, nonnegative=False):
    """The loss and coefficients of the best fit with all columns of A."""
    if A.shape[1] == 0:
        return squares(b), np.zeros(0)
    if nonnegative:
        size = np.linalg.norm(b)
        c = size * nnls(A, b / size)[0]
    else:
        c = np.linalg.lstsq(A, b, rcond=None)[0]
    return squares(b - A @ c), c


def best_of_all(blocks, b, k, nonnegative=False):
    """The smallest loss that any k of these blocks of columns reach."""
    choices = combinations(range(len(blocks)), k)
    return min(refit(np.concatenate([blocks[i] for i in some], axis=1), b, nonnegative)[0] for some in choices)


def design(kind, rng, m, n):
    A = rng.standard_normal((m, n))
    if kind == "correlated":
        A += 2.0 * rng.standard_normal((m, 1))
    elif kind == "autoregressive":
        for j in range(1, n):
            A[:, j] = 0.9 * A[:, j - 1] + 0.44 * A[:, j]
    elif kind == "duplicated":
        A[:, n // 2 :] = A[:, : n - n // 2]
    elif kind == "units":
        A *= 10.0 ** rng.uniform(-3, 3, n)
    elif kind == "decoy":  # a column that is nearly the sum of two others
        A[:, 0] = A[:, 1] + A[:, 2] + 0.1 * rng.standard_normal(m)
    elif kind == "low rank":
        A = rng.standard_normal((m, 2)) @ rng.standard_normal((2, n))
    return A


N = 12
LABELS = np.arange(N) // 2
D = np.random.default_rng(99).standard_normal((N, N))

# name -> atoms, the map from coefficients to x, one label per coefficient, whether they are nonnegative
SETS = {
    "signed": (fa.SignedOneHot(N), np.eye(N), np.arange(N), False),
    "nonnegative": (fa.NonnegativeOneHot(N), np.eye(N), np.arange(N), True),
    "turned over": (-2.0 * fa.NonnegativeCone(N), -np.eye(N), np.arange(N), True),
    "groups": (fa.Groups(LABELS), np.eye(N), LABELS, False),
    "weighted groups": (fa.Groups(LABELS, weights=1.0 + np.arange(N // 2)), np.eye(N), LABELS, False),
    "dictionary": (fa.Dictionary(D, symmetric=True), D, np.arange(N), False),
    "nonnegative dictionary": (fa.Dictionary(D, symmetric=False), D, np.arange(N), True),
    "mapped": (fa.Mapped(sp.csr_array(D), 0.5 * fa.SignedOneHot(N)), D, np.arange(N), False),
    "mapped groups": (fa.Mapped(D, fa.Groups(LABELS)), D, LABELS, False),
}
GROUPED = ("groups", "weighted groups", "mapped groups")
KINDS = ("plain", "correlated", "autoregressive", "duplicated", "units", "decoy", "low rank")


def case(name, kind, seed, m=14):
    """A small problem: A, b, weights, k, and the whitened blocks and data for the twin."""
    _, B, labels, _ = SETS[name]
    rng = np.random.default_rng(seed)
    A = design(kind, rng, m, N)
    images = A @ B
    truth = np.where(rng.random(N) < 0.3, rng.standard_normal(N), 0.0)
    b = images @ truth / np.abs(images).max() + 0.3 * rng.standard_normal(m)
    weights = rng.uniform(0.2, 3.0, m) if seed % 2 else None
    root = np.ones(m) if weights is None else np.sqrt(weights)
    blocks = [root[:, None] * images[:, labels == g] for g in np.unique(labels)]
    return A, b, weights, 1 + seed % 3, blocks, root * b


def outcome(name, kind, seed):
    """How the answer compares with the best subset: a ratio of losses, checked never to be below one."""
    atoms, _, _, nonnegative = SETS[name]
    A, b, weights, k, blocks, target = case(name, kind, seed)
    s = fa.fit(A, b, atoms=atoms, k=k, loss=fa.LeastSquares(weights))
    assert s.status is fa.Status.SMALLEST_LOSS
    assert s.success
    assert s.cardinality <= k
    root = 1.0 if weights is None else np.sqrt(weights)
    size = squares(target)
    assert s.loss == pytest.approx(squares(root * (b - A @ s.x)), rel=1e-9, abs=1e-20 * size)
    assert s.misfit == pytest.approx(np.sqrt(s.loss / size), rel=1e-12)
    best = best_of_all(blocks, target, k, nonnegative)
    assert s.loss >= best * (1 - 1e-9) - 1e-20 * size
    return (s.loss + 1e-20 * size) / (best + 1e-20 * size)


# All subsets ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [name for name in SETS if name not in GROUPED])
def test_against_all_subsets(name, kind):
    """The best subset in three of four cases at least, and never far from it."""
    ratios = [outcome(name, kind, seed) for seed in range(4)]
    assert sum(ratio <= 1 + 1e-8 for ratio in ratios) >= 3
    assert max(ratios) <= 1.3


@pytest.mark.parametrize("kind", ["plain", "correlated", "duplicated", "units"])
@pytest.mark.parametrize("name", GROUPED)
def test_groups_against_all_subsets(name, kind):
    ratios = [outcome(name, kind, seed) for seed in range(6)]
    assert sum(ratio <= 1 + 1e-8 for ratio in ratios) >= 4
    assert max(ratios) <= 2.0


DEPENDENT = {
    "equal columns": lambda A: A[:, [0, 0, 2, 2, 4, 4, 6, 7, 8, 9, 10, 11]],
    "zero columns": lambda A: A * (np.arange(N) % 2),
    "a column twice another": lambda A: A[:, [0, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]] * [1, 2, *[1] * 10],
    "zero groups": lambda A: A * (LABELS % 2),
}


@pytest.mark.parametrize("kind", DEPENDENT)
def test_groups_with_dependent_columns_inside(kind):
    rng = np.random.default_rng(12)
    A = DEPENDENT[kind](rng.standard_normal((14, N)))
    b = A @ (rng.standard_normal(N) * (LABELS < 2)) + 0.2 * rng.standard_normal(14)
    blocks = [A[:, g == LABELS] for g in range(N // 2)]
    for k in (1, 2, 3):
        s = fa.fit(A, b, atoms=fa.Groups(LABELS), k=k)
        assert s.loss == pytest.approx(best_of_all(blocks, b, k), rel=1e-9)


def test_categories_beside_an_intercept():
    """Indicators of all values of a category sum to the intercept."""
    rng = np.random.default_rng(13)
    value = rng.integers(0, 3, 30)
    A = np.concatenate([np.eye(3)[value], rng.standard_normal((30, 6))], axis=1)
    b = np.array([0.0, 2.0, -1.0])[value] + 5.0 + 0.1 * rng.standard_normal(30)
    s = fa.fit(A, b, atoms=fa.Groups(np.arange(9) // 3), k=1, free="intercept")
    assert s.indices.tolist() == [0]
    assert s.loss == pytest.approx(refit(A[:, :3], b)[0], rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_more_atoms_never_cost(seed):
    A, b, *_ = case("signed", "correlated", seed)
    losses = [fa.fit(A, b, atoms=fa.SignedOneHot(N), k=k).loss for k in range(1, 6)]
    assert all(more <= fewer * (1 + 1e-9) for fewer, more in pairwise(losses))


# Units, orders, signs and formats -------------------------------------------------------------------------------------


def instance(seed, m=25, n=40, k=5):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n)) + (seed % 2) * rng.standard_normal((m, 1))
    return A, A @ spikes(rng, n, k) + 0.5 * rng.standard_normal(m), rng


PAIRS = np.arange(40) // 2
TAKEN = {"signed": fa.SignedOneHot(40), "nonnegative": fa.NonnegativeOneHot(40), "groups": fa.Groups(PAIRS)}
asked = pytest.mark.parametrize("misfit", [None, 0.3], ids=["k alone", "with a bound"])


def assert_same(found, expected, names=None, rel=1e-8):
    names = (lambda i: i) if names is None else names
    assert {names(i) for i in found.indices.tolist()} == set(expected.indices.tolist())
    assert found.misfit == pytest.approx(expected.misfit, rel=rel, abs=1e-12)
    assert found.status is expected.status


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


# Free columns ---------------------------------------------------------------------------------------------------------

ROWS = 18
RAMP = np.arange(ROWS) / ROWS
FREE = {
    "intercept": ("intercept", np.ones((ROWS, 1))),
    "one column": (RAMP, RAMP[:, None]),
    "two columns": (np.column_stack([np.ones(ROWS), RAMP]),) * 2,
    "dependent columns": (np.column_stack([RAMP, 2 * RAMP]), RAMP[:, None]),
}


def with_offset(seed, n=9):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((ROWS, n)) + 1.0
    return A, A[:, 0] - 2.0 * A[:, 3] + 3.0 + RAMP + 0.3 * rng.standard_normal(ROWS), rng


@pytest.mark.parametrize("form", ["dense", "csc", "operator"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", FREE)
def test_free_columns_are_appended_and_refitted(name, weighted, form):
    free, F = FREE[name]
    for seed in range(2):
        A, b, rng = with_offset(seed)
        weights = rng.uniform(0.3, 2.0, ROWS) if weighted else None
        root = np.ones(ROWS) if weights is None else np.sqrt(weights)
        M = {"dense": A, "csc": sp.csc_array(A), "operator": aslinearoperator(A)}[form]
        s = fa.fit(M, b, atoms=fa.SignedOneHot(9), k=2, loss=fa.LeastSquares(weights), free=free)

        def whole(some, F=F, A=A, b=b, root=root):
            return refit(root[:, None] * np.column_stack([A[:, list(some)], F]), root * b)

        loss, c = whole(s.indices)
        assert s.loss == pytest.approx(loss, rel=1e-9)
        assert s.loss == pytest.approx(min(whole(some)[0] for some in combinations(range(9), 2)), rel=1e-9)
        np.testing.assert_allclose(s.coefficients, c[:2], atol=1e-8)
        given = np.ones((ROWS, 1)) if isinstance(free, str) else np.reshape(free, (ROWS, -1))
        np.testing.assert_allclose(given @ s.free_coefficients, F @ c[2:], atol=1e-8)
        assert s.cardinality == 2
        new = rng.standard_normal((4, 9))
        if isinstance(free, str):
            np.testing.assert_allclose(s.predict(new), new @ s.x + c[2], atol=1e-8)
        else:
            beside = rng.standard_normal((4, given.shape[1]))
            np.testing.assert_allclose(s.predict(new, free=beside), new @ s.x + beside @ s.free_coefficients)


@pytest.mark.parametrize("name", ["intercept", "two columns"])
def test_free_columns_are_a_projection(name):
    """The same answer as without them, on the data and the matrix less what they explain."""
    free, F = FREE[name]
    A, b, _ = with_offset(3)
    P = np.eye(ROWS) - F @ np.linalg.pinv(F)
    for atoms in (fa.SignedOneHot(9), fa.NonnegativeOneHot(9), fa.Groups(np.arange(9) // 3)):
        s, t = fa.fit(A, b, atoms=atoms, k=2, free=free), fa.fit(P @ A, P @ b, atoms=atoms, k=2)
        assert set(s.indices.tolist()) == set(t.indices.tolist())
        assert s.loss == pytest.approx(t.loss, rel=1e-9)
        np.testing.assert_allclose(s.x, t.x, atol=1e-8)


def smooth_refit(loss, R, b, bounds=None):
    return minimize(
        lambda c: loss.value(b - R @ c),
        np.zeros(R.shape[1]),
        jac=lambda c: -R.T @ loss.gradient(b - R @ c),
        method="L-BFGS-B",
        bounds=bounds,
        options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 3000},
    )


@pytest.mark.parametrize("form", ["dense", "csc"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", ["intercept", "two columns"])
def test_free_columns_with_huber(name, weighted, form):
    free, F = FREE[name]
    A, b, rng = with_offset(4)
    b[5] += 40.0  # an outlier
    loss = fa.Huber(0.5, rng.uniform(0.3, 2.0, ROWS) if weighted else None)
    s = fa.fit(A if form == "dense" else sp.csc_array(A), b, atoms=fa.SignedOneHot(9), k=2, loss=loss, free=free)
    twin = smooth_refit(loss, np.column_stack([A[:, s.indices], F]), b)
    assert s.loss == pytest.approx(twin.fun, rel=1e-7)
    best = min(smooth_refit(loss, np.column_stack([A[:, some], F]), b).fun for some in combinations(range(9), 2))
    assert s.loss == pytest.approx(best, rel=1e-7)
    left = b - A @ s.x - F @ s.free_coefficients
    assert loss.value(left) == pytest.approx(s.loss, rel=1e-9)
    root = 1.0 if loss.weights is None else np.sqrt(loss.weights)
    assert s.misfit == pytest.approx(np.linalg.norm(root * left) / np.linalg.norm(root * b), rel=1e-6)


@pytest.mark.parametrize("cap", [None, 0.8])
@pytest.mark.parametrize("seed", [4, 5])
def test_free_columns_with_logistic_are_labels(seed, cap):
    A, _, rng = with_offset(seed)
    t = np.where(A[:, 0] - 2.0 * A[:, 3] + 1.0 + 2.5 * rng.standard_normal(ROWS) > 0, 1.0, -1.0)
    M, loss = t[:, None] * A, fa.Logistic()
    s = fa.fit(M, np.zeros(ROWS), atoms=fa.SignedOneHot(9), k=2, loss=loss, free=t, cap=cap)

    def twin(some):
        bounds = [(None if cap is None else -cap, cap)] * 2 + [(None, None)]
        return smooth_refit(loss, np.column_stack([M[:, list(some)], t]), np.zeros(ROWS), bounds)

    # on separable classes there is no minimum, and both searches end somewhere near 0
    assert s.loss == pytest.approx(min(twin(some).fun for some in combinations(range(9), 2)), rel=1e-6, abs=1e-7)
    assert s.loss == pytest.approx(loss.value(-M @ s.x - t * s.free_coefficients[0]), rel=1e-9)
    np.testing.assert_allclose(t * s.predict(M, free=t), A @ s.x + s.free_coefficients[0], atol=1e-9)
    assert np.isnan(s.misfit)


# Several data vectors -------------------------------------------------------------------------------------------------


def several(seed, m=20, n=15, p=3):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n)) + 0.5 * rng.standard_normal((m, 1))
    X = np.zeros((n, p))
    X[rng.choice(n, 3, replace=False)] = rng.standard_normal((3, p))
    return A, A @ X + 0.2 * rng.standard_normal((m, p)), rng


@pytest.mark.parametrize("options", [{}, {"misfit": 0.5}, {"free": "intercept"}], ids=["k alone", "bound", "free"])
@pytest.mark.parametrize(
    "atoms", [fa.SignedOneHot(15), fa.NonnegativeOneHot(15), fa.Groups(np.arange(15) // 3)], ids=repr
)
def test_several_data_vectors_are_fitted_one_by_one(atoms, options):
    A, B, rng = several(0)
    together = fa.fit(A, B, atoms=atoms, k=3, **options)
    alone = [fa.fit(A, b, atoms=atoms, k=3, **options) for b in B.T]
    assert isinstance(together, fa.Solutions)
    assert len(together) == 3
    assert together.success == all(s.success for s in alone)
    for s, t in zip(together, alone, strict=True):
        np.testing.assert_array_equal(s.indices, t.indices)
        np.testing.assert_allclose(s.x, t.x, rtol=1e-12)
        assert s.status is t.status
    np.testing.assert_allclose(together.x, np.stack([s.x for s in alone], axis=1))
    np.testing.assert_allclose(together.loss, [s.loss for s in alone])
    np.testing.assert_array_equal(together.cardinality, [s.cardinality for s in alone])
    new = rng.standard_normal((5, 15))
    np.testing.assert_allclose(together.predict(new), np.stack([s.predict(new) for s in alone], axis=1))
    np.testing.assert_allclose(together[1:].loss, together.loss[1:])


@pytest.mark.parametrize(
    ("form", "grouped"),
    [("dense", False), ("dense", True), ("csc", False), ("csc", True), ("operator", False)],
    ids=["dense rows", "dense groups", "sparse rows", "sparse groups", "operator rows"],
)
@pytest.mark.parametrize("seed", range(2))
def test_a_joint_support_is_a_problem_of_groups(seed, form, grouped):
    A, B, rng = several(seed)
    labels = np.arange(15) // 3 if grouped else np.arange(15)
    atoms = fa.Groups(labels) if grouped else fa.SignedOneHot(15)
    M = {"dense": A, "csc": sp.csc_array(A), "operator": aslinearoperator(A)}[form]
    s = fa.fit(M, B, atoms=atoms, k=2, joint=True)
    twin = fa.fit(np.kron(A, np.eye(3)), B.ravel(), atoms=fa.Groups(np.repeat(labels, 3)), k=2)
    assert set(s.indices.tolist()) == set(twin.indices.tolist())
    assert s.loss == pytest.approx(twin.loss, rel=1e-9)
    np.testing.assert_allclose(s.x, twin.x.reshape(15, 3), atol=1e-8)
    names = np.unique(labels)
    best = min(
        squares(B - A[:, some] @ np.linalg.lstsq(A[:, some], B, rcond=None)[0])
        for some in (np.isin(labels, pair) for pair in combinations(names, 2))
    )
    assert s.loss == pytest.approx(best, rel=1e-9)
    new = rng.standard_normal((4, 15))
    np.testing.assert_allclose(s.predict(new), new @ s.x, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_a_joint_support_with_free_columns(weighted):
    A, B, rng = several(2)
    B = B + np.array([1.0, -2.0, 5.0])
    W = rng.uniform(0.5, 2.0, B.shape) if weighted else np.ones(B.shape)
    s = fa.fit(
        A,
        B,
        atoms=fa.SignedOneHot(15),
        k=2,
        joint=True,
        free="intercept",
        loss=fa.LeastSquares(W.ravel() if weighted else None),
    )

    def loss(some):
        R = np.column_stack([A[:, list(some)], np.ones(20)])
        return sum(refit(np.sqrt(w)[:, None] * R, np.sqrt(w) * b)[0] for w, b in zip(W.T, B.T, strict=True))

    assert s.loss == pytest.approx(loss(s.indices), rel=1e-9)
    assert s.loss == pytest.approx(min(loss(pair) for pair in combinations(range(15), 2)), rel=1e-9)
    assert s.free_coefficients.shape == (1, 3)
    left = B - A @ s.x - s.free_coefficients
    assert s.loss == pytest.approx(0.5 * np.sum(W * left**2), rel=1e-9)
    new = rng.standard_normal((4, 15))
    np.testing.assert_allclose(s.predict(new), new @ s.x + s.free_coefficients, atol=1e-12)


# Atoms in, atoms out, coefficients capped -----------------------------------------------------------------------------

MANY = 70
CHOOSY = {
    "signed": fa.SignedOneHot(MANY),
    "few": fa.SignedOneHot(20),
    "groups": fa.Groups(np.arange(MANY) // 2),
    "dictionary": fa.Dictionary(np.random.default_rng(5).standard_normal((30, MANY)), symmetric=True),
}
WAYS = {
    "k alone": {"k": 4},
    "free": {"k": 4, "free": "intercept"},
    "bound": {"k": 4, "misfit": 0.6},
    "bound alone": {"misfit": 0.6},
    "bound alone, free": {"misfit": 0.6, "free": "intercept"},
    "huber": {"k": 4, "loss": fa.Huber(0.5)},
    "huber, free": {"k": 4, "loss": fa.Huber(0.5), "free": "intercept"},
    "logistic": {"k": 4, "loss": fa.Logistic(), "alpha": 5.0},
}


@pytest.mark.parametrize("form", ["dense", "operator"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CHOOSY)
def test_chosen_atoms_are_in_or_out(name, way, form):
    atoms = CHOOSY[name]
    rng = np.random.default_rng([len(name), len(way), len(form)])
    A = rng.standard_normal((25, atoms.n)) + 0.3
    b = rng.standard_normal(25) + 2.0 * A[:, 1]
    M = A if form == "dense" else aslinearoperator(A)
    for draw in range(2):
        chosen = rng.permutation(atoms.count)
        wanted, barred = chosen[: 1 + draw], np.append(chosen[5:15], 1 - draw)
        barred = barred[~np.isin(barred, wanted)]
        s = fa.fit(M, b, atoms=atoms, include=wanted, exclude=barred, cap=0.5 if draw else None, **WAYS[way])
        assert set(wanted.tolist()) <= set(s.indices.tolist())
        assert not set(barred.tolist()) & set(s.indices.tolist())
        assert s.cardinality <= WAYS[way].get("k", atoms.count)
        if draw:
            largest = np.abs(s.coefficients if name == "dictionary" else s.x).max()
            assert largest <= 0.5 * (1 + 1e-12)


@pytest.mark.parametrize("n", [9, MANY])
@pytest.mark.parametrize("seed", range(3))
def test_chosen_atoms_against_all_subsets_that_hold_them(seed, n):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((20, n))
    b = A @ spikes(rng, n, 4) + 0.5 * rng.standard_normal(20)
    wanted, barred = rng.choice(n, 1), rng.permutation(n)[: n // 2]
    barred = np.setdiff1d(barred, wanted)
    s = fa.fit(A, b, atoms=fa.SignedOneHot(n), k=3, include=wanted, exclude=barred)
    rest = np.setdiff1d(np.arange(n), np.append(barred, wanted))
    best = min(refit(A[:, [*wanted, *pair]], b)[0] for pair in combinations(rest, 2))
    assert s.loss == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("cap", [0.05, 0.3, 2.0, 1e6])
@pytest.mark.parametrize("nonnegative", [False, True], ids=["signed", "nonnegative"])
def test_a_cap_is_a_box(nonnegative, cap):
    rng = np.random.default_rng(7)
    A = rng.standard_normal((20, 8)) * 10.0 ** rng.uniform(-1, 1, 8)
    b = A @ spikes(rng, 8, 3, nonnegative) + 0.3 * rng.standard_normal(20)
    atoms = fa.NonnegativeOneHot(8) if nonnegative else fa.SignedOneHot(8)
    s = fa.fit(A, b, atoms=atoms, k=2, cap=cap)
    assert np.abs(s.x).max() <= cap * (1 + 1e-12)
    assert s.loss == pytest.approx(squares(b - A @ s.x), rel=1e-9)
    bounds = [(0.0 if nonnegative else -cap, cap)] * 2
    loss = fa.LeastSquares()
    best = min(smooth_refit(loss, A[:, some], b, bounds).fun for some in combinations(range(8), 2))
    assert s.loss == pytest.approx(best, rel=1e-6)


# A bound without k ----------------------------------------------------------------------------------------------------


def pursued(A, b, bound):
    """Orthogonal matching pursuit on columns of unit length: how many atoms until the loss meets the bound."""
    A = A / np.linalg.norm(A, axis=0)
    inside: list[int] = []
    left = b
    while squares(left) > bound:
        alignments = np.abs(A.T @ left)
        alignments[inside] = -1.0
        inside.append(int(np.argmax(alignments)))
        left = b - A[:, inside] @ np.linalg.lstsq(A[:, inside], b, rcond=None)[0]
    return len(inside)


@pytest.mark.parametrize("misfit", [0.5, 0.1, 1e-6])
@pytest.mark.parametrize("kind", ["plain", "correlated", "autoregressive", "units"])
def test_a_bound_alone_takes_no_more_atoms_than_matching_pursuit(kind, misfit):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        A = design(kind, rng, 30, 60)
        b = A @ spikes(rng, 60, 4) / np.abs(A).max() + 0.02 * rng.standard_normal(30)
        s = fa.fit(A, b, atoms=fa.SignedOneHot(60), misfit=misfit)
        assert s.success
        assert s.status is fa.Status.BOUND_MET
        assert np.linalg.norm(b - A @ s.x) <= misfit * np.linalg.norm(b) * (1 + 1e-9)
        assert s.cardinality == np.count_nonzero(s.x) <= pursued(A, b, misfit**2 * squares(b))
        by_alpha = fa.fit(A, b, atoms=fa.SignedOneHot(60), alpha=misfit**2 * squares(b))
        assert by_alpha.cardinality == s.cardinality


@pytest.mark.parametrize("misfit", [0.6, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_a_bound_alone_against_all_subsets(seed, misfit):
    A, b, *_ = case("signed", "plain", 2 * seed)
    s = fa.fit(A, b, atoms=fa.SignedOneHot(N), misfit=misfit)
    blocks = [A[:, [i]] for i in range(N)]
    reached = (k for k in range(1, N + 1) if best_of_all(blocks, b, k) <= misfit**2 * squares(b))
    needed = next(reached, None)
    assert s.success == (needed is not None)
    assert needed is None or needed <= s.cardinality <= needed + 1


@pytest.mark.parametrize("name", ["nonnegative", "groups", "dictionary", "free", "huber"])
def test_a_bound_alone_is_met_by_every_kind(name):
    rng = np.random.default_rng(3)
    A = np.abs(rng.standard_normal((30, 80)))
    b = A[:, :3].sum(axis=1) + 0.05 * rng.standard_normal(30)
    atoms, options = {
        "nonnegative": (fa.NonnegativeOneHot(80), {"misfit": 0.1}),
        "groups": (fa.Groups(np.arange(80) // 4), {"misfit": 0.1}),
        "dictionary": (fa.Dictionary(np.eye(80)[:, ::-1], symmetric=True), {"misfit": 0.1}),
        "free": (fa.SignedOneHot(80), {"misfit": 0.1, "free": "intercept"}),
        "huber": (fa.SignedOneHot(80), {"alpha": 0.5, "loss": fa.Huber(1.0)}),
    }[name]
    s = fa.fit(A, b, atoms=atoms, **options)
    left = b - A @ s.x - (s.free_coefficients[0] if name == "free" else 0.0)
    assert s.success
    assert 1 <= s.cardinality <= 4
    if name == "huber":
        assert fa.Huber(1.0).value(left) <= 0.5 * (1 + 1e-9)
    else:
        assert np.linalg.norm(left) <= 0.1 * np.linalg.norm(b) * (1 + 1e-9)


def test_a_bound_that_no_atoms_reach():
    rng = np.random.default_rng(4)
    A, b = rng.standard_normal((30, 5)), rng.standard_normal(30)
    s = fa.fit(A, b, atoms=fa.SignedOneHot(5), misfit=1e-3)
    assert not s.success
    assert s.status in (fa.Status.NOT_REACHED, fa.Status.UNREACHABLE)
    assert s.loss == pytest.approx(refit(A, b)[0], rel=1e-6)


# Warm starts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("loss", [fa.LeastSquares(), fa.Huber(0.5)], ids=repr)
@pytest.mark.parametrize("name", TAKEN)
def test_a_start_is_never_made_worse(name, loss, k):
    """Not worse than the k largest contributions of the start, refitted."""
    atoms = TAKEN[name]
    A, b, rng = instance(1)
    start = fa.fit(A, b, atoms=atoms, k=4, loss=loss, max_iterations=1)
    moved = b + 0.1 * rng.standard_normal(25)
    s = fa.fit(A, moved, atoms=atoms, k=k, loss=loss, start=start)
    sizes = np.linalg.norm(A, axis=0) * np.abs(start.x)
    labels = PAIRS if name == "groups" else np.arange(40)
    totals = np.sqrt(np.bincount(labels, weights=sizes**2))
    kept = np.isin(labels, np.argsort(-totals)[: min(k, start.cardinality)])
    bounds = [(0.0 if name == "nonnegative" else None, None)] * int(kept.sum())
    pruned = smooth_refit(loss, A[:, kept], moved, bounds).fun if kept.any() else loss.value(moved)
    assert s.loss <= pruned * (1 + 1e-7)
    assert s.cardinality <= k


def test_a_start_that_meets_the_bound_is_taken_as_it_is():
    A, b, _ = instance(1)
    start = fa.fit(A, b, atoms=fa.SignedOneHot(40), k=5)
    s = fa.fit(A, b, atoms=fa.SignedOneHot(40), k=5, misfit=start.misfit * 1.01, start=start)
    assert s.status is fa.Status.BOUND_MET
    assert s.iterations == 0
    np.testing.assert_allclose(s.x, start.x, atol=1e-9)


# Nothing in the data --------------------------------------------------------------------------------------------------


def degenerate():
    """name -> M, b."""
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((8, 12)), rng.standard_normal(8)
    gaps = A.copy()
    gaps[:, ::2] = 0
    thin = A * (np.abs(A) > 0.7)
    zeros = sp.csc_array(thin)
    zeros.data[::3] = 0.0
    return {
        "zero columns": (gaps, b),
        "zero matrix": (np.zeros((8, 12)), b),
        "empty sparse matrix": (sp.csc_array((8, 12)), b),
        "duplicated columns": (np.repeat(A[:, :3], 4, axis=1), b),
        "opposite columns": (np.concatenate([A[:, :6], -A[:, :6]], axis=1), b),
        "rank one": (np.outer(A[:, 0], A[0]), b),
        "rank two": (A[:, :2] @ A[:2], b),
        "b orthogonal to all columns": (A - np.outer(b, b @ A) / (b @ b), b),
        "one row": (A[:1], b[:1]),
        "one column": (A[:, :1], b),
        "one number": (A[:1, :1], b[:1]),
        "explicit zeros": (zeros, b),
        "unsorted indices": (shuffled(thin), b),
        "sparse zero columns": (sp.csr_array(gaps * (np.abs(gaps) > 1)), b),
        "no data": (A, np.zeros(8)),
        "booleans": (A > 0, b > 0),
    }


DEGENERATE = degenerate()
ASKED = {
    "one": {"k": 1},
    "all": {"k": 12},
    "bound": {"k": 3, "misfit": 0.1},
    "bound alone": {"misfit": 0.1},
    "tight bound": {"k": 12, "misfit": 1e-9},
    "huber": {"k": 2, "loss": fa.Huber(0.5)},
    "logistic": {"k": 2, "loss": fa.Logistic(), "cap": 5.0},
    "free": {"k": 2, "free": "intercept"},
    "huber, free": {"k": 2, "loss": fa.Huber(0.5), "free": "intercept"},
    "cap": {"k": 2, "cap": 0.3},
}


@pytest.mark.parametrize("way", ASKED)
@pytest.mark.parametrize("name", DEGENERATE)
def test_nothing_odd_comes_of_odd_data(name, way, capsys):
    M, b = DEGENERATE[name]
    m, n = M.shape
    options = dict(ASKED[way])
    if "free" in options and m == 1:
        options.pop("free")
    if "k" in options:
        options["k"] = min(options["k"], n)
    A = M.toarray() if sp.issparse(M) else np.asarray(M, dtype=float)
    for atoms in (fa.SignedOneHot(n), fa.NonnegativeOneHot(n)):
        s = fa.fit(M, b, atoms=atoms, **options)
        assert np.isfinite(s.x).all()
        assert np.isfinite(s.loss)
        left = b - A @ s.x - (s.free_coefficients[0] if s.free_coefficients.size else 0.0)
        loss = options.get("loss", fa.LeastSquares())
        size = loss.value(np.asarray(b, dtype=float))
        assert s.loss == pytest.approx(loss.value(left), rel=1e-7, abs=1e-20 * size)
        assert s.loss <= size * (1 + 1e-9)
        assert np.count_nonzero(s.x) <= s.cardinality <= options.get("k", n)
        if "misfit" in options:
            held = loss.value(left) <= options["misfit"] ** 2 * size * (1 + 1e-9) + 1e-25 * size
            assert s.success == held
            assert s.success == (s.status in (fa.Status.BOUND_MET, fa.Status.ZERO))
        else:
            assert s.status in (fa.Status.SMALLEST_LOSS, fa.Status.ZERO)
        assert f"{s.loss:.6g}" in s.message
        assert "nan" not in str(s.certificate).lower()
    out = capsys.readouterr()
    assert out.out == out.err == ""


def test_b_in_the_span_of_the_free_columns_needs_no_atoms():
    A, _, _ = with_offset(0)
    F = FREE["two columns"][0]
    for loss in (fa.LeastSquares(), fa.Huber(0.5)):
        s = fa.fit(A, F @ [2.0, -1.0], atoms=fa.SignedOneHot(9), k=2, free=F, loss=loss)
        assert s.status is fa.Status.ZERO
        assert s.cardinality == 0
        np.testing.assert_allclose(s.free_coefficients, [2.0, -1.0], atol=1e-9)
        np.testing.assert_allclose(s.predict(A, free=F), F @ [2.0, -1.0], atol=1e-9)


def test_columns_in_the_span_of_the_free_ones_are_not_chosen():
    A, b, _ = with_offset(0)
    A[:, 5] = 4.0
    s = fa.fit(A, b, atoms=fa.SignedOneHot(9), k=3, free="intercept")
    assert 5 not in s.indices
    assert s.loss == pytest.approx(refit(np.column_stack([A[:, s.indices], np.ones(ROWS)]), b)[0], rel=1e-9)


@pytest.mark.parametrize("k", [3, 6, 12])
def test_k_beyond_the_rank_is_as_good_as_all_columns(k):
    rng = np.random.default_rng(6)
    A = rng.standard_normal((10, 3)) @ rng.standard_normal((3, N))
    b = rng.standard_normal(10)
    s = fa.fit(A, b, atoms=fa.SignedOneHot(N), k=k)
    assert s.loss == pytest.approx(refit(A, b)[0], rel=1e-9)
    assert s.cardinality <= k


def test_of_equal_columns_one_is_taken():
    rng = np.random.default_rng(8)
    A = np.repeat(rng.standard_normal((10, 4)), 3, axis=1)
    b = 2.0 * A[:, 0] - A[:, 3] + 0.1 * rng.standard_normal(10)
    s = fa.fit(A, b, atoms=fa.SignedOneHot(12), k=2)
    assert sorted(i // 3 for i in s.indices.tolist()) == [0, 1]
    assert s.loss == pytest.approx(refit(A[:, [0, 3]], b)[0], rel=1e-9)


# Bad arguments --------------------------------------------------------------------------------------------------------

SMALL = np.array([[1.0, 2, 0, 1], [0, 1, 3, 1], [2, 0, 1, 0]])
DATA = np.array([1.0, 2.0, 3.0])
EARLIER = fa.fit(np.eye(3), DATA, atoms=fa.SignedOneHot(3), k=1)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"k": None}, TypeError, r"^k must say how many atoms are allowed, unless a bound .* is given; got None$"),
        (
            {"free": "slope"},
            ValueError,
            r'^free must be "intercept" or an array of columns of length 3; got \'slope\'$',
        ),
        ({"free": np.ones(4)}, ValueError, r"^free must be .* columns of length 3; got shape \(4,\)$"),
        ({"free": np.ones((3, 3))}, ValueError, r"^free must have fewer columns than there are data, 3; got 3$"),
        ({"free": np.zeros(3)}, ValueError, r"^free must not hold a column of zeros$"),
        ({"free": [1.0, np.nan, 0.0]}, ValueError, r"^free must hold finite numbers only; it contains nan$"),
        ({"free": 1j * np.ones(3)}, TypeError, r"^free must be real; got an array of complex128$"),
        (
            {"free": "intercept", "loss": fa.Logistic()},
            ValueError,
            r"^free must be the column of labels .*free=labels$",
        ),
        ({"include": [4]}, ValueError, r"^include must lie between 0 and 3; got 4$"),
        ({"exclude": [-1]}, ValueError, r"^exclude must lie between 0 and 3; got -1$"),
        ({"include": [0.5]}, TypeError, r"^include must hold integers; got an array of float64$"),
        ({"include": [0, 1]}, ValueError, r"^include must name at most k = 1 atoms; got 2$"),
        ({"include": 1, "exclude": [1]}, ValueError, r"^include and exclude must not share atoms; both name 1$"),
        ({"exclude": range(4)}, ValueError, r"^exclude must leave at least one atom; it names all of them$"),
        (
            {"include": ["x"], "atoms": fa.Groups(list("aabb"))},
            ValueError,
            r"^include must hold labels of groups; .*'x'",
        ),
        (
            {"include": [0], "atoms": fa.RankOne(2, 2)},
            ValueError,
            r"^include is for sets whose atoms can be listed; got",
        ),
        (
            {"cap": 1.0, "atoms": fa.RankOne(2, 2)},
            ValueError,
            r"^cap is for sets whose atoms can be listed; got RankOne",
        ),
        ({"cap": 0.0}, ValueError, r"^cap must be a positive finite number; got 0.0$"),
        ({"cap": -1}, ValueError, r"^cap must be a positive finite number; got -1$"),
        ({"cap": "big"}, TypeError, r"^cap must be a positive finite number; got 'big'$"),
        ({"cap": 1.0, "oracle": fa.LevelSet()}, ValueError, r"^include, exclude and cap are for the default oracle"),
        ({"include": [0], "retrieval": fa.paper_rule()}, ValueError, r"^include, exclude and cap are for the default"),
        ({"joint": True}, ValueError, r"^joint: b must have a column per data vector; got shape \(3,\)$"),
        ({"start": np.ones(4)}, TypeError, r"^start must be the Solution of an earlier fit; got ndarray$"),
        ({"start": EARLIER}, ValueError, r"^start must be a model .*; got one .*3"),
        ({"misfit": 0.1, "loss": fa.Huber()}, ValueError, r"^misfit is a bound for least squares; .* got misfit=0.1$"),
        ({"k": None, "misfit": 0.1, "atoms": fa.RankOne(2, 2)}, TypeError, r"^k must be given for RankOne"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_bad_arguments_are_named(options, kind, message):
    with pytest.raises(kind, match=message):
        fa.fit(SMALL, DATA, **{"atoms": fa.SignedOneHot(4), "k": 1, **options})


@pytest.mark.parametrize(
    ("b", "options", "message"),
    [
        (np.ones((2, 3)), {}, r"^b must have m = 3 rows, one column per data vector; got shape \(2, 3\)$"),
        (np.ones((3, 0)), {}, r"^b must have m = 3 rows, one column per data vector; got shape \(3, 0\)$"),
        (np.ones((3, 2)), {"joint": True, "atoms": fa.NonnegativeOneHot(4)}, r"^joint supports are for SignedOneHot"),
        (
            np.ones((3, 2)),
            {"joint": True, "atoms": fa.SignedOneHot(5)},
            r"^atoms must live in the space that M takes, 4",
        ),
        (np.ones((3, 2)), {"joint": True, "free": np.ones(4)}, r"^free must have 3 rows; got shape \(4,\)$"),
        (np.full((3, 2), np.nan), {}, r"^b must hold finite numbers only; it contains nan$"),
    ],
    ids=["rows", "no columns", "one-sided", "size", "free", "nan"],
)
def test_bad_arguments_with_several_data_vectors(b, options, message):
    with pytest.raises(ValueError, match=message):
        fa.fit(SMALL, b, **{"atoms": fa.SignedOneHot(4), "k": 1, **options})


def test_predict_says_what_it_misses():
    A, b, _ = with_offset(0)
    s = fa.fit(A, b, atoms=fa.SignedOneHot(9), k=2, free=FREE["two columns"][0])
    with pytest.raises(ValueError, match=r"^free must give the 2 free columns for the new data; got None$"):
        s.predict(A)
    with pytest.raises(
        ValueError, match=r"^free must have shape \(18, 2\), a column per free coefficient; got \(18, 1\)$"
    ):
        s.predict(A, free=RAMP)
    with pytest.raises(
        ValueError, match=r"^M_new must take models of shape \(9,\); got an operator of shape \(18, 8\)$"
    ):
        s.predict(A[:, :8], free=FREE["two columns"][0])


# What is said beside the status ---------------------------------------------------------------------------------------


def test_atoms_with_the_same_image_are_told_of():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((30, 40))
    b = 2.0 * A[:, 2] + A[:, 5] + 0.1 * rng.standard_normal(30)
    assert "Note" not in fa.fit(A, b, atoms=fa.SignedOneHot(40), k=2).message
    A[:, 7] = -3.0 * A[:, 2]
    s = fa.fit(A, b, atoms=fa.SignedOneHot(40), k=2)
    assert "Note: atoms" in s.message
    assert {"2", "7"} <= set(s.message.replace(",", "").split())
    assert "arbitrary" in s.message


def test_forced_atoms_that_add_nothing_are_told_of():
    rng = np.random.default_rng(0)
    M, b = rng.standard_normal((15, 12)), rng.standard_normal(15)
    s = fa.fit(M, b, atoms=fa.NonnegativeOneHot(12), k=3, include=[4, 9])
    missing = {4, 9} - set(s.indices.tolist())
    assert missing
    assert f"{len(missing)} of the atoms to include add nothing" in s.message
    assert s.cardinality + len(missing) <= 3


@pytest.mark.parametrize("demand", [{"include": [0]}, {"exclude": [11]}, {"cap": 0.5}])
def test_demands_that_cannot_be_kept_are_refused(demand):
    """Entries of a matrix are not exchanged by way of their images: nothing would mind the demand."""
    with pytest.raises(ValueError, match=r"^include, exclude and cap need a vector model .*; got k=2 atoms of"):
        fa.fit(fa.Identity((3, 4)), np.arange(12.0).reshape(3, 4), atoms=fa.SignedOneHot((3, 4)), k=2, **demand)
