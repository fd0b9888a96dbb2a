"""Proofs of least squares over single columns, against a look at all choices: none is contradicted."""

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.problem import Problem
from fewatoms.proofs.squares import Squares, SquaresChecker, exhaustive, search, stage
from fewatoms.proofs.squares.loops import SQUARES_LOOPS
from prove.squares.test_parts import planted
from prove.squares.tiny import arrays, instance, least, question


def by_tree(monkeypatch):
    monkeypatch.setattr(exhaustive, "seconds", lambda table, status: np.inf)
    monkeypatch.setattr(search, "WEAK", 0.0)


def by_hasty_tree(monkeypatch):
    """Nodes are looked at once, with a pass or two."""
    by_tree(monkeypatch)
    monkeypatch.setattr(stage, "LOOKS", 1)
    monkeypatch.setattr(stage, "LAST_LOOKS", 1)


def by_leaps(monkeypatch):
    monkeypatch.setattr(search, "AT_ONCE_SECONDS", -1.0)
    monkeypatch.setattr(search, "WEAK", np.inf)


def by_lists(monkeypatch):
    monkeypatch.setattr(search, "WEAK", np.inf)


def as_it_comes(monkeypatch):
    pass


WAYS = (as_it_comes, by_tree, by_hasty_tree, by_leaps, by_lists)


def problems(seeds):
    for seed in seeds:
        try:
            yield seed, instance(np.random.default_rng(seed))
        except ValueError:  # refused at the door: nothing is left of b beside free columns, say
            continue


@pytest.mark.parametrize("bad", [False, True], ids=["the best is known", "nothing good is known"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_no_bound_is_above_the_optimum(way, bad, monkeypatch):
    way(monkeypatch)
    first = 10_000 * (1 + WAYS.index(way)) + 5000 * bad
    proven = 0
    for seed, problem in problems(range(first, first + 30)):
        value, best = least(problem)
        at_zero = 0.5 * float(np.sum(arrays(problem)[1] ** 2))
        rounding = 1e-10 * at_zero
        if bad:
            asked = question(problem, 1.5 * at_zero + 1e-9, problem.atoms.listing().forced)
        else:
            asked = question(problem, value * (1 + 1e-12), best)
        run = Squares().open(asked)
        for standing in run.standings():
            assert standing.lower <= value * (1 + 1e-9) + rounding, seed
        final = run.final()
        assert final.lower <= value * (1 + 1e-9) + rounding, seed
        assert final.upper >= value * (1 - 1e-8) - rounding, seed
        if final.lower >= asked.enough(final.upper):
            proven += 1
            assert final.upper <= value * (1 + 1.01e-4) + rounding, seed
        seen = SquaresChecker().check(asked, run.tree(), 1.0, np.random.default_rng(0))
        assert seen.share == 1.0
        assert seen.lower <= value * (1 + 1e-9) + rounding, seed
        assert final.lower <= seen.lower + (1e-7 + 1e-12) * final.upper + 1e-14 * at_zero, seed
    assert proven >= 20


@pytest.mark.parametrize("after", [0, 1, 3, 10])
def test_a_search_that_is_abandoned_still_bounds(after, monkeypatch):
    by_tree(monkeypatch)
    monkeypatch.setattr(search, "BREATH", 0.0)
    for seed, problem in problems(range(70_000, 70_012)):
        value, best = least(problem)
        asked = question(problem, value * (1 + 1e-12), best)
        run = Squares().open(asked)
        standings = run.standings()
        for _ in range(after):
            next(standings, None)
        standings.close()
        rounding = 1e-10 * float(np.sum(arrays(problem)[1] ** 2))
        assert run.final().lower <= value * (1 + 1e-9) + rounding, seed
        seen = SquaresChecker().check(asked, run.tree(), 1.0, np.random.default_rng(0))
        assert seen.lower <= value * (1 + 1e-9) + rounding, seed
        assert run.final().lower <= seen.lower + 1e-7 * value + rounding, seed


@pytest.mark.parametrize("way", [by_tree, by_leaps, by_lists], ids=lambda way: way.__name__)
def test_loops_as_they_stand_prove_the_same(way, monkeypatch):
    way(monkeypatch)
    A, b = planted(30, 14, 3, np.random.default_rng(21), 0.9)
    problem = Problem.of(A, b, atoms=fa.SignedOneHot(14), k=3, ridge=0.01)
    asked = question(problem, 0.5 * float(b @ b), np.empty(0, dtype=np.intp))
    compiled = Squares().open(asked)
    *_, fast = compiled.standings()
    monkeypatch.setattr(SQUARES_LOOPS, "_compiled", None)
    monkeypatch.setenv("FEWATOMS_KERNELS", "off")
    assert SQUARES_LOOPS.ready() is None
    plain = Squares().open(asked)
    *_, slow = plain.standings()
    assert slow.ended
    assert fast.ended
    assert slow.upper == pytest.approx(fast.upper, rel=1e-10)
    assert slow.lower == pytest.approx(fast.lower, rel=1e-6)
    assert slow.best.tolist() == fast.best.tolist()
