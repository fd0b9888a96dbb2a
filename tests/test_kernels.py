"""The loops over entries and their NumPy twins against slow obvious ones: as plain Python here, compiled in a process
of its own."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import naive
from fewatoms import Sampling, _loops, kernels
from fewatoms.faces import Factors

TILE = _loops.TILE
NONE = np.zeros(0)


@pytest.fixture(params=["loop", "numpy"])
def way(request, monkeypatch):
    """Whether the loop (as plain Python) or its twin does the work, however few the entries."""
    monkeypatch.setattr(kernels, "WORTHWHILE", 0 if request.param == "loop" else 10**9)
    return request.param


# Entries: name -> rows, columns, features, share of the entries, size of the values, size of the features

GRIDS = {
    "usual": (7, 5, 3, 0.6, 1.0, 1.0),
    "many rows": (40, 6, 2, 0.3, 1.0, 1.0),
    "an odd number of features": (6, 9, 5, 0.8, 1.0, 1.0),
    "one row": (1, 6, 2, 0.7, 1.0, 1.0),
    "one column": (6, 1, 2, 0.8, 1.0, 1.0),
    "one entry": (4, 4, 1, 1 / 16, 1.0, 1.0),
    "all entries": (4, 3, 2, 1.0, 1.0, 1.0),
    "one feature": (8, 8, 1, 0.5, 1.0, 1.0),
    "no features": (5, 4, 0, 0.6, 1.0, 1.0),
    "more features than columns": (4, 3, 6, 0.7, 1.0, 1.0),
    "few entries a row": (12, 9, 4, 0.25, 1.0, 1.0),
    "mostly empty rows": (30, 5, 2, 0.05, 1.0, 1.0),
    "small values": (7, 6, 2, 0.8, 1e-8, 1.0),
    "large values": (7, 6, 2, 0.8, 1e8, 1.0),
    "small features": (7, 6, 2, 0.8, 1.0, 1e-8),
    "large features": (7, 6, 2, 0.8, 1.0, 1e8),
    "small": (7, 6, 2, 0.8, 1e-8, 1e-4),
    "large": (7, 6, 2, 0.8, 1e8, 1e4),
    "rows as long as the tile": (2, TILE, 1, 1.0, 1.0, 1.0),
    "rows longer than the tile": (2, TILE + 1, 2, 1.0, 1.0, 1.0),
    "rows of two tiles and a half": (2, 3 * TILE, 2, 0.85, 1.0, 1.0),
}
every_grid = pytest.mark.parametrize("name", GRIDS)


class Grid:
    """Random entries row by row, with what the loops take beside them."""

    def __init__(self, name, seed=0, kind=np.int32):
        p, q, r, share, size, unit = GRIDS[name]
        rng = np.random.default_rng([seed, *name.encode()])
        keys = np.sort(rng.permutation(p * q)[: max(1, round(share * p * q))])
        self.p, self.q, self.r = p, q, r
        self.rows, self.cols = np.divmod(keys, q)
        self.starts = np.concatenate([[0], np.cumsum(np.bincount(self.rows, minlength=p))])
        self.others = self.cols.astype(kind)
        self.values = size * rng.standard_normal(keys.size)
        self.left, self.right = unit * rng.standard_normal((p, r)), unit * rng.standard_normal((q, r))
        self.weights = rng.uniform(0.1, 2.0, keys.size)
        self.offset = size * rng.standard_normal(q)
        self.ridge = unit**2 * rng.uniform(0.01, 1.0, r)
        self.begin = size / unit * np.abs(rng.standard_normal((p, r)))

    @property
    def places(self):
        return self.starts, self.others


@every_grid
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_sampled_products(name, kind, way):
    g = Grid(name, kind=kind)
    found = kernels.sampled_products(g.left, g.right, *g.places)
    expected = naive.sampled_products(g.left, g.right, g.rows, g.cols)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * np.abs(expected).max(initial=0.0))


@every_grid
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_scattered(name, kind, way):
    g = Grid(name, kind=kind)
    found = kernels.scattered(g.values, g.right, *g.places)
    expected = naive.scattered(g.values, g.right, g.rows, g.cols, g.p)
    assert found.shape == (g.p, g.r)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * np.abs(expected).max(initial=0.0) * g.q)


@every_grid
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_row_grams(name, kind, way):
    """Of all rows, and of ranges of them: rows name their entries by their place in the whole."""
    g = Grid(name, kind=kind)
    weights = g.weights.copy()
    weights[::3] = 0.0  # flat pieces of a loss have no curvature
    expected = naive.row_grams(g.right, g.rows, g.cols, weights, g.p)
    for first, last in {(0, g.p), (0, 1), (g.p // 2, g.p), (g.p // 3, 2 * g.p // 3)}:
        found = kernels.row_grams(weights, g.right, *g.places, first, last)
        size = np.abs(expected).max(initial=0.0)
        np.testing.assert_allclose(found, expected[first:last], rtol=0, atol=1e-13 * size * g.q)
        np.testing.assert_allclose(found, found.transpose(0, 2, 1), rtol=1e-14, atol=1e-14 * size)


def test_factors_need_not_be_contiguous(way):
    g = Grid("usual")
    wide = np.repeat(g.right, 2, axis=1)[:, ::2]
    for right in (np.asfortranarray(g.right), wide):
        assert not right.flags.c_contiguous
        for found, expected in (
            (kernels.sampled_products(np.asfortranarray(g.left), right, *g.places),
             kernels.sampled_products(g.left, g.right, *g.places)),
            (kernels.scattered(g.values, right, *g.places), kernels.scattered(g.values, g.right, *g.places)),
            (kernels.row_grams(g.weights, right, *g.places, 0, g.p),
             kernels.row_grams(g.weights, g.right, *g.places, 0, g.p)),
        ):  # fmt: skip
            np.testing.assert_array_equal(found, expected)


# Small regressions ----------------------------------------------------------------------------------------------------

SETTINGS = {
    "plain": (False, False, False),
    "weights": (True, False, False),
    "offset": (False, True, False),
    "ridge": (False, False, True),
    "all": (True, True, True),
}
every_setting = pytest.mark.parametrize("setting", SETTINGS)


def asked(g, setting):
    """The arguments of a small regression: values, weights, offset, features, ridge."""
    weighted, shifted, ridged = SETTINGS[setting]
    weights, offset = g.weights if weighted else NONE, g.offset if shifted else NONE
    return g.values, weights, offset, g.right, g.ridge if ridged else np.zeros(g.r)


def value_of(x, i, g, problem):
    """What x makes of row i, summed up from residuals."""
    A, t = naive.row_system(np.flatnonzero(g.rows == i), *problem, g.cols)
    return float(np.sum((A @ x - t) ** 2))


def nothing(g, problem):
    """What x = 0 leaves, row by row: the size in which minima are exact."""
    return np.array([value_of(np.zeros(g.r), i, g, problem) for i in range(g.p)])


def assert_solves(g, problem, x, left):
    """x is a minimiser of every row problem, the shortest where there are several, and `left` holds the minima."""
    twin, least = naive.row_solves(*problem, g.rows, g.cols, g.p)
    size = nothing(g, problem)
    found = np.array([value_of(x[i], i, g, problem) for i in range(g.p)])
    assert (found <= least + 1e-9 * size).all()
    np.testing.assert_allclose(left, least, rtol=0, atol=1e-9 * size.max())
    assert (np.abs(left - least) <= 1e-9 * size).all()
    empty = np.bincount(g.rows, minlength=g.p) == 0
    assert (x[empty] == 0).all()
    assert (left[empty] == 0).all()
    lengths, shortest = np.linalg.norm(x, axis=1), np.linalg.norm(twin, axis=1)
    assert (lengths <= shortest * (1 + 1e-3)).all()
    for i in range(g.p):
        A, _ = naive.row_system(np.flatnonzero(g.rows == i), *problem, g.cols)
        s = np.linalg.svd(A, compute_uv=False)
        if A.shape[1] and len(A) >= A.shape[1] and s[-1] > 1e-2 * s[0]:  # well determined
            np.testing.assert_allclose(x[i], twin[i], rtol=0, atol=1e-9 * shortest[i])


@every_grid
@every_setting
def test_row_solves(name, setting, way):
    g = Grid(name)
    problem = asked(g, setting)
    assert_solves(g, problem, *kernels.row_solves(*problem, *g.places))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_row_solves_over_seeds(seed, kind, way):
    for name in ("usual", "few entries a row", "all entries"):
        g = Grid(name, seed, kind)
        assert_solves(g, asked(g, "weights"), *kernels.row_solves(*asked(g, "weights"), *g.places))


DEPENDENT = {
    "a multiple": lambda F: np.concatenate([F, -2.0 * F[:, :1]], axis=1),
    "a copy": lambda F: np.concatenate([F, F[:, -1:]], axis=1),
    "a sum": lambda F: np.concatenate([F, F.sum(axis=1, keepdims=True)], axis=1),
    "zeros": lambda F: np.concatenate([np.zeros((len(F), 1)), F], axis=1),
    "all zeros": np.zeros_like,
    "all equal": np.ones_like,
}


@pytest.mark.parametrize("how", DEPENDENT)
@pytest.mark.parametrize("setting", ["plain", "weights", "offset"])
@pytest.mark.parametrize("name", ["usual", "all entries", "many rows", "rows longer than the tile", "small", "large"])
def test_row_solves_with_dependent_features(name, setting, how, way):
    """Exactly dependent features leave x undetermined: the shortest is as good as any."""
    g = Grid(name)
    g.right = DEPENDENT[how](g.right)
    g.r = g.right.shape[1]
    g.ridge = np.zeros(g.r)
    assert_solves(g, asked(g, setting), *kernels.row_solves(*asked(g, setting), *g.places))


@pytest.mark.parametrize("power", [-27, -10, 10, 27])
@every_setting
def test_row_solves_scale_with_the_values(power, setting, way):
    """By powers of two exactly: no threshold knows the units of the data."""
    g, factor = Grid("usual"), 2.0**power
    values, weights, offset, features, ridge = asked(g, setting)
    x, left = kernels.row_solves(values, weights, offset, features, ridge, *g.places)
    scaled, more = kernels.row_solves(factor * values, weights, factor * offset, features, ridge, *g.places)
    np.testing.assert_array_equal(scaled, factor * x)
    np.testing.assert_array_equal(more, factor**2 * left)


@pytest.mark.parametrize("power", [-27, 27])
@every_setting
def test_row_solves_scale_with_the_features(power, setting, way):
    g, factor = Grid("usual"), 2.0**power
    values, weights, offset, features, ridge = asked(g, setting)
    x, left = kernels.row_solves(values, weights, offset, features, ridge, *g.places)
    scaled, more = kernels.row_solves(values, weights, offset, factor * features, factor**2 * ridge, *g.places)
    np.testing.assert_array_equal(scaled, x / factor)
    np.testing.assert_array_equal(more, left)


@pytest.mark.parametrize("factor", [1e-4, 1e-3, 1e3, 1e4])
def test_features_of_one_row_problem_may_have_different_units(factor, way):
    """Factors in the units of the data stand beside a feature of ones: x is as good, and `left` says how good."""
    g = Grid("all entries")
    g.right[:, 0] *= factor
    problem = asked(g, "weights")
    x, left = kernels.row_solves(*problem, *g.places)
    least = naive.row_solves(*problem, g.rows, g.cols, g.p)[1]
    found, size = np.array([value_of(x[i], i, g, problem) for i in range(g.p)]), nothing(g, problem)
    assert (found <= least + 1e-7 * size).all()
    assert (np.abs(left - found) <= 1e-7 * size).all()


def test_a_ridge_on_some_features_only(way):
    """Biases are shrunk by another number than factors, perhaps by none."""
    g = Grid("usual")
    for ridge in (np.array([0.5, 0.0, 0.0]), np.array([0.0, 0.0, 3.0]), np.array([1e-5, 1e5, 1.0])):
        g.ridge = ridge
        problem = asked(g, "ridge")
        assert_solves(g, problem, *kernels.row_solves(*problem, *g.places))


@pytest.mark.parametrize("name", ["usual", "many rows", "mostly empty rows"])
def test_twins_gather_a_piece_at_a_time(name, monkeypatch):
    """What NumPy gathers at once does not matter, be it one row."""
    g = Grid(name)

    def results():
        return [
            kernels.sampled_products(g.left, g.right, *g.places),
            kernels.scattered(g.values, g.right, *g.places),
            kernels.row_grams(g.weights, g.right, *g.places, 1, g.p),
            *kernels.row_solves(*asked(g, "all"), *g.places),
            *kernels.row_solves_nonnegative(*asked(g, "all"), np.full(g.r, True), *g.places, g.begin),
        ]

    whole = results()
    for gather in (1, 9, 100):
        monkeypatch.setattr(kernels, "GATHER", gather)
        assert gather == 100 or len(kernels._blocks(g.starts, 2)) > 1
        for found, expected in zip(results(), whole, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", GRIDS)
def test_gathered_blocks_cut_the_rows_in_order(name, monkeypatch):
    g = Grid(name)
    for gather in (1, 7, 64, 10**6):
        monkeypatch.setattr(kernels, "GATHER", gather)
        for width in (0, 1, 3, 50):
            blocks = kernels._blocks(g.starts, width)
            assert [i for first, last in blocks for i in range(first, last)] == list(range(g.p))
            for first, last in blocks:
                held = (g.starts[last] - g.starts[first]) * max(1, width)
                assert held <= max(gather, width, 1) or last == first + 1


# With signs -----------------------------------------------------------------------------------------------------------

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


# Who does the work ----------------------------------------------------------------------------------------------------


def everything(g):
    """All that goes through `_run`, one after the other."""
    return [
        kernels.sampled_products(g.left, g.right, *g.places),
        kernels.scattered(g.values, g.right, *g.places),
        *kernels.row_solves(*asked(g, "all"), *g.places),
        *kernels.row_solves_nonnegative(*asked(g, "all"), np.full(g.r, True), *g.places, g.begin),
        kernels.row_grams(g.weights, g.right, *g.places, 0, g.p),
        kernels.row_grams(g.weights, g.right, *g.places, g.p // 3, g.p),
    ]


@pytest.mark.parametrize("name", ["usual", "many rows", "mostly empty rows", "one row", "rows longer than the tile"])
@pytest.mark.parametrize("count", [2, 3, 16])
def test_threads_do_not_change_a_bit(name, count, monkeypatch):
    monkeypatch.setattr(kernels, "WORTHWHILE", 0)
    g = Grid(name)
    monkeypatch.setattr(kernels, "threads", lambda: 1)
    alone = everything(g)
    monkeypatch.setattr(kernels, "threads", lambda: count)
    monkeypatch.setattr(kernels, "PARALLEL", 1)
    for found, expected in zip(everything(g), alone, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.parametrize("count", [1, 2, 5])
def test_ranges_of_threads_cut_the_rows(name, count, monkeypatch):
    """Every row once, and no range with many more entries than its share and a row."""
    g, spans = Grid(name), []
    recorder = SimpleNamespace(scattered=lambda *arguments: spans.append(arguments[4:6]))
    monkeypatch.setattr(kernels, "_loops", lambda: recorder)
    monkeypatch.setattr(kernels, "WORTHWHILE", 0)
    monkeypatch.setattr(kernels, "threads", lambda: count)
    monkeypatch.setattr(kernels, "PARALLEL", 1e-3)
    kernels.scattered(g.values, g.right, *g.places)
    assert len(spans) == min(count, g.p) if g.r else len(spans) == 1
    assert [i for first, last in sorted(spans) for i in range(first, last)] == list(range(g.p))
    longest = int(np.diff(g.starts).max())
    for first, last in spans:
        assert g.starts[last] - g.starts[first] <= g.values.size / len(spans) + longest
    low, high = g.p // 3, max(g.p // 3 + 1, 3 * g.p // 4)  # some of the rows only
    spans.clear()
    recorder.row_grams = lambda *arguments: spans.append(arguments[5:7])
    kernels.row_grams(g.weights, g.right, *g.places, low, high)
    assert len(spans) == (min(count, high - low) if g.starts[high] > g.starts[low] else 1)
    assert [i for first, last in sorted(spans) for i in range(first, last)] == list(range(low, high))


def test_little_work_wakes_no_thread(monkeypatch):
    g, spans = Grid("many rows"), []
    recorder = SimpleNamespace(scattered=lambda *arguments: spans.append(arguments[4:6]))
    monkeypatch.setattr(kernels, "_loops", lambda: recorder)
    monkeypatch.setattr(kernels, "WORTHWHILE", 0)
    monkeypatch.setattr(kernels, "threads", lambda: 8)
    for parallel, expected in ((g.values.size * g.r + 1, 1), (g.values.size * g.r // 3, 3), (1, 8)):
        monkeypatch.setattr(kernels, "PARALLEL", parallel)
        spans.clear()
        kernels.scattered(g.values, g.right, *g.places)
        assert len(spans) == expected


THREADS = {
    "nothing told": ({}, 8),
    "numba": ({"NUMBA_NUM_THREADS": "3"}, 3),
    "openmp": ({"OMP_NUM_THREADS": "2"}, 2),
    "numba first": ({"NUMBA_NUM_THREADS": "5", "OMP_NUM_THREADS": "2"}, 5),
    "numba first, though more": ({"NUMBA_NUM_THREADS": "99", "OMP_NUM_THREADS": "2"}, 8),
    "more than there are": ({"OMP_NUM_THREADS": "64"}, 8),
    "zero is no number of threads": ({"OMP_NUM_THREADS": "0"}, 8),
    "empty": ({"NUMBA_NUM_THREADS": "", "OMP_NUM_THREADS": "4"}, 4),
    "no number": ({"NUMBA_NUM_THREADS": "many"}, 8),
    "negative": ({"OMP_NUM_THREADS": "-2"}, 8),
}


@pytest.mark.parametrize("case", THREADS)
def test_threads_follow_the_environment(case, monkeypatch):
    told, expected = THREADS[case]
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    assert kernels.threads() == expected


@pytest.mark.parametrize(("cores", "expected"), [(6, 6), (None, 1)])
def test_threads_where_affinity_is_not_known(cores, expected, monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    assert kernels.threads() == expected


def test_loops_are_taken_from_some_number_of_entries_on(monkeypatch):
    """Below it NumPy does the work, at it the loops do, with the same result."""
    taken = []

    class Recorder:
        def __getattr__(self, name):
            taken.append(name)
            return getattr(_loops, name)

    monkeypatch.setattr(kernels, "_loops", Recorder)
    rng = np.random.default_rng(2)
    rows, cols = np.divmod(rng.permutation(48)[:30], 8)
    M = Sampling(rows, cols, (6, 8))
    face = Factors(*(np.linalg.qr(rng.standard_normal((n, 2)))[0] for n in (6, 8)))
    c, b, weights = rng.standard_normal(4), rng.standard_normal(30), rng.uniform(0.5, 1.0, 30)

    def results():
        reduced = M.restrict(face)
        return [reduced.apply(c), *reduced.normal_equations(b, weights), *reduced.normal_equations(b)]

    monkeypatch.setattr(kernels, "WORTHWHILE", 31)
    plain = results()
    assert taken == []
    monkeypatch.setattr(kernels, "WORTHWHILE", 30)
    for found, expected in zip(results(), plain, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-13)
    assert taken == ["sampled_products", "row_grams", "row_grams"]


# Dense matrices


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("ahead", [1.0, 1.7])
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (40, 1), (30, 20)])
def test_split_rows(shape, ahead, whole, way):
    """S and the error together, from the splitting itself: over-relaxed, with the multiplier inside its ball."""
    rng = np.random.default_rng(shape)
    D, L, Y, rest = (rng.standard_normal(shape) for _ in range(4))
    seen = np.ones(shape, dtype=bool) if whole else rng.random(shape) < 0.7
    mu, following, price, soft = 1.3, 2.1, 0.4, 0.9
    T = D - rest + Y / mu
    ahead_of_L = ahead * L + (1 - ahead) * (D - rest)
    t = D - ahead_of_L + Y / mu
    y = np.where(seen, np.clip(soft * t, -price, price), 0.0)
    expected = D - (t - y / mu) + y / following
    given = D.copy(), L.copy()
    kernels.split_rows(
        D, T, L, Y, None if whole else seen, soft=soft, mu=mu, following=following, price=price, ahead=ahead
    )
    np.testing.assert_allclose(Y, y, atol=1e-13)
    np.testing.assert_allclose(T, expected, atol=1e-12)
    np.testing.assert_array_equal(D, given[0])
    np.testing.assert_array_equal(L, given[1])


@pytest.mark.parametrize("t", [0.0, 0.3, 1.0, 100.0])
@pytest.mark.parametrize("shape", [(1, 1), (9, 4), (1, 50), (60, 1)])
def test_clipped_sums(shape, t, way):
    R = np.random.default_rng(shape).standard_normal(shape)
    R.flat[::3] = np.sign(R.flat[::3])  # some are as large as a threshold
    size = np.abs(R)
    squares, ones, total, count = kernels.clipped_sums(R, t)
    assert squares == pytest.approx(float((np.minimum(size, t) ** 2).sum()), rel=1e-12)
    assert ones == pytest.approx(float(np.minimum(size, t).sum()), rel=1e-12)
    assert total == pytest.approx(float(size.sum()), rel=1e-12)
    assert count == np.count_nonzero(size > t)


# Compiled -------------------------------------------------------------------------------------------------------------

COMPILED = """
import importlib, json, logging
import numpy as np
from fewatoms import kernels

