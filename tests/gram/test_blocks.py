"""Supports of blocks and their steps, in NumPy and as the loops that are compiled, against linear algebra."""

from itertools import pairwise

import numpy as np
import pytest

from fewatoms.gram import _blocks, blocks, drivers, who
from gram.grouped import CASES, brute_force, check_blocks, drawn, grouped, instance, searched, told
from gram.instances import inside, rules

TEXTS = {"numpy": blocks, "loops": _blocks}
both = pytest.mark.parametrize("steps", TEXTS.values(), ids=TEXTS)
every_case = pytest.mark.parametrize(("name", "ridge"), CASES)


def walk(steps, p, rng, count, s=None):
    """A support after some steps at random, among blocks of which enough is left."""
    s = p.state() if s is None else s
    for _ in range(count):
        outside = [
            g for g in np.flatnonzero(s.place < 0) if s.columns.d[s.starts[g] : s.starts[g + 1]].max(initial=0) > 1e-5
        ]
        if outside and (s.count[0] == 0 or rng.random() < 0.6):
            steps.enter(p.whitened.G, s, int(rng.choice(outside)))
        elif s.count[0]:
            steps.leave(s, int(rng.integers(s.count[0])))
    return s


# Steps ----------------------------------------------------------------------------------------------------------------


@both
@every_case
def test_identities_hold_after_any_steps(steps, name, ridge):
    p, rng = instance(name, ridge), np.random.default_rng(1)
    s = p.state()
    for count in (1, 3, 12):
        walk(steps, p, rng, count, s)
        check_blocks(p, s, 1e-8)
    steps.settle(p.whitened.G, p.whitened.h, s, True)
    check_blocks(p, s, 1e-8)
    while s.count[0]:
        steps.leave(s, 0)
    check_blocks(p, s, 1e-8)


@both
@every_case
def test_the_loss_is_that_of_the_unit_columns(steps, name, ridge):
    p, rng = instance(name, ridge), np.random.default_rng(2)
    s = walk(steps, p, rng, 9)
    steps.settle(p.whitened.G, p.whitened.h, s, True)
    assert s.loss[0] == pytest.approx(p.loss(inside(s)), abs=2e-6 * p.bb)
    assert s.loss[0] == pytest.approx(told(p, s), abs=1e-9 * p.bb)


@both
def test_clear(steps):
    p = instance("gaussian")
    s = p.state(stays=np.arange(p.count) == 2)
    for g in (2, 0, 4):
        steps.enter(p.whitened.G, s, g)
    assert s.count.tolist() == [3, 3, 0, 0]
    steps.clear(p.whitened.G, p.whitened.h, p.bb, s)
    assert s.count.tolist() == [0, 0, 1, 0]
    check_blocks(p, s)


@both
def test_columns_that_others_explain_wait_for_their_time(steps):
    p = instance("duplicated_between")  # block 4 has a column of block 0
    G, h, _, _ = p.question
    s = p.state()
    steps.enter(G, s, 0)
    steps.enter(G, s, 4)
    assert s.count[3] == 1
    assert s.loss[0] == pytest.approx(p.loss([0, 4]))
    steps.leave(s, s.place[0])
    steps.settle(G, h, s, True)
    assert s.count[3] == 0
    assert s.loss[0] == pytest.approx(p.loss([4]))
    check_blocks(p, s)
    assert steps.fits(s, 0, True)
    assert not steps.fits(s, 4, True)


def gains_of(p, s, others):
    """What each block outside would gain beside these, by a solver."""
    here = p.loss(others)
    return {g: here - p.loss([*others, g]) for g in range(p.count) if s.may[g] and s.place[g] < 0}


@both
@every_case
def test_the_best_entry_lowers_the_loss_most(steps, name, ridge):
    p, rng = instance(name, ridge), np.random.default_rng(3)
    s = walk(steps, p, rng, 4)
    s.may[rng.integers(p.count)] = False
    gains = gains_of(p, s, inside(s))
    worth = steps.worths(s, True)
    near = {"rel": 1e-5, "abs": 2e-6 * p.bb}
    for g in range(p.count):
        assert worth[g] == pytest.approx(gains.get(g, 0.0), **near)
    j, gain = steps.best_entry(s, True)
    assert gain == worth.max()
    assert worth[j] == gain if gain > 0 else j == -1


