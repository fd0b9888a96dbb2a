"""The paper's level-set method for (P3): find the root of v(tau) = alpha, v(tau) = min f subject to gauge <= tau."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Protocol

from fewatoms import _checks, ledger
from fewatoms.candidates import DualPoint
from fewatoms.oracles.base import need_support
from fewatoms.oracles.conditional_gradient import ConditionalGradient, Walk
from fewatoms.problem import Problem
from fewatoms.relaxations import P3


class Advancing(Protocol):
    """A root finder on its way."""

    def advance(self, tau: float, walk: Walk) -> float:
        """The next tau."""
        ...


class Inner(Protocol):
    """A method for (P2) whose tau may change as it goes."""

    def start(self, problem: Problem) -> Walk:
        """Its state at x = 0."""
        ...


class RootFinder(Protocol):
    """Chooses the next tau after each step of the inner method."""

    def start(self, alpha: float) -> Advancing:
        """A fresh state."""
        ...


class Newton:
    """Newton's method on v from the left, with inexact subproblems.

    A dual bound l > alpha with slope -s moves tau to tau + (l - alpha) / s, which never passes the root. A step is made
    when the bound is good enough: u - alpha <= ratio (l - alpha), u being the primal value.
    """

    def __init__(self, ratio: float = 1.8) -> None:
        if not _checks.number("ratio", ratio) > 1.0:
            raise ValueError(f"ratio must be larger than 1; got {ratio!r}")
        self.ratio = ratio

    def start(self, alpha: float) -> _NewtonState:
        return _NewtonState(alpha, self.ratio)


class _NewtonState:
    def __init__(self, alpha: float, ratio: float) -> None:
        self.alpha, self.ratio = alpha, ratio

    def advance(self, tau: float, walk: Walk) -> float:
        above = walk.lower_bound(tau) - self.alpha
        if above > 0 and walk.support > 0 and walk.loss - self.alpha <= self.ratio * above:
            return tau + above / walk.support
        return tau


class Bisection:
    """Bisection on tau: a dual bound above alpha moves the left end, a primal point that meets alpha the right end.

    The right end is feasible for (P3), which gives a finite duality gap; Newton's method never has one of its own.
    """

    def start(self, alpha: float) -> _BisectionState:
        return _BisectionState(alpha)


class _BisectionState:
    def __init__(self, alpha: float) -> None:
        self.alpha = alpha
        self.low, self.high = 0.0, math.inf

    def advance(self, tau: float, walk: Walk) -> float:
        above = walk.lower_bound(tau) - self.alpha
        if walk.loss <= self.alpha:
            self.high = min(self.high, walk.gauge)
        elif above > 0 and walk.support > 0:
            self.low = max(self.low, tau + above / walk.support)
        elif tau > 0:
            return tau  # undecided: another step at this tau
        if math.isinf(self.high):
            return 2.0 * max(self.low, tau)
        return 0.5 * (min(self.low, self.high) + self.high)


class LevelSet:
    """The level-set method around an inner method for (P2).

    With the default inner method, the dual conditional-gradient method, the state between iterates is a few vectors of
    length m, whatever the size of the model.

    Parameters
    ----------
    root : Newton() or Bisection()
    inner : ConditionalGradient() or Bundle()
    """

    def __init__(self, root: RootFinder | None = None, inner: Inner | None = None) -> None:
        self.root = Newton() if root is None else root
        self.inner: Inner = ConditionalGradient() if inner is None else inner
        for name, value, method in (("root", self.root, "advance"), ("inner", self.inner, "look")):
            if not hasattr(value, "start"):
                raise TypeError(f"{name} must have a method start() whose result has {method}(); got {value!r}")

    def iterates(self, problem: Problem) -> Iterator[DualPoint]:
        relaxation = P3(problem)
        walk, root = self.inner.start(problem), self.root.start(relaxation.alpha)
        tau = 0.0
        while True:
            walk.look()
            need_support(problem, walk.support, self)
            ledger.tick()
            yield walk.point(relaxation)
            tau = root.advance(tau, walk)
            walk.shrink(tau)
            walk.step(tau)


__all__ = ["Bisection", "LevelSet", "Newton"]
