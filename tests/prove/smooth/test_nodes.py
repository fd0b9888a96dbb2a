"""Nodes: their bounds are what the slow formula says, their relaxations what another solver finds, machine code does
what the loops say as they stand."""

import cvxpy as cp
import numba
import numpy as np
import pytest

import fewatoms as fa
from fewatoms.proofs.machine import Machine
from fewatoms.proofs.smooth import nodes, posed_of
from fewatoms.proofs.smooth.exact import Exact
from fewatoms.proofs.smooth.given import FREE, IN, OUT
from fewatoms.proofs.smooth.nodes import MACHINE, Nodes
from prove.smooth.asking import groups, labelled, question

RNG = np.random.default_rng


def smooth(rng, **words):
    M = rng.standard_normal((30, 12)) * rng.choice([0.5, 2.0], 12)
    b = M[:, :3].sum(axis=1) + rng.standard_t(2, 30)
    return question(M, b, atoms=fa.SignedOneHot(12), k=3, loss=fa.Huber(0.7), **words)


ABOUT = {
    "groups": lambda: groups(RNG(0)),
    "groups, cap": lambda: groups(RNG(0), cap=0.1),
    "groups, intercept": lambda: groups(RNG(0), free="intercept"),
    "huber": lambda: smooth(RNG(1), ridge=0.1),
    "huber, cap": lambda: smooth(RNG(1), cap=0.3, ridge=0.0),
    "logistic": lambda: labelled(RNG(2), fa.Logistic()),
    "logistic, intercept": lambda: labelled(RNG(2), fa.Logistic(), free="intercept", cap=0.4),
    "multinomial": lambda: labelled(RNG(3), fa.Multinomial()),
    "multinomial, intercept": lambda: labelled(RNG(3), fa.Multinomial(), free="intercept"),
}


@pytest.mark.parametrize("kind", ABOUT)
def test_bounds_are_those_of_the_slow_formula(kind):
    about = ABOUT[kind]()
    posed, rng = posed_of(about), RNG(4)
    loops, exact = Nodes(posed), Exact(posed)
    state = posed.root_state.copy()
    state[:2] = IN, OUT
    kappa = about.k - 1
    known = loops.root(state, kappa, about.upper)
    value, gains = exact.gains(known.x[:, None], posed.free(known.x, known.v)[:, None])
    top = np.sort(gains[state == FREE, 0])[::-1][:kappa].sum()
    own = float(value[0] - gains[0, 0] - top)
    assert own <= known.bound * (1 + 1e-9)
    assert own == pytest.approx(known.bound, rel=1e-7)
    if posed.F.shape[1] == 0:
        y = about.problem.loss.gradient(posed.b - posed.K @ known.x)
        slow = about.paying.bound(y, about.k, np.array([0]), np.array([1])) if not posed.shift.any() else own
        assert own == pytest.approx(slow, rel=1e-7, abs=1e-7)
    for _ in range(20):  # any coefficients prove something
        x = np.clip(known.x + rng.standard_normal(known.x.size) * rng.choice([1e-3, 0.1]), -posed.cap, posed.cap)
        value, gains = exact.gains(x[:, None], posed.free(x, known.v)[:, None])
        found = value[0] - gains[0, 0] - np.sort(gains[state == FREE, 0])[::-1][:kappa].sum()
        assert found <= known.above * (1 + 1e-9)


def relaxation(about):
    """The perspective relaxation at the root, by another solver."""
    posed = posed_of(about)
    n = posed.K.shape[1]
    x, s = cp.Variable(n), cp.Variable(posed.starts.size - 1)
    t = cp.Variable(n)
    spans = [range(i, j) for i, j in zip(posed.starts[:-1], posed.starts[1:], strict=True)]
    parts = [s >= 0, s <= 1, cp.sum(s) <= about.k]
    for g, span in enumerate(spans):
        for a in span:
            parts.append(cp.quad_over_lin(x[a], s[g]) <= t[a])
            if np.isfinite(posed.cap[a]):
                parts.append(cp.abs(x[a]) <= posed.cap[a] * s[g])
    r, loss = posed.b - posed.K @ x, about.problem.base_loss
    if isinstance(loss, fa.Huber):
        f = 0.5 * cp.sum(cp.huber(r, loss.delta))
    elif isinstance(loss, fa.Logistic):
        f = cp.sum(cp.logistic(cp.multiply(posed.sign, r)))
    else:
        f = 0.5 * cp.sum_squares(r)
    return float(cp.Problem(cp.Minimize(f + 0.5 * about.problem.ridge * cp.sum(t)), parts).solve(solver="CLARABEL"))


