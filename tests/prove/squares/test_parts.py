"""What searches are made of, against slow and obvious twins."""

from itertools import combinations

import cvxpy as cp
import numpy as np
import pytest

import fewatoms as fa
from fewatoms.problem import Problem
from fewatoms.proofs.squares import Squares, _visit, exhaustive, root
from fewatoms.proofs.squares.shifted import shift
from fewatoms.proofs.squares.table import Ground, Table, margin
from prove.squares.tiny import question


def planted(m, n, k, rng, correlation=0.0):
    Z = rng.standard_normal((m, n))
    for j in range(1, n):
        Z[:, j] = correlation * Z[:, j - 1] + np.sqrt(1 - correlation**2) * Z[:, j]
    A = Z / np.linalg.norm(Z, axis=0)
    b = A[:, rng.choice(n, k, replace=False)] @ rng.choice([-1.0, 1.0], k)
    e = rng.standard_normal(m)
    return A, b + e * np.linalg.norm(b) / np.linalg.norm(e)


def table_of(A, b, k, **words):
    atoms = words.pop("atoms", fa.SignedOneHot(A.shape[1]))
    problem = Problem.of(A, b, atoms=atoms, k=k, **words)
    return Table.of(question(problem, 0.5 * float(b @ b), np.empty(0, dtype=np.intp)))


def relaxation(space, k):
    """The perspective relaxation by a solver of conic programmes."""
    n = space.c.size
    x, z = cp.Variable(n), cp.Variable(n)
    values, vectors = np.linalg.eigh(space.Q)
    half = vectors * np.sqrt(np.maximum(values, 0.0))
    paid = sum(0.5 * space.d[i] * cp.quad_over_lin(x[i], z[i]) for i in range(n))
    objective = 0.5 * cp.sum_squares(half.T @ x) - space.c @ x + space.bb + paid
    asked = [z >= 0, z <= 1, cp.sum(z) <= k]
    if np.isfinite(space.C).all():
        asked.append(cp.abs(x) <= cp.multiply(space.C, z))
    if space.nonneg:
        asked.append(x >= 0)
    problem = cp.Problem(cp.Minimize(objective), asked)
    problem.solve(solver="CLARABEL")
    return problem.value


@pytest.mark.parametrize("code", ["as they stand", "compiled"])
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("cap", [None, 0.5])
@pytest.mark.parametrize(("ridge", "correlation"), [(0.1, 0.0), (1.0, 0.9), (0.0, 0.9)])
def test_a_node_comes_to_the_value_of_its_relaxation(ridge, correlation, cap, nonnegative, code, compiled):
    rng = np.random.default_rng(3)
    A, b = planted(60, 20, 4, rng, correlation)
    atoms = fa.NonnegativeOneHot(20) if nonnegative else fa.SignedOneHot(20)
    table = table_of(A, b, 4, ridge=ridge, cap=cap, atoms=atoms)
    G = table.gram(np.arange(20))
    D = shift(G, 60)
    space = _visit.Space(G - np.diag(D), A.T @ b, table.bb, table.d + D, table.C, nonnegative, table.size, 1e-13)
    x, h = np.zeros(20), np.empty(20)
    way = compiled["visit"] if code == "compiled" else _visit.visit
    low, *_ = way(space, np.zeros(20, np.int8), 4, x, h, np.empty(4, np.int64), 0.5, np.inf, 60)
    value = relaxation(space, 4)
    assert low <= value + 1e-7 * table.bb
    assert low >= value - 2e-5 * table.bb


def test_the_root_over_all_atoms_is_that_of_the_relaxation():
    rng = np.random.default_rng(5)
    A, b = planted(40, 150, 4, rng)
    table = table_of(A, b, 4, ridge=0.5)
    G = A.T @ A
    space = _visit.Space(G, A.T @ b, table.bb, table.d, table.C, False, table.size, 1e-13)
    *_, last = root.looked_at(table, table.start(), np.inf)
    value = relaxation(space, 4)
    assert value * (1 - 1e-3) <= last.low <= value * (1 + 1e-6)


def test_bounds_of_points_are_those_of_the_formula():
    """In the space of the data, with and without a diagonal, at any point."""
    rng = np.random.default_rng(6)
    A, b = planted(30, 8, 3, rng)
    table = table_of(A, b, 3, ridge=0.2)
    D = np.full(8, 0.5 * np.linalg.eigvalsh(A.T @ A)[0])
    for moved in (np.zeros(8), D):
        ground = Ground(table, np.arange(8), moved)
        X = rng.standard_normal((8, 4)) * (rng.random((8, 4)) < 0.5)
        base, H = ground.gains(X)
        for j in range(4):
            x = X[:, j]
            g = A.T @ (b - A @ x) + moved * x
            h = g**2 / (2 * (0.2 + moved))
            by_hand = table.bb - 0.5 * x @ (A.T @ A - np.diag(moved)) @ x - np.sort(h)[-3:].sum()
            low = root.low_of(float(base[j]), H[:, j], np.zeros(8, np.int8), 3)
            assert low <= by_hand
            np.testing.assert_allclose(low, by_hand, rtol=1e-9)


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_what_is_moved_out_of_the_diagonal_leaves_no_negative_eigenvalue(correlation):
    A, _ = planted(120, 40, 3, np.random.default_rng(7), correlation)
    G = A.T @ A
    D = shift(G, 120)
    least = np.linalg.eigvalsh(G)[0]
    assert np.linalg.eigvalsh(G - np.diag(D))[0] >= 0.0
    assert D.mean() > 1.2 * least
    assert D.min() >= 0.4 * least
    assert not shift(A[:30].T @ A[:30], 30).any()  # more atoms than data


