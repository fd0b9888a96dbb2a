"""What one run owns: its seed, its tally, its clock. The clock is measured in ticks and products, never in seconds."""

import math

import numpy as np
import pytest

import fewatoms as fa
from answers import Case, answer, assert_same_arrays, cases
from fewatoms import ledger, oracles

# By themselves --------------------------------------------------------------------------------------------------------


def test_ledgers_are_nested():
    with ledger.opened() as outer:
        ledger.spend(2)
        with ledger.opened() as inner:
            ledger.spend(5)
            ledger.tick()
        ledger.spend(1)
    ledger.spend(100)  # nobody counts
    ledger.tick()
    assert ledger.current().products == 0
    assert (outer.products, inner.products) == (3, 5)
    assert (outer.ticks, inner.ticks) == (0, 1)


def test_a_ledger_is_closed_by_an_error():
    with pytest.raises(KeyError), ledger.opened() as account:
        raise KeyError
    ledger.spend(3)
    assert account.products == 0


def test_seeds_are_fixed_unless_given():
    def drawn(rng):
        with ledger.opened(rng):
            return ledger.generator().standard_normal(3)

    assert_same_arrays(drawn(None), drawn(None))
    assert_same_arrays(drawn(None), np.random.default_rng(0).standard_normal(3))
    assert_same_arrays(drawn(7), drawn(np.random.default_rng(7)))
    assert not np.array_equal(drawn(7), drawn(None))
    assert_same_arrays(ledger.generator().standard_normal(3), drawn(None))  # and where no run is open


def test_stages_have_names():
    with ledger.opened() as account:
        with ledger.stage("one"):
            with ledger.stage("two"):
                assert account.stage == "two"
            assert account.stage == "one"
        assert account.stage == ""


def test_the_clock_calls_at_most_so_often(monkeypatch):
    now, calls = [0.0], []
    monkeypatch.setattr(ledger.time, "monotonic", lambda: now[0])
    with ledger.opened(hear=lambda: calls.append(now[0])) as account:
        for step in range(1000):
            now[0] = 0.01 * step
            ledger.tick()
        assert account.ticks == 1000
        assert np.diff(calls).min() >= ledger.EVERY - 1e-9
        assert len(calls) == pytest.approx(1000 * 0.01 / ledger.EVERY, abs=10)
        ledger.tell()  # at once
        assert calls[-1] == now[0]
    ledger.tell()
    assert len(calls) <= 101


# Every method ---------------------------------------------------------------------------------------------------------


def general(oracle, name="signed", **words):
    case = cases()[name]
    words = {"max_iterations": 30, **case.words, **words}
    return Case(case.M, case.b, {**words, "method": fa.General(oracle)})


def runs():
    """Problems for every method and every oracle, with how many products may pass unheard.

    A look at all atoms is 2 products, a fit by columns of a matrix at hand as many as it has coefficients. What sweeps
    over entries do together on several ladders, and columns that are asked for, is more.
    """
    c = cases()
    low, one = c["low rank"], fa.SignedOneHot(20)
    alpha = 0.5 * (0.1 * np.linalg.norm(c["signed"].b)) ** 2
    iterates = [c["signed"].b * (1 - 0.05 * i) for i in range(12)]
    found = {
        "Listed": (c["signed"], 8),
        "Listed, bound": (c["bound"], 8),
        "Listed, fewest": (c["fewest"], 8),
        "Listed, proof": (c["unreachable"], 8),
        "Listed, groups": (c["groups, strings"], 16),
        "Listed, smooth": (c["huber"], 8),
        "Listed, box": (c["box"], 16),
        "Listed, joint": (c["joint"], 16),
        "Listed, capped": (c["cap"], 8),
        "Completion": (c["completion"], 8),
        "Completion, ridge": (c["completion, ridge"], 8),
        "Completion, auto": (c["completion, auto"], 24),
        "Completion, bound": (c["completion, bound"], 8),
        "Completion, biases": (c["biases"], 24),
        "Separation, trimming": (c["robust"], 8),
        "Separation, splitting": (c["pursuit"], 8),
        "Demixing": (c["demixing"], 8),
        "Phases": (c["psd"], 8),
        "Phases, complex": (c["psd, complex"], 8),
        "Exposed": (c["own set"], 16),
        "Paper": (
            Case(c["signed"].M, c["signed"].b, {"atoms": one, "k": 4, "alpha": alpha, "method": fa.Paper()}),
            16,
        ),
        "General": (Case(low.M, low.b + 0.1, {**low.words, "max_iterations": 5}), 16),
        "General, Bundle": (general(oracles.Bundle(tau=5.0)), 16),
        "General, ConditionalGradient": (general(oracles.ConditionalGradient(tau=5.0)), 16),
        "General, LevelSet": (general(oracles.LevelSet(), alpha=alpha), 16),
        "General, Corrective": (general(oracles.Corrective()), 16),
        "General, Continuation": (general(oracles.Continuation()), 16),
        "General, ProximalGradient": (general(oracles.ProximalGradient(lam=1.0)), 16),
        "General, FromIterates": (general(oracles.FromIterates(iterates)), 16),
    }  # fmt: skip
    return found


RUNS = runs()


class Listening:
    """A callback that notes what it sees, and ends the run when it was called so often."""

    def __init__(self, stop=math.inf):
        self.stop, self.seen = stop, []

    def __call__(self, progress):
        self.seen.append(progress)
        if len(self.seen) >= self.stop:
            raise StopIteration


