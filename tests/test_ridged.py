"""What a ridge over listed atoms means: squares, an array with more rows, and conjugates, each written out."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.sparse.linalg import aslinearoperator

import fewatoms as fa
from fewatoms import ledger
from fewatoms.candidates import Candidate
from fewatoms.price import Squares
from fewatoms.relaxations import P1, lowest
from fewatoms.units import unit_atoms
from theory.ridges import BARRED, FAMILIES, Overlapping, random_case, some_dual

every_family = pytest.mark.parametrize("name", FAMILIES)


def generator(*names):
    return np.random.default_rng([3, *map(ord, "".join(names))])


def picked(case, classes):
    """A face of some classes, coefficients for it, and the same for all coordinates."""
    rng = generator(case.name)
    atoms, _, blocks, _, nonnegative = case.family
    face = atoms.listing().face(np.array(classes))
    c = rng.standard_normal(face.dim)
    c = np.abs(c) if nonnegative else c
    whole = np.zeros(case.columns.shape[1])
    whole[np.concatenate([blocks[g] for g in classes])] = c
    return face, c, whole


# What coefficients pay ------------------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@every_family
@pytest.mark.parametrize("loss", ["weighted least squares", "huber", "weighted logistic"])
@pytest.mark.parametrize("free", [False, True], ids=["plain", "free columns"])
def test_squares_are_of_coefficients_of_unit_images(name, loss, free):
    """Past free columns with every loss; the same from sparse arrays, products alone, and in units of the images."""
    case = random_case(generator(name, loss), name, loss, free=free)
    face, c, whole = picked(case, [2, 1])
    expected = float(np.sum((case.lengths * whole) ** 2))
    for M in (case.M, sp.csc_array(case.M), aslinearoperator(case.M)):
        problem = fa.Problem.of(M, case.b, atoms=case.family[0], loss=case.loss, free=case.F, ridge=case.ridge)
        candidate = Candidate.of(face, c, problem.b, 1.0)
        assert problem.squares(candidate) == pytest.approx(expected, rel=1e-9)
        assert problem.objective(candidate) == pytest.approx(1.0 + case.pay(whole), rel=1e-9)
        assert (problem.ridged.lengths is None) == (not hasattr(M, "toarray") and M is not case.M)
    with ledger.opened() as spent:
        assert case.problem().ridged.squares(face, c) == pytest.approx(expected, rel=1e-9)
        np.testing.assert_allclose(
            case.problem().ridged.lengths[np.unique(problem.ridged._places)], used(case), rtol=1e-9
        )
    assert spent.products <= (0 if case.F is None else 2 * case.F.shape[1])  # columns are read


def used(case):
    """The lengths of coordinates that may be used, each once."""
    if case.name == "overlapping":
        return np.array([case.lengths[np.flatnonzero(np.concatenate(Overlapping.blocks) == i)[0]] for i in range(8)])
    barred = [j for g in BARRED.get(case.name, []) for j in case.family[2][g]]
    return np.delete(case.lengths, barred)


@every_family
@pytest.mark.parametrize("free", [False, True], ids=["plain", "free columns"])
def test_it_is_least_squares_on_an_array_with_more_rows(name, free):
    """[M; sqrt(ridge) diag(lengths)] with data [b; 0], zeros beneath the free columns."""
    case = random_case(generator(name), name, "least squares", free=free)
    face, c, whole = picked(case, [3, 0] if name not in ("mapped groups", "overlapping", "restricted") else [1, 2])
    rows = np.concatenate([case.columns, math.sqrt(case.ridge) * np.diag(case.lengths)])
    data = np.concatenate([case.b, np.zeros(case.lengths.size)])
    left = data - rows @ whole
    if free:
        F = np.concatenate([case.F, np.zeros((case.lengths.size, case.F.shape[1]))])
        left = left - F @ np.linalg.lstsq(F, left, rcond=None)[0]
    problem = case.problem()
    r = problem.b - problem.M.apply(face.point(c))
    assert problem.objective(Candidate.of(face, c, r, problem.loss.value(r))) == pytest.approx(0.5 * left @ left)


def test_several_data_vectors_pay_together():
    rng = np.random.default_rng(0)
    A, weights = rng.standard_normal((7, 5)) + 2.0, rng.uniform(0.5, 2.0, 14)
    problem = fa.Problem.of(
        A, rng.standard_normal((7, 2)), atoms=fa.Joint(fa.SignedOneHot(5)), ridge=0.4, free="intercept"
    )
    face = problem.atoms.listing().face(np.array([3, 1]))
    c = rng.standard_normal(4)
    lengths = np.repeat(np.linalg.norm(A - A.mean(axis=0), axis=0)[[3, 1]], 2)
    assert problem.squares(Candidate.of(face, c, problem.b, 0.0)) == pytest.approx(np.sum((c * lengths) ** 2))
    heavy = fa.Problem.of(
        A,
        rng.standard_normal((7, 2)),
        atoms=fa.Joint(fa.SignedOneHot(5)),
        ridge=0.4,
        loss=fa.Huber(0.5, weights),
    )
    lengths = np.sqrt(np.einsum("ic,ij->jc", weights.reshape(7, 2), A**2))[[3, 1]].ravel()
    assert heavy.squares(Candidate.of(face, c, heavy.b, 0.0)) == pytest.approx(np.sum((c * lengths) ** 2))


def test_what_is_known_is_not_asked_for():
    case = random_case(generator("known"), "signed", "least squares", free=False)
    face, c, _ = picked(case, [1, 2])
    problem, M = case.problem(), fa.Counting(case.M)
    assert problem.squares(Candidate.of(face, c, case.b, 0.0, squares=7.0)) == 7.0
    plain = fa.Problem.of(M, case.b, atoms=fa.SignedOneHot(8))
    assert plain.ridged is None
    assert plain.squares(Candidate.of(face, c, case.b, 0.0)) == 0.0
    assert plain.paid(Candidate.of(face, c, case.b, 0.0)) == 0.0
    assert problem.ridged.squares(fa.SignedOneHot(8).expose(np.ones(8), 0), np.zeros(0)) == 0.0
    boxed = fa.Problem.of(fa.Counting(aslinearoperator(case.M)), case.b, atoms=fa.SignedOneHot(8), ridge=1.0)
    with ledger.opened() as spent:
        boxed.ridged.squares(face, c)
    assert spent.products == 2  # a column each


@every_family
def test_squares_at_a_point_where_it_tells_the_coefficients(name):
    case = random_case(generator(name), name, "least squares", free=True)
    problem = case.problem()
    _, _, whole = picked(case, [2, 1])
    x = case.family[1] @ whole
    told = case.family[1].shape == (8, 8) and np.count_nonzero(case.family[1]) == 8
    for over in (problem, problem.over(unit_atoms(problem) or problem.atoms)):
        if not told:
            with pytest.raises(TypeError, match=r"^a ridge is on coefficients, and x alone does not tell those of "):
                over.ridged.squares_at(x)
            continue
        assert over.ridged.squares_at(x) == pytest.approx(np.sum((case.lengths * whole) ** 2), rel=1e-9)
        assert over.ridged.squares_at(np.zeros(8)) == 0.0
        units = over is not problem
        _, primal = case.value(whole, 0.7, units)
        if name != "restricted" or not whole[case.family[2][0]].any():
            assert P1(over, 0.7).primal(x) == pytest.approx(primal, rel=1e-9)


# What dual vectors gain -----------------------------------------------------------------------------------------------


def best(z, lengths, price, ridge, nonnegative):
    """max over c of <c, z> - price |c| - (ridge / 2) |lengths c|^2, from several starts: a smooth function but at 0."""

    def value(c):
        return price * np.linalg.norm(c) + 0.5 * ridge * np.sum((lengths * c) ** 2) - c @ z

    bounds = [(0.0 if nonnegative else None, None)] * z.size
    starts = [z / (ridge * lengths**2), 0.1 * z / (ridge * lengths**2)]
    starts = [np.maximum(s, 1e-3) if nonnegative else s for s in starts]
    found = [
        minimize(value, s, bounds=bounds, tol=1e-14, options={"maxiter": 2000, "maxfun": 20000}).fun for s in starts
    ]
    return max(0.0, *(-v for v in found))


@pytest.mark.sampled(4)
@every_family
@pytest.mark.parametrize("lam", [0.0, 0.8])
def test_the_gain_is_the_sum_of_conjugates(name, lam):
    case = random_case(generator("gain", name), name, "least squares", free=False, ridge=0.7)
    _, _, blocks, weights, nonnegative = case.family
    y = some_dual(generator(name), case)
    z, ridged = case.columns.T @ y, case.problem().ridged
    expected = sum(
        best(z[at], case.lengths[at], lam * w, 0.7, nonnegative)
        for g, (w, at) in enumerate(zip(weights, blocks, strict=True))
        if g not in BARRED.get(name, [])
    )
    assert ridged.gain(ridged.seen(case.M.T @ y), lam) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("spread", [0.0, 1e-15, 1e-3, 1.0, 6.0])
def test_conjugates_of_groups_whose_images_differ_in_length(spread):
    """c = z / (price / t + ridge L^2), t = |c|, is where the gradient of <c, z> - price |c| - ... vanishes."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        lengths = 10.0 ** (spread * rng.uniform(-0.5, 0.5, 5))
        ridge, lam, w = 10.0 ** rng.uniform(-4, 2), 10.0 ** rng.uniform(-3, 1), rng.uniform(0.5, 2.0)
        problem = fa.Problem.of(np.diag(lengths), np.ones(5), atoms=fa.Groups([0] * 5, [w]), ridge=ridge)
        z = rng.standard_normal(5) * 10.0 ** rng.uniform(-1, 2)
        gain = problem.ridged.gain(problem.ridged.seen(z), lam)
        size = np.linalg.norm(z)
        if size <= lam * w:
            assert gain == 0.0
            continue
        low, high = 0.0, (size - lam * w) / (ridge * lengths.min() ** 2)
        for _ in range(200):
            t = 0.5 * (low + high)
            low, high = (t, high) if np.linalg.norm(z / (lam * w + ridge * lengths**2 * t)) > 1 else (low, t)
        c = z * t / (lam * w + ridge * lengths**2 * t)
        value = c @ z - lam * w * np.linalg.norm(c) - 0.5 * ridge * np.sum((lengths * c) ** 2)
        assert gain == pytest.approx(value, rel=1e-9, abs=1e-9 * abs(c @ z))
        assert gain >= value - 1e-14 * abs(c @ z)


