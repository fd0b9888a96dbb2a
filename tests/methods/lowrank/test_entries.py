"""Low rank from sampled entries on its factors: what sweeps and descents claim, recomputed by brute force."""

from dataclasses import replace

import numpy as np
import pytest

import naive
from fewatoms import Biases, RankOne, Sampling, fit, kernels, ledger
from fewatoms.doors import posed
from fewatoms.methods.lowrank import Completion
from fewatoms.methods.lowrank.entries import Factored, Triple, balanced, without_signs
from fewatoms.operators.sampling import ByLines

# name -> what differs from: 9 x 7 with 70 % of the entries, rank 2, lam 0.3, nothing else
CASES = {
    "plain": {},
    "no penalty": {"lam": 0.0},
    "large penalty": {"lam": 4.0},
    "weights": {"weighted": True},
    "biases": {"biased": True, "shrink": 0.5},
    "biases, hardly shrunk": {"biased": True, "shrink": 1e-6},
    "biases, not shrunk": {"biased": True, "shrink": 0.0},
    "biases and weights": {"biased": True, "weighted": True, "shrink": 0.5},
    "biases, no penalty": {"biased": True, "lam": 0.0, "shrink": 0.2},
    "nonnegative": {"nonnegative": True},
    "nonnegative, no penalty": {"nonnegative": True, "lam": 0.0},
    "nonnegative, weights": {"nonnegative": True, "weighted": True},
    "nonnegative, biases": {"nonnegative": True, "biased": True, "shrink": 0.5},
    "nonnegative, data of both signs": {"nonnegative": True, "signs": True},
    "rank one": {"rank": 1},
    "full rank": {"rank": 7},
    "full rank, biases": {"rank": 7, "biased": True, "shrink": 0.1},
    "few entries": {"share": 0.15},
    "few entries, no penalty": {"share": 0.15, "lam": 0.0},
    "few entries, biases": {"share": 0.15, "biased": True, "shrink": 0.3},
    "few entries, nonnegative": {"share": 0.15, "nonnegative": True},
    "all entries": {"share": 1.0},
    "one entry": {"share": 0.0, "rank": 1},
    "one row": {"shape": (1, 8), "rank": 1},
    "one column": {"shape": (8, 1), "rank": 1, "biased": True, "shrink": 0.1},
    "exact data": {"noise": 0.0, "lam": 0.0},
    "exact data, biases": {"noise": 0.0, "lam": 1e-6, "biased": True, "shrink": 1e-6},
    "data of zeros": {"size": 0.0},
    "small data": {"size": 1e-8, "lam": 3e-9},
    "large data": {"size": 1e8, "lam": 3e7},
    "small data, biases": {"size": 1e-5, "lam": 3e-6, "biased": True, "shrink": 0.1},
    "large data, biases": {"size": 1e5, "lam": 3e4, "biased": True, "shrink": 0.1},
}
every_case = pytest.mark.parametrize("name", CASES)


def leading(F, rank, shrink=0.0, seed=1, **more):
    """Where sweeps start, with a seed of one's own."""
    with ledger.opened(seed):
        return F.leading(rank, shrink, **more)


class Asked:
    """A random problem on factors, and what a brute-force twin needs to know of it."""

    def __init__(self, name, seed=0):
        wish = {"shape": (9, 7), "share": 0.7, "rank": 2, "lam": 0.3, "shrink": 0.0, "size": 1.0, "noise": 0.3} | CASES[
            name
        ]
        rng = np.random.default_rng([seed, *name.encode()])
        p, q = self.shape = wish["shape"]
        self.rank, self.lam, self.shrink = wish["rank"], wish["lam"], wish["shrink"]
        planted = min(2, p, q)
        U, V = rng.standard_normal((p, planted)), rng.standard_normal((q, planted))
        self.nonnegative, self.biased = wish.get("nonnegative", False), wish.get("biased", False)
        if self.nonnegative and not wish.get("signs"):
            U, V = np.abs(U), np.abs(V)
        X = U @ V.T + wish["noise"] * rng.standard_normal((p, q))
        if self.biased:
            X = X + rng.standard_normal((p, 1)) + rng.standard_normal((1, q))
        self.rows, self.cols = np.divmod(rng.permutation(p * q)[: max(1, round(wish["share"] * p * q))], q)
        self.b = wish["size"] * X[self.rows, self.cols]
        self.weights = rng.uniform(0.2, 3.0, self.b.size) if wish.get("weighted") else None
        self.entries = self.rows, self.cols, self.b, self.weights
        self.M = Sampling(self.rows, self.cols, self.shape)
        self.F = self.factored(self.M, self.b, self.weights)
        self.start = leading(self.F, self.rank, self.shrink)
        self.size = max(self.reached(replace(self.start, s=0 * self.start.s)), 1e-300)  # the objective without atoms

    def factored(self, M, b, weights):
        return Factored(ByLines(M).lines(b, weights), M.matrix_shape, biased=self.biased, nonnegative=self.nonnegative)

    def reached(self, at):
        return naive.reached(at, *self.entries, self.lam, self.shrink)

    def sweep(self, at, **ahead):
        return self.F.sweep(at, self.lam, self.shrink, **ahead)

    def descent(self, tol, at=None):
        return self.F.descent(self.start if at is None else at, self.lam, self.shrink, tol)

    def ended(self, tol=1e-15, most=3000):
        at = self.start
        for i, (here, _) in enumerate(self.descent(tol)):
            at = here
            if i == most:
                break
        return at