@pytest.mark.parametrize("kind", ["groups", "groups, cap", "huber", "huber, cap", "logistic"])
def test_relaxations_are_solved(kind):
    about = ABOUT[kind]()
    posed = posed_of(about)
    assert not posed.shift.any()
    value = relaxation(about)
    found = Nodes(posed).root(posed.root_state, about.k, value * (1 + 1e-5))  # a target that is just out of reach
    assert found.bound <= value * (1 + 1e-7)
    assert found.bound == pytest.approx(value, rel=1e-4)


@pytest.mark.parametrize("kind", ABOUT)
def test_machine_code_does_what_the_loops_say(kind, monkeypatch):
    posed = posed_of(ABOUT[kind]())
    state = posed.root_state.copy()
    state[3:5] = IN, OUT
    found = []
    for loops in (MACHINE.now(), MACHINE.plain):
        monkeypatch.setattr(MACHINE, "_compiled", loops)
        monkeypatch.setattr(nodes, "FIRST_STEPS", 2)
        found.append(Nodes(posed).root(state, 2, 1e9))
    a, b = found
    assert a.bound == pytest.approx(b.bound, rel=1e-6, abs=1e-9)
    assert a.theta == pytest.approx(b.theta, rel=1e-4)
    assert np.allclose(a.x, b.x, rtol=1e-4, atol=1e-6 * np.abs(b.x).max())


def test_machine_code_is_made_for_all_arguments_that_come():
    node = MACHINE.now()["node"]
    node.compile(tuple(map(numba.typeof, MACHINE.entries["node"]())))  # from disk, where nobody called it yet
    before = len(node.signatures)
    for kind in ABOUT:
        about = ABOUT[kind]()
        posed = posed_of(about)
        Nodes(posed).root(posed.root_state, about.k, about.upper)
    assert before == len(MACHINE.now()["node"].signatures) == 1


def test_nobody_compiles_where_that_is_forbidden(monkeypatch):
    machine = Machine(MACHINE.place, MACHINE.modules, MACHINE.entries)
    monkeypatch.setenv("FEWATOMS_KERNELS", "off")
    assert not machine.wanted
    assert machine.ready() is None
    assert machine.plain["node"].__module__ == "fewatoms.proofs.smooth._nodes"


def test_machine_code_is_found_on_disk_by_the_next_process(monkeypatch):
    if not MACHINE.kept():
        pytest.skip("there is no folder for it")
    machine = Machine(MACHINE.place, MACHINE.modules, MACHINE.entries)
    monkeypatch.setattr(machine, "_summon", lambda: pytest.fail("it is there already"))
    assert machine.ready() is not None


def test_until_there_is_machine_code_somebody_is_seen_to_make_it(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    machine, called = Machine(MACHINE.place, MACHINE.modules, MACHINE.entries), []
    monkeypatch.setattr(machine, "_process", lambda program, lock: called.append((program, lock)))
    assert machine.ready() is None
    assert machine.ready() is None
    assert len(called) == 1
    assert machine.folder.parent == tmp_path / "fewatoms"
    (machine.folder / "node").touch()
    machine._next = 0.0
    assert machine.ready() is not None


def test_free_coefficients_are_charged_for_what_is_left():
    """y is near a point where F'y = 0 exactly: what it proves there differs by less than is charged."""
    about = labelled(RNG(7), fa.Logistic(), free=RNG(8).standard_normal((60, 2)))
    posed, rng = posed_of(about), RNG(9)
    exact = Exact(posed)
    for size in (1e-9, 1e-6, 1e-4):
        left = posed.b - posed.F @ (rng.standard_normal(2) * 0.1)
        duals = exact._at((left + rng.standard_normal(left.size) * 0.0)[:, None])
        for _ in range(50):
            slope = posed.F.T @ duals.y
            left = left - posed.F @ exact._newton(duals, slope)[:, 0]
            duals = exact._at(left[:, None])
        duals = exact._at((left + posed.F @ np.full(2, size))[:, None])  # not quite settled
        charge, far = exact._charges(duals)
        shares = duals.shares[:, 0]
        bent = posed.F.T @ (shares[:, None] * posed.F)
        step = np.linalg.solve(bent, posed.F.T @ duals.y[:, 0])
        moved = duals.y[:, 0] - shares * (posed.F @ step)
        assert np.abs(posed.F.T @ moved).max() < 1e-10
        loss = about.problem.base_loss
        assert abs(loss.conjugate(moved) - loss.conjugate(duals.y[:, 0])) <= charge[0]
        assert np.linalg.norm(moved - duals.y[:, 0]) <= far[0] * (1 + 1e-9)
