"""Does an oracle keep its contract?"""

from __future__ import annotations

import math
from itertools import islice

import numpy as np

from fewatoms import ledger, linalg
from fewatoms._types import Array, FloatArray
from fewatoms.candidates import DualPoint
from fewatoms.oracles import Oracle
from fewatoms.problem import Problem
from fewatoms.testing.saying import at_most, equal, require, same

STARTED_AGAIN = (
    "started again, with the same seed, the stream is the same (a generator cannot be: give its vectors in a list)"
)


def check_oracle(oracle: Oracle, problem: Problem, rng: object = None, *, most: int = 5, tol: float = 1e-8) -> None:
    """Check the first dual points of an oracle's stream, and that they are the same when it is started again.

    z = M*y;  support = support(z) (an upper bound where that is all that is known);  y in dom f*;
    loss and gauge are those of the oracle's own point, where it shows that;  no value of the relaxation's dual is above
    one of its primal;  the same seed, the same stream;  the problem stays as it is.

    Parameters
    ----------
    oracle : anything with iterates(problem)
        One that can be started twice: `FromIterates` of a list, not of a generator.
    problem : Problem
        With a bound if the oracle needs one.
    rng : seed, optional
        Of start vectors.
    most : int
        Dual points to look at.
    tol : float
        Relative.
    """
    before = _state(problem)
    first = _run(oracle, problem, rng, most, tol)
    require(len(first) > 0, "the stream is not empty", "no dual point came")
    for now, then in zip(_state(problem), before, strict=True):
        same("the problem stays as it is", now, then, 0.0)
    again = _run(oracle, problem, rng, most, tol)
    require(len(again) == len(first), STARTED_AGAIN, f"{len(again)} against {len(first)} points")
    for y, twin in zip(first, again, strict=True):
        same(STARTED_AGAIN, twin, y, tol)


def _state(problem: Problem) -> list[Array]:
    """What an oracle must not change: data, and what operator, loss and set make of a vector."""
    with ledger.opened(0):
        z = problem.M.adjoint(problem.b)
        parts = [problem.b, problem.data, linalg.as_flat(z), problem.loss.gradient(problem.b)]
        return [np.array(part) for part in parts] + [np.array(problem.atoms.ceiling(z))]


def _run(oracle: Oracle, problem: Problem, rng: object, most: int, tol: float) -> list[FloatArray]:
    """The first vectors y, each checked while its z is on loan."""
    found = []
    with ledger.opened(rng):
        for dual in islice(oracle.iterates(problem), most):
            require(isinstance(dual, DualPoint), "iterates are DualPoints", f"{type(dual).__name__}")
            _check_point(dual, problem, tol)
            found.append(np.array(dual.y))
    return found


def _check_point(dual: DualPoint, problem: Problem, tol: float) -> None:
    y, m = np.asarray(dual.y), problem.m
    require(y.shape == (m,), "y has one entry for each datum", f"shape {y.shape} against {(m,)}")
    require(y.dtype.kind == "f" and bool(np.isfinite(y).all()), "y holds finite real numbers", f"{y}")
    inside = problem.loss.conjugate(y)
    require(math.isfinite(inside), "y lies in dom f*", f"conjugate(y) is {inside}")
    with ledger.opened(0):  # what checking costs is not the oracle's
        z = np.array(linalg.as_flat(problem.M.adjoint(y)))
        same("z = M*y", np.asarray(linalg.as_flat(dual.z)), z, tol)
        _check_support(dual, tol)
        _check_primal(dual, problem, tol)
        _check_duality(dual, problem, tol)


def _check_support(dual: DualPoint, tol: float) -> None:
    atoms, given = dual.relaxation.problem.atoms, dual.support  # which may be in other units than the user's
    if atoms.attained:
        known = atoms.ceiling(dual.z)
        equal("support = support(z)", given, known, known if math.isfinite(known) else 1.0, tol)
    else:
        reached = atoms.reached(dual.z)
        at_most("support is no lower than an alignment that is reached", reached, given, reached, tol)


def _check_primal(dual: DualPoint, problem: Problem, tol: float) -> None:
    """The oracle's own point, where it has one in compact form."""
    own = dual.primal
    if own is None:
        return
    loss = problem.loss.value(problem.b - problem.M.apply(own.face.point(own.c)))
    size = problem.at_zero + loss
    equal("primal: its loss is that of its point", own.loss, loss, size, tol)
    equal("loss is that of the oracle's own point", dual.loss, loss, size, tol)
    gauge = own.face.gauge(own.c)
    at_most("primal: its gauge is no less than that of its representation", gauge, own.gauge, gauge, tol)


def _check_duality(dual: DualPoint, problem: Problem, tol: float) -> None:
    """p(x) + d(y) >= 0 for feasible x and y: at x = 0, and at the oracle's own point."""
    _, value = dual.relaxation.feasible(dual.y, dual.z, dual.support)
    for loss, gauge, told in ((problem.at_zero, 0.0, "x = 0"), (dual.loss, dual.gauge, "the oracle's own point")):
        primal = dual.relaxation.primal_value(loss, gauge) if math.isfinite(loss + gauge) else math.inf
        if math.isfinite(primal + value):
            at_most(f"weak duality at {told}: -d(y) <= p(x)", -value, primal, abs(primal) + abs(value), tol)