@pytest.fixture(params=["loop", "numpy"])
def way(request, monkeypatch):
    """Whether the loops (as plain Python) or their NumPy twins do the work."""
    monkeypatch.setattr(kernels, "WORTHWHILE", 0 if request.param == "loop" else 10**9)


# Sweeps ---------------------------------------------------------------------------------------------------------------


def assert_well_formed(at, asked):
    """Columns of length one (orthonormal where signs are free), sizes falling, as many atoms as asked for."""
    assert at.P.shape == (asked.shape[0], at.rank)
    assert at.Q.shape == (asked.shape[1], at.rank)
    assert at.signed == (not asked.nonnegative)
    assert (np.diff(at.s) <= 0).all()
    assert (at.s >= 0).all()
    sizes = [asked.shape[0], asked.shape[1]] if asked.biased else [0, 0]
    assert [at.row.size, at.col.size] == sizes
    if at.signed:
        for factor in (at.P, at.Q):
            np.testing.assert_allclose(factor.T @ factor, np.eye(at.rank), atol=1e-12)
    else:
        for factor in (at.P, at.Q):
            assert (factor >= 0).all()
            lengths = np.linalg.norm(factor, axis=0)
            np.testing.assert_allclose(lengths[at.s > 0], 1.0, rtol=1e-12)


@every_case
def test_no_sweep_raises_what_is_reached(name, way):
    asked = Asked(name)
    at, before = asked.start, asked.reached(asked.start)
    assert_well_formed(at, asked)
    for _ in range(4):
        at, reached = asked.sweep(at)
        assert_well_formed(at, asked)
        assert reached <= before + 1e-11 * asked.size
        before = reached


@every_case
def test_what_a_sweep_says_it_reached(name, way):
    """f, the nuclear norm and the biases' share, recomputed from X by brute force."""
    asked = Asked(name)
    at = asked.start
    for _ in range(4):
        at, reached = asked.sweep(at)
        assert reached == pytest.approx(asked.reached(at), rel=1e-9, abs=1e-12 * asked.size)


@every_case
def test_halves_are_balanced(name):
    """X in two factors that share the scale evenly: |U|^2 / 2 + |V|^2 / 2 is the nuclear norm."""
    asked = Asked(name)
    at, _ = asked.sweep(asked.start)
    U, V = at.halves()
    X, _ = naive.dense_triple(at)
    np.testing.assert_allclose(U @ V.T, X, rtol=0, atol=1e-12 * max(at.gauge, 1e-300))
    assert 0.5 * (np.sum(U**2) + np.sum(V**2)) == pytest.approx(at.gauge, rel=1e-12)
    np.testing.assert_allclose(np.linalg.norm(U, axis=0), np.linalg.norm(V, axis=0), rtol=1e-9, atol=1e-12)
    if at.signed:
        assert at.gauge == pytest.approx(np.linalg.norm(X, "nuc"), rel=1e-12)
        np.testing.assert_allclose(U.T @ U, V.T @ V, rtol=0, atol=1e-12 * max(at.gauge, 1e-300))


@every_case
def test_sweeps_from_factors_of_ones_choice(name):
    """Other V and other column biases than those at hand: what is reached is told as truly."""
    asked = Asked(name)
    rng = np.random.default_rng(3)
    V = np.abs(rng.standard_normal((asked.shape[1], asked.rank)))
    col = rng.standard_normal(asked.shape[1]) if asked.biased else np.zeros(0)
    at, reached = asked.sweep(asked.start, ahead=(V, col))
    assert_well_formed(at, asked)
    assert reached == pytest.approx(asked.reached(at), rel=1e-9, abs=1e-12 * asked.size)
    again, lower = asked.sweep(at)
    assert lower <= reached + 1e-11 * asked.size
    assert_well_formed(again, asked)