@both
@every_case
def test_the_cheapest_costs_least(steps, name, ridge):
    p, rng = instance(name, ridge), np.random.default_rng(4)
    s = walk(steps, p, rng, 6)
    s.stays[inside(s)[:1]] = True
    costs = {}
    for i in range(s.count[0]):
        if not s.stays[s.S[i]] and s.count[3] == 0:
            costs[i] = p.loss(np.delete(inside(s), i)) - p.loss(inside(s))
    i, cost = steps.cheapest(s)
    if costs:
        assert cost == pytest.approx(min(costs.values()), rel=1e-5, abs=2e-6 * p.bb)
        assert costs[i] == pytest.approx(cost, rel=1e-5, abs=2e-6 * p.bb)
    else:
        assert (i, cost) == (-1, np.inf) or s.count[3] > 0


@both
@every_case
def test_the_best_swap_gains_most(steps, name, ridge):
    p, rng = instance(name, ridge), np.random.default_rng(5)
    s = walk(steps, p, rng, 5)
    s.stays[inside(s)[1:2]] = True
    s.may[rng.integers(p.count)] = False
    best = 0.0
    for i in range(s.count[0]):
        if not s.stays[s.S[i]]:
            others = np.delete(inside(s), i)
            there = max(gains_of(p, s, others).values(), default=0.0)
            best = max(best, there - p.loss(others) + p.loss(inside(s)))
    i, j, gain = steps.best_swap(s, True)
    if s.count[3]:  # what waits inside could gain as well
        assert gain <= best + 2e-6 * p.bb
    else:
        assert gain == pytest.approx(best, rel=1e-5, abs=2e-6 * p.bb)
    if i >= 0:
        assert not s.stays[s.S[i]]
        assert s.may[j]
        assert s.place[j] < 0
        before = s.loss[0]
        assert steps.swap(p.whitened.G, p.whitened.h, s, np.empty((0, 0)), 0.0, rules())
        assert s.loss[0] <= before - gain + 1e-8 * p.bb
        check_blocks(p, s, 1e-8)
    assert not steps.swap(p.whitened.G, p.whitened.h, s, np.empty((0, 0)), p.bb, rules())


@both
@every_case
def test_the_best_pair_gains_most_together(steps, name, ridge):
    p, rng = instance(name, ridge), np.random.default_rng(6)
    s = walk(steps, p, rng, 2)
    s.may[rng.integers(p.count)] = False
    a, b, gain = steps.best_pair(p.whitened.G, s, p.count, True)
    outside = list(gains_of(p, s, inside(s)))
    here = p.loss(inside(s))
    found = {(g, k): here - p.loss([*inside(s), g, k]) for g in outside for k in outside if g < k}
    if a < 0:
        # a second one of which nothing is left makes no pair
        assert not found or max(found.values()) <= max(steps.worths(s, True)) + 2e-6 * p.bb
    else:
        assert gain == pytest.approx(found[min(a, b), max(a, b)], rel=1e-5, abs=2e-6 * p.bb)
        alone = max(steps.worths(s, True))
        assert max(gain, alone) == pytest.approx(max(found.values()), rel=1e-5, abs=2e-6 * p.bb)


@both
def test_a_copy_is_the_same_and_its_own(steps):
    p = instance("correlated")
    s, other = walk(steps, p, np.random.default_rng(7), 7), p.state()
    steps.enter(p.whitened.G, other, 1)
    steps.copy_state(other, s)
    check_blocks(p, other)
    assert inside(other).tolist() == inside(s).tolist()
    loss = s.loss[0]
    steps.leave(other, 0)
    assert s.loss[0] == loss
    check_blocks(p, s)


@both
def test_sizes(steps):
    p = instance("with_empty_blocks")
    x = np.arange(float(p.whitened.h.size))
    starts = p.whitened.starts
    expected = [np.linalg.norm(x[a:b]) for a, b in pairwise(starts)]
    np.testing.assert_allclose(steps.sizes(p.state(), x), expected)


def test_rounding_that_eats_a_pivot_leaves_numbers():
    """Blocks between which little is left, in and out again many times without a rebuild."""
    rng = np.random.default_rng(0)
    M, b, lengths = drawn(rng, lengths=(3,) * 4)
    M[:, 3:6] = M[:, :3] + 3e-4 * M[:, 3:6]
    M[:, 6:9] = M[:, :3] + 3e-4 * M[:, 6:9]
    p = grouped(M, b, lengths)
    for steps in TEXTS.values():
        s = walk(steps, p, rng, 150)
        assert np.isfinite(s.loss[0])
        assert np.isfinite(s.columns.H).all()
        assert np.isfinite(s.D).all()


# Rungs ----------------------------------------------------------------------------------------------------------------


