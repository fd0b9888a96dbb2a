"""The level-set method: both root finders against the root in closed form, and the memory that it lives on."""

import math
import tracemalloc
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator

import fewatoms as fa
from fewatoms.oracles import Bisection, Bundle, ConditionalGradient, Continuation, LevelSet, Newton
from oracles.small import ball, denoising, least_size, regression


class Recorded:
    """A root finder that tells where it went, and keeps its state in sight."""

    def __init__(self, root):
        self.root, self.taus = root, []

    def start(self, alpha):
        self.state = self.root.start(alpha)
        return self

    def advance(self, tau, walk):
        self.taus.append(self.state.advance(tau, walk))
        return self.taus[-1]


def followed(root, problem, steps, inner=None):
    """The points of a run, and after each (from the second on) the state of the root finder that led there."""
    recorded = Recorded(root)
    for point in islice(LevelSet(recorded, inner).iterates(problem), steps):
        if recorded.taus:
            yield point, recorded


INNER = {"conditional gradient": ConditionalGradient, "bundle": Bundle}


@pytest.mark.parametrize("ratio", [1.01, 1.8, 10.0])
@pytest.mark.parametrize("inner", INNER)
def test_newton_from_the_left_never_passes_the_root(inner, ratio):
    for seed in range(2):
        problem = denoising(seed, misfit=0.3)
        root = least_size(problem.b, problem.alpha)
        *_, (point, last) = followed(Newton(ratio), problem, 60, INNER[inner]())
        taus = np.array(last.taus)
        assert (np.diff(taus) >= 0).all()
        assert taus.max() <= root * (1 + 1e-10)
        assert point.gauge <= taus[-1] * (1 + 1e-12)
        if ratio == 1.8:  # the default; others take their time
            assert taus[-1] >= (1 - 1e-4 if inner == "bundle" else 0.85) * root


def test_a_step_of_newton_is_that_of_the_tangent():
    """At tau = 0 the bound is v itself: with M = I its slope is -max |b|."""
    problem = denoising(1, misfit=0.3)
    (_, recorded), *_ = followed(Newton(), problem, 2)
    assert recorded.taus[0] == pytest.approx((problem.at_zero - problem.alpha) / np.abs(problem.b).max(), rel=1e-14)


def test_newton_waits_until_the_bound_is_good_enough():
    state = Newton(2.0).start(1.0)

    def tau(low, loss, support=4.0):
        return state.advance(3.0, SimpleNamespace(lower_bound=lambda tau: low, loss=loss, support=support))

    assert tau(2.0, 3.0) == 3.25  # u - alpha = 2 (l - alpha), l - alpha = 1, over 4
    assert tau(2.0, 3.1) == 3.0
    assert tau(1.0, 1.0) == 3.0  # the bound says nothing
    assert tau(2.0, 2.0, 0.0) == 3.0  # nor is there a slope


@pytest.mark.parametrize("inner", INNER)
def test_bisection_brackets_the_root(inner):
    for seed in range(2):
        problem = denoising(seed, misfit=0.3)
        root = least_size(problem.b, problem.alpha)
        low, high = 0.0, math.inf
        for point, recorded in followed(Bisection(), problem, 80, INNER[inner]()):
            state = recorded.state
            assert low <= state.low <= root * (1 + 1e-10)
            assert root * (1 - 1e-10) <= state.high <= high
            assert point.gauge <= recorded.taus[-1] * (1 + 1e-12)
            low, high = state.low, state.high
        assert high - low <= (1e-3 if inner == "bundle" else 0.2) * root


def test_the_right_end_of_bisection_is_feasible():
    """Newton's points never meet the bound; of bisection some do, and their gauges are those of the right ends."""
    problem = denoising(0, misfit=0.3)
    feasible = [p.gauge for p, _ in followed(Bisection(), problem, 60, Bundle()) if p.loss <= problem.alpha]
    *_, (_, recorded) = followed(Bisection(), problem, 60, Bundle())
    assert recorded.state.high in feasible
    assert min(feasible) >= recorded.state.high
    primal = fa.P3(problem).primal_value(problem.alpha, recorded.state.high)
    assert math.isfinite(primal)
    assert primal >= least_size(problem.b, problem.alpha) * (1 - 1e-10)


