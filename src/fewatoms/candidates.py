"""What travels through a run: dual points, iterates, and candidates."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fewatoms._types import FloatArray, ModelDual
from fewatoms.faces import Face

if TYPE_CHECKING:
    from fewatoms.relaxations import Relaxation

Compact = tuple[Face, FloatArray]  # x = sum_i c_i a_i


@dataclass(frozen=True, eq=False)
class Candidate:
    """A few atoms with coefficients, as a method proposes them.

    loss, gauge : of the point; the gauge is that of its representation
    make : () -> face and coefficients, called once, when somebody asks for them
    left : () -> the residual b - Mx, made each time it is asked for unless the method keeps it
    norms : |M a_i| per coefficient, where known
    note : what has to be said about it
    support : the fit behind it, for a method that goes on from here
    isolated : whether no better one is to be expected: no atom outside comes near those inside, or descents from
        several places have ended here
    unit_gauge : the gauge over atoms in units of their images, where the relaxation has them so
    squares : |c|^2 for coefficients of images of length 1, past free columns, which is what a ridge is on; None where
        nobody has asked: `problem.squares` makes it from the columns then
    freedom : how many numbers its representation chooses freely, where that is known without making it
    """

    loss: float
    gauge: float
    make: Callable[[], Compact]
    left: Callable[[], FloatArray]
    norms: FloatArray | None = None
    note: str = ""
    support: object = None
    isolated: bool = False
    unit_gauge: float | None = None
    squares: float | None = None
    known_freedom: int | None = None

    @classmethod
    def of(
        cls,
        face: Face,
        c: FloatArray,
        residual: FloatArray,
        loss: float,
        norms: FloatArray | None = None,
        note: str = "",
        support: object = None,
        unit_gauge: float | None = None,
        squares: float | None = None,
    ) -> Candidate:
        """A candidate that is made already."""
        gauge = face.gauge(c)
        return cls(loss, gauge, lambda: (face, c), lambda: residual, norms, note, support, False, unit_gauge, squares)

    @cached_property
    def _made(self) -> Compact:
        return self.make()

    @property
    def face(self) -> Face:
        return self._made[0]

    @property
    def c(self) -> FloatArray:
        return self._made[1]

    @property
    def residual(self) -> FloatArray:
        return self.left()

    @property
    def freedom(self) -> int:
        """How many numbers its representation chooses freely."""
        return self.face.freedom if self.known_freedom is None else self.known_freedom

    @property
    def cardinality(self) -> int:
        """How many atoms."""
        return sum(f.size for f in self.face.parts)


@dataclass(frozen=True, eq=False)
class DualPoint:
    """One dual vector, with what its oracle knows about it.

    y : (m,) array, a positive multiple of grad f(b - Mx) for some x, in dom f*
    z : M*y, on loan until the next point
    support : support(z)
    relaxation : the problem that the stream solves
    loss, gauge : of the oracle's own primal point; infinite if it has none
    squares : of its coefficients in units of the images, where there is a ridge on them
    primal : that point in compact form, where the oracle has it so
    series : which of several sequences of an oracle the point continues
    """

    y: FloatArray
    z: ModelDual
    support: float
    relaxation: Relaxation
    loss: float = np.inf
    gauge: float = np.inf
    primal: Candidate | None = None
    series: int = 0
    squares: float = np.inf


@dataclass(frozen=True, eq=False)
class Iterate:
    """One step of a job's stream.

    dual : its dual point; None where evaluating it costs an iteration's work: `job.evaluate(iterate)` makes it then,
        for a callback or a certificate
    primal : the method's own point in compact form, if it has one
    worth : of iterates whose dual points are dear, which one is worth evaluating: the last of the highest
    at : the method's own record of where it is, for `evaluate`
    lam : the penalty in force there
    """

    dual: DualPoint | None = None
    primal: Candidate | None = None
    worth: float = -math.inf
    at: object = None
    lam: float = 0.0
