"""Compiled searches against the same searches as they stand: the same supports, and losses equal to 1e-10.

Machine code is made once for all tests, and kept for the next time; that of `sweep` and `rung` whenever it is missing,
the rest by `make soak`.
"""

import numpy as np
import pytest

from fewatoms.gram import _compiled, build, disk, drivers, who
from fewatoms.gram.blocks import blank_blocks
from fewatoms.gram.who import NotKept, engine, working
from gram.instances import CASES, DICE, inside, instance, rules

FIRST = ("ladder", "sweep")
kept = pytest.mark.skipif(
    not all(map(disk.has, build.samples())), reason="machine code of all searches is made by make soak"
)


@pytest.fixture(scope="session", autouse=True)
def _first():
    build.now(*FIRST)


def larger(seed, m=60, n=80):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((m, n)) + 0.7 * rng.standard_normal((m, 1))
    b = M[:, :8] @ rng.standard_normal(8) + rng.standard_normal(m)
    M /= np.linalg.norm(M, axis=0)
    return M.T @ M, M.T @ b, float(b @ b)


def problems():
    for name, ridge in CASES:
        yield instance(name, ridge, 21)
    p = instance("gaussian")
    for seed in range(4):
        yield type(p)(*larger(seed))


def check_same_atoms(p, found, expected, loss):
    """But for columns that are there twice, and where others explain all there is as well."""
    if loss > 1e-9 * p.bb:
        alike = (np.abs(p.G - p.G.diagonal()) + np.abs(p.G - p.G.diagonal()[:, None]) <= 1e-12).argmax(axis=0)
        np.testing.assert_array_equal(np.sort(alike[found[found >= 0]]), np.sort(alike[expected[expected >= 0]]))


def check_same_table(p, found, expected):
    """Of two sweeps."""
    assert found[0] == expected[0]
    np.testing.assert_allclose(found[2], expected[2], rtol=1e-10, atol=1e-10 * p.bb)
    for mine, other, loss in zip(found[1], expected[1], expected[2], strict=True):
        check_same_atoms(p, mine, other, loss)


def swept(p, how, most=6, blocks=False):
    k = min(most, p.n)
    s, spare = states(p, k, blocks)
    table, losses = np.full((k + 1, k), -1), np.full(k + 1, np.inf)
    top = engine().sweep(p.G, p.h, p.bb, s, spare, table, losses, 1, k, -1.0, how)
    return top, table, losses


def states(p, k, blocks):
    if not blocks:
        return p.state(k), p.state(k)
    may, stays = np.ones(p.n, dtype=bool), np.zeros(p.n, dtype=bool)
    return tuple(blank_blocks(p.G, p.h, p.bb, k, may, stays, np.arange(p.n + 1), np.ones(p.n)) for _ in range(2))


def searched(p, how, blocks=False):
    k = min(5, p.n)
    best, s = states(p, k, blocks)
    lams = max(np.abs(p.h).max(), 1e-9) * 0.7 ** np.arange(1, 8)
    engine().search(p.G, p.h, p.bb, best, s, np.zeros((1, k), dtype=np.int64), lams, lams[:2], k, how, DICE)
    return inside(best), best.loss[0]


@pytest.mark.parametrize("signed", [True, False])
def test_sweeps_are_the_same(signed):
    for p in problems():
        with working("twins"):
            expected = swept(p, rules(signed))
        with working("kernels", *FIRST):
            found = swept(p, rules(signed))
        check_same_table(p, found, expected)


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("relief", [0.0, 3.0])
def test_ladders_are_the_same(signed, relief):
    for p in problems():
        results, counts = [], []
        for hand in ("twins", "kernels"):
            with working(hand, *FIRST):
                X, count = climbed(p, rules(signed, relief=relief), 1e-8)
            results.append(X)
            counts.append(count)
        assert counts[0] == counts[1]
        np.testing.assert_allclose(*results, rtol=0, atol=1e-8 * np.sqrt(p.bb))


def climbed(p, how, tol):
    """Three rungs, and where the last one led."""
    x, q, X = np.zeros(p.n), p.h.copy(), np.zeros((3, p.n))
    lams = np.abs(p.h).max() * np.array([0.6, 0.3, 0.2])
    count = engine().ladder(p.G, x, q, lams, p.n, how, np.ones(p.n, dtype=bool), 50, tol, X)
    np.testing.assert_array_equal(X[count - 1], x)
    np.testing.assert_allclose(q, p.h - p.G @ x, rtol=0, atol=1e-9 * max(1.0, np.abs(p.h).max()))
    return X, count


def check_everything(signed, blocks):
    how = rules(signed, shakes=6, idle=4, pairs=6)
    for p in problems():
        if blocks and p.n == 1:
            continue
        with working("twins"):
            expected = searched(p, how, blocks), swept(p, how, 4, blocks)
        with working("kernels"):
            found = searched(p, how, blocks), swept(p, how, 4, blocks)
        check_same_atoms(p, found[0][0], expected[0][0], expected[0][1])
        assert found[0][1] == pytest.approx(expected[0][1], rel=1e-10, abs=1e-10 * p.bb)
        check_same_table(p, found[1], expected[1])


@kept
@pytest.mark.parametrize("signed", [True, False])
def test_searches_are_the_same(signed):
    check_everything(signed, False)


@kept
def test_searches_over_blocks_are_the_same():
    check_everything(True, True)


@pytest.mark.soak
def test_everything_is_the_same_once_it_is_made():
    build.now()
    assert all(map(disk.has, build.samples()))
    check_everything(True, False)
    check_everything(False, False)
    check_everything(True, True)


def test_every_search_has_a_kernel():
    assert set(_compiled.KERNELS) == set(build.samples())
    assert set(vars(who.ENTRIES)) == {name.partition("-")[0] for name in build.samples()}
    assert all(callable(vars(_compiled)[name]) for name in vars(who.ENTRIES))


def test_what_is_not_kept_is_not_compiled():
    """Arguments of another kind: a Gram matrix in Fortran's order."""
    p = instance("gaussian")
    odd = p._replace(G=np.asfortranarray(p.G))
    with working("kernels", *FIRST), pytest.raises(NotKept, match="no machine code for sweep"):
        swept(odd, rules())
    with working("twins"):
        expected = swept(p, rules())
    crew = who.Crew()
    crew.load()
    s, spare = odd.state(6), odd.state(6)
    table, losses = np.full((7, 6), -1), np.full(7, np.inf)
    args = (odd.G, odd.h, odd.bb, s, spare, table, losses, 1, 6, -1.0, rules())
    assert crew.call("sweep", drivers.sweep, args) == expected[0]  # as it stands
    np.testing.assert_allclose(losses, expected[2], rtol=1e-10)


def test_kernels_change_no_input():
    p = instance("correlated")
    before = p.G.copy(), p.h.copy()
    with working("kernels", *FIRST):
        swept(p, rules())
        climbed(p, rules(), 1e-4)
    np.testing.assert_array_equal(p.G, before[0])
    np.testing.assert_array_equal(p.h, before[1])
