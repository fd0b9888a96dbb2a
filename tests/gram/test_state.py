"""A support and its steps, in NumPy and as the loops that are compiled, against linear algebra."""

import numpy as np
import pytest

from fewatoms.gram import _state, state
from fewatoms.gram.state import PIVOT
from gram.instances import CASES, check_state, inside, instance

TEXTS = {"numpy": state, "loops": _state}
both = pytest.mark.parametrize("steps", TEXTS.values(), ids=TEXTS)
every_case = pytest.mark.parametrize(("name", "ridge"), CASES)


def walk(steps, p, rng, count):
    """A support after some steps at random, among atoms of which enough is left."""
    s = p.state()
    for _ in range(count):
        outside = np.flatnonzero((s.place < 0) & (s.d > 1e-5))
        if outside.size and (s.count[0] == 0 or rng.random() < 0.6):
            steps.enter(p.G, s, int(rng.choice(outside)))
        elif s.count[0]:
            steps.leave(s, int(rng.integers(s.count[0])))
    return s


@both
@every_case
def test_identities_hold_after_any_steps(steps, name, ridge):
    p, rng = instance(name, ridge), np.random.default_rng(1)
    for count in (1, 5, 30):
        s = walk(steps, p, rng, count)
        check_state(p, s)
        assert s.count[1] == count or s.d.max() <= 1e-5 or not p.G.any()
    while s.count[0]:
        steps.leave(s, 0)
    check_state(p, s)


@both
def test_blank(steps):
    p = instance("gaussian")
    may, stays = np.arange(p.n) % 2 == 0, np.arange(p.n) < 3
    s = steps.blank(p.G, p.h, p.bb, 4, may, stays)
    check_state(p, s)
    assert (s.S.size, s.H.shape, s.B.shape, s.c.size) == (4, (4, 4), (4, p.n), 4)
    assert s.count.tolist() == [0, 0, 3]
    s.z[0] += 1.0
    s.d[0] += 1.0
    assert p.G[0, 0] != s.d[0] or p.h[0] != s.z[0]  # its own


@both
def test_atoms_that_stay_are_counted(steps):
    p = instance("gaussian")
    s = p.state(stays=np.arange(p.n) < 2)
    for j in (5, 1, 0):
        steps.enter(p.G, s, j)
    assert s.count[2] == 0
    steps.leave(s, s.place[1])
    assert s.count[2] == 1
    check_state(p, s)


@both
@every_case
@pytest.mark.parametrize("signed", [True, False])
def test_the_best_entry_lowers_the_loss_most(steps, name, ridge, signed):
    p, rng = instance(name, ridge), np.random.default_rng(2)
    s = walk(steps, p, rng, 4)
    s.may[rng.integers(p.n)] = False
    gains = np.zeros(p.n)
    for j in np.flatnonzero(s.may & (s.place < 0)):
        if s.d[j] > PIVOT and (signed or s.z[j] > 0):
            gains[j] = s.loss[0] - p.loss([*inside(s), j])
    j, gain = steps.best_entry(s, signed)
    assert gain == pytest.approx(max(gains.max(), 0.0), rel=1e-5, abs=1e-9 * p.bb)
    if j < 0:
        assert gains.max() <= 1e-9 * p.bb
    else:
        assert gains[j] == pytest.approx(gain, rel=1e-5, abs=1e-9 * p.bb)


@both
@every_case
def test_the_cheapest_costs_least(steps, name, ridge):
    p, rng = instance(name, ridge), np.random.default_rng(3)
    s = walk(steps, p, rng, 8)
    s.stays[inside(s)[:1]] = True
    costs = {i: p.loss(np.delete(inside(s), i)) - p.loss(inside(s)) for i in range(s.count[0]) if not s.stays[s.S[i]]}
    i, cost = steps.cheapest(s)
    if not costs:
        assert (i, cost) == (-1, np.inf)
    else:
        assert cost == pytest.approx(min(costs.values()), rel=1e-5, abs=1e-8 * p.bb)
        assert costs[i] == pytest.approx(cost, rel=1e-5, abs=1e-8 * p.bb)


def exchanges(p, s, signed):
    """What every exchange would gain; where coefficients are nonnegative, only those whose new one is."""
    found = {}
    for i in range(s.count[0]):
        if s.stays[s.S[i]]:
            continue
        others = np.delete(inside(s), i)
        residual = p.h - p.G[:, others] @ p.coefficients(others)
        for j in np.flatnonzero(s.may & (s.place < 0)):
            if p.independent([*others, j]) and (signed or residual[j] > 0):
                found[i, j] = p.loss(inside(s)) - p.loss([*others, j])
    return found


@both
@every_case
@pytest.mark.parametrize("signed", [True, False])
def test_the_best_swap_gains_most(steps, name, ridge, signed):
    p, rng = instance(name, ridge), np.random.default_rng(4)
    s = walk(steps, p, rng, 5)
    s.stays[inside(s)[1:2]] = True
    s.may[rng.integers(p.n)] = False
    gains = exchanges(p, s, signed)
    i, j, gain = steps.best_swap(s, signed)
    most = max([0.0, *gains.values()])
    assert gain >= most - 1e-7 * p.bb
    if i >= 0:
        assert p.loss(inside(s)) - p.loss([*np.delete(inside(s), i), j]) == pytest.approx(gain, abs=1e-7 * p.bb)
        assert s.may[j]
        assert s.place[j] < 0
        assert not s.stays[s.S[i]]


@both
@every_case
def test_swap_bounds(steps, name, ridge):
    p, rng = instance(name, ridge), np.random.default_rng(5)
    s = walk(steps, p, rng, 5)
    s.stays[inside(s)[1:2]] = True
    s.may[rng.integers(p.n)] = False
    out = np.full((p.n, p.n), np.nan)
    steps.swap_bounds(s, out)
    assert not np.isnan(out[: s.count[0]]).any()
    gains = exchanges(p, s, True)
    for (i, j), gain in gains.items():
        assert out[i, j] == pytest.approx(gain, rel=1e-5, abs=1e-7 * p.bb)
    for i in range(s.count[0]):
        barred = ~s.may | (s.place >= 0) | s.stays[s.S[i]]
        assert (out[i, barred] == -np.inf).all()


@both
def test_copies_are_apart(steps):
    p, rng = instance("gaussian"), np.random.default_rng(6)
    s, to = walk(steps, p, rng, 9), walk(steps, p, rng, 4)
    to = to._replace(may=s.may, stays=s.stays)
    steps.copy_state(to, s)
    check_state(p, to)
    assert inside(to).tolist() == inside(s).tolist()
    assert to.count.tolist() == s.count.tolist()
    steps.leave(to, 0)
    check_state(p, s)
    check_state(p, to)


@both
def test_axpy(steps):
    y, x = np.arange(3.0), np.array([1.0, -1.0, 2.0])
    steps.axpy(y, 0.5, x)
    np.testing.assert_array_equal(y, [0.5, 0.5, 3.0])


def test_every_step_has_its_loops():
    mine = {name for name, f in vars(state).items() if callable(f) and getattr(f, "__module__", "") == state.__name__}
    assert mine - {"State"} == {
        name for name, f in vars(_state).items() if callable(f) and getattr(f, "__module__", "") == _state.__name__
    }
