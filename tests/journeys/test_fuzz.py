"""Problems of every family, door and option by chance: nothing crashes or takes long, and answers are what they say."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

import fuzzing
from fuzzed import entries, judging, mixtures, planted, tables


@pytest.mark.parametrize("first", [0, 5])
def test_some_problems(first):
    became = {seed: fuzzing.judged(seed) for seed in range(first, first + 5)}
    assert {seed: told for seed, told in became.items() if told[0] not in ("fine", "refused")} == {}


@pytest.mark.soak
@pytest.mark.parametrize("first", range(1000, 3000, 100))
def test_many_problems(first):
    became = {seed: fuzzing.judged(seed) for seed in range(first, first + 100)}
    assert {seed: told for seed, told in became.items() if told[0] not in ("fine", "refused")} == {}
    assert sum(kind == "refused" for kind, _ in became.values()) <= 5


def test_what_is_drawn_is_of_all_kinds():
    drawn = [planted.drawn(seed) for seed in range(400)]
    assert {it.name for it in drawn} == set(planted.SETS)
    assert {it.door for it in drawn} == {"fit", "path", "many", "choose", "killed"}
    assert {word for it in drawn for word in it.words} >= {
        "alpha", "misfit", "cap", "ridge", "free", "effort", "max_iterations",
    }  # fmt: skip
    assert any(it.words.get("ridge") == "auto" for it in drawn)
    for option in ("stops", "seconds", "blocks", "include", "exclude", "filed", "certified"):
        assert any(getattr(it, option) for it in drawn), option
    assert any(it.weights is not None for it in drawn)
    of_entries = [entries.drawn(seed) for seed in range(300)]
    assert {it.way for it in of_entries} == set(entries.WAYS)
    assert {it.door for it in of_entries} == {"fit", "path", "choose"}
    assert {it.words.get("ridge") == "auto" for it in of_entries} == {True, False}
    of_tables = [tables.drawn(seed) for seed in range(300)]
    assert {(it.outcome, it.door) for it in of_tables} == {(a, b) for a in tables.OUTCOMES for b in set(tables.DOORS)}
    assert {it.kind for it in of_tables} == {"array", "sparse", "blocks"}
    assert {it.loss for it in of_tables} == {"squares", "huber", "logistic", "multinomial"}
    of_mixtures = [mixtures.drawn(seed) for seed in range(100)]
    assert {it.way for it in of_mixtures} == set(mixtures.WAYS)
    assert any(it.huber for it in of_mixtures)
    assert any(not it.seen.all() for it in of_mixtures)


def first_fit(words, **more):
    drawn = (planted.drawn(seed) for seed in range(1000))
    plain = (
        it for it in drawn if it.told == ("signed", "dense", "squares") and it.door == "fit" and it.planted.b.any()
    )
    quiet = {"free": None, "stops": None, "seconds": None, "blocks": None, "filed": False, "include": (), "exclude": ()}
    it = next(it for it in plain if not it.include + it.exclude and it.weights is None)
    return replace(it, k=2, words=words, **(quiet | more))


CHANGES = {
    "loss": (lambda s: s.loss * 1.01 + 1, "a loss that is not its own"),
    "misfit": (lambda s: s.misfit + 0.1, "a misfit that is not its own"),
    "x": (lambda s: s.x + 1.0, "more atoms than k"),
    "success": (lambda s: True, "success without the bound"),
    "status": (lambda s: SimpleNamespace(name="UNREACHABLE"), "a status of bounds without a bound"),
    "coefficients": (lambda s: [float("nan")], "not finite"),
    "objective": (lambda s: s.objective * 1.01 + 1, "an objective that is not its own"),
    "indices": (lambda s: [0, 7], "an atom that is left out"),
    "cardinality": (lambda s: 3, "no room for those that must be in"),
}


@pytest.mark.parametrize("changed", CHANGES)
def test_answers_that_say_something_else_are_found_out(changed):
    """Or the tests above could not fail."""
    make, expected = CHANGES[changed]
    it = first_fit({"alpha": 1e-9} if changed == "success" else {})
    ((s, b, k),) = planted.answers(it)
    assert planted.complaints(it, s, b, k) == []
    out = next(i for i in range(42) if i not in s.indices)
    it = replace(it, exclude=(0, 7)) if changed == "indices" else it
    it = replace(it, include=(int(s.indices[0]), out)) if changed == "cardinality" else it
    names = (
        "x", "loss", "objective", "misfit", "success", "status", "coefficients", "free_coefficients", "biases", "parts",
        "ridge", "indices", "cardinality", "message",
    )  # fmt: skip
    other = SimpleNamespace(**{name: getattr(s, name) for name in names} | {changed: make(s)})
    other.parts = [other]
    assert expected in planted.complaints(it, other, b, k)


def test_answers_that_differ_are_told_apart():
    it = first_fit({})
    ((s, _, _),) = planted.answers(it)
    assert judging.alike(s, s) == []
    t = SimpleNamespace(status=s.status, loss=s.loss * 1.01, x=s.x, cardinality=s.cardinality)
    assert judging.alike(t, s) == ["another loss"]
    wrong = SimpleNamespace(loss=1.0, gauge=1.0, gap=-1.0, primal=0.0, dual=1.0, tau_lower=0.0, beta_bounds=(2.0, 1.0))
    assert judging.proven(SimpleNamespace(certificate=wrong, loss=1.0)) == [
        "a gap below nothing", "bounds the wrong way round",
    ]  # fmt: skip