@every_case
@pytest.mark.parametrize("weighted", [False, True])
def test_a_rung_is_where_the_group_penalty_says(name, ridge, weighted):
    """q_g = lam w_g x_g / |x_g| on blocks in use, and no longer than lam w_g elsewhere."""
    p, rng = instance(name, ridge), np.random.default_rng(8)
    weights = rng.uniform(0.5, 2.0, p.count) if weighted else np.ones(p.count)
    s = p.state(weights=weights, may=np.arange(p.count) != 1)
    G, h, starts, _ = p.question
    for share in (0.7, 0.2):
        lam = share * (blocks.sizes(s, h) / weights).max()
        x, q = np.zeros(h.size), h.copy()
        blocks.relax(G, s, x, q, lam, rules(), 2000, 1e-10)
        np.testing.assert_allclose(q, h - G @ x, atol=1e-9)
        for g in range(p.count):
            on = slice(starts[g], starts[g + 1])
            size = np.linalg.norm(x[on])
            if size > 0:
                np.testing.assert_allclose(q[on], lam * weights[g] * x[on] / size, atol=1e-6 * lam)
            elif s.may[g]:
                assert np.linalg.norm(q[on]) <= lam * weights[g] * (1 + 1e-6)
        assert not x[starts[1] : starts[2]].any()


def test_relief_takes_the_penalty_from_long_blocks():
    """In one block the minimax concave penalty has a minimum in closed form."""
    for length, relief in ((0.5, 3.0), (1.5, 3.0), (4.0, 3.0), (1.5, 0.5)):
        h, flags = np.array([0.6, 0.8]) * length, np.ones(1, dtype=bool)
        s = blocks.blank_blocks(np.eye(2), h, 1.0, 1, flags, ~flags, np.array([0, 2]), np.ones(1))
        x, q = np.zeros(2), s.columns.z.copy()
        blocks.relax(np.eye(2), s, x, q, 1.0, rules(relief=relief), 50, 1e-9)
        t = np.linspace(0, 5, 50001)
        slope = np.minimum(t, relief) - np.minimum(t, relief) ** 2 / (2 * relief) if relief > 1 else t
        best = t[np.argmin(t * t / 2 - length * t + slope)]
        if relief < 1 and length > relief:
            best = length  # no more to pay beyond
        assert np.linalg.norm(x) == pytest.approx(best, abs=2e-4)


# Searches -------------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@every_case
@pytest.mark.parametrize("k", [1, 3])
def test_searches_answer_with_what_they_say(name, ridge, k):
    p = instance(name, ridge)
    best, losses = searched(p, k)
    assert best.count[0] <= k
    assert best.loss[0] == pytest.approx(told(p, best), abs=1e-8 * p.bb)
    assert best.loss[0] <= losses[k] * (1 + 1e-6) + 1e-9 * p.bb
    assert best.loss[0] == pytest.approx(brute_force(p, k), rel=0.05, abs=2e-6 * p.bb)


@pytest.mark.sampled(3)
@every_case
def test_blocks_are_forced_in_and_left_out(name, ridge):
    p = instance(name, ridge)
    stays, may = np.arange(p.count) == 4, np.arange(p.count) != 5
    best, _ = searched(p, 3, stays=stays, may=may)
    assert 4 in inside(best) or best.count[2] == 1
    assert 5 not in inside(best)
    assert best.count[0] + best.count[2] <= 3
    least = min(brute_force(p, 3, must=(4,)), p.bb)
    assert best.loss[0] >= least - 1e-6 * p.bb


