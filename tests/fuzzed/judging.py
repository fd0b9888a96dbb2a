"""What an answer says, held against what its reader recomputes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

CLOSE = 1e-6
ROUNDED = 1e-11  # of the squares that a loss is what is left of
SAYS_BOUND = {"BOUND_MET", "NOT_REACHED", "UNREACHABLE", "WITHIN_SLACK"}
NO_SUCCESS = {"NOT_REACHED", "UNREACHABLE", "BAD_DATA"}


@dataclass(frozen=True)
class Asked:
    """What was asked about some data, and the slow ways to judge an answer.

    value : the loss of residuals; image : of an answer, Mx and all that stands beside it; b : the data
    count : atoms of an answer, one number or one for each part; k : at most so many
    words : of the door; pays : whether coefficients pay, so that the loss may be above that of nothing
    extra : what else is part of the loss; objective : the loss and what coefficients pay, where that can be recomputed
    planted : the loss of what was planted, where answers may hold that
    include, exclude : atoms that must be in the answer, or must not
    """

    value: Callable[[Any], float]
    image: Callable[[Any], Any]
    b: Any
    count: Callable[[Any], Any]
    k: Any
    words: dict[str, Any]
    misfits: bool = True
    pays: bool = False
    extra: Callable[[Any], float] = field(default=lambda s: 0.0)
    objective: Callable[[Any], float] | None = None
    planted: float | None = None
    include: tuple[int, ...] = ()
    exclude: tuple[int, ...] = ()

    @property
    def bound(self) -> float | None:
        if self.words.get("misfit") is not None:
            return self.words["misfit"] ** 2 * self.value(self.b)
        return self.words.get("alpha")


def coefficients(s: Any) -> np.ndarray:
    """All of them; of groups there is an array for each."""
    found = [np.ravel(some) for part in (s.parts or [s]) for some in part.coefficients]
    return np.concatenate([np.zeros(0), *found]).astype(float)


def complaints(asked: Asked, s: Any) -> list[str]:
    """What an answer says that is not so."""
    name, x, c = s.status.name, np.asarray(s.x), coefficients(s)
    misfits = asked.misfits and bool(np.any(asked.b))
    said = [s.loss, s.objective, s.misfit if misfits else 0.0, *np.ravel(s.free_coefficients)]
    if s.biases is not None:
        said += [s.biases.center, *s.biases.rows, *s.biases.cols]
    if not (np.isfinite(x).all() and np.isfinite(said).all() and np.isfinite(c).all()):
        return ["not finite"]
    image, nothing = asked.image(s), asked.value(asked.b)
    fit = asked.value(asked.b - image)
    own = fit + asked.extra(s)
    rounded = ROUNDED * (nothing + asked.value(image))
    bound = asked.bound
    tests = {
        "more atoms than k": asked.k is not None and _above(asked.count(s), asked.k),
        "a loss that is not its own": abs(s.loss - own) > CLOSE * own + rounded,
        "a misfit that is not its own": misfits and abs(s.misfit - np.sqrt(fit / nothing)) > CLOSE * (1 + s.misfit),
        "success without the bound": bound is not None and s.success and own > bound * (1 + 1e-6) + rounded,
        "failure with the bound met": bound is not None and name in NO_SUCCESS and own < bound * (1 - 1e-6) - rounded,
        "a status of bounds without a bound": bound is None and name in SAYS_BOUND,
        "success that is none": s.success and name in NO_SUCCESS,
        "zero that is not": name == "ZERO" and bool(x.any()),
        "a loss above that of nothing": not asked.pays and own > nothing * (1 + CLOSE) + rounded,
        "a coefficient beyond the cap": "cap" in asked.words
        and np.abs(c).max(initial=0.0) > asked.words["cap"] * (1 + CLOSE),
        "out of reach, and it is planted": name == "UNREACHABLE"
        and asked.planted is not None
        and bound is not None
        and asked.planted < 0.5 * bound,
        "an objective below its loss": s.objective < s.loss * (1 - CLOSE) - rounded,
        "an objective that is not its own": asked.objective is not None
        and abs(s.objective - asked.objective(s)) > CLOSE * asked.objective(s) + rounded,
        "an atom that is left out": bool(set(asked.exclude) & _atoms(s, asked.exclude)),
        "no room for those that must be in": bool(asked.include)
        and len(set(asked.include) - _atoms(s, asked.include)) + s.cardinality > asked.k,
        "words that are not numbers": misfits and "nan" in f"{s!r}{s.message}",
    }
    return [test for test, failed in tests.items() if failed]


def _above(count: Any, k: Any) -> bool:
    """None is a budget that was left open."""
    if not isinstance(k, tuple):
        return bool(np.any(np.asarray(count) > k))
    return any(most is not None and one > most for one, most in zip(np.ravel(count), k, strict=True))


def _atoms(s: Any, wanted: tuple[int, ...]) -> set[int]:
    """Which listed atoms an answer holds. Those that must be in count, but have no place there where they are zero."""
    return {int(i) for i in np.ravel(s.indices)} if wanted else set()


def proven(s: Any, primal: Callable[[float], float] | None = None) -> list[str]:
    """What a certificate says that is not so: `primal` is (P1)'s objective at the planted point, for a lambda."""
    it = s.certificate
    bounds = it.beta_bounds
    figures = [it.loss, it.gauge, it.gap, it.primal, it.dual, it.tau_lower, *(bounds or ())]
    tests = {
        "a certificate that is not a number": bool(np.isnan(figures).any()),
        "a gap below nothing": it.gap < 0,
        "another loss in the certificate": abs(it.loss - s.loss) > CLOSE * s.loss,
        "bounds the wrong way round": bounds is not None and bounds[0] > bounds[1],
    }
    if primal is not None and it.relaxation is not None and it.relaxation.name == "P1" and not it.in_units:
        at = primal(it.relaxation.parameter)
        tests["a dual value above a primal one"] = at + it.dual < -CLOSE * (abs(at) + abs(it.dual))
    return [test for test, failed in tests.items() if failed]


def alike(s: Any, t: Any, close: float = CLOSE) -> list[str]:
    """Where two answers to one question differ."""
    x, z = np.asarray(s.x), np.asarray(t.x)
    size = max(float(np.abs(x).max(initial=0.0)), 1e-300)
    tests = {
        "another status": s.status is not t.status,
        "another loss": abs(s.loss - t.loss) > 1e-8 * s.loss + 1e-14 * size**2 * x.size,
        "another point": x.shape != z.shape or bool((np.abs(x - z) > close * size).any()),
        "another size": s.cardinality != t.cardinality,
    }
    return [test for test, failed in tests.items() if failed]
