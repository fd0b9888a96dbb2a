"""Bounds out of reach: what is claimed holds whatever the units, and nothing is claimed that rounding may hide."""

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.sparse import csc_array
from scipy.sparse.linalg import aslinearoperator

import fewatoms as fa
from fewatoms import ledger
from fewatoms.reach import out_of_reach
from journeys.planting import squares

FORMS = {"array": np.asarray, "sparse": csc_array, "box": aslinearoperator}


def posed(A, b, form="array", atoms=None, **words):
    n = A.shape[1]
    return fa.Problem.of(FORMS[form](A), b, atoms=atoms or fa.SignedOneHot(n), k=1, **words)


def least(A, b, nonnegative=False):
    """The least loss of any x, for columns that are not nearly dependent."""
    return 0.5 * nnls(A, b)[1] ** 2 if nonnegative else squares(b - A @ np.linalg.lstsq(A, b, rcond=None)[0])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(4))
def test_what_is_out_of_reach_is_proven(seed, form):
    """Whatever the units of the columns; just inside, nothing is."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((20, 6)) * 10.0 ** rng.uniform(-9, 9, 6)
    b = rng.standard_normal(20)
    low = least(A / np.linalg.norm(A, axis=0), b)
    for share in (0.0, 0.5, 1 - 1e-9):
        assert out_of_reach(posed(A, b, form, alpha=share * low))
    for share in (1.0, 1 + 1e-12, 2.0):
        assert not out_of_reach(posed(A, b, form, alpha=share * low))
    assert not out_of_reach(posed(A, b, form))


@pytest.mark.parametrize("words", ["weights", "columns", "both", "cap", "dictionary", "excluded"])
def test_beside_other_demands(words):
    rng = np.random.default_rng(5)
    A, b, F = rng.standard_normal((20, 6)), rng.standard_normal(20), np.ones((20, 1))
    w = rng.uniform(0.5, 2.0, 20)
    weights, beside = words in ("weights", "both"), words in ("columns", "both")
    options = {"free": F} if beside else {}
    options |= {"loss": fa.LeastSquares(w)} if weights else {}
    options |= {"cap": 1e20} if words == "cap" else {}
    atoms = fa.Dictionary(np.eye(6)[:, :3], symmetric=True) if words == "dictionary" else fa.SignedOneHot(6)
    atoms = atoms.restricted(exclude=[0]) if words == "excluded" else atoms
    root = np.sqrt(w) if weights else np.ones(20)
    low = least(root[:, None] * (np.c_[A, F] if beside else A), root * b)
    assert out_of_reach(posed(A, b, atoms=atoms, alpha=0.99 * low, **options))
    assert not out_of_reach(posed(A, b, atoms=atoms, alpha=1.01 * low, **options))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("delta", 10.0 ** -np.arange(4.0, 21.0, 2.0))
@pytest.mark.parametrize("kind", ["short", "parallel", "tall", "many"])
def test_nothing_is_claimed_where_large_coefficients_do_it(kind, delta, form):
    """There is an x, however large, in exact arithmetic."""
    A = {
        "short": np.diag([1.0, delta]),
        "parallel": np.array([[1.0, 1.0], [0.0, delta]]),
        "tall": np.array([[1.0, 1.0], [0.0, delta], [0.0, 0.0]]),
        "many": np.c_[np.ones((2, 3)), [1.0, 1.0 + delta]],
    }[kind]
    b = np.zeros(len(A))
    b[:2] = [1.0, 2.0]
    for options in ({}, {"cap": 1e30}):
        problem = posed(A, b, form, misfit=1e-3, **options)
        assert (kind == "many" and 1.0 + delta == 1.0) or not out_of_reach(problem)
        s = fa.fit(FORMS[form](A), b, atoms=fa.SignedOneHot(A.shape[1]), k=1, misfit=1e-3, **options)
        assert s.status is not fa.Status.UNREACHABLE


@pytest.mark.parametrize("delta", [1e-6, 1e-13])
def test_columns_that_nearly_repeat_others_do_not_hide_what_none_of_them_sees(delta):
    A = np.array([[1.0, 1.0], [0.0, delta], [0.0, 0.0], [0.0, 0.0]])
    assert out_of_reach(posed(A, [1.0, 1.0, 1.0, 1.0], misfit=0.5)) or delta < 1e-12
    assert not out_of_reach(posed(A, [1.0, 1.0, 0.0, 0.0], misfit=0.5))


@pytest.mark.parametrize("n", [4, 30])
@pytest.mark.parametrize("seed", range(3))
def test_cones_of_positive_columns(seed, n):
    """Even with more columns than data."""
    rng = np.random.default_rng(seed)
    A, b = rng.random((12, n)) * 10.0 ** rng.uniform(-6, 6, n), rng.standard_normal(12)
    low = least(A / np.linalg.norm(A, axis=0), b, nonnegative=True)
    for atoms in (fa.NonnegativeOneHot(n), fa.NonnegativeCone(n), 2.0 * fa.NonnegativeOneHot(n)):
        assert out_of_reach(posed(A, b, atoms=atoms, alpha=0.999 * low))
        assert not out_of_reach(posed(A, b, atoms=atoms, alpha=1.001 * low))
    assert not out_of_reach(posed(A, b, atoms=fa.SignedOneHot(n), alpha=0.01 * low)) or n < 12


def test_data_that_point_away_from_a_cone():
    A = np.random.default_rng(0).random((5, 9))
    assert out_of_reach(posed(A, -np.ones(5), atoms=fa.NonnegativeOneHot(9), misfit=0.9))
    signs = A * np.where(np.arange(9) % 2, 1.0, -1.0)
    assert not out_of_reach(posed(signs, -np.ones(5), atoms=fa.NonnegativeOneHot(9), misfit=0.9))


def test_columns_of_zeros():
    assert out_of_reach(posed(np.zeros((3, 2)), np.ones(3), misfit=0.5))
    assert out_of_reach(posed(np.zeros((3, 2)), np.ones(3), atoms=fa.NonnegativeOneHot(2), misfit=0.5))


@pytest.mark.parametrize(
    ("shape", "products"), [((200, 100), 100), ((200, 101), 0), ((100, 100), 0)], ids=["few", "too many", "square"]
)
def test_what_it_costs(shape, products):
    """Columns of a box are asked for, where they are few and could prove something."""
    rng = np.random.default_rng(1)
    M = fa.Counting(aslinearoperator(rng.standard_normal(shape)))
    problem = fa.Problem.of(M, rng.standard_normal(shape[0]), atoms=fa.SignedOneHot(shape[1]), k=1, misfit=1e-3)
    with ledger.opened() as spent:
        assert out_of_reach(problem) == (products > 0)
    assert spent.products == M.products == products


@pytest.mark.parametrize("words", [{"loss": fa.Huber(1.0)}, {"atoms": fa.RankOne(2, 3)}], ids=["huber", "matrix"])
def test_elsewhere_nothing_is_tried(words):
    M = fa.Counting(np.eye(9)[:, :6])
    problem = fa.Problem.of(M, np.ones(9), **{"atoms": fa.SignedOneHot(6), "k": 1, "alpha": 0.1, **words})
    claimed = out_of_reach(problem)
    assert M.products == 0
    assert claimed == ("atoms" in words)  # a matrix is measured as the vector that it is


def test_proofs_may_be_stopped(monkeypatch):
    monkeypatch.setattr(ledger, "EVERY", 0.0)
    stages = []

    def hear():
        stages.append(ledger.current().stage)
        raise ledger.Stopped

    with pytest.raises(ledger.Stopped), ledger.opened(hear=hear):
        out_of_reach(posed(np.eye(3)[:, :2], np.ones(3), misfit=0.1))
    assert stages == ["proving the bound out of reach"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(6))
def test_a_claim_at_any_k_holds_at_every_other(seed, form):
    rng = np.random.default_rng(seed)
    m, n = rng.integers(2, 9, 2)
    A = rng.standard_normal((m, n)) * 10.0 ** rng.uniform(-7, 7, n)
    A[:, -1] = A[:, 0] * (1 + 1e-9) if seed % 2 else A[:, -1]
    b = rng.standard_normal(m)
    for misfit in (1e-3, 0.3):
        found = [fa.fit(FORMS[form](A), b, atoms=fa.SignedOneHot(n), k=k, misfit=misfit) for k in (1, int(n))]
        claims = [s.status is fa.Status.UNREACHABLE for s in found]
        assert not (any(claims) and any(s.success for s in found))
        if claims[0]:
            assert least(A / np.linalg.norm(A, axis=0), b) > misfit**2 * squares(b)