def test_empty_images_gain_nothing():
    """Columns of zeros, and those that free columns span."""
    A = np.random.default_rng(2).standard_normal((6, 5))
    A[:, 1], A[:, 3] = 0.0, 4.0
    for loss in (fa.LeastSquares(), fa.Huber(0.7)):
        for atoms in (fa.SignedOneHot(5), fa.Groups([0, 0, 1, 1, 2]), fa.Groups([0, 1, 1, 1, 2])):
            problem = fa.Problem.of(A, np.arange(6.0), atoms=atoms, loss=loss, free="intercept", ridge=0.5)
            assert problem.ridged.lengths[[1, 3]].tolist() == [0.0, 0.0]
            y = problem.loss.gradient(problem.b)
            gain = problem.ridged.gain(problem.ridged.seen(problem.M.adjoint(y)), 0.0)
            rest = A[:, [0, 2, 4]] - A[:, [0, 2, 4]].mean(axis=0)
            assert gain == pytest.approx(np.sum((rest.T @ y / np.linalg.norm(rest, axis=0)) ** 2), rel=1e-9)


def test_where_lengths_are_not_at_hand_the_constraint_stays():
    case = random_case(generator("box"), "signed", "least squares", free=False)
    boxed = fa.Problem.of(aslinearoperator(case.M), case.b, atoms=fa.SignedOneHot(8), ridge=case.ridge)
    y = case.b
    sigma = np.abs(case.M.T @ y).max()
    plain = case.loss.conjugate(y) - case.b @ y
    assert P1(boxed, 1.01 * sigma).dual(y) == pytest.approx(plain)
    assert P1(boxed, 0.5 * sigma).dual(y) == math.inf
    half, value = P1(boxed, 0.5 * sigma).feasible(y, case.M.T @ y, sigma)
    np.testing.assert_allclose(half, 0.5 * y)
    assert value == pytest.approx(case.loss.conjugate(0.5 * y) - 0.5 * case.b @ y)
    assert P1(case.problem(), 0.5 * sigma).feasible(y, case.M.T @ y, sigma)[1] < value


