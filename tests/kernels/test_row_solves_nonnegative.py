"""Small regressions with signs against an active-set method."""

import numpy as np
import pytest
from scipy.optimize import nnls

import naive
from fewatoms import kernels
from kernels.grids import DEPENDENT, Grid, asked, every_grid, nothing, value_of

BOUNDS = {
    "all": lambda r: np.full(r, True),
    "none": lambda r: np.full(r, False),
    "but the last": lambda r: np.arange(r) < r - 1,
}
every_bound = pytest.mark.parametrize("bounded", BOUNDS)


def assert_improves(g, problem, bound, begin, x, left):
    """Allowed, no worse than where it began, and `left` says how good."""
    size = nothing(g, problem)
    least = naive.row_solves_nonnegative(*problem, bound, g.rows, g.cols, g.p)[1]
    before = np.array([value_of(begin[i], i, g, problem) for i in range(g.p)])
    found = np.array([value_of(x[i], i, g, problem) for i in range(g.p)])
    assert (x[:, bound] >= 0).all()
    assert (found <= before + 1e-12 * (size + before)).all()
    assert (found >= least - 1e-9 * size).all()
    gone_through = np.array([_size_on_the_way(x[i], i, g, problem) for i in range(g.p)])
    assert (np.abs(left - found) <= 1e-9 * size + 1e-13 * gone_through).all()
    return found, least


def _size_on_the_way(x, i, g, problem):
    """The largest number in the sum of squares of a row, written out: long x that cancel out leave rounding."""
    A, t = naive.row_system(np.flatnonzero(g.rows == i), *problem, g.cols)
    return float(np.sum((np.abs(A) @ np.abs(x) + np.abs(t)) ** 2))


@every_grid
@pytest.mark.parametrize("setting", ["plain", "all"])
def test_nonnegative_row_solves_never_end_worse_than_they_began(name, setting, way):
    g = Grid(name)
    problem = asked(g, setting)
    for bounded, begin in (("all", g.begin), ("none", np.zeros((g.p, g.r))), ("but the last", 1e3 * g.begin)):
        given, bound = begin.copy(), BOUNDS[bounded](g.r)
        x, left = kernels.row_solves_nonnegative(*problem, bound, *g.places, begin)
        np.testing.assert_array_equal(begin, given)
        assert_improves(g, problem, bound, begin, x, left)


@every_grid
@every_bound
def test_nonnegative_row_solves_against_an_active_set_method(name, bounded, way):
    """With a ridge to speak of, one call comes close; calls that go on where the last one ended come closer."""
    g = Grid(name)
    g.ridge = g.ridge + np.einsum("ij,ij->j", g.right, g.right)
    problem, bound = asked(g, "all"), BOUNDS[bounded](g.r)
    x, begin = g.begin, g.begin
    for _ in range(3):
        begin = x
        x, left = kernels.row_solves_nonnegative(*problem, bound, *g.places, begin)
    found, least = assert_improves(g, problem, bound, begin, x, left)
    assert (found <= least + 1e-8 * nothing(g, problem)).all()


@pytest.mark.parametrize("seed", range(4))
def test_nonnegative_row_solves_without_bounds_that_bind(seed, way):
    """Where the best x has no negative entry, bounds change nothing."""
    g = Grid("all entries", seed)
    rng = np.random.default_rng(seed)
    g.right = np.abs(g.right) + 3.0 * np.eye(g.q, g.r)
    g.values = (rng.uniform(1.0, 2.0, (g.p, g.r)) @ g.right.T).ravel()
    problem = asked(g, "weights")
    free, _ = kernels.row_solves(*problem, *g.places)
    x = np.zeros((g.p, g.r))
    for _ in range(5):
        x, left = kernels.row_solves_nonnegative(*problem, np.full(g.r, True), *g.places, x)
    np.testing.assert_allclose(x, free, rtol=1e-6)
    assert (np.abs(left) <= 1e-9 * nothing(g, problem)).all()


@pytest.mark.parametrize("how", DEPENDENT)
def test_nonnegative_row_solves_with_dependent_features(how, way):
    g = Grid("usual")
    g.right = DEPENDENT[how](g.right)
    g.r = g.right.shape[1]
    g.ridge, begin = np.zeros(g.r), np.ones((g.p, g.r))
    problem, bound = asked(g, "weights"), np.full(g.r, True)
    x, left = kernels.row_solves_nonnegative(*problem, bound, *g.places, begin)
    assert np.isfinite(x).all()
    assert_improves(g, problem, bound, begin, x, left)


def test_rows_of_different_sizes_are_all_solved(way):
    """A row of large numbers must not decide when rows of small ones are good enough."""
    g = Grid("all entries", 1)
    g.values = g.values * np.repeat(10.0 ** np.arange(0, -4 * g.p, -4), g.q)
    g.ridge = g.ridge + np.einsum("ij,ij->j", g.right, g.right)
    problem, bound = asked(g, "ridge"), np.full(g.r, True)
    x, left = kernels.row_solves_nonnegative(*problem, bound, *g.places, np.zeros((g.p, g.r)))
    found, least = assert_improves(g, problem, bound, np.zeros((g.p, g.r)), x, left)
    assert (found <= least + 1e-8 * nothing(g, problem)).all()


@pytest.mark.parametrize(("r", "loops"), [(2, False), (8, True)])
def test_many_descents_are_worth_compiled_loops(r, loops, monkeypatch):
    """Coordinate descent of a few hundred rows takes longer in NumPy than loading machine code."""
    ran = []
    monkeypatch.setattr(kernels, "_run", lambda name, *_, **__: ran.append(name))
    rng, rows, entries = np.random.default_rng(0), 200, 100
    starts, others = np.arange(rows + 1) * entries, rng.integers(0, 150, rows * entries)
    none, begin = np.zeros(0), np.zeros((rows, r))
    values, features = rng.random(rows * entries), rng.random((150, r))
    bound = np.ones(r, dtype=bool)
    kernels.row_solves_nonnegative(values, none, none, features, np.zeros(r), bound, starts, others, begin)
    assert ran == ["row_solves_nonnegative"] * loops


def test_dependent_features_are_solved_for_to_the_end():
    """More features than entries: fifty passes of coordinate descent leave most of what could be gained."""
    rng = np.random.default_rng(0)
    F = rng.random((5, 4, 10)) * 10.0 ** rng.uniform(-3, 3, (5, 4, 1))
    t = rng.random((5, 4))
    G, h = np.einsum("ita,itb->iab", F, F), np.einsum("ita,it->ia", F, t)
    begin, bound = rng.random((5, 10)), np.ones(10, dtype=bool)
    x = kernels.descended(G, h, begin, bound)
    assert x.min() >= 0
    for i in range(5):
        least = nnls(F[i], t[i])[1] ** 2
        left = t[i] @ t[i] + x[i] @ (G[i] @ x[i] - 2 * h[i])
        assert left <= least + 1e-9 * t[i] @ t[i]
