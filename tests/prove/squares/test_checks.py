"""Trees seen again: what was changed in them is refused, or proves no more than is true."""

from dataclasses import replace

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.problem import Problem
from fewatoms.proofs.base import Tampered
from fewatoms.proofs.squares import Squares, SquaresChecker, exhaustive, search
from prove.squares.test_parts import planted
from prove.squares.tiny import question

RNG = np.random.default_rng


@pytest.fixture(scope="module", params=["ridge", "shift", "cap"])
def proven(request):
    """A question, a tree that answers it, and what it proves."""
    A, b = planted(60, 30, 5, RNG(2), 0.9)
    words = {"ridge": {"ridge": 0.1}, "shift": {}, "cap": {"ridge": 0.05, "cap": 1.0}}[request.param]
    problem = Problem.of(A, b, atoms=fa.SignedOneHot(30), k=5, **words)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exhaustive, "seconds", lambda table, status: np.inf)
        first = Squares().open(question(problem, 0.5 * float(b @ b), np.empty(0, dtype=np.intp)))
        *_, last = first.standings()
        asked = question(problem, last.upper, last.best)
        run = Squares().open(asked)
        *_, last = run.standings()
    assert last.ended
    assert run.final().lower >= asked.enough()
    return asked, run.tree(), run.final().lower


def check(asked, tree, share=1.0, seed=0):
    return SquaresChecker().check(asked, tree, share, RNG(seed))


def test_a_tree_proves_what_it_claims(proven):
    asked, tree, lower = proven
    seen = check(asked, tree)
    assert seen.share == 1.0
    assert lower - 1e-7 * asked.upper <= seen.lower <= asked.upper
    assert tree.arrays["parent"].size > 10
    some = check(asked, tree, 0.2, 1)
    assert some.share == pytest.approx(0.2, abs=0.1)
    assert some.lower >= seen.lower


def changed(tree, **arrays):
    return replace(tree, arrays={**tree.arrays, **arrays})


def without(tree, node):
    """A leaf is dropped."""
    count = tree.arrays["parent"].size
    stay = np.arange(count) != node
    arrays = dict(tree.arrays)
    for name in ("parent", "atom", "side", "stage", "kind"):
        arrays[name] = arrays[name][stay]
    arrays["parent"] = arrays["parent"] - (arrays["parent"] > node)
    for name in ("point", "x", "decided"):
        starts = tree.arrays[f"{name} starts"]
        flat = [tree.arrays[name][starts[i] : starts[i + 1]] for i in np.flatnonzero(stay)]
        arrays[name] = np.concatenate(flat).astype(tree.arrays[name].dtype)
        arrays[f"{name} starts"] = np.concatenate([[0], np.cumsum([row.size for row in flat])])
    return replace(tree, arrays=arrays)


def leaves(tree):
    return np.setdiff1d(np.arange(1, tree.arrays["parent"].size), tree.arrays["parent"])


def branches(tree):
    return np.flatnonzero(tree.arrays["side"])


def a_leaf_dropped(tree, rng):
    return without(tree, rng.choice(leaves(tree)))


def a_side_turned(tree, rng):
    side = tree.arrays["side"].copy()
    side[rng.choice(branches(tree))] *= -1
    return changed(tree, side=side)


def another_atom(tree, rng):
    atom = tree.arrays["atom"].copy()
    atom[rng.choice(branches(tree))] = rng.integers(0, 30)
    return changed(tree, atom=atom)


def a_decision_turned(tree, rng):
    """In for out."""
    told = tree.arrays["decided"].copy()
    told[rng.integers(told.size)] *= -1
    return changed(tree, decided=told)


def decided_elsewhere(tree, rng):
    told = tree.arrays["decided"].copy()
    told[rng.integers(told.size)] = rng.choice([-1, 1]) * rng.integers(1, 31)
    return changed(tree, decided=told)


def a_point_moved(tree, rng):
    x = tree.arrays["x"].copy()
    starts = tree.arrays["x starts"]
    node = rng.choice(np.flatnonzero(np.diff(starts)))
    x[starts[node] : starts[node + 1]] *= rng.choice([-1.0, 0.0, 2.0])
    return changed(tree, x=x)


def more_moved_out(tree, rng):
    moved = tree.arrays["moved"].copy()
    assert moved.any()
    return changed(tree, moved=moved * rng.choice([1.1, 2.0]) + 1e-3)


def another_parent(tree, rng):
    parent = tree.arrays["parent"].copy()
    parent[rng.integers(2, parent.size)] = rng.integers(0, 2)
    return changed(tree, parent=parent)


def another_kind(tree, rng):
    kind = tree.arrays["kind"].copy()
    kind[rng.integers(kind.size)] = rng.integers(1, 6)
    return changed(tree, kind=kind)


def nonsense(tree, rng):
    name = rng.choice([name for name, array in tree.arrays.items() if array.size > 1])
    array = tree.arrays[name].astype(float)
    array[rng.integers(array.size)] = rng.choice([np.nan, np.inf, -7.0, 1e6])
    whole = array if name in ("x", "moved") or not np.isfinite(array).all() else array.astype(np.int64)
    return changed(tree, **{str(name): whole})