@pytest.mark.parametrize(
    "name", ["plain", "no penalty", "weights", "biases", "few entries, biases", "biases and weights"]
)
def test_one_row_at_a_time_nothing_is_better(name):
    """After a sweep the columns solve their regressions: moving one of them, or its bias, does not help."""
    asked = Asked(name)
    at, reached = asked.sweep(asked.start)
    X, biases = naive.dense_triple(at)
    U = X @ np.linalg.pinv(at.halves()[1].T)
    for j in range(asked.shape[1]):
        e = np.flatnonzero(asked.cols == j)
        w = np.ones(e.size) if asked.weights is None else asked.weights[e]
        left = asked.b[e] - (X + biases)[asked.rows[e], j]
        features = U[asked.rows[e]]
        slope = features.T @ (w * left)
        if asked.lam == 0:
            np.testing.assert_allclose(slope, 0, atol=1e-7 * (1 + np.abs(features).T @ np.abs(w * left)).max())
        if asked.biased:
            assert float(w @ left) == pytest.approx(asked.shrink * at.col[j], abs=1e-7)
    assert reached > 0


# Descents -------------------------------------------------------------------------------------------------------------


@every_case
def test_a_descent_only_goes_down(name):
    """With momentum too: what does not go down is done again without, and every value is the truth."""
    asked = Asked(name)
    values = []
    for at, reached in asked.descent(1e-4):
        values.append(reached)
        assert reached == pytest.approx(asked.reached(at), rel=1e-9, abs=1e-12 * asked.size)
        assert_well_formed(at, asked)
        assert len(values) < 1000
    assert values
    assert (np.diff(values) < 0).all()
    assert values[0] <= asked.reached(asked.start) + 1e-11 * asked.size


def test_momentum_is_used_and_helps(monkeypatch):
    """Sweeps alone need more of them for the same value."""
    asked = Asked("biases, no penalty")
    fast = [reached for _, reached in asked.descent(1e-10)]
    at, slow = asked.start, []
    for _ in fast:
        at, reached = asked.sweep(at)
        slow.append(reached)
    assert fast[-1] < slow[-1]


STATIONARY = [
    "plain", "large penalty", "weights", "biases", "biases and weights", "rank one", "full rank", "few entries",
    "few entries, biases", "all entries", "one row", "one column", "nonnegative", "nonnegative, weights",
    "nonnegative, biases", "nonnegative, data of both signs", "small data", "large data",
]  # fmt: skip


@pytest.mark.parametrize("name", STATIONARY)
def test_where_a_descent_ends_is_stationary(name):
    """Z V = lam U, Z'U = lam V for the matrix Z of weighted residuals; row and column sums are the biases' shares.

    Where factors must not be negative, the left sides may be smaller at zeros."""
    asked = Asked(name)
    at = asked.ended()
    Z = naive.slope(at, *asked.entries)
    U, V = at.halves()
    size = (np.linalg.norm(Z, 2) + asked.lam) * np.sqrt(max(at.s[0], 1e-6 * np.linalg.norm(asked.b)))
    for own, pushed in ((U, Z @ V), (V, Z.T @ U)):
        off = pushed - asked.lam * own
        if asked.nonnegative:
            assert (off <= 1e-4 * size).all()
            off = off * own / np.abs(own).max()
        np.testing.assert_allclose(off, 0, atol=1e-4 * size)
    if asked.biased:
        for sums, own in ((Z.sum(axis=1), at.row), (Z.sum(axis=0), at.col)):
            np.testing.assert_allclose(sums, asked.shrink * own, atol=1e-4 * np.abs(Z).sum(axis=1).max())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["full rank", "full rank, biases"])
def test_factors_as_wide_as_the_matrix_solve_the_convex_problem(name, seed):
    """Then there are no bad places to end: no singular value of Z is above lam, which certifies the nuclear norm."""
    asked = Asked(name, seed)
    at = asked.ended()
    Z = naive.slope(at, *asked.entries)
    assert np.linalg.norm(Z, 2) <= asked.lam * (1 + 1e-3)
    X, _ = naive.dense_triple(at)
    assert float(np.sum(Z * X)) == pytest.approx(asked.lam * at.gauge, rel=1e-4)


# Where it starts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", [(9, 7), (6, 12), (20, 20), (3, 40)])
def test_leading_triplets_of_a_matrix_with_a_gap(shape, seed):
    rng = np.random.default_rng(seed)
    p, q = shape
    U, V = (np.linalg.qr(rng.standard_normal((n, min(shape))))[0] for n in shape)
    s = np.where(np.arange(min(shape)) < 2, [5.0, 3.0, *np.zeros(min(shape) - 2)], 1e-3)
    X = U * s @ V.T
    rows, cols = np.divmod(rng.permutation(p * q), q)
    F = Factored(ByLines(Sampling(rows, cols, shape)).lines(X[rows, cols], None), shape)
    at = leading(F, 2, seed=seed)
    np.testing.assert_allclose(at.s, s[:2], rtol=1e-6)
    np.testing.assert_allclose(naive.dense_triple(at)[0], U[:, :2] * s[:2] @ V[:, :2].T, atol=1e-4)
    for factor in (at.P, at.Q):
        np.testing.assert_allclose(factor.T @ factor, np.eye(2), atol=1e-12)


