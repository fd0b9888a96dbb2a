"""Nodes bounded by loops, as machine code where that is at hand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fewatoms._types import Array, FloatArray, Foreign
from fewatoms.proofs.machine import Machine
from fewatoms.proofs.smooth.given import FREE, IN, OUT, Given, Posed

FIRST_STEPS = 40  # at the root, which everything begins at
NODE_STEPS = 8  # at other nodes
FIT_STEPS = 60  # where a choice of classes is fitted
UNUSED = 30  # groups that are not in use that are looked at
ROOT_PRECISION = 1e-5  # share of what lacks for an end: the first relaxation is solved so far
PRECISION = 1e-8  # the same of the objective, elsewhere
SMALL_ENOUGH, FEW_ENOUGH = 400, 12  # numbers in all images, and how many they are: nodes take milliseconds in any case


def _sample() -> tuple[object, ...]:
    """Arguments as `node` takes them."""
    one, flat, whole = np.ones((1, 1)), np.ones(1), np.zeros(1, dtype=np.int64)
    given = Given(one, one, flat, flat, flat, flat, whole, one, whole, flat, flat, flat, 1, 0, 1.0, False)
    return given, whole, 1, flat, flat, 0.0, 0.0, 0.0, 1, 1, flat, flat, flat


MACHINE = Machine(
    f"{__name__}:MACHINE",
    tuple(f"fewatoms.proofs.smooth.{name}" for name in ("_losses", "_groups", "_nodes")),
    {"node": _sample},
)


@dataclass(frozen=True, eq=False)
class Bounded:
    """A node's bound.

    x, v : the coefficients whose y proves it
    theta : the penalty on the use of a class
    h : what each class gains
    shares, weight : of each class: how far it is used, and what its coefficients pay
    above : what its relaxation comes to, roughly; of a choice that was fitted its objective
    fit, free : the coefficients at which it comes to that
    """

    bound: float
    x: FloatArray
    v: FloatArray
    theta: float
    h: FloatArray
    shares: FloatArray
    weight: FloatArray
    above: float
    fit: FloatArray
    free: FloatArray


class Nodes:
    """All that is done to nodes."""

    def __init__(self, posed: Posed) -> None:
        self.posed, self.given = posed, posed.given
        self.classes = posed.starts.size - 1

    @property
    def ready(self) -> bool:
        """Whether there is machine code for what is to be done, or it can be done without."""
        return self._small or not MACHINE.wanted or MACHINE.ready() is not None

    @cached_property
    def _small(self) -> bool:
        n, m = self.given.A.shape
        return n * m <= SMALL_ENOUGH and n <= FEW_ENOUGH

    @property
    def _node(self) -> Foreign:
        return (MACHINE.ready() or MACHINE.plain)["node"]

    def root(self, state: Array, kappa: int, target: float) -> Bounded:
        """The first node, from nothing."""
        g = self.given
        x, v = np.zeros(g.A.shape[0]), np.zeros(g.F.shape[0])
        state, kappa = settled(state, kappa)
        return self._bounded(state, kappa, x, v, -1.0, target, ROOT_PRECISION * abs(target), FIRST_STEPS)

    def near(self, state: Array, kappa: int, known: Bounded, target: float) -> Bounded:
        """A node from what is known of the one that it is a part of."""
        last = kappa == 0 or np.count_nonzero(state == FREE) <= kappa
        steps = FIT_STEPS if last else NODE_STEPS
        state, kappa = settled(state, kappa)
        x, enough = self._without(known.x, state), PRECISION * abs(target)
        found = self._bounded(state, kappa, x, known.v.copy(), known.theta, target, enough, steps)
        if not last or found.bound >= target or found.above - found.bound <= max(enough, PRECISION * found.above):
            return found
        anew = self._bounded(state, kappa, np.zeros_like(x), np.zeros_like(known.v), 0.0, target, enough, steps)
        return max(found, anew, key=lambda bounded: bounded.bound)  # some losses are flat where that one began

    def again(self, state: Array, kappa: int, known: Bounded) -> Bounded:
        """The same node by the same coefficients."""
        state, kappa = settled(state, kappa)
        return self._bounded(state, kappa, known.x.copy(), known.v.copy(), known.theta, -np.inf, 0.0, 0)

    def at(self, state: Array, kappa: int, x: FloatArray, v: FloatArray) -> Bounded:
        """A node by some coefficients, whose penalty nobody knows."""
        state, kappa = settled(state, kappa)
        return self._bounded(state, kappa, x.copy(), v.copy(), -1.0, -np.inf, 0.0, 0)

    def fitted(self, chosen: Array, known: Bounded, upper: float) -> Bounded | None:
        """The best coefficients of some classes; None once it is plain that they are no better than what is known."""
        state = np.full(self.classes, OUT, dtype=np.int64)
        state[chosen] = IN
        x = self._without(known.x, state)
        found = self._bounded(state, 0, x, known.v.copy(), 0.0, upper, 1e-12 * abs(upper), FIT_STEPS)
        return None if found.bound >= upper else found

    def _without(self, x: FloatArray, state: Array) -> FloatArray:
        """Coefficients, 0 for classes that are left out."""
        return np.where(np.repeat(state == OUT, np.diff(self.posed.starts)), 0.0, x)

    def _bounded(
        self, state: Array, kappa: int, x: FloatArray, v: FloatArray, theta: float, target: float, enough: float,
        steps: int,
    ) -> Bounded:  # fmt: skip
        h = np.empty(self.classes)
        fit, free = x.copy(), v.copy()
        found = self._node(self.given, state, kappa, x, v, theta, target, enough, steps, UNUSED, h, fit, free)
        bound, above, theta, _ = found
        shares, weight = self._shares(x, max(theta, 0.0))
        return Bounded(bound, x, v, theta, h, np.where(state == IN, 1.0, shares), weight, above, fit, free)

    def _shares(self, x: FloatArray, theta: float) -> tuple[FloatArray, FloatArray]:
        """How far each class is used for a penalty on its use, and what it pays."""
        g, starts = self.given, self.posed.starts[:-1]
        weight = np.add.reduceat(0.5 * g.d * x * x, starts)
        least = np.maximum.reduceat(np.abs(x) / g.cap, starts)
        if theta <= 0.0:
            return np.where((weight > 0) | (least > 0), 1.0, 0.0), weight
        return np.clip(np.maximum(np.sqrt(weight / theta), least), 0.0, 1.0), weight


def settled(state: Array, kappa: int) -> tuple[Array, int]:
    """Where there is room for all that is free, it is taken."""
    if kappa > 0 and np.count_nonzero(state == FREE) <= kappa:
        return np.where(state == FREE, IN, state), 0
    return state, kappa