def test_where_the_columns_of_a_box_were_asked_for_units_are_known():
    """A set made in units of images knows their lengths: no products, and no pass over M."""
    case = random_case(generator("asked"), "weighted groups", "least squares", free=False)
    units = unit_atoms(case.problem())
    boxed = fa.Problem.of(aslinearoperator(case.M), case.b, atoms=case.family[0], ridge=case.ridge).over(units)
    y = some_dual(generator("asked"), case)
    with ledger.opened() as spent:
        lengths = boxed.ridged.lengths
    assert spent.products == 0
    np.testing.assert_array_equal(lengths, np.ones(8))
    assert P1(boxed, 0.3).dual(y) == pytest.approx(P1(case.problem().over(units), 0.3).dual(y), rel=1e-12)


# Small things ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [-1.0, 0.0, 0.237, 1.0, 3.0])
def test_the_lowest_share(place):
    """Of a convex function, both ends included."""
    t, value = lowest(lambda t: (t - place) ** 2, 0.0, 1.0)
    assert t == pytest.approx(min(max(place, 0.0), 1.0), abs=1e-4)
    assert value == (t - place) ** 2
    if place not in (0.237,):
        assert t in (0.0, 1.0)
    assert lowest(lambda t: abs(t - 0.4), 0.4, 0.4) == (0.4, 0.0)


def test_prices_say_what_the_ridge_is_on():
    assert (Squares(0.7).on_squares, Squares(0.7).on_gauge, Squares(0.7, 2.0).told(0.1)) == (0.7, 0.0, 0.7)
    assert (Squares(None).on_squares, Squares(None).told(0.0)) == (0.0, 0.0)
    factors = fa.price.Factors(0.7)
    assert (factors.on_squares, factors.on_gauge, factors.told(0.1)) == (0.0, 0.7, (0.7, 0.1))
    assert (fa.price.Factors(None).on_gauge, fa.price.Factors(None).told(0.3)) == (0.0, (0.0, 0.3))
