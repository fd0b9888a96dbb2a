"""Units never matter: the same question in other units has the same answer in those, or is refused by name."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fewatoms as fa
from journeys.other_units import CASES, Asked, asked

FAR = 2.0**430  # 3e129
FARTHEST = {("phases", "M"): 2.0**210, ("complex phases", "M"): 2.0**210}  # fourth powers of these are formed
LOOSE = {"entries": 1e-4, "entries by misfit": 1e-4, "entries with ridge": 1e-4, "entries with biases": 1e-2}
FIGURES = (
    "loss", "objective", "gauge", "primal", "dual", "gap", "tau_lower", "beta_bounds",
    "norm", "radius", "epsilon", "threshold", "hausdorff",
)  # fmt: skip
TWINS = [(name, unit) for name, case in CASES.items() for unit in case.units]


def figures(s):
    """Those of a certificate, the unknown ones left out."""
    found = {name: getattr(s.certificate, name) for name in FIGURES}
    return {name: np.atleast_1d(value) for name, value in found.items() if value is not None}


def assert_same(s, plain, twin: Asked, within=1e-6):
    """One answer in the units of the other."""
    assert s.status is plain.status
    assert s.misfit == pytest.approx(plain.misfit, rel=within, abs=1e-12, nan_ok=True)
    assert s.r2 == pytest.approx(plain.r2, abs=within, nan_ok=True)
    assert s.loss / twin.loss == pytest.approx(
        plain.loss, rel=2 * within, abs=1e-24 * plain.certificate.problem.at_zero
    )
    with np.errstate(under="ignore"):
        x = s.x / twin.x
    np.testing.assert_allclose(x, plain.x, rtol=0, atol=within * np.abs(plain.x).max())
    np.testing.assert_allclose(
        s.free_coefficients / twin.free, plain.free_coefficients, rtol=0,
        atol=within * np.abs(plain.free_coefficients).max(initial=0.0),
    )  # fmt: skip
    here, there = figures(s), figures(plain)
    assert here.keys() == there.keys()
    for name, value in here.items():
        np.testing.assert_array_equal(np.isfinite(value), np.isfinite(there[name]), err_msg=name)
        assert not np.isnan(value).any(), name
    assert s.certificate.gap >= 0
    assert str(s)
    assert str(s.certificate)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("power", [-1.0, -0.1, 0.1, 1.0])
@pytest.mark.parametrize(("name", "unit"), TWINS)
def test_one_thing_in_other_units(name, unit, power):
    plain, twin = asked(name), asked(name, **{unit: FARTHEST.get((name, unit), FAR) ** power})
    assert_same(fa.fit(**twin.words), fa.fit(**plain.words), twin, LOOSE.get(name, 1e-6))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CASES)
def test_all_things_in_other_units(name, seed):
    rng = np.random.default_rng(seed)
    units = {unit: 2.0 ** int(rng.integers(-200, 200)) for unit in CASES[name].units}
    plain, twin = asked(name), asked(name, **units)
    assert_same(fa.fit(**twin.words), fa.fit(**plain.words), twin, LOOSE.get(name, 1e-6))


DECIMAL = [1e-150, 1e-75, 1e-3, 1e6, 1e60, 1e150]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("factor", [2e-320, 1e-310, 1e-200, *DECIMAL, 1e200, 1e308])
@pytest.mark.parametrize(("name", "unit"), TWINS)
def test_the_same_or_refused_by_name(name, unit, factor):
    """Where numbers, or the squares that a loss is made of, overflow or vanish, something is said."""
    try:
        with np.errstate(all="ignore"):
            twin = asked(name, **{unit: factor})
    except (OverflowError, ZeroDivisionError, ValueError):
        return  # the very question is no number
    if not all(np.isfinite(twin.words[word]).all() for word in ("M", "b") if isinstance(twin.words[word], np.ndarray)):
        return
    try:
        s = fa.fit(**twin.words)
    except ValueError as refusal:
        told = str(refusal)
    else:
        told = ""
    if told:
        assert factor < 1e-70 or factor > 1e70
        assert told.split(" must ")[0] in {
            "M", "b", "free", "cap", "alpha", "weights", "delta", "D", "operator", "the scale of an atomic set",
        }  # fmt: skip
        return
    plain = fa.fit(**asked(name).words)
    assert s.status is plain.status
    assert s.misfit == pytest.approx(plain.misfit, rel=1e-3, abs=1e-12, nan_ok=True)
    for value in figures(s).values():
        assert not np.isnan(value).any()


# Other doors --------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(4)
@pytest.mark.parametrize("unit", ["b", "M", "columns"])
@pytest.mark.parametrize("power", [-1.0, 1.0])
@pytest.mark.parametrize("name", ["signed", "ridge", "nonnegative", "groups", "intercept", "huber", "beside columns"])
def test_many_at_once(name, unit, power):
    def answers(**units):
        twin = asked(name, **units)
        words = dict(twin.words)
        M, b = words.pop("M"), words.pop("b")
        return fa.fit_many(M, np.stack([b, b[::-1]], axis=1), **words), twin

    (plain, _), (found, twin) = answers(), answers(**{unit: FAR**power})
    for s, t in zip(found, plain, strict=True):
        assert_same(s, t, twin)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("unit", ["b", "M", "columns"])
@pytest.mark.parametrize("power", [-1.0, 1.0])
@pytest.mark.parametrize("name", ["signed", "ridge", "nonnegative", "groups", "intercept", "huber"])
def test_paths(name, unit, power):
    def path(**units):
        twin = asked(name, **units)
        words = {**twin.words, "k": [1, 2, 3]}
        return fa.fit_path(words.pop("M"), words.pop("b"), **words), twin

    (plain, _), (found, twin) = path(), path(**{unit: FAR**power})
    for k in (1, 2, 3):
        assert_same(found[k], plain[k], twin)


@pytest.mark.parametrize("power", [-1.0, 1.0])
@pytest.mark.parametrize("unit", ["b", "M", "columns", "free"])
def test_predictions_files_and_proofs_are_in_the_units_of_the_user(unit, power, tmp_path):
    plain, twin = asked("beside columns"), asked("beside columns", **{unit: FAR**power})
    s, t = fa.fit(**twin.words), fa.fit(**plain.words)
    on_b = FAR**power if unit == "b" else 1.0
    np.testing.assert_allclose(
        s.predict(twin.words["M"], free=twin.words["free"]) / on_b,
        t.predict(plain.words["M"], free=plain.words["free"]),
        rtol=1e-9,
    )
    s.save(tmp_path / "s")
    back = fa.load(tmp_path / "s")
    np.testing.assert_array_equal(back.x, s.x)
    again = back.attach(twin.words["M"], twin.words["b"], free=twin.words["free"])
    assert 0 <= again.certificate.gap < math.inf


def test_callbacks_hear_the_units_of_the_user():
    def heard(**units):
        twin, seen = asked("signed", **units), []
        fa.fit(**twin.words, callback=lambda p: seen.append((p.loss / twin.loss, p.misfit, p.cardinality)))
        return np.array(seen[-1])

    np.testing.assert_allclose(heard(b=FAR), heard(), rtol=1e-9)
    np.testing.assert_allclose(heard(M=1 / FAR), heard(), rtol=1e-9)
