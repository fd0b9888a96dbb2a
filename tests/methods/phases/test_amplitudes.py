"""Descents on amplitudes: starts, units, gradients, and what is left of them when they are stopped."""

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import ledger, phase
from fewatoms.capabilities import Intensities, Semidefinite, need
from fewatoms.losses import LeastSquares
from fewatoms.methods.phases import AmplitudeFlow, Amplitudes
from fewatoms.operators import CodedDiffraction
from fewatoms.retrieval import reduced_fit


def planted(n, m, complex_, seed, k=1):
    """A, L and the intensities of L L^H."""
    rng = np.random.default_rng(seed)

    def draw(shape):
        return rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if complex_ else 0)

    A, L = draw((m, n)), draw((n, k))
    return A, L, np.sum(np.abs(A @ L) ** 2, axis=1)


def amplitudes_of(A, b, k=1, flow=AmplitudeFlow(), **wishes):  # noqa: B008
    problem = fa.Problem.of(fa.Quadratic(A), b, atoms=fa.PSDRankOne(A.shape[1]), k=k, **wishes)
    M, atoms = need(problem.M, Intensities), need(problem.atoms, Semidefinite)
    return Amplitudes(problem, M, atoms, flow, lambda: np.random.default_rng(0))


def test_starts_are_several_and_margins_shrink_where_data_are_few():
    A, _, b = planted(12, 48, False, 0)
    problem = fa.Problem.of(fa.Quadratic(A * np.linspace(1, 2, 48)[:, None]), b, atoms=fa.PSDRankOne(12), k=1)
    M, atoms = need(problem.M, Intensities), need(problem.atoms, Semidefinite)
    amplitudes = Amplitudes(problem, M, atoms, AmplitudeFlow(), lambda: np.random.default_rng(0))
    face = problem.atoms.expose(problem.M.adjoint(problem.b), 1)
    first = reduced_fit(problem, face)
    starts = list(amplitudes.starts(first, all_of_them=True))
    assert len(starts) == 4
    assert len(list(amplitudes.starts(first, all_of_them=False))) == 1
    assert all(s.face.size == 1 for s in starts)
    assert amplitudes.spare(face) == pytest.approx(0.75)
    assert amplitudes.margin(starts[0]) >= 0
    empty = reduced_fit(problem, problem.atoms.expose(problem.M.adjoint(problem.b), 0))
    assert not list(amplitudes.starts(empty, all_of_them=True))
    assert amplitudes.margin(empty) == 0


def value(A, b, left, units):
    """The function descended on, written out, in units of the data."""
    off = np.sqrt(np.sum(np.abs(A @ left) ** 2, axis=1) + b) - np.sqrt(2 * b)
    return float(units @ off**2) / float(units @ b)


@pytest.mark.parametrize("complex_", [False, True])
def test_the_slope_is_that_of_the_function(complex_):
    A, _, b = planted(6, 30, complex_, 0, k=2)
    b[3] = 0.0
    amplitudes = amplitudes_of(A, b, k=2)
    rng = np.random.default_rng(1)
    left = rng.standard_normal((6, 2)) + (1j * rng.standard_normal((6, 2)) if complex_ else 0)
    length, objective = amplitudes._objective(left, amplitudes.units)
    v = np.ascontiguousarray(left).ravel().view(np.float64)
    first, slope = objective(v)  # from what the start's own measurement tells
    again, other = objective(v)
    assert first == pytest.approx(again, rel=1e-12)
    np.testing.assert_allclose(slope, other, atol=1e-12)
    assert first == pytest.approx(value(A, b, length * left, amplitudes.units), rel=1e-9)
    for i in range(v.size):
        h = 1e-6 * np.eye(v.size)[i]
        assert (objective(v + h)[0] - objective(v - h)[0]) / 2e-6 == pytest.approx(slope[i], abs=1e-6)


@pytest.mark.parametrize("complex_", [False, True])
def test_descents_find_the_factor(complex_):
    A, L, b = planted(16, 128, complex_, 3, k=2)
    amplitudes = amplitudes_of(A, b, k=2)
    left = amplitudes.descent(amplitudes.spectral(2), amplitudes.units)
    assert phase.relative_error(left, L) < 0.01
    wide = amplitudes.descent(amplitudes.spectral(3), amplitudes.units)
    assert amplitudes.pruned(wide).shape == (16, 2)
    assert amplitudes.fitted(amplitudes.pruned(wide)).face.size == 2


def test_rows_are_in_units_of_their_lengths():
    A, _, b = planted(8, 40, False, 0)
    A[3] = 0.0
    w = np.where(np.arange(40) < 4, 1e-12, 1.0)
    units = amplitudes_of(A, b, loss=LeastSquares(w)).units
    assert not units[:4].any()
    np.testing.assert_allclose(units[4:], 1 / np.sum(A[4:] ** 2, axis=1))
    coded = CodedDiffraction.random(16, 4, rng=0)
    exact = amplitudes_of(coded, np.ones(64))
    assert exact.M.row_squares() is not None
    np.testing.assert_allclose(exact.units, 1 / coded.row_squares())


def test_data_below_zero_are_no_amplitudes():
    A, _, b = planted(6, 30, False, 0)
    b[:3] = -1.0
    amplitudes = amplitudes_of(A, b)
    np.testing.assert_array_equal(amplitudes.intensities, np.maximum(b, 0))


@pytest.mark.parametrize("complex_", [False, True])
def test_a_point_as_it_is(complex_):
    """The k leading directions of a factor, nothing fitted."""
    A, L, b = planted(8, 60, complex_, 4, k=3)
    for k in (2, 3):
        point = amplitudes_of(A, b, k=k).unfitted(L)
        u, s, vh = np.linalg.svd(L, full_matrices=False)
        kept = (u * s)[:, :k] @ vh[:k]
        assert point.face.size == k
        np.testing.assert_allclose(point.face.point(point.c), kept @ kept.conj().T, atol=1e-10)
        np.testing.assert_allclose(point.residual, b - np.sum(np.abs(A @ kept) ** 2, axis=1), atol=1e-9)
        assert point.loss == pytest.approx(LeastSquares().value(point.residual), abs=1e-18)


def test_a_descent_that_is_stopped_hands_on_where_it_is():
    A, _, b = planted(20, 120, True, 5)
    b = b + 0.1 * np.random.default_rng(0).standard_normal(120)
    losses = []
    for steps in (1, 5, 15):
        amplitudes, left = amplitudes_of(A, b), [steps]

        def hear(left=left):
            left[0] -= 1
            if left[0] < 0:
                raise ledger.Stopped

        with ledger.opened(None, hear) as spent:
            start = amplitudes.spectral(1)
            spent._last = -np.inf
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(ledger, "EVERY", 0)
                with pytest.raises(ledger.Stopped):
                    amplitudes.descent(start, amplitudes.units)
        assert spent.ticks == steps + 1
        losses.append(spent.found.loss)
    assert losses[2] < losses[1] < losses[0] < LeastSquares().value(b)


def test_a_start_that_has_faded_stays_nothing():
    A, _, b = planted(3, 6, False, 1)
    amplitudes = amplitudes_of(A, b)
    with np.errstate(all="raise"):
        left = amplitudes.descended(np.zeros((3, 1)), amplitudes.units)
    assert not left.any()
