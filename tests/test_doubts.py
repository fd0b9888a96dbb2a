"""What dual vectors prove is true in exact arithmetic, for the very numbers that came, however much cancels."""

from decimal import Decimal, localcontext

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import norms
from fewatoms.candidates import DualPoint
from fewatoms.evidence import Evidence, LevelBounds
from fewatoms.operators import as_operator
from fewatoms.relaxations import P1, P2, P3
from fewatoms.units import unit_atoms

DIGITS = 400  # no sum below needs as many
M_ROWS, N = 12, 8


def exact(A):
    """Numbers as they are."""
    return [exact(row) for row in A] if np.ndim(A) else Decimal(float(A))


def product(a, b):
    return sum((x * y for x, y in zip(a, b, strict=True)), Decimal(0))


def nasty(seed):
    """Columns that nearly cancel in products with what is left of the data, in units far apart."""
    rng = np.random.default_rng(seed)
    kind = seed % 4
    M = rng.standard_normal((M_ROWS, N)) * 10.0 ** rng.integers(-4, 5, (M_ROWS, 1 if kind else N))
    if kind == 1:
        M += 1e8 * rng.standard_normal((M_ROWS, 1))
    if kind == 2:
        M *= 10.0 ** rng.uniform(-30, 30, N)
    b = M @ rng.standard_normal(N) if kind == 3 else rng.standard_normal(M_ROWS) * 10.0 ** rng.integers(-6, 7, M_ROWS)
    y = b - M @ np.linalg.lstsq(M, b, rcond=None)[0] if seed % 3 == 0 else rng.standard_normal(M_ROWS)
    return M, b, y * 10.0 ** rng.uniform(-9, 9)