def test_a_diagonal_that_is_too_large_is_seen():
    A, b = planted(60, 20, 3, np.random.default_rng(8))
    table = table_of(A, b, 3)
    least = np.linalg.eigvalsh(A.T @ A)[0]
    fine = Ground(table, np.arange(20), np.full(20, least - 2 * margin(20, 60)))
    assert fine.proven_psd()
    assert not Ground(table, np.arange(20), np.full(20, least * (1 + 1e-9))).proven_psd()


class Asks:
    def __init__(self, table, target):
        self.table, self.target, self.found = table, target, {}

    def looked_at(self, choice):
        self.found[tuple(sorted(int(i) for i in choice))] = self.table.fitted(choice)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("cap", [None, 0.4])
@pytest.mark.parametrize("held", [0, 1])
def test_lists_find_every_choice_below_the_target(held, cap, nonnegative):
    """Of nonnegative ones those whose best coefficients are none of them 0."""
    rng = np.random.default_rng(9)
    A, b = planted(20, 9, 3, rng)
    A[:, 4] = A[:, 3]
    atoms = fa.NonnegativeOneHot(9) if nonnegative else fa.SignedOneHot(9)
    table = table_of(A, b, 3, cap=cap, atoms=atoms)
    values = {S: table.fitted(np.array(S)) for S in combinations(range(9), 3) if held == 0 or 2 in S}
    target = float(np.quantile(list(values.values()), 0.2))
    asks, status = Asks(table, target), np.zeros(9, np.int8)
    status[2] = held
    assert list(exhaustive.listing(asks, status)) == [] or asks.found
    least = min(values.values())
    assert min(asks.found.values()) == pytest.approx(least, rel=1e-9)
    if not nonnegative:
        below = {S for S, value in values.items() if value < target * (1 - 1e-9) and not (3 in S and 4 in S)}
        assert below <= set(asks.found)


@pytest.mark.parametrize("held", [0, 1])
def test_leaps_find_every_choice_below_the_target(held):
    rng = np.random.default_rng(10)
    A, b = planted(40, 10, 3, rng, 0.9)
    table = table_of(A, b, 4)
    values = {S: table.fitted(np.array(S)) for S in combinations(range(10), 4) if held == 0 or 7 in S}
    target = float(np.quantile(list(values.values()), 0.1))
    asks, status = Asks(table, target), np.zeros(10, np.int8)
    status[7] = held
    leaps = exhaustive.Leaps(table, status)
    assert leaps.fine
    for _ in exhaustive.leaping(asks, leaps):
        pass
    below = {S for S, value in values.items() if value < target * (1 - 1e-3)}
    assert below <= set(asks.found)
    assert len(asks.found) < len(values)


def test_leaps_need_independent_columns():
    rng = np.random.default_rng(11)
    A, b = planted(40, 10, 3, rng)
    A[:, 5] = A[:, :5] @ rng.standard_normal(5)
    assert not exhaustive.Leaps(table_of(A, b, 3), np.zeros(10, np.int8)).fine
    A[:, 5] = -2.0 * A[:, 3]
    leaps = exhaustive.Leaps(table_of(A, b, 3), np.zeros(10, np.int8))  # one of the two is enough
    assert leaps.fine
    assert leaps.places.size == 9


def test_what_cannot_be_proven_is_said():
    rng = np.random.default_rng(12)
    A, b = planted(60, 400, 6, rng)
    problem = Problem.of(A, b, atoms=fa.SignedOneHot(400), k=6)
    run = Squares().open(question(problem, 0.4 * float(b @ b), np.arange(6)))
    *_, last = run.standings()
    assert not last.ended
    assert run.final().lower == 0.0
    assert run.remedy().startswith("Without a ridge or a cap nothing can be proven")


def test_other_questions_are_left_to_others():
    rng = np.random.default_rng(13)
    A, b = planted(20, 8, 3, rng)
    grouped = Problem.of(A, b, atoms=fa.Groups(np.arange(8) // 2), k=2, ridge=0.1)
    bent = Problem.of(A, b, atoms=fa.SignedOneHot(8), k=2, ridge=0.1, loss=fa.Huber(0.1))
    for problem in (grouped, bent):
        assert Squares().open(question(problem, 1.0, np.arange(2))) is None


@pytest.mark.parametrize("nonnegative", [False, True])
def test_lists_of_more_atoms_than_data(nonnegative):
    """The last atom of every choice depends on the others; the fit of fewer is found all the same."""
    rng = np.random.default_rng(14)
    A = rng.standard_normal((3, 5))
    A /= np.linalg.norm(A, axis=0)
    b = A[:, [0, 2, 3]] @ np.array([1.0, 0.5, 2.0])
    table = table_of(A, b, 5, atoms=fa.NonnegativeOneHot(5) if nonnegative else fa.SignedOneHot(5))
    asks = Asks(table, 0.5 * table.bb)
    for _ in exhaustive.listing(asks, np.zeros(5, np.int8)):
        asks.target = min(asks.target, *asks.found.values())
    assert min(asks.found.values()) <= 1e-20 * table.bb