@pytest.mark.parametrize("name", ["weights", "biases and weights", "few entries", "full rank", "one row", "one column"])
def test_leading_triplets_are_those_of_the_slope_at_nothing(name):
    """Rounds enough, and they are the singular triplets of M*y at X = 0, the biases fitted, by what entries weigh."""
    asked = Asked(name)
    at = leading(asked.F, asked.rank, asked.shrink, rounds=60)
    at = replace(at, s=asked.F.heavy * at.s)
    Z = naive.slope(replace(at, s=0 * at.s), *asked.entries)
    u, s, vh = np.linalg.svd(Z, full_matrices=False)
    r = asked.rank
    np.testing.assert_allclose(at.s, s[:r], rtol=1e-6)
    np.testing.assert_allclose(naive.dense_triple(at)[0], (u[:, :r] * s[:r]) @ vh[:r], atol=1e-4 * s[0])


@pytest.mark.parametrize("name", [name for name, wish in CASES.items() if wish.get("biased")])
def test_biases_alone(name):
    """Nearly the best there are, and better than none."""
    asked = Asked(name)
    row, col = asked.F.biases(asked.shrink, rounds=200)
    nothing = np.zeros((asked.shape[0], 0)), np.zeros(0), np.zeros((asked.shape[1], 0))
    found = asked.reached(Triple(*nothing, row, col))
    without = asked.reached(Triple(*nothing, 0 * row, 0 * col))
    least, _ = naive.biased_value(
        asked.b, naive.margins(asked.rows, asked.cols, asked.shape), asked.weights, asked.shrink
    )
    assert least - 1e-9 * without <= found <= least + 1e-2 * (without - least) + 1e-12 * without
    assert found < without


def test_without_biases_there_are_none():
    row, col = Asked("plain").F.biases(0.5)
    assert row.size == col.size == 0


# Triples --------------------------------------------------------------------------------------------------------------


@every_case
def test_cuts_and_faces_of_a_triple(name):
    asked = Asked(name)
    at, _ = asked.sweep(asked.start)
    X, _ = naive.dense_triple(at)
    face, c = RankOne(*asked.shape, nonnegative=asked.nonnegative).paired(at.P, at.s, at.Q)
    assert face.size == at.rank
    np.testing.assert_allclose(face.point(c), X, rtol=0, atol=1e-12 * max(at.gauge, 1e-300))
    assert face.gauge(c) == pytest.approx(at.gauge, rel=1e-12)
    for r in range(at.rank + 1):
        cut = at.cut(r)
        assert cut.rank == r
        assert cut.signed == at.signed
        assert cut.gauge == pytest.approx(at.s[:r].sum())
        np.testing.assert_array_equal(cut.row, at.row)
        if at.signed:  # the best approximation of rank r
            u, s, vh = np.linalg.svd(X, full_matrices=False)
            near = (u[:, :r] * s[:r]) @ vh[:r]
            best = np.linalg.norm(X - near)
            assert np.linalg.norm(X - naive.dense_triple(cut)[0]) == pytest.approx(
                best, abs=1e-9 * max(at.gauge, 1e-300)
            )