said = []
handler = logging.Handler()
handler.emit = lambda record: said.append((record.name, record.levelname, record.getMessage()))
logging.getLogger("fewatoms").addHandler(handler)
logging.getLogger("fewatoms").setLevel(logging.DEBUG)

rng = np.random.default_rng(0)
p, q, r, m = 60, 700, 3, 12_000
keys = np.sort(rng.permutation(p * q)[:m])
keys = keys[(keys // q != 0) & (keys // q != 30)]  # rows without entries
rows, cols = np.divmod(keys, q)
starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=p))])
m, places = keys.size, (starts, cols.astype(np.int32))
left, right = rng.standard_normal((p, r)), rng.standard_normal((q, r))
values, weights, offset = rng.standard_normal(m), rng.uniform(0.1, 2.0, m), rng.standard_normal(q)
ridge, begin, bound = np.array([0.5, 0.1, 0.0]), np.abs(left), np.array([True, True, False])
problem = (values, weights, offset, right, ridge)


def results():
    return [
        kernels.sampled_products(left, right, *places),
        kernels.scattered(values, right, *places),
        *kernels.row_solves(*problem, *places),
        *kernels.row_solves_nonnegative(*problem, bound, *places, begin),
        kernels.row_grams(weights, right, *places, 0, p),
        *split(),
        np.array(kernels.clipped_sums(dense, 0.7)),
    ]