@pytest.fixture
def every_tick(monkeypatch):
    """The clock calls at every tick."""
    monkeypatch.setattr(ledger, "EVERY", 0.0)


@pytest.fixture(scope="module")
def whole():
    """Each run without anybody listening, and what somebody heard of it; made once."""
    known = {}

    def made(name):
        if name not in known:
            before, ledger.EVERY = ledger.EVERY, 0.0
            try:
                listening = Listening()
                known[name] = (RUNS[name][0].fit(), RUNS[name][0].fit(callback=listening), listening.seen)
            finally:
                ledger.EVERY = before
        return known[name]

    return made


@pytest.mark.parametrize("name", RUNS)
def test_listening_changes_nothing(name, whole):
    quiet, heard, _ = whole(name)
    assert_same_arrays(heard.x, quiet.x)
    assert (heard.status, heard.products, heard.iterations) == (quiet.status, quiet.products, quiet.iterations)


@pytest.mark.parametrize("name", RUNS)
def test_no_run_is_silent_for_long(name, whole):
    _, s, seen = whole(name)
    marks = [0, *(progress.products for progress in seen), s.products]
    assert max(np.diff(marks)) <= RUNS[name][1]
    assert min(np.diff(marks)) >= 0
    assert len(seen) > s.iterations or s.iterations <= 1


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("share", ["first", 0.4, "last"])
def test_a_stop_at_any_tick_gives_what_was_found(name, share, whole, every_tick):
    case, limit = RUNS[name]
    _, _, seen = whole(name)
    stop = {"first": 1, "last": len(seen)}.get(share) or max(1, round(share * len(seen)))
    listening = Listening(stop)
    s = case.fit(callback=listening)
    assert len(listening.seen) == stop  # nobody is called again
    assert s.status is fa.Status.STOPPED
    last = listening.seen[-1]
    assert s.products - last.products <= limit + 8  # the answer is measured, and smooth losses fitted once more
    problem, best = s.certificate.problem, last.candidate
    assert problem.budget.allows(s.compact[0])
    if best is not None:
        objective = s.objective
        assert objective <= problem.objective(best) * (1 + 1e-6) + 1e-12 * problem.reference
        assert s.cardinality > 0
    assert s.loss <= problem.at_zero * (1 + 1e-9)
    assert s.success == (best is not None or s.cardinality > 0 if problem.alpha is None else problem.meets(s.loss))


@pytest.mark.parametrize("name", RUNS)
def test_other_errors_pass_through(name, every_tick):
    class Mine(Exception):
        pass

    for stop in (1, 3):
        calls = []

        def callback(progress, calls=calls, stop=stop):
            calls.append(progress)
            if len(calls) == stop:
                raise Mine("as it is")

        with pytest.raises(Mine, match=r"^as it is$") as caught:
            RUNS[name][0].fit(callback=callback)
        assert len(calls) == stop
        assert caught.value.__cause__ is None
    with ledger.opened() as account:  # the ledger of the run is closed
        ledger.spend(1)
    assert account.products == 1


def test_the_choice_of_a_ridge_is_told_and_its_best_is_kept(every_tick):
    for name, stop in (("completion, auto", 120), ("biases", 300)):
        listening = Listening(stop)
        s = cases()[name].fit(callback=listening)
        assert {progress.stage for progress in listening.seen} == {"choosing the ridge"}
        assert s.status is fa.Status.STOPPED
        assert s.cardinality > 0
        assert s.products < 0.7 * answer(name).products


def test_paths_and_many_fits_are_stopped_too(every_tick):
    case = cases()["signed"]
    listening = Listening(5)
    path = fa.fit_path(case.M, case.b, k=[1, 2, 3], atoms=fa.SignedOneHot(20), callback=listening)
    assert all(path[k].status is fa.Status.STOPPED for k in path)
    assert sum(path[k].products for k in path) <= 3 * 30
    B = np.stack([case.b, case.b[::-1]], axis=1)
    many = fa.fit_many(case.M, B, k=3, atoms=fa.SignedOneHot(20), callback=Listening(1))
    assert many.status == [fa.Status.STOPPED] * 2


@pytest.mark.parametrize("name", ["signed", "huber", "completion, ridge", "completion, auto", "robust"])
def test_held_out_fits_tick(name, monkeypatch):
    """Choosing k is many fits: none of them is silent for long either."""
    case, marks = cases()[name], [0]
    quiet = ledger.Ledger.tick

    def tick(self):
        marks.append(self.products)
        quiet(self)

    monkeypatch.setattr(ledger.Ledger, "tick", tick)
    budgets = [(1, 4), (1, 5)] if name == "robust" else [1, 2]
    words = {word: value for word, value in case.words.items() if word != "k"}
    path = fa.fit_path(case.M, case.b, k=budgets, **words)
    path.choose_k("held-out", rng=0)
    assert max(np.diff(marks)) <= 24
    assert len(marks) > 10


@pytest.mark.parametrize("name", ["completion, bound", "robust"])
def test_what_a_callback_asks_for_calls_nobody(name, every_tick):
    """A dual point that is made on demand passes over the data, which ticks."""
    case, depth = cases()[name], [0]

    def look(progress):
        depth[0] += 1
        assert depth[0] == 1
        assert progress.dual is None or progress.dual.loss >= 0
        assert progress.gap >= 0
        depth[0] -= 1

    assert_same_arrays(case.fit(callback=look).x, case.fit().x)