@every_case
def test_factors_as_a_triple(name):
    asked = Asked(name)
    at, _ = asked.sweep(asked.start)
    X, _ = naive.dense_triple(at)
    again = asked.F.of(*at.halves(), at.row, at.col)
    np.testing.assert_allclose(naive.dense_triple(again)[0], X, rtol=0, atol=1e-12 * max(at.gauge, 1e-300))
    for found, expected in zip((again.row, again.col), (at.row, at.col), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert again.signed == at.signed


@pytest.mark.parametrize("name", ["large penalty", "few entries", "nonnegative", "biases", "data of zeros"])
def test_atoms_kept_alive(name):
    """No singular value is far below the first, those that were not stay, and nothing else moves."""
    asked = Asked(name)
    at, _ = asked.sweep(asked.start)
    alive = at.alive()
    assert (alive.s >= 1e-6 * at.s[0]).all()
    assert (alive.s >= at.s).all()
    np.testing.assert_array_equal(alive.s[at.s >= 1e-2 * at.s[0]], at.s[at.s >= 1e-2 * at.s[0]])
    for one, other in zip((alive.P, alive.Q, alive.row, alive.col), (at.P, at.Q, at.row, at.col), strict=True):
        np.testing.assert_array_equal(one, other)
    assert (np.diff(alive.s) <= 0).all()
    assert at.cut(0).alive().rank == 0


def test_factors_with_signs_as_a_start_without():
    asked = Asked("nonnegative")
    rng = np.random.default_rng(4)
    at = asked.F.of(rng.standard_normal((9, 2)), rng.standard_normal((7, 2)))
    assert_well_formed(at, asked)
    _, reached = asked.sweep(at)
    assert reached <= asked.reached(at) + 1e-11 * asked.size


def test_atoms_that_have_faded_are_a_start_too():
    """They have no vectors, and no part of them is the larger one."""
    asked = Asked("nonnegative")
    rng = np.random.default_rng(5)
    at = asked.F.of(rng.standard_normal((9, 2)), rng.standard_normal((7, 2)))
    faded = replace(at, P=at.P * [1.0, 0.0], s=at.s * [1.0, 0.0], Q=at.Q * [1.0, 0.0])
    positive, alone = without_signs(faded), without_signs(at.cut(1))
    np.testing.assert_allclose(positive.P * positive.s @ positive.Q.T, alone.P * alone.s @ alone.Q.T, atol=1e-12)
    assert np.isfinite(positive.P).all()
    assert np.isfinite(positive.Q).all()


@pytest.mark.parametrize(
    "shape",
    [(5, 4, 2), (4, 6, 4), (6, 4, 4), (3, 5, 4), (5, 3, 4), (2, 7, 4), (1, 4, 2), (4, 1, 3), (3, 3, 5), (4, 3, 0)],
    ids=str,
)
def test_balanced_factors_of_any_width(shape):
    """P diag(s) Q^T = U V^T with orthonormal P and Q, be U and V wider than they are long."""
    p, q, r = shape
    rng = np.random.default_rng(5)
    U, V = rng.standard_normal((p, r)), 100 * rng.standard_normal((q, r))
    P, s, Q = balanced(U, V)
    X = U @ V.T
    assert P.shape == (p, s.size)
    assert Q.shape == (q, s.size)
    np.testing.assert_allclose(P * s @ Q.T, X, atol=1e-11)
    np.testing.assert_allclose(P.T @ P, np.eye(s.size), atol=1e-12)
    np.testing.assert_allclose(Q.T @ Q, np.eye(s.size), atol=1e-12)
    exact = np.linalg.svd(X, compute_uv=False)
    np.testing.assert_allclose(s[: exact.size], exact[: s.size], atol=1e-11)
    assert s.size >= min(np.linalg.matrix_rank(X), r)


@pytest.mark.parametrize("name", ["plain", "weights", "biases", "nonnegative"])
def test_no_atoms_at_all(name, way):
    """A triple of rank zero is a point like others: biases move, nothing else."""
    asked = Asked(name)
    at, reached = asked.sweep(asked.start.cut(0))
    assert at.rank == 0
    assert reached == pytest.approx(asked.reached(at), rel=1e-9)
    assert asked.F.loss(at) == pytest.approx(naive.reached(at, *asked.entries, 0.0, 0.0), rel=1e-9)


# By rows and by columns -----------------------------------------------------------------------------------------------


def dense_side(side, columns):
    """Values, weights and places of a side as dense matrices."""
    rows = np.repeat(np.arange(side.starts.size - 1), np.diff(side.starts))
    found = [np.zeros((side.starts.size - 1, columns)) for _ in range(3)]
    found[0][rows, side.others] = side.values
    found[1][rows, side.others] = side.weights if side.weights.size else 1.0
    found[2][rows, side.others] += 1
    return found


@every_case
def test_columns_are_the_rows_of_the_transpose(name):
    asked = Asked(name)
    asked.b[::3] = 0.0  # an entry of value zero is an entry
    F = asked.factored(asked.M, asked.b, asked.weights)
    p, q = asked.shape
    for by_rows, by_cols in zip(dense_side(F.rows, q), dense_side(F.cols, p), strict=True):
        np.testing.assert_array_equal(by_cols, by_rows.T)
    values, _, places = dense_side(F.rows, q)
    assert places.sum() == asked.b.size
    np.testing.assert_array_equal(values[asked.rows, asked.cols], asked.b)
    np.testing.assert_array_equal(places[asked.rows, asked.cols], 1)
    turned = asked.factored(Sampling(asked.cols, asked.rows, (q, p)), asked.b, asked.weights)
    for one, other in ((F.rows, turned.cols), (F.cols, turned.rows)):
        for found, expected in zip(dense_side(one, max(p, q)), dense_side(other, max(p, q)), strict=True):
            np.testing.assert_array_equal(found, expected)
        assert (
            np.diff(one.others)[np.diff(np.repeat(np.arange(one.starts.size - 1), np.diff(one.starts))) == 0] > 0
        ).all()


@every_case
def test_products_with_the_matrix_of_residuals(name, way):
    asked = Asked(name)
    rng = np.random.default_rng(6)
    row, col = (rng.standard_normal(n) if asked.biased else np.zeros(0) for n in asked.shape)
    nothing = np.zeros((asked.shape[0], 0)), np.zeros(0), np.zeros((asked.shape[1], 0))
    Z = naive.slope(Triple(*nothing, row, col), *asked.entries)
    Q, P = rng.standard_normal((asked.shape[1], 3)), rng.standard_normal((asked.shape[0], 2))
    size = 1e-12 * max(np.abs(Z).sum(), 1e-300)
    np.testing.assert_allclose(asked.F.rows.times(Q, row, col), Z @ Q, rtol=0, atol=size)
    np.testing.assert_allclose(asked.F.cols.times(P, col, row), Z.T @ P, rtol=0, atol=size)


@pytest.mark.parametrize("name", ["plain", "weights", "biases", "biases and weights", "few entries", "nonnegative"])
@pytest.mark.parametrize("seed", range(2))
def test_the_order_of_the_entries_does_not_matter(name, seed):
    asked = Asked(name)
    order = np.random.default_rng(seed).permutation(asked.b.size)
    M = Sampling(asked.rows[order], asked.cols[order], asked.shape)
    weights = None if asked.weights is None else asked.weights[order]
    F = asked.factored(M, asked.b[order], weights)
    at = leading(F, asked.rank, asked.shrink)
    for (one, reached), (other, value) in zip(
        asked.descent(1e-4), F.descent(at, asked.lam, asked.shrink, 1e-4), strict=False
    ):
        assert value == pytest.approx(reached, rel=1e-10)
        np.testing.assert_allclose(naive.dense_triple(other)[0], naive.dense_triple(one)[0], atol=1e-7)
        assert F.loss(other) == pytest.approx(asked.F.loss(one), rel=1e-7)


@pytest.mark.parametrize(
    "name", ["plain", "large penalty", "weights", "biases and weights", "full rank", "nonnegative"]
)
def test_a_problem_and_its_transpose_end_alike(name):
    asked = Asked(name)
    turned = asked.factored(Sampling(asked.cols, asked.rows, asked.shape[::-1]), asked.b, asked.weights)
    at = asked.ended(1e-12)
    flipped = Triple(asked.start.Q, asked.start.s, asked.start.P, asked.start.col, asked.start.row, asked.start.signed)
    *_, (other, _) = turned.descent(flipped, asked.lam, asked.shrink, 1e-12)
    back = Triple(other.Q, other.s, other.P, other.col, other.row, other.signed)
    assert asked.reached(back) == pytest.approx(asked.reached(at), rel=1e-6)


@pytest.mark.parametrize("size", [2.0**-40, 2.0**-15, 2.0**15, 2.0**40])
@pytest.mark.parametrize("name", ["plain", "no penalty", "weights", "nonnegative", "biases", "biases and weights"])
def test_the_units_of_the_data_do_not_matter(name, size):
    """Data, penalty on the factors and biases in other units: the same fit in those units."""
    asked = Asked(name)
    F = asked.factored(asked.M, size * asked.b, asked.weights)
    at, other = asked.start, leading(F, asked.rank, asked.shrink)
    for _ in range(8):
        at, reached = asked.sweep(at)
        other, value = F.sweep(other, size * asked.lam, asked.shrink)
        assert value / size**2 == pytest.approx(reached, rel=1e-6)
        np.testing.assert_allclose(naive.dense_triple(other)[0] / size, naive.dense_triple(at)[0], atol=1e-5)


# Planted matrices -----------------------------------------------------------------------------------------------------


def planted(p, q, r, share, seed, *, biased=False, nonnegative=False):
    """A matrix of rank r, and enough of its entries."""
    rng = np.random.default_rng(seed)
    U, V = rng.standard_normal((p, r)), rng.standard_normal((q, r))
    if nonnegative:
        U, V = np.maximum(U, 0.0), np.maximum(V, 0.0)
    X = U @ V.T
    if biased:
        X = X + 3.0 + rng.standard_normal((p, 1)) + rng.standard_normal((1, q))
    rows, cols = np.divmod(rng.permutation(p * q)[: round(share * p * q)], q)
    return X, Sampling(rows, cols, (p, q)), X[rows, cols]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "case",
    [(20, 30, 1, 0.3), (30, 20, 2, 0.5), (40, 40, 3, 0.4), (12, 60, 2, 0.6), (6, 5, 1, 0.8), (15, 15, 5, 1.0)],
    ids=str,
)
def test_planted_matrices_are_recovered(case, seed):
    p, q, r, share = case
    X, M, b = planted(p, q, r, share, seed)
    x = fit(M, b, atoms=RankOne(p, q), k=r)
    assert np.linalg.norm(x.left @ x.right.T - X) <= 1e-6 * np.linalg.norm(X)
    assert x.misfit <= 1e-10