def tiny(seed, weighted=False):
    """Ten blocks or fewer at correlation .9, of which few make the data, with noise."""
    rng = np.random.default_rng(seed)
    lengths = tuple(rng.integers(1, 5, rng.integers(5, 10)))
    M, b, _ = drawn(rng, int(rng.integers(sum(lengths) // 2 + 3, 40)), lengths, within=0.9)
    x = rng.standard_normal(M.shape[1]) * np.repeat(rng.random(len(lengths)) < 0.4, lengths)
    b = M @ x + rng.choice([0.03, 0.3, 1.0]) * b
    weights = rng.uniform(0.3, 3.0, len(lengths)) if weighted else None
    return grouped(M, b, lengths, rng.choice([0.0, 0.1])), weights, int(rng.integers(1, 5))


def excesses(seeds, weighted, engine=drivers):
    """By what share searches end above the best there is."""
    out = []
    for seed in seeds:
        p, weights, k = tiny(seed, weighted)
        least = brute_force(p, k)
        best, _ = searched(p, k, engine, weights, effort=6)
        out.append((best.loss[0] - least) / max(least, 1e-6 * p.bb))
    return np.array(out)


@pytest.mark.parametrize("weighted", [False, True])
def test_nothing_is_better_by_brute_force(weighted):
    assert excesses(range(2), weighted).max() <= 1e-5


@pytest.mark.soak
@pytest.mark.parametrize("weighted", [False, True])
def test_hardly_anything_is_better_by_brute_force(weighted):
    with who.working("kernels", "sweep-blocks", "search-blocks"):
        worse = excesses(range(200), weighted, who.engine())
    assert worse.max() <= 0.05
    assert np.mean(worse > 1e-5) <= 0.01


def orthogonal_matching(p, k):
    """The block best aligned with the residual, in a basis of its own, again and again."""
    S = []
    for _ in range(k):
        c, _ = p.fit(S)
        r = p.b - p.M[:, p.columns(S)] @ c
        aligned = [np.linalg.norm(np.linalg.qr(p.M[:, p.columns([g])])[0].T @ r) for g in range(p.count)]
        S.append(int(np.argmax([0.0 if g in S else size for g, size in enumerate(aligned)])))
    return S


def greedy_with_swaps(p, k):
    """The block that lowers the loss most, k times; then the best exchange as long as there is one."""
    S = []
    for _ in range(k):
        S.append(min((g for g in range(p.count) if g not in S), key=lambda g: p.loss([*S, g])))
    while True:
        pairs = [(i, g) for i in range(k) for g in range(p.count) if g not in S]
        i, g = min(pairs, key=lambda e: p.loss([*S[: e[0]], *S[e[0] + 1 :], e[1]]))
        other = [*S[:i], *S[i + 1 :], g]
        if p.loss(other) >= p.loss(S) * (1 - 1e-9):
            return S
        S = other


def many_groups(correlation, groups, m, k, seed):
    rng = np.random.default_rng(seed)
    M, noise, lengths = drawn(rng, m, (5,) * groups, within=correlation)
    x = np.zeros((groups, 5))
    x[rng.choice(groups, k, replace=False)] = rng.standard_normal((k, 5))
    b = M @ x.ravel()
    return grouped(M, b + 0.5 * np.linalg.norm(b) / np.sqrt(m) * noise, lengths)


@pytest.mark.parametrize("correlation", [0.3, 0.7, 0.9])
def test_never_above_matching_nor_greedy_with_swaps(correlation):
    p = many_groups(correlation, 12, 60, 3, 0)
    best, losses = searched(p, 3)
    for S in (orthogonal_matching(p, 3), greedy_with_swaps(p, 3)):
        assert best.loss[0] <= p.loss(S) * (1 + 1e-9)
        assert losses[3] <= p.loss(S) * (1 + 1e-9)


@pytest.mark.soak
@pytest.mark.parametrize("correlation", [0.3, 0.7, 0.9])
def test_two_hundred_groups(correlation):
    for seed in range(3):
        p = many_groups(correlation, 200, 500, 10, seed)
        best, _ = searched(p, 10, effort=4)
        assert best.loss[0] <= p.loss(orthogonal_matching(p, 10)) * (1 + 1e-9)
        np.testing.assert_allclose(best.loss[0], p.loss(inside(best)))


def test_relief_and_weights_change_the_ladder_alone():
    p = instance("correlated")
    for words in ({"relief": 3.0}, {"weights": np.linspace(0.3, 3.0, p.count)}):
        best, _ = searched(p, 2, **words)
        assert best.loss[0] == pytest.approx(p.loss(inside(best)))


def test_sweeps_have_a_row_for_every_size():
    p = instance("correlated")
    G, h, _, bb = p.question
    s, spare = p.state(4), p.state(4)
    table, losses = np.full((5, 4), -1), np.full(5, np.inf)
    assert drivers.sweep(G, h, bb, s, spare, table, losses, 1, 4, -1.0, rules()) == 4
    for k in range(1, 5):
        S = table[k][table[k] >= 0]
        assert S.size == k
        assert losses[k] == pytest.approx(p.loss(S))
    assert (np.diff(losses[1:]) <= 0).all()


# Compiled -------------------------------------------------------------------------------------------------------------


def test_kernels_are_what_stands_there():
    found = {}
    for who_works in ("twins", "kernels"):
        with who.working(who_works, "sweep-blocks", "search-blocks"):
            for name, ridge in CASES[::3]:
                p = instance(name, ridge)
                best, losses = searched(p, 3, engine=who.engine())
                found.setdefault((name, ridge), []).append((best.loss[0], losses[3], p.bb, set(inside(best))))
    for name, ridge in CASES[::3]:
        (loss, swept, bb, S), (other, others_swept, _, T) = found[name, ridge]
        assert loss == pytest.approx(other, abs=1e-10 * bb), (name, ridge)
        assert swept == pytest.approx(others_swept, abs=1e-10 * bb), (name, ridge)
        assert S == T or "duplicated" in name or "wide" in name or "zeros" in name, (name, ridge)