dense, seen = rng.standard_normal((p, 300)), rng.random((p, 300)) < 0.9
state = [rng.standard_normal((p, 300)) for _ in range(3)]


def split():
    T, L, Y = (x.copy() for x in state)
    kernels.split_rows(dense, T, L, Y, seen, soft=0.8, mu=1.5, following=2.0, price=0.3, ahead=1.6)
    return T, Y


plain = results()
before = list(said)
kernels.WORTHWHILE = 1
kernels.threads = lambda: 1
compiled = results()
loops = kernels._loops()
names = ["sampled_products", "scattered", "row_solves", "row_solves_nonnegative", "row_grams", "split_rows"]
names.append("clipped_rows")
told = list(said)
kernels.PARALLEL, kernels.threads = 1, lambda: 3
threaded = results()
again = said[len(told):]
importlib.reload(loops)  # as a new process would find them: on disk
kernels._loops.cache_clear()
reloaded = results()
print(json.dumps({
    "off": [float(np.abs(x - y).max() / np.abs(y).max()) for x, y in zip(compiled, plain, strict=True)],
    "threads": [bool(np.array_equal(x, y)) for x, y in zip(threaded, compiled, strict=True)],
    "reloaded": [bool(np.array_equal(x, y)) for x, y in zip(reloaded, compiled, strict=True)],
    "compiled": [bool(getattr(loops, name).signatures) for name in names],
    "cached": [sum(getattr(loops, name).stats.cache_misses.values()) for name in names],
    "before": before, "told": told, "again": again, "silent": said[len(told) + len(again):],
}))
"""


def test_compiled_loops(tmp_path):
    """They agree with NumPy and with themselves in threads; compiling is announced, and done once for all processes."""
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
    environment["NUMBA_CACHE_DIR"] = str(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", COMPILED], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert max(found["off"]) <= 1e-9
    assert all(found["threads"])
    assert all(found["reloaded"])
    assert all(found["compiled"])
    assert found["cached"] == [0] * 7
    assert found["before"] == []
    assert found["again"] == []
    assert found["silent"] == []
    assert {(name, level) for name, level, _ in found["told"]} == {("fewatoms", "INFO")}
    announced = {message.split(" in ")[0] for _, _, message in found["told"]}
    names = "sampled_products scattered row_solves row_solves_nonnegative row_grams split_rows clipped_rows"
    for name in names.split():
        assert f"compiled the loop {name}" in announced
