"""Accelerated proximal gradients for (P1), at one lambda or down a ladder of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from fewatoms import _checks, files, kept, ledger
from fewatoms._types import FloatArray
from fewatoms.budget import one_each
from fewatoms.candidates import Compact, DualPoint
from fewatoms.capabilities import Prox
from fewatoms.faces import Face
from fewatoms.kept import Kept, Plain
from fewatoms.oracles.base import penalty_at
from fewatoms.problem import Problem
from fewatoms.relaxations import P1, P3, Relaxation

MOVING = ("loss", "gauge", "momentum", "beta", "lipschitz")  # of a descent


class ProximalGradient:
    """minimise f(b - Mx) + lam gauge(x), by Nesterov's accelerated method with backtracking and restarts.

    It keeps x and its predecessor in compact form (sparse, or as thin factors), their images, and the dual vector.
    Two products an iteration. For the nonnegative cone, whose gauge is zero, lam plays no part.

    Parameters
    ----------
    lam : float
        The penalty weight, positive.
    """

    def __init__(self, lam: float = 1.0) -> None:
        self.lam = _checks.number("lam", lam, positive=True)

    def iterates(self, problem: Problem) -> Iterator[DualPoint]:
        lam = self.lam if problem.atoms.bounded else 0.0
        relaxation = P1(problem, lam)
        descent = Descent(problem)
        while True:
            descent.look()
            yield descent.point(relaxation)
            descent.step(lam)


class Continuation:
    """Proximal gradients down a ladder of penalties: lambda = shrink^j times the smallest one whose answer is zero.

    Each rung is solved roughly, starting from the one above; it yields at the start and at the end of each rung. The
    default oracle: it needs neither alpha nor tau. With a bound it certifies (P3), without one (P1) at the last rung.
    The nonnegative cone has no penalty: there every rung is a further stretch of the same descent.

    Parameters
    ----------
    shrink : float in (0, 1)
    steps : int
        Iterations on a rung at most.
    tol : float
        A rung ends when its duality gap falls below this share of the primal value.
    floor : float
        The last rung, as a share of the first lambda.
    """

    patience = 8  # rungs without a better answer

    def __init__(self, shrink: float = 0.6, *, steps: int = 30, tol: float = 1e-2, floor: float = 1e-7) -> None:
        if not 0.0 < _checks.number("shrink", shrink) < 1.0:
            raise ValueError(f"shrink must lie between 0 and 1; got {shrink!r}")
        self.shrink = shrink
        self.steps = _checks.integer("steps", steps, 1)
        self.tol = _checks.number("tol", tol)
        self.floor = _checks.number("floor", floor, positive=True)

    def iterates(self, problem: Problem) -> Iterator[DualPoint]:
        descent = Descent(problem)
        descent.look()
        sigma = problem.atoms.ceiling(descent.z)
        start = penalty_at(problem, descent.z, sigma)
        goal = P3(problem) if problem.alpha is not None and problem.atoms.bounded else None
        with ledger.step("ladder") as here:
            lam = start
            if here.found is None:
                yield descent.point(goal or P1(problem, start), sigma)
            else:
                lam = descent.again(here.found)
            while True:
                here.mark(descent.noted(lam))
                lam = max(lam * self.shrink, self.floor * start)  # the last rung is solved again and again, ever better
                rung = P1(problem, lam)
                for _ in range(self.steps):
                    descent.step(lam)
                    descent.look()
                    ledger.tick()
                    sigma = problem.atoms.ceiling(descent.z)
                    _, dual = rung.feasible(descent.y, descent.z, sigma)
                    primal = rung.primal_value(descent.loss, descent.gauge)
                    if primal + dual <= self.tol * primal:
                        break
                yield descent.point(goal or rung, sigma)


class Descent:
    """The moving state: x and its predecessor in compact form, their images, the extrapolated point's y and z."""

    def __init__(self, problem: Problem) -> None:
        prox = problem.atoms.offers(Prox)
        if prox is None:
            raise ValueError(
                f"oracle ProximalGradient, or Continuation, needs a proximal map; {problem.atoms!r} has none: "
                "use LevelSet, ConditionalGradient or no oracle at all"
            )
        self.problem, self.prox = problem, prox
        zero = np.zeros(problem.m)
        self.here: Compact | None = None  # x as (face, c); None is 0
        self.before: Compact | None = None
        self.image, self.image_before = zero, zero
        self.loss, self.gauge = problem.at_zero, 0.0
        self.momentum = 1.0
        self.beta = 0.0
        self.lipschitz = 0.0

    def noted(self, lam: float) -> Callable[[], Kept]:
        """Note where it is, at a penalty, for a checkpoint."""
        points, images = (self.here, self.before), {"image": self.image, "image before": self.image_before}
        told: dict[str, Plain] = {
            "lam": lam,
            "there": [point is not None for point in points],
            **{name: float(vars(self)[name]) for name in MOVING},
        }
        coefficients = {f"c {i}": point[1] for i, point in enumerate(points) if point is not None}
        made = [point[0] for point in points if point is not None]
        return lambda: Kept("descent", told, {**images, **coefficients}, tuple(face.kept() for face in made))

    def again(self, it: Kept) -> float:
        """Go on from there; the penalty."""
        faces, found = map(files.face_of, it.inner), list[Compact | None]()
        for i, there in enumerate(kept.rows(it.told["there"])):
            found.append((next(faces), it.arrays[f"c {i}"]) if there else None)
        self.here, self.before = found
        self.image, self.image_before = it.arrays["image"], it.arrays["image before"]
        for name in MOVING:
            setattr(self, name, kept.real(it.told[name]))
        self.look()
        return kept.real(it.told["lam"])

    def look(self) -> None:
        """The dual vector at the extrapolated point x + beta (x - x_before): one product with M*."""
        problem = self.problem
        self.image_there = self.image + self.beta * (self.image - self.image_before)
        self.residual_there = problem.b - self.image_there
        self.y = problem.loss.gradient(self.residual_there)
        self.z = problem.M.adjoint(self.y)

    def point(self, relaxation: Relaxation, sigma: float | None = None) -> DualPoint:
        """What the caller sees: the dual vector, with the loss and gauge of x."""
        sigma = self.problem.atoms.ceiling(self.z) if sigma is None else sigma
        return DualPoint(self.y, self.z, sigma, relaxation, self.loss, self.gauge)

    def _terms(self) -> list[tuple[float, Face, FloatArray]]:
        pairs = ((1 + self.beta, self.here), (-self.beta, self.before))
        return [(a, *p) for a, p in pairs if a and p is not None]

    def step(self, lam: float) -> None:
        """One proximal step from the extrapolated point; one product with M for each trial of the step length."""
        problem, loss = self.problem, self.problem.loss
        value_there = loss.value(self.residual_there)
        terms = self._terms()
        if self.lipschitz == 0.0:
            self.lipschitz = self._first_guess()
        while True:
            face, c = self.prox.shrink(terms, self.z, 1 / self.lipschitz).at(lam / self.lipschitz)
            image = face.measure(problem.M, c) if face.dim else np.zeros(problem.m)
            value = loss.value(problem.b - image)
            model = value_there - float(np.dot(self.y, image - self.image_there))
            moved = self._distance((face, c), terms)
            if value <= model + 0.5 * self.lipschitz * moved + 1e-13 * abs(value_there):
                break
            self.lipschitz *= 2.0
            if not math.isfinite(value) or math.isinf(self.lipschitz):
                raise ValueError(_checks.UNITS.format("large"))
        gauge = face.gauge(c)
        if self.beta > 0 and value + lam * gauge > self.loss + lam * self.gauge:
            # the momentum overshot: stay, and go on from x itself
            self.momentum, self.beta = 1.0, 0.0
            self.before, self.image_before = self.here, self.image
            return
        self.before, self.image_before = self.here, self.image
        self.here, self.image = (face, c), image
        self.loss, self.gauge = value, gauge
        momentum = 0.5 * (1 + math.sqrt(1 + 4 * self.momentum**2))
        self.beta = (self.momentum - 1) / momentum
        self.momentum = momentum
        self.lipschitz *= 0.98  # a first guess that was too careful fades away

    def _first_guess(self) -> float:
        """A lower bound of the Lipschitz constant, from the exposed atom: |Ma|^2 L for an atom a of length |a|."""
        problem = self.problem
        face = problem.atoms.expose(self.z, one_each(problem.atoms).k)
        c = face.mean_atom()
        image = face.measure(problem.M, c)
        with np.errstate(over="ignore"):
            size = float(np.dot(image, image))
        if math.isinf(size) or (size < 1e-300 and image.any()):
            raise ValueError(_checks.UNITS.format("large" if math.isinf(size) else "small"))
        return max(problem.loss.smoothness * size / max(face.inner(c, face, c), 1e-300), 1e-300)

    def _distance(self, new: Compact, terms: list[tuple[float, Face, FloatArray]]) -> float:
        """|x_new - x_there|^2 from inner products of compact points, plus what cancellation may have hidden.

        Without that addition no step length would pass the test above once the points agree to half of their digits.
        """
        signed = [(1.0, *new)] + [(-a, f, c) for a, f, c in terms]
        total = size = 0.0
        for i, (a, f, c) in enumerate(signed):
            for j, (e, g, d) in enumerate(signed[: i + 1]):
                term = (1 if i == j else 2) * a * e * f.inner(c, g, d)
                total, size = total + term, size + abs(term)
        return max(total, 0.0) + 1e-15 * size