@pytest.mark.parametrize("seed", range(6))
def test_parts_that_share_no_row_and_no_column(seed):
    """Nothing tells how large entries between them are, and nothing makes them large."""
    rng = np.random.default_rng(seed)
    X = np.full((12, 12), np.nan)
    X[:6, :6], X[6:, 6:] = (size * np.outer(*rng.standard_normal((2, 6))) for size in (10.0, 1.0))
    M, b = Sampling.from_array(X)
    x = fit(M, b, atoms=RankOne(12, 12), k=1)
    assert x.loss <= 0.5 * np.nansum(X[6:, 6:] ** 2) * (1 + 1e-6)
    assert np.abs(x.left @ x.right.T).max() <= 1e4 * np.abs(b).max()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("shape", [(3, 5, 2), (6, 4, 3), (4, 4, 4), (1, 5, 1)], ids=str)
@pytest.mark.parametrize(
    "wish", [{}, {"ridge": 0.1}, {"ridge": 0.1, "free": Biases(ridge=0.1)}], ids=["plain", "ridge", "biases"]
)
def test_nearly_as_many_atoms_as_rows_or_columns(shape, wish, seed):
    """Offering further atoms to the answer must not need more of them than the matrix has room for."""
    p, q, k = shape
    rng = np.random.default_rng(seed)
    rows, cols = np.divmod(rng.permutation(p * q)[: max(2, p * q - 2)], q)
    b = rng.standard_normal(rows.size)
    x = fit(Sampling(rows, cols, (p, q)), b, atoms=RankOne(p, q), k=k, **wish)
    assert x.left.shape[1] <= k
    left = b - x.predict(rows, cols)
    assert x.misfit == pytest.approx(np.linalg.norm(left) / np.linalg.norm(b), abs=1e-9)
    assert x.misfit <= 1


