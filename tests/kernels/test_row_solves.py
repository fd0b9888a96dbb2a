"""Small regressions row by row against a dense least-squares solver."""

import numpy as np
import pytest

import naive
from fewatoms import kernels
from kernels.grids import DEPENDENT, GRIDS, Grid, asked, every_grid, every_setting, nothing, value_of


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


@pytest.mark.parametrize("setting", ["plain", "all"])
@pytest.mark.parametrize(
    "name", ["usual", "no features", "eight features", "ten features", "rows longer than the tile"]
)
def test_features_in_single_precision_are_what_they_are(name, setting, way):
    """Rounded features give the regressions on rounded features: nothing else is rounded."""
    g = Grid(name)
    g.right = g.right.astype(np.float32)
    x, left = kernels.row_solves(*asked(g, setting), *g.places)
    assert x.dtype == left.dtype == np.float64
    g.right = g.right.astype(np.float64)
    assert_solves(g, asked(g, setting), x, left)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 10, 16, 17, 50])
def test_tables_hold_features_in_whole_lines(count):
    for kind in (np.float32, np.float64):
        features = np.arange(5.0 * count).reshape(5, count).astype(kind)
        table = kernels._table(features)
        assert table.dtype == kind
        assert table.shape[1] % kernels.LANES == 0
        assert table.ctypes.data % kernels.LINE == 0
        np.testing.assert_array_equal(table[:, :count], features)
        assert not table[:, count:].any()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", [np.int32, pytest.param(np.int64, marks=pytest.mark.soak)])
def test_row_solves_over_seeds(seed, kind, way):
    for name in ("usual", "few entries a row", "all entries"):
        g = Grid(name, seed, kind)
        assert_solves(g, asked(g, "weights"), *kernels.row_solves(*asked(g, "weights"), *g.places))


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


@pytest.mark.parametrize("together", [1, 7, 1 << 16])
@pytest.mark.parametrize("setting", ["plain", "weights", "all"])
@pytest.mark.parametrize("name", ["usual", "mostly empty rows", "ten features", "rows longer than the tile"])
def test_values_in_single_precision_are_what_they_are(name, setting, together, way, monkeypatch):
    """However many of them are widened at a time."""
    monkeypatch.setattr(kernels, "WIDENED", together)
    g = Grid(name)
    values, weights, *rest = asked(g, setting)
    single = values.astype(np.float32), weights.astype(np.float32)
    double = [some.astype(np.float64) for some in single]
    found, expected = (kernels.row_solves(*kept, *rest, *g.places) for kept in (single, double))
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == np.float64
        np.testing.assert_array_equal(ours, theirs)