D = np.random.default_rng(7).standard_normal((N, 11))
SETS = {
    "signed": (fa.SignedOneHot(N), np.eye(N), None),
    "nonnegative": (fa.NonnegativeOneHot(N), np.eye(N), None),
    "multiple": (-3.0 * fa.SignedOneHot(N), 3.0 * np.eye(N), None),
    "dictionary": (fa.Dictionary(D, symmetric=True), D, None),
    "groups": (fa.Groups(np.arange(N) // 3, weights=[1.0, 0.3, 7.0]), np.eye(N), np.arange(N) // 3),
}


def support_of(name, M, y):
    """support(M*y), exactly, for the numbers in M, D and y."""
    _, columns, labels = SETS[name]
    z = [product(column, exact(y)) for column in exact(M.T)]
    z = [product(column, z) for column in exact(columns.T)]
    if name == "nonnegative":
        return max(Decimal(0), *z)
    if labels is None:
        return max(map(abs, z))
    weights = exact([1.0, 0.3, 7.0])
    return max(sum(z[j] ** 2 for j in np.flatnonzero(labels == g)).sqrt() / weights[g] for g in range(3))


def half_square(y, w):
    return sum(t * t / v for t, v in zip(exact(y), exact(w), strict=True)) / 2


@pytest.mark.sampled(4)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("name", SETS)
def test_dual_values_are_no_lower_than_exact_ones(name, seed, weighted):
    """Constraints hold exactly as well; and no more is given away than rounding asks for."""
    M, b, y = nasty(seed)
    w = np.random.default_rng(seed).uniform(1e-3, 1e3, M_ROWS) if weighted else np.ones(M_ROWS)
    loss = fa.LeastSquares(w) if weighted else fa.LeastSquares()
    problem = fa.Problem.of(M, b, atoms=SETS[name][0], k=1, loss=loss)
    z = problem.M.adjoint(y)
    sigma = problem.atoms.ceiling(z)
    alpha, tau = 0.1 * problem.reference, 1.0 / sigma if sigma else 1.0
    with localcontext() as context:
        context.prec = DIGITS
        for relaxation in (P1(problem, sigma), P1(problem, 0.3 * sigma), P2(problem, tau), P3(problem.bounded(alpha))):
            made, value = relaxation.feasible(y, z, sigma)
            reached, inner, half = support_of(name, M, made), product(exact(b), exact(made)), half_square(made, w)
            if relaxation.name == "P3":
                assert reached <= 1
                true = (4 * Decimal(alpha) * half).sqrt() - inner
            elif relaxation.name == "P2":
                true = half - inner + Decimal(tau) * reached
            else:
                assert reached <= Decimal(relaxation.lam)
                true = half - inner
            assert true <= Decimal(value)
            if sigma == 0:
                continue  # rounding is all that there is of the support
            sizes = half + product(map(abs, exact(b)), map(abs, exact(made))) + abs(true)
            pulled = Decimal(float(np.linalg.norm(M, axis=0).max() * np.linalg.norm(made)))
            given = Decimal(tau) * pulled if relaxation.name == "P2" else Decimal(0)
            assert Decimal(value) - true <= Decimal("1e-12") * (sizes + 100 * given)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("name", SETS)
def test_gauges_proven_are_no_larger_than_exact_bounds(name, seed):
    M, b, _ = nasty(seed)
    y = b * np.random.default_rng(seed).uniform(0.9, 1.0, M_ROWS)
    problem = fa.Problem.of(M, b, atoms=SETS[name][0], k=1, alpha=0.3 * float(b @ b) / 2)
    z = problem.M.adjoint(y)
    sigma, levels = problem.atoms.ceiling(z), LevelBounds(problem)
    levels.see_dual(DualPoint(y, z, sigma, P3(problem)))
    with localcontext() as context:
        context.prec = DIGITS
        room = product(exact(b), exact(y)) - half_square(y, np.ones(M_ROWS)) - Decimal(problem.alpha)
        support = support_of(name, M, y)
        assert Decimal(levels.tau_low) * support <= max(room, Decimal(0))
        if sigma > 1e-6 * np.linalg.norm(M, axis=0).max() * np.linalg.norm(y):  # else rounding is much of it
            assert Decimal(levels.tau_low) * support >= room * Decimal("0.999999")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("name", ["signed", "nonnegative"])
def test_gains_of_a_ridge_are_no_lower_than_exact_ones(name, seed):
    """In units of the images, where no constraint is left."""
    M, b, y = nasty(seed)
    problem = fa.Problem.of(M, b, atoms=SETS[name][0], k=1, ridge=0.7)
    problem = problem.over(unit_atoms(problem))
    z = problem.M.adjoint(y)
    sigma = problem.atoms.ceiling(z)
    for lam in (0.0, 0.2 * sigma, 0.9 * sigma, 2.0 * sigma):
        made, value = P1(problem, lam).feasible(y, z, sigma)
        with localcontext() as context:
            context.prec = DIGITS
            true = half_square(made, np.ones(M_ROWS)) - product(exact(b), exact(made))
            for column in exact(M.T):
                aligned = product(column, exact(made)) / product(column, column).sqrt()
                size = max(aligned, Decimal(0)) if name == "nonnegative" else abs(aligned)
                true += max(size - Decimal(lam), Decimal(0)) ** 2 / (2 * Decimal(problem.ridge))
            assert true <= Decimal(value)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("loss", ["logistic", "huber"])
def test_other_losses(loss, seed):
    M, _, _ = nasty(seed)
    M = M / np.linalg.norm(M, axis=0)
    rng = np.random.default_rng(seed)
    b = np.zeros(M_ROWS) if loss == "logistic" else rng.standard_normal(M_ROWS)
    f = fa.Logistic() if loss == "logistic" else fa.Huber(0.4)
    problem = fa.Problem.of(M, b, atoms=fa.SignedOneHot(N), k=1, loss=f)
    y = problem.loss.gradient(10.0 * rng.standard_normal(M_ROWS))
    z = problem.M.adjoint(y)
    sigma = problem.atoms.ceiling(z)
    made, value = P1(problem, 0.6 * sigma).feasible(y, z, sigma)
    with localcontext() as context:
        context.prec = 80
        assert support_of("signed", M, made) <= Decimal(0.6 * sigma)
        true = half_square(made, np.ones(M_ROWS)) - product(exact(b), exact(made))
        if loss == "logistic":
            true = sum(p * p.ln() + (1 - p) * (1 - p).ln() for p in exact(made) if 0 < p < 1)
        assert true <= Decimal(value)
        assert Decimal(value) - true <= Decimal("1e-12")


@pytest.mark.parametrize("seed", range(8))
def test_norms_are_no_smaller_than_exact_ones(seed):
    M = nasty(seed)[0]
    found = norms.column_norms(as_operator(M))
    with localcontext() as context:
        context.prec = DIGITS
        for norm, column in zip(found, exact(M.T), strict=True):
            assert product(column, column) <= Decimal(norm) ** 2
            assert Decimal(norm) ** 2 <= product(column, column) * Decimal(1 + 1e-12)


def test_a_gap_is_never_less_than_what_exact_arithmetic_leaves():
    """The dual value that cancels most: a residual at the level of rounding."""
    for seed in range(0, 24, 3):
        M, b, y = nasty(seed)
        problem = fa.Problem.of(M, b, atoms=fa.SignedOneHot(N), k=1)
        z = problem.M.adjoint(y)
        sigma = problem.atoms.ceiling(z)
        evidence = Evidence(problem)
        evidence._take(DualPoint(y, z, sigma, P1(problem, sigma), problem.at_zero, 0.0))
        made = evidence.y
        with localcontext() as context:
            context.prec = DIGITS
            true = half_square(made, np.ones(M_ROWS)) - product(exact(b), exact(made))
            assert Decimal(evidence.gap) >= Decimal(evidence.primal) + true


@pytest.mark.parametrize(
    "atoms", [fa.RankOne(4, 3), fa.BlockRankOne((4, 3), (2, 3)), fa.RankOne(4, 3) | fa.SignedOneHot((4, 3))]
)
def test_what_matrix_sets_may_be_off_by(atoms):
    """As much as singular values of matrices move that are summed in another precision."""
    rng = np.random.default_rng(0)
    M = rng.standard_normal((30, 12)) + 1e6
    problem = fa.Problem.of(M, rng.standard_normal(30), atoms=atoms, k=(atoms.parts and (1, 1)) or 1)
    assert 0 < problem.off_by < 1e-10 * np.linalg.norm(M)
    for _ in range(20):
        y = rng.standard_normal(30)
        sharp = (M.astype(np.longdouble).T @ y.astype(np.longdouble)).astype(float)
        moved = abs(problem.atoms.ceiling(sharp) - problem.atoms.ceiling(problem.M.adjoint(y)))
        assert moved <= problem.off_by * np.linalg.norm(y)


def test_of_a_black_box_nothing_is_known():
    from scipy.sparse.linalg import aslinearoperator

    problem = fa.Problem.of(aslinearoperator(np.eye(4)), np.ones(4), atoms=fa.SignedOneHot(4), k=1)
    assert problem.off_by == 0.0
