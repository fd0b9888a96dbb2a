"""Exchanges that keep coefficients nonnegative, exchanges of two atoms, and rivals: in NumPy and as loops, against all
that there are."""

from itertools import combinations

import numpy as np
import pytest

from fewatoms.gram import _exchanges, exchanges
from fewatoms.gram.state import PIVOT, enter
from gram.instances import CASES, instance

TEXTS = {"numpy": exchanges, "loops": _exchanges}
both = pytest.mark.parametrize("steps", TEXTS.values(), ids=TEXTS)
every_case = pytest.mark.parametrize(("name", "ridge"), CASES)


def supports(p, seed=0, most=3):
    """A few supports of independent atoms, some of them barred or bound to stay; one with nonnegative coefficients."""
    rng = np.random.default_rng(seed)
    for count in range(most + 1):
        for positive in (False, True):
            s = p.state(most + 2, may=rng.random(p.n) < 0.9, stays=rng.random(p.n) < 0.1)
            for j in rng.permutation(p.n)[:count]:
                if s.d[j] > 1e-4:
                    enter(p.G, s, int(j))
            if not positive or (s.c[: s.count[0]] >= 0).all():
                yield s


def outside(p, s):
    return [j for j in range(p.n) if s.may[j] and s.place[j] < 0]


def sound(p, atoms):
    """Whether a Gram matrix tells enough of these atoms to compare losses."""
    return np.linalg.eigvalsh(p.G[np.ix_(atoms, atoms)])[0] > 1e-5


@both
@every_case
def test_best_nonnegative_swap(steps, name, ridge):
    p = instance(name, ridge)
    for s in supports(p):
        S, best = s.S[: s.count[0]].tolist(), 0.0
        for i, j in ((i, j) for i in range(len(S)) if not s.stays[S[i]] for j in outside(p, s)):
            atoms = [*S[:i], j, *S[i + 1 :]]
            if sound(p, atoms) and (p.coefficients(atoms) >= 1e-9).all():
                best = max(best, s.loss[0] - p.loss(atoms))
        i, j, gained = steps.best_nonnegative_swap(s)
        assert gained >= best - 1e-8 * p.bb
        if i >= 0:
            atoms = [*S[:i], j, *S[i + 1 :]]
            assert not s.stays[S[i]]
            assert j in outside(p, s)
            if sound(p, atoms):
                assert (p.coefficients(atoms) >= -1e-8).all()
                assert gained == pytest.approx(s.loss[0] - p.loss(atoms), rel=1e-6, abs=1e-8 * p.bb)


@both
@pytest.mark.parametrize("signed", [True, False])
@every_case
def test_rivals(steps, name, ridge, signed):
    p = instance(name, ridge)
    for s in supports(p):
        S, out = s.S[: s.count[0]].tolist(), np.full(s.S.size, np.nan)
        steps.rivals(s, signed, 0.2, out)
        for i in range(len(S)):
            rest = [*S[:i], *S[i + 1 :]]
            alone = p.loss(rest) if rest else p.bb
            gains = [0.0]
            for j in outside(p, s):
                if sound(p, [*rest, j]) and (signed or p.coefficients([*rest, j])[-1] > 0):
                    gains.append(alone - p.loss([*rest, j]))
            if not p.h[S[i]]:  # it explains nothing
                continue
            share = max(gains) / (alone - s.loss[0])
            near = [j for j in outside(p, s) if not sound(p, [*rest, j])]
            if s.stays[S[i]] or (share < 0.19 and not near):
                assert out[i] == 0.0
            elif share > 0.21:
                assert out[i] >= share * (1 - 1e-6)
                assert near or out[i] == pytest.approx(share, rel=1e-6)


@both
@every_case
def test_promising(steps, name, ridge):
    p = instance(name, ridge)
    for s in supports(p):
        for signed in (True, False):
            worth = np.zeros(p.n)
            for j in outside(p, s):
                if s.d[j] > PIVOT and (signed or s.z[j] > 0):
                    worth[j] = s.z[j] ** 2 / s.d[j]
            top = np.sort(worth)[::-1]
            for most in (1, 3, p.n + 5):
                for floor in (0.0, 0.5 * top[0]):
                    found = steps.promising(s, most, signed, floor)
                    assert (np.diff(found) > 0).all()
                    assert found.size <= most
                    wanted = worth > max(floor, top[most] * (1 + 1e-12) if most < p.n else 0.0)
                    assert wanted[found].all() or most < p.n  # of equals, which ones does not matter
                    assert set(np.flatnonzero(wanted)) <= set(found.tolist()) or np.unique(top).size < top.size


@both
@pytest.mark.parametrize("signed", [True, False])
@every_case
def test_best_two(steps, name, ridge, signed):
    p = instance(name, ridge)
    for s in supports(p):
        S, others = s.S[: s.count[0]].tolist(), outside(p, s)
        gains = {}
        for pair in combinations(others, 2):
            atoms = [*S, *pair]
            if sound(p, atoms) and (signed or (p.coefficients(atoms) > 1e-9).all()):
                gains[pair] = s.loss[0] - p.loss(atoms)
        every = np.array([j for j in others if s.d[j] > PIVOT and (signed or s.z[j] > 0)], dtype=np.int64)
        a, b, gained = steps.best_two(p.G, s, every, signed, 0.0)
        best = max(gains.values(), default=0.0)
        assert gained >= best - 1e-8 * p.bb
        if a >= 0:
            assert {a, b} <= set(others)
            assert a != b
            if sound(p, [*S, a, b]):
                assert gained == pytest.approx(s.loss[0] - p.loss([*S, a, b]), rel=1e-6, abs=1e-8 * p.bb)
                assert signed or (p.coefficients([*S, a, b]) >= -1e-8).all()
        assert steps.best_two(p.G, s, every, signed, 2 * gained + 1e-9)[:2] == (-1, -1)
        assert steps.best_two(p.G, s, every[:0], signed, 0.0) == (-1, -1, 0.0)
