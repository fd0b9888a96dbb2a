"""The same input gives the same answer; inputs are left alone, and are not copied."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import fewatoms as fa
from fewatoms import oracles
from journeys.asking import by, regression
from journeys.planting import cosines, plant

# The same input gives the same answer --------------------------------------------------------------------------------


def assert_same(s, t):
    assert (s.status, s.iterations, s.products, s.svd_products) == (t.status, t.iterations, t.products, t.svd_products)
    assert s.loss == t.loss
    np.testing.assert_array_equal(s.x, t.x)


def large_completion(seed=0):
    """Large enough for partial decompositions, which start from random vectors."""
    rng = np.random.default_rng(seed)
    p, q = 330, 310
    left, right = rng.standard_normal((p, 2)), rng.standard_normal((q, 2))
    seen = rng.choice(p * q, 9000, replace=False)
    rows, cols = np.divmod(seen, q)
    return fa.Sampling(rows, cols, (p, q)), np.einsum("ij,ij->i", left[rows], right[cols]), left @ right.T


def test_seeds_fix_the_answer():
    M, b, X = large_completion()
    common = {"atoms": fa.RankOne(330, 310), "k": 2, "misfit": 1e-3, "max_iterations": 3}
    common["method"] = fa.General(retrieval=fa.paper_rule())
    default = fa.fit(M, b, **common)
    assert default.svd_products > 0
    np.random.default_rng().random()
    np.random.seed(5)  # noqa: NPY002 - the global state must play no part
    assert_same(default, fa.fit(M, b, **common))
    assert_same(fa.fit(M, b, rng=7, **common), fa.fit(M, b, rng=np.random.default_rng(7), **common))
    other = fa.fit(M, b, rng=8, **common)
    assert other.loss == pytest.approx(default.loss, rel=1e-3)
    assert not np.array_equal(other.x, default.x)  # another start vector, other roundings
    found = fa.fit(M, b, atoms=fa.RankOne(330, 310), k=2, misfit=1e-6)
    assert found.success
    assert np.linalg.norm(found.x - X) <= 1e-4 * np.linalg.norm(X)


@pytest.mark.parametrize("set_name", ["signed", "groups", "psd", "low-rank|sparse"])
def test_runs_repeat_themselves(set_name):
    planted = plant(set_name, "dense", "squares", seed=1)
    assert_same(planted.fit(alpha=planted.alpha), planted.fit(alpha=planted.alpha))


def test_a_problem_of_one_run_does_not_leak_into_the_next():
    D, b, _ = regression(4)
    first = fa.fit(
        D, b, atoms=fa.SignedOneHot(60), k=6, method=fa.General(oracle=oracles.Continuation()), max_iterations=3
    )
    fa.fit(D[:20], b[:20], atoms=fa.SignedOneHot(60), k=3, loss=fa.Huber(0.1), max_iterations=2)
    oracle = oracles.Continuation()
    fa.fit(2 * D, b, atoms=fa.SignedOneHot(60), k=6, method=by(oracle), max_iterations=2)
    assert_same(first, fa.fit(D, b, atoms=fa.SignedOneHot(60), k=6, method=by(oracle), max_iterations=3))


# Inputs are left alone -----------------------------------------------------------------------------------------------


def locked(array):
    array = np.array(array)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("kind", "oracle"),
    [(kind, None) for kind in ("dense", "fortran", "sparse", "sampling", "quadratic", "identity", "integers")]
    + [("dense", fa.LevelSet()), ("sampling", oracles.ProximalGradient(0.1)), ("identity", oracles.Bundle(1.0))],
    ids=lambda part: part if isinstance(part, str) else type(part).__name__,
)
def test_inputs_are_not_modified(kind, oracle):
    rng = np.random.default_rng(9)
    n = 4
    arrays = {
        "D": locked(rng.standard_normal((20, n * n))),
        "A": locked(rng.standard_normal((20, n))),
        "rows": locked(rng.permutation(n * n)[:14] // n),
        "integers": locked(rng.integers(-3, 4, (20, n * n))),
    }
    seen = rng.permutation(n * n)[:14]
    arrays["rows"], arrays["cols"] = locked(seen // n), locked(seen % n)
    sparse = sp.csr_array(arrays["D"] * (rng.random((20, n * n)) < 0.4))
    sparse.data.flags.writeable = False
    arrays["data"], arrays["inner"] = sparse.data, sparse.indices
    M = {
        "dense": lambda: arrays["D"],
        "fortran": lambda: locked(np.asfortranarray(arrays["D"])),
        "sparse": lambda: sparse,
        "sampling": lambda: fa.Sampling(arrays["rows"], arrays["cols"], (n, n)),
        "quadratic": lambda: fa.Quadratic(arrays["A"]),
        "identity": lambda: fa.Identity((n, n)),
        "integers": lambda: arrays["integers"],
    }[kind]()
    m = M.shape[0]
    arrays["b"], arrays["weights"] = locked(rng.standard_normal(m)), locked(0.5 + rng.random(m))
    arrays["labels"], arrays["C"] = locked(np.arange(n * n) // n), locked(cosines(n * n))
    before = {name: a.copy() for name, a in arrays.items()}
    sets = [
        (fa.SignedOneHot(n * n), 2),
        (fa.Groups(arrays["labels"]), 2),
        (fa.Dictionary(arrays["C"], symmetric=False), 2),
        (fa.RankOne(n, n), 1),
        (fa.PSDRankOne(n), 1),
        (fa.RankOne(n, n) | fa.SignedOneHot((n, n)), (1, 1)),
    ]
    for atoms, k in sets:
        for loss in (fa.LeastSquares(arrays["weights"]), fa.Huber(0.5)):
            s = fa.fit(M, arrays["b"], atoms=atoms, k=k, loss=loss, alpha=1e-12, method=by(oracle), max_iterations=2)
            _ = s.x, s.certificate.epsilon
            assert s.cardinality <= sum(np.atleast_1d(k))
    for name, a in arrays.items():
        np.testing.assert_array_equal(a, before[name], err_msg=name)


def test_answers_do_not_share_memory_with_inputs():
    D, b = np.eye(4), np.array([1.0, 0.0, -3.0, 0.0])
    s = fa.fit(D, b, atoms=fa.SignedOneHot(4), k=2, misfit=1e-9)
    x = s.x.copy()
    b[:] = 7.0
    D[:] = 7.0
    np.testing.assert_array_equal(s.x, x)
    s.x[:] = 0.0
    np.testing.assert_array_equal(s.coefficients, [-3.0, 1.0])


# Memory --------------------------------------------------------------------------------------------------------------


def peak_memory(M):
    """Bytes that a fit to the sum of three columns takes at most, the matrix itself apart."""
    b = np.asarray(M[:, :3], dtype=float).sum(axis=1)
    tracemalloc.start()
    try:
        s = fa.fit(M, b, atoms=fa.SignedOneHot(M.shape[1]), k=3, misfit=1e-3)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert s.success
    assert set(s.indices) == {0, 1, 2}
    return peak


def test_no_copy_of_the_matrix_is_made():
    D = np.random.default_rng(1).standard_normal((400, 3000))
    peak_memory(D)  # what the first fit of a process imports is not the matrix
    for M in (D, np.asfortranarray(D)):
        assert peak_memory(M) < 0.5 * M.nbytes
    single = np.random.default_rng(2).standard_normal((800, 15000), dtype=np.float32)
    assert peak_memory(single) < single.nbytes  # half of what a copy in double precision would take
