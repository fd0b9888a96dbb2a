"""Problems of every family, door and option by chance: nothing crashes or takes long, and answers are what they say."""

from types import SimpleNamespace

import numpy as np
import pytest

import fuzzing


@pytest.mark.parametrize("first", [0, 6])
def test_some_problems(first):
    assert [
        judged for seed in range(first, first + 6) if (judged := fuzzing.judged(seed))[0] not in ("fine", "refused")
    ] == []


@pytest.mark.soak
@pytest.mark.parametrize("first", range(1000, 3000, 100))
def test_many_problems(first):
    became = {seed: fuzzing.judged(seed) for seed in range(first, first + 100)}
    assert {seed: told for seed, told in became.items() if told[0] not in ("fine", "refused")} == {}
    assert sum(kind == "refused" for kind, _ in became.values()) <= 5


def test_what_is_drawn_is_of_all_kinds():
    drawn = [fuzzing.drawn(seed) for seed in range(300)]
    assert {it.name for it in drawn} == set(fuzzing.SETS)
    assert {it.door for it in drawn} == {"fit", "path", "many"}
    assert {word for it in drawn for word in it.words} >= {
        "alpha", "misfit", "cap", "ridge", "free", "effort", "max_iterations",
    }  # fmt: skip
    assert any(it.stops is not None for it in drawn)


CHANGES = {
    "loss": (lambda s: s.loss * 1.01 + 1, "a loss that is not its own"),
    "misfit": (lambda s: s.misfit + 0.1, "a misfit that is not its own"),
    "x": (lambda s: np.ones_like(s.x), "more atoms than k"),
    "success": (lambda s: True, "success without the bound"),
    "status": (lambda s: SimpleNamespace(name="UNREACHABLE"), "a status of bounds without a bound"),
    "coefficients": (lambda s: np.full(3, np.nan), "not finite"),
}


@pytest.mark.parametrize("changed", CHANGES)
def test_answers_that_say_something_else_are_found_out(changed):
    """Or the test above could not fail."""
    make, expected = CHANGES[changed]
    bounded = {"alpha": 1e-9} if changed == "success" else {}
    drawn = (fuzzing.drawn(seed) for seed in range(1000))
    plain = (
        it for it in drawn if it.told == ("signed", "dense", "squares") and it.door == "fit" and it.planted.b.any()
    )
    it = fuzzing.replace(next(plain), k=2, words=bounded, free=None, stops=None)
    ((s, b, k),) = fuzzing.answers(it)
    assert fuzzing.complaints(it, s, b, k) == []
    names = ("x", "loss", "misfit", "success", "status", "coefficients", "free_coefficients", "parts")
    other = SimpleNamespace(**{name: getattr(s, name) for name in names} | {changed: make(s)})
    other.parts = [other]
    assert expected in fuzzing.complaints(it, other, b, k)