@pytest.mark.parametrize("root", [Newton(), Bisection()], ids=["newton", "bisection"])
def test_the_stream_is_about_the_third_relaxation(root):
    problem = denoising(4, misfit=0.3)
    value = least_size(problem.b, problem.alpha)
    best = -math.inf
    for point in islice(LevelSet(root, Bundle()).iterates(problem), 40):
        assert point.relaxation == fa.P3(problem)
        _, dual = point.relaxation.feasible(point.y, point.z, point.support)
        assert -dual <= value * (1 + 1e-10)
        best = max(best, -dual)
    assert best == pytest.approx(value, rel=1e-3)


def test_the_first_point_is_zero():
    problem = regression(misfit=0.1)
    first = next(LevelSet().iterates(problem))
    assert (first.loss, first.gauge) == (problem.at_zero, 0.0)
    np.testing.assert_array_equal(first.y, problem.b)


def test_data_within_the_bound_keep_newton_at_zero():
    problem = denoising(0, alpha=100.0)
    *_, (point, recorded) = followed(Newton(), problem, 5)
    assert set(recorded.taus) == {0.0}
    assert point.gauge == 0.0


def test_the_value_function_used_here_is_convex_and_falls():
    """The closed form that the root rests on, by itself."""
    b = denoising(0).b
    taus = np.linspace(0.0, 0.9 * np.abs(b).sum(), 30)
    v = np.array([0.5 * np.sum((b - ball(b, tau)) ** 2) for tau in taus])
    assert (np.diff(v) < 0).all()
    assert (np.diff(v, 2) >= -1e-12).all()
    assert least_size(b, float(v[10])) == pytest.approx(taus[10], rel=1e-9)


def test_settings_are_checked():
    with pytest.raises(ValueError, match=r"^ratio must be larger than 1; got 1.0$"):
        Newton(1.0)
    with pytest.raises(TypeError, match=r"^ratio must be a .*number; got 'a'$"):
        Newton("a")
    with pytest.raises(TypeError, match=r"^root must have a method start\(\).*advance\(\); got 3$"):
        LevelSet(root=3)
    with pytest.raises(TypeError, match=r"^inner must have a method start\(\).*look\(\); got "):
        LevelSet(inner=Continuation())
    with pytest.raises(ValueError, match=r"^problem must have a bound, alpha or misfit"):
        next(LevelSet().iterates(regression()))


# Memory --------------------------------------------------------------------------------------------------------------


class Wide(LinearOperator):
    """m rows and 1000 m columns in no memory at all: scaled identities, and as many turned upside down."""

    def __init__(self, m):
        super().__init__(float, (m, 1000 * m))
        self.upright, self.turned = np.split(1.0 + np.random.default_rng(0).permutation(1000) / 1000, 2)

    def _matvec(self, x):
        rows = x.reshape(1000, -1)
        return self.upright @ rows[:500] + (self.turned @ rows[500:])[::-1]

    def _rmatvec(self, y):
        z = np.empty((1000, y.size))
        np.outer(self.upright, y, out=z[:500])
        np.outer(self.turned, y[::-1], out=z[500:])
        return z.ravel()


def vectors_held(oracle, problem, iterates):
    """How many vectors of length m the oracle holds between iterates at most; z, on loan, apart."""
    most = 0.0
    tracemalloc.start()
    try:
        base = tracemalloc.get_traced_memory()[0]
        for dual in islice(oracle.iterates(problem), iterates):
            on_loan = dual.z.nbytes
            most = max(most, tracemalloc.get_traced_memory()[0] - base - on_loan)
            del dual
    finally:
        tracemalloc.stop()
    return most / (8 * problem.m)


class Hoarder:
    """Another oracle with a number of vectors that it does not need."""

    def __init__(self, oracle, extra):
        self.oracle, self.extra = oracle, extra

    def iterates(self, problem):
        hoard = [np.full(problem.m, float(i)) for i in range(self.extra)]
        yield from self.oracle.iterates(problem)
        hoard.clear()


@pytest.mark.parametrize("root", [Newton(), Bisection()], ids=["newton", "bisection"])
def test_the_level_set_oracle_lives_on_eight_vectors(root):
    m = 1500
    M = Wide(m)
    x = np.zeros(1000 * m)
    x[np.random.default_rng(0).choice(1000 * m, 20, replace=False)] = 1.0
    problem = fa.Problem.of(M, M.matvec(x), atoms=fa.SignedOneHot(1000 * m), k=20, misfit=1e-2)
    vectors_held(fa.LevelSet(root), problem, 2)  # what Python and NumPy set up once is not the oracle's
    held = vectors_held(fa.LevelSet(root), problem, 6)
    assert 1 <= held <= 8
    extra = math.ceil(9 - held)
    assert vectors_held(Hoarder(fa.LevelSet(root), extra), problem, 6) > 8  # the measurement would notice a ninth