def cut_off(tree, rng):
    name = rng.choice([name for name, array in tree.arrays.items() if array.size > 1])
    return changed(tree, **{str(name): tree.arrays[name][:-1]})


STRICT = (a_leaf_dropped, a_side_turned, another_atom, more_moved_out, another_parent, nonsense, cut_off)
LOOSE = (a_decision_turned, decided_elsewhere, a_point_moved, another_kind)


@pytest.mark.parametrize("way", STRICT + LOOSE, ids=lambda way: way.__name__)
def test_what_was_changed_is_refused(way, proven):
    """Some changes leave a proof a proof, of the same or of less: a decision that was none of need, a point that was
    better than it had to be. Nothing may prove more than the answer."""
    asked, tree, lower = proven
    refused = 0
    for seed in range(12):
        other = way(tree, RNG(seed))
        try:
            found = check(asked, other).lower
        except (Tampered, ValueError, IndexError, KeyError, TypeError):
            refused += 1
            continue
        assert found <= asked.upper
        refused += found < lower - 1e-7 * asked.upper
    assert refused >= (11 if way in STRICT else 4)


def test_a_list_does_not_prove_more_than_there_is(monkeypatch):
    monkeypatch.setattr(search, "WEAK", np.inf)
    monkeypatch.setattr(search, "SHRUNK", 0.0)
    A, b = planted(14, 12, 3, RNG(15), 0.9)
    problem = Problem.of(A, b, atoms=fa.NonnegativeOneHot(12), k=3, cap=3.0)
    first = Squares().open(question(problem, 0.5 * float(b @ b), np.empty(0, dtype=np.intp)))
    *_, last = first.standings()
    asked = question(problem, last.upper, last.best)
    run = Squares().open(asked)
    assert [*run.standings()][-1].ended
    tree = run.tree()
    assert 2 in tree.arrays["kind"]
    assert check(asked, tree).lower == pytest.approx(run.final().lower, rel=1e-9)
    raised = replace(tree, told={**tree.told, "lower": 1.01 * asked.upper})
    assert check(asked, raised).lower <= asked.upper
    with pytest.raises(Tampered, match="no number"):
        check(asked, replace(tree, told={**tree.told, "lower": float("inf")}))


def test_leaps_are_made_again(monkeypatch):
    monkeypatch.setattr(search, "AT_ONCE_SECONDS", -1.0)
    monkeypatch.setattr(search, "WEAK", np.inf)
    A, b = planted(40, 12, 3, RNG(4), 0.9)
    problem = Problem.of(A, b, atoms=fa.SignedOneHot(12), k=3)
    asked = question(problem, 0.5 * float(b @ b), np.empty(0, dtype=np.intp))
    run = Squares().open(asked)
    *_, last = run.standings()
    assert last.ended
    tree = run.tree()
    assert tree.arrays["kind"][-1] == 1
    seen = check(asked, tree)
    assert seen.lower == pytest.approx(last.lower, rel=1e-9)
    raised = replace(tree, told={**tree.told, "lower": 1.01 * last.upper})
    assert check(asked, raised).lower <= last.upper
    fitted = changed(tree, kind=np.where(tree.arrays["kind"] == 1, 3, tree.arrays["kind"]))
    assert check(asked, fitted).lower < seen.lower  # what all atoms leave


def test_another_problem_is_not_proven(proven):
    asked, tree, lower = proven
    problem = asked.problem
    for M, b in ((1.3 * problem.measured.apply(np.eye(30)[0]), 1.2), (None, 0.8)):
        data = problem.data * b
        if M is not None:
            data = data + 0.2 * M
        other = problem.with_data(data)
        try:
            found = check(replace(asked, problem=other), tree).lower
        except Tampered:
            continue
        assert found < lower or b > 1.0


def test_a_tree_of_nothing_proves_nothing(proven):
    asked, *_ = proven
    assert check(asked, Squares().open(asked).tree()).lower == 0.0


def test_little_memory_goes_deep_and_keeps_nothing(monkeypatch):
    """What was not kept is searched again by whoever checks."""
    monkeypatch.setattr(exhaustive, "seconds", lambda table, status: np.inf)
    A, b = planted(60, 30, 5, RNG(2), 0.9)
    problem = Problem.of(A, b, atoms=fa.SignedOneHot(30), k=5)
    at_zero = 0.5 * float(b @ b)
    runs = [
        Squares().open(question(problem, at_zero, np.empty(0, dtype=np.intp), memory=memory)) for memory in (1e9, 3e4)
    ]
    whole, little = [[*run.standings()][-1] for run in runs]
    assert whole.ended
    assert little.ended
    assert little.upper == pytest.approx(whole.upper, rel=1e-12)
    trees = [run.tree() for run in runs]
    assert 4 in trees[1].arrays["kind"]
    assert trees[1].arrays["parent"].size < trees[0].arrays["parent"].size
    asked = question(problem, little.upper, little.best)
    assert check(asked, trees[1]).lower == pytest.approx(runs[1].final().lower, rel=1e-7)
    raised = replace(trees[1], told={**trees[1].told, "lower": 1.01 * little.upper})
    assert check(asked, raised).lower <= little.upper