@pytest.mark.parametrize("seed", range(3))
def test_planted_matrices_with_biases_are_recovered(seed):
    X, M, b = planted(30, 25, 2, 0.6, seed, biased=True)
    x = fit(M, b, atoms=RankOne(30, 25), k=2, free="biases", ridge=1e-7)
    rows, cols = np.indices(X.shape)
    assert np.linalg.norm(x.predict(rows, cols) - X) <= 1e-4 * np.linalg.norm(X)


@pytest.mark.parametrize("seed", range(3))
def test_planted_nonnegative_matrices_are_recovered(seed):
    X, M, b = planted(30, 25, 2, 0.7, seed, nonnegative=True)
    x = fit(M, b, atoms=RankOne(30, 25, nonnegative=True), k=2)
    assert (x.left >= 0).all()
    assert (x.right >= 0).all()
    assert np.linalg.norm(x.left @ x.right.T - X) <= 1e-3 * np.linalg.norm(X)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "wish", [{}, {"ridge": 0.5}, {"ridge": 0.5, "free": Biases(ridge=0.5)}], ids=["plain", "ridge", "biases"]
)
def test_fits_of_a_problem_and_its_transpose(seed, wish):
    """Noisy data: the same loss, up to where descents stop, whichever way round the matrix is, in whatever order."""
    rng = np.random.default_rng(seed)
    _, M, b = planted(14, 18, 2, 0.8, seed)
    b = b + 0.3 * rng.standard_normal(b.size)
    order = rng.permutation(b.size)
    plain = fit(M, b, atoms=RankOne(14, 18), k=2, **wish)
    turned = fit(Sampling(M.cols, M.rows, (18, 14)), b, atoms=RankOne(18, 14), k=2, **wish)
    mixed = fit(Sampling(M.rows[order], M.cols[order], (14, 18)), b[order], atoms=RankOne(14, 18), k=2, **wish)
    assert turned.loss == pytest.approx(plain.loss, rel=1e-3)
    assert mixed.loss == pytest.approx(plain.loss, rel=1e-6)


# Single precision ----------------------------------------------------------------------------------------------------


