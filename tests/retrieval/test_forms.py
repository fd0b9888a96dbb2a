"""Data as forms of factors, and Newton's method on these, against slow twins."""

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.losses import LeastSquares
from fewatoms.retrieval.by_forms import FormTurn
from fewatoms.retrieval.damped import Damped, _length, spread
from fewatoms.retrieval.forms import enough, pair_forms, reads_pairs, semiforms, writes_out


def made(kind, weights=None):
    """A problem and its forms."""
    rng, n, m = np.random.default_rng(3), 4, 9
    loss = LeastSquares(weights=weights)
    A = rng.standard_normal((m, n)) + (1j * rng.standard_normal((m, n)) if kind == "complex" else 0.0)
    i, j = np.divmod(rng.permutation(n * n)[:m], n)
    M = {
        "real": fa.Quadratic(A), "complex": fa.Quadratic(A), "sampling": fa.Sampling(i, j, (n, n)),
        "array": rng.standard_normal((m, n * n)), "pairs": rng.standard_normal((m, 3 * n)),
    }[kind]  # fmt: skip
    atoms = fa.RankOne(3, n) if kind == "pairs" else fa.PSDRankOne(n)
    problem = fa.Problem.of(M, rng.random(m) + 1.0, atoms=atoms, k=2, loss=loss)
    assert reads_pairs(problem) == (kind == "pairs")
    assert writes_out(problem) == (kind != "pairs")
    return problem, (pair_forms if kind == "pairs" else semiforms)(problem)


KINDS = ["real", "complex", "sampling", "array", "pairs"]


def unknowns(kind, rng, k=2):
    shape = {"complex": (2 * 4 * k,), "pairs": (7 * k,)}.get(kind, (4 * k,))
    return rng.standard_normal(shape)


def point(kind, v, k=2):
    if kind == "pairs":
        return v[: 3 * k].reshape(3, k) @ v[3 * k :].reshape(4, k).T
    L = v.view(complex if kind == "complex" else float).reshape(4, k)
    return L @ L.conj().T


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_images_slopes_and_bends(kind, weighted):
    rng = np.random.default_rng(0)
    weights = rng.random(9) + 0.5 if weighted else None
    problem, F = made(kind, weights)
    root = np.ones(9) if weights is None else np.sqrt(weights)
    v, d, y, t = unknowns(kind, rng), unknowns(kind, rng), rng.standard_normal(9), 1e-5
    np.testing.assert_allclose(F.b, root * problem.b)
    np.testing.assert_allclose(F.image(v, 2), root * problem.M.apply(point(kind, v)), atol=1e-10)
    slope = (F.image(v + t * d, 2) - F.image(v - t * d, 2)) / (2 * t)
    np.testing.assert_allclose(F.slopes(v, 2) @ d, slope, atol=1e-6)
    np.testing.assert_allclose(0.5 * F.slopes(v, 2) @ v, F.image(v, 2), atol=1e-10)
    # images are quadratic: the second derivative is twice the image of the step
    assert d @ spread(F.core(y), 2) @ d == pytest.approx(2 * y @ F.image(d, 2))
    if kind != "pairs":
        X = point(kind, v)
        np.testing.assert_allclose(F.of_matrix(X), F.image(v, 2), atol=1e-10)
        assert np.vdot(F.adjoint(y), X).real == pytest.approx(y @ F.of_matrix(X))
        R = point(kind, d) + np.eye(4)
        near = np.stack([R @ F.adjoint(e) @ R.conj().T for e in np.eye(9)])
        traces, gram = F.seen_by(R)
        np.testing.assert_allclose(traces, np.trace(near, axis1=1, axis2=2).real)
        np.testing.assert_allclose(gram, np.einsum("aij,bij->ab", near, near.conj()).real)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 3])
def test_newton_ends_where_the_slope_is_zero(kind, k):
    _, F = made(kind)
    v = unknowns(kind, np.random.default_rng(1), k)
    before = F.b - F.image(v, k)
    at, value = Damped(steps=400).descend(F, v, k)
    r = F.b - F.image(at, k)
    assert value == pytest.approx(0.5 * r @ r)
    assert value < 0.5 * before @ before
    assert np.abs(F.slopes(at, k).T @ r).max() < 1e-3 * np.abs(F.slopes(v, k).T @ before).max()
    assert np.abs(at).max() < 1e3


def test_newton_stops_at_its_target():
    _, F = made("real")
    v = unknowns("real", np.random.default_rng(1), 2)
    _, least = Damped().descend(F, v, 2)
    _, value = Damped().descend(F, v, 2, target=3 * least + 0.1)
    assert least < value <= 3 * least + 0.1


@pytest.mark.parametrize("size", [0.0, 1e-170, 1e-90, 1e150])
def test_steps_of_any_size_have_a_length(size):
    r, along = np.ones(3), np.array([1.0, 0.5, 0.2])
    t, gain = _length(r, size * along, size**2 * along if size < 1 else np.full(3, np.inf))
    assert 0 <= t < np.inf
    assert 0 <= gain <= 1.5


def test_enough():
    assert [enough(m, 9, False) for m in (1, 2, 3, 6, 100)] == [2, 2, 3, 4, 9]
    assert [enough(m, 9, True) for m in (1, 3, 4, 100)] == [2, 2, 3, 9]


# Pairs ----------------------------------------------------------------------------------------------------------------


def test_arrays_whose_columns_differ_by_orders_of_magnitude():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        M, b = (
            rng.standard_normal((30, 32)) * 10.0 ** np.linspace(-3, 3, 32)[rng.permutation(32)],
            rng.standard_normal(30),
        )
        s = fa.fit(M, b, atoms=fa.RankOne(8, 4), k=4)
        assert s.loss < 1e-18
        assert np.linalg.norm(b - M @ s.x.ravel()) < 1e-9


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_matrices_from_gaussian_measurements(noise):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((20, 2)) @ rng.standard_normal((2, 15))
    M = rng.standard_normal((3 * 2 * 33, 300))
    b = M @ X.ravel()
    b += noise * np.linalg.norm(b) / np.sqrt(b.size) * rng.standard_normal(b.size)
    s = fa.fit(M, b, atoms=fa.RankOne(20, 15), k=2)
    assert np.linalg.norm(s.x - X) <= (2 * noise + 1e-10) * np.linalg.norm(X)
    assert s.products < 400


def test_pairs_too_many_for_newton_are_turned_by_products():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((8, 1)) @ rng.standard_normal((1, 6))
    M = rng.standard_normal((40, 48))
    problem = fa.Problem.of(M, M @ X.ravel(), atoms=fa.RankOne(8, 6), k=1)
    start = fa.retrieval.reduced_fit(problem, problem.atoms.expose(problem.M.adjoint(problem.b), 1))
    for room in (4e6, 1.0):
        found = FormTurn(problem=problem, newton=Damped(room=room))(problem, start)
        assert found.loss < 1e-12 * problem.reference
