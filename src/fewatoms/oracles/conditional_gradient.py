"""The dual conditional-gradient method for (P2), storing vectors of the data's length only."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fewatoms import _checks
from fewatoms._types import FloatArray
from fewatoms.candidates import DualPoint
from fewatoms.faces import Face
from fewatoms.losses import exact_step
from fewatoms.oracles.base import need_bounded
from fewatoms.problem import Problem
from fewatoms.relaxations import P2, Relaxation


class ConditionalGradient:
    """minimise f(b - Mx) subject to gauge(x) <= tau, by moving Mx towards the image of the exposed atom.

    x itself is never formed: the state is Mx and its gauge. Between iterates it holds Mx, the residual and y (three
    vectors of length m); z is on loan.

    Parameters
    ----------
    tau : float
        The gauge allowed. `LevelSet` sets its own and needs none here.
    tie : float
        Atoms whose alignment is within this share of the best are averaged (finite sets only), as in the authors' code;
        0 takes one atom at a time. Near a solution an average may lead nowhere: then the best atom alone is taken.
    """

    def __init__(self, tau: float | None = None, *, tie: float = 0.01) -> None:
        self.tau = None if tau is None else _checks.number("tau", tau, positive=True)
        self.tie = _checks.number("tie", tie)

    def iterates(self, problem: Problem) -> Iterator[DualPoint]:
        if self.tau is None:
            raise ValueError("tau must be given to use ConditionalGradient as an oracle of its own; got None")
        relaxation = P2(problem, self.tau)
        walk = self.start(problem)
        while True:
            walk.look()
            yield walk.point(relaxation)
            walk.step(self.tau)

    def start(self, problem: Problem) -> Walk:
        """The state at x = 0."""
        need_bounded(problem, self)
        return Walk(problem, self.tie)


class Walk:
    """The moving state: Mx, gauge(x), and after `look` the residual's loss, y, z and support(z)."""

    def __init__(self, problem: Problem, tie: float) -> None:
        self.problem, self.tie = problem, tie
        self.image: FloatArray = np.zeros(problem.m)  # Mx
        self.gauge = 0.0

    def look(self) -> None:
        """Evaluate the loss and the dual vector at the present point: one product with M*."""
        problem = self.problem
        residual = problem.b - self.image
        self.loss = problem.loss.value(residual)
        self.y = problem.loss.gradient(residual)
        self.z = problem.M.adjoint(self.y)
        self.support, self.face = problem.atoms.extreme(self.z, self.tie)
        self.aligned, self.alone = self.support, self.face
        if self.tie and float(np.dot(self.image, self.y)) > (1 - 2 * self.tie) * self.gauge * self.support:
            # only here can the average fall short in `towards`, and z is not ours any more by then
            self.aligned = float(np.dot(self.face.adjoint(self.z), self.face.mean_atom()))
            self.alone = problem.atoms.extreme(self.z)[1]

    def towards(self, tau: float) -> Face:
        """The tied atoms if their average promises half of the descent that the best atom does, else that one."""
        here = float(np.dot(self.image, self.y))
        return self.face if tau * self.aligned - here >= 0.5 * (tau * self.support - here) else self.alone

    def point(self, relaxation: Relaxation) -> DualPoint:
        """What the caller sees."""
        return DualPoint(self.y, self.z, self.support, relaxation, self.loss, self.gauge)

    def lower_bound(self, tau: float) -> float:
        """min f subject to gauge <= tau is at least this."""
        problem = self.problem
        return float(np.dot(problem.b, self.y)) - problem.loss.conjugate(self.y) - tau * self.support

    def step(self, tau: float) -> None:
        """Move towards tau times the exposed atom, as far as the loss falls: one product with M."""
        problem, face = self.problem, self.towards(tau)
        direction = -self.image
        if face.dim:  # otherwise every atom points away, and the best point of tau A is 0
            direction += tau * face.measure(problem.M, face.mean_atom())
        theta = exact_step(problem.loss, problem.b - self.image, direction, 1.0)
        self.image += theta * direction
        self.gauge = (1 - theta) * self.gauge + (theta * tau if face.dim else 0.0)

    def shrink(self, tau: float) -> None:
        """Scale the point back to gauge tau."""
        if self.gauge > tau:
            self.image *= tau / self.gauge
            self.gauge = tau