def many(noise, seed=0, biased=False, p=300, q=250, size=1.0):
    """Enough entries for compiled loops."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((p, 3)) @ rng.standard_normal((q, 3)).T
    rows, cols = np.nonzero(rng.random((p, q)) < 0.5)
    b = size * (X[rows, cols] + noise * rng.standard_normal(rows.size))
    assert b.size >= kernels.WORTHWHILE
    M = Sampling(rows, cols, (p, q))
    return Factored(ByLines(M).lines(b, None), (p, q), biased=biased), M, b


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("lam", [0.0, 2.0])
def test_what_a_sweep_in_single_precision_says_is_true(lam, biased):
    """The point is that of rounded factors, and `reached` is what it reaches; double precision gains nothing."""
    F, *_ = many(0.3, biased=biased)
    at = leading(F, 3, 0.5)
    assert F.single
    for _ in range(12):
        at, reached = F.sweep(at, lam, 0.5)
        assert not at.fine
        again = F.loss(at) + lam * at.gauge + 0.25 * at.biases_squared()
        assert reached == pytest.approx(again, rel=1e-11)
    fine, better = F.sweep(replace(at, fine=True), lam, 0.5)
    single, as_good = F.sweep(at, lam, 0.5)
    assert as_good == pytest.approx(better, rel=1e-9)
    np.testing.assert_allclose(single.s, fine.s, rtol=1e-6)


def test_little_left_over_asks_for_double_precision():
    """Entries without noise are met to rounding in double precision: single precision does not stand in the way."""
    F, M, b = many(0.0)
    at = leading(F, 3)
    fine = []
    for _ in range(10):
        at, _ = F.sweep(at, 0.0, 0.0)
        fine.append(at.fine)
    assert fine == sorted(fine)
    assert not fine[0]
    assert fine[-1]
    assert F.judged(replace(at, fine=False)).fine
    assert fit(M, b, atoms=RankOne(*F.shape), k=3).misfit <= 1e-12


@pytest.mark.parametrize("size", [1e-40, 1e40])
def test_values_that_single_precision_does_not_hold(size):
    F, M, b = many(0.1, size=size)
    plain, other = (fit(M, b * unit, atoms=RankOne(*F.shape), k=3) for unit in (1.0, 1.0 / size))
    assert not F.single
    assert plain.misfit == pytest.approx(other.misfit, rel=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_columns_in_single_precision_lead_to_the_same_point(biased, weighted):
    """Up to far less than tolerances; what is left over is still that of the values as they are."""
    wide, M, b = many(0.1, biased=biased)
    w = np.random.default_rng(1).uniform(0.3, 3.0, b.size) if weighted else None
    rows = ByLines(M).lines(b, w)
    wide, narrow = (Factored(rows, wide.shape, biased=biased, narrow=given) for given in (False, True))
    assert narrow.cols.values.dtype == np.float32
    assert narrow.cols.weights.dtype == (np.float32 if weighted else np.float64)
    assert wide.cols.values.dtype == wide.cols.weights.dtype == np.float64
    np.testing.assert_allclose(narrow.cols.values, wide.cols.values, rtol=1e-7)
    at = leading(wide, 3, 0.5)
    ends = [list(F.descent(at, 1.0, 0.5, 1e-9))[-1] for F in (wide, narrow)]
    assert ends[1].reached == pytest.approx(ends[0].reached, rel=1e-7)
    np.testing.assert_allclose(ends[1].at.s, ends[0].at.s, rtol=1e-5)
    assert narrow.loss(ends[1].at) == wide.loss(ends[1].at)


def test_columns_turn_to_double_precision_where_it_is_felt():
    wide, M, b = many(0.0)
    F = Factored(ByLines(M).lines(b, None), wide.shape, narrow=True)
    at = leading(F, 3)
    for _ in range(10):
        at, reached = F.sweep(at, 0.0, 0.0)
    assert at.fine
    np.testing.assert_array_equal(F.cols.values, wide.cols.values)
    assert reached <= 1e-24 * F.size


@pytest.mark.parametrize("size", [1e-20, 1e20])
def test_weights_that_single_precision_does_not_hold(size):
    wide, M, b = many(0.1)
    F = Factored(ByLines(M).lines(b, np.full(b.size, size)), wide.shape, narrow=True)
    assert F.cols.weights.dtype == np.float64


def test_a_bound_is_asked_of_the_values_as_they_are():
    """A loss that is rounded might meet it where the answer's own does not."""
    _, M, b = many(0.1)
    asked = {"atoms": RankOne(300, 250), "k": 3}
    kinds = []
    for words in ({}, {"misfit": 0.2}):
        problem = posed(M, b, **asked, **words)[0]
        job = Completion().open(problem, [problem.budget])
        kinds.append(job.entries.cols.values.dtype)
    assert kinds == [np.float32, np.float64]
