"""All coefficients of a problem with listed atoms as one vector: what many atoms are searched in, by products alone.

No images are kept here: a step costs a product with M and one with M*, however many atoms there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fewatoms import kept, ledger, linalg
from fewatoms._types import Array, FloatArray, IntArray, ModelDual
from fewatoms.candidates import Candidate
from fewatoms.kept import Kept
from fewatoms.losses import Loss
from fewatoms.methods.listed.view import View
from fewatoms.problem import Problem

POWERS = 5  # steps of the estimate of the curvature, which may be too low: steps are checked
LINE = 20  # looks along a direction for the lowest loss, where that is not a parabola; they cost no products


@dataclass(frozen=True, eq=False)
class Fit:
    """Some classes of atoms with coefficients, and what those leave of the data.

    spots : the coordinates of the classes
    y, z : the dual vector of the residual, and M*y
    pulled : M*y in the space of the coefficients
    """

    classes: IntArray
    spots: IntArray
    c: FloatArray
    residual: FloatArray
    loss: float
    y: FloatArray
    z: ModelDual
    pulled: FloatArray

    def kept(self) -> Kept:
        """For a checkpoint: what one product makes a fit of again."""
        return Kept("fit", {}, {"classes": self.classes, "c": self.c, "residual": self.residual})


class Ends(NamedTuple):
    """When conjugate gradients end: after so many steps, once no slope inside is larger than the share `settled` of the
    largest one outside, a step lowers the loss by less than the share `gain`, or the loss is `low`."""

    steps: int
    settled: float = 0.0
    gain: float = 0.0
    low: float = -math.inf


class Space:
    """The coefficients u of all atoms, in units in which they can be compared.

    units : what the coefficients of the images of a view are, for each unit here
    """

    def __init__(self, problem: Problem, view: View, units: FloatArray | None = None) -> None:
        self.problem, self.view, self.loss = problem, view, problem.loss
        self.size = view.M.shape[1]
        self.units = np.ones(self.size) if units is None else units

    @cached_property
    def _owner(self) -> IntArray | None:
        """The class of each coordinate; None where they are the same."""
        view = self.view
        if view.blocks is None:
            return None
        owner, every = np.zeros(self.size, dtype=np.intp), np.arange(view.count)
        owner[view.coordinates(every)] = np.repeat(every, view.sizes(every))
        return owner

    # Products ---------------------------------------------------------------------------------------------------------

    def image(self, u: FloatArray) -> FloatArray:
        """One product."""
        return self.view.image(self.units * u)

    def look(self, residual: FloatArray) -> tuple[FloatArray, ModelDual, FloatArray]:
        """The dual vector of a residual, M*y, and M*y in the space of the coefficients: one product."""
        ledger.tick()
        y = self.loss.gradient(residual)
        z = self.view.outer.adjoint(y)
        return y, z, self.pull(z)

    def pull(self, z: ModelDual) -> FloatArray:
        """M*y in the space of the coefficients."""
        return self.units * self.view.pull(z)

    def lengths(self, probes: int, rng: np.random.Generator) -> tuple[FloatArray, float]:
        """Estimates of the lengths of all images, and by how much their logarithms differ: a product for each probe.

        <image, w> for random signs w has the image's squared length as its variance. What estimates differ by because
        there are few probes is taken out of them.
        """
        from scipy.special import digamma, polygamma

        weights = self.loss.weights
        root = 1.0 if weights is None else np.sqrt(weights)
        squares = np.zeros(self.size)
        for _ in range(probes):
            ledger.tick()
            signs = rng.choice(np.array([-1.0, 1.0]), self.problem.m)
            squares += self.view.pull(self.view.outer.adjoint(root * signs)) ** 2
        squares = self._averaged(squares / probes)
        seen = squares > 0
        if not seen.any():
            return squares, 0.0
        logs = np.log(squares[seen])
        noise = float(polygamma(1, 0.5 * probes))
        true = max(float(logs.var()) - noise, 0.0)
        middle = float(logs.mean()) - float(digamma(0.5 * probes)) + math.log(0.5 * probes)
        lengths = np.zeros(self.size)
        lengths[seen] = np.exp(0.5 * (middle + true / (true + noise) * (logs - logs.mean())))
        return lengths, 0.5 * math.sqrt(true)

    def _averaged(self, values: FloatArray) -> FloatArray:
        """Means over the coordinates of a class: directions within a group are not to be bent."""
        if self._owner is None:
            return values
        totals = np.bincount(self._owner, weights=values, minlength=self.view.count)
        return np.asarray((totals / self.view.sizes(np.arange(self.view.count)))[self._owner])

    def curvature(self, u: FloatArray) -> float:
        """Of the loss along the direction in which it bends most, estimated from below."""
        weights, length = self.loss.weights, 0.0
        w = self.loss.smoothness if weights is None or not self.loss.squares else weights
        for _ in range(POWERS):
            image = self.image(u / max(float(np.linalg.norm(u)), 1e-300))
            ledger.tick()
            u = self.units * self.view.pull(self.view.outer.adjoint(w * image))
            length = float(np.linalg.norm(u))
        return length

    # Classes ----------------------------------------------------------------------------------------------------------

    def sizes(self, u: FloatArray) -> FloatArray:
        """What each class contributes; negative where that is not allowed."""
        if self._owner is None:
            return u if self.view.nonnegative else np.abs(u)
        return np.sqrt(np.bincount(self._owner, weights=u * u, minlength=self.view.count))

    def shrunk(self, u: FloatArray, t: FloatArray) -> FloatArray:
        """argmin over x of |x - u|^2 / 2 + sum over classes of t_g |x_g|."""
        sizes = self.sizes(u)
        if self._owner is None:
            return np.maximum(sizes - t, 0.0) if self.view.nonnegative else np.copysign(np.maximum(sizes - t, 0.0), u)
        share = np.maximum(1.0 - t / np.where(sizes > 0, sizes, 1.0), 0.0)
        return u * share[self._owner]

    def spread(self, spots: IntArray, c: FloatArray) -> FloatArray:
        u = np.zeros(self.size)
        u[spots] = c
        return u

    def leading(self, u: FloatArray, pulled: FloatArray, k: int) -> IntArray:
        """The k classes that contribute most, topped up with those best aligned with what is left."""
        sizes = self.sizes(u)
        inside = linalg.top_k(sizes, k)
        inside = inside[sizes[inside] > 0]
        if inside.size < k:
            promise = self.sizes(pulled).copy()
            promise[inside] = -np.inf
            more = linalg.top_k(promise, k - inside.size)
            inside = np.concatenate([inside, more[promise[more] > 0]])
        return inside

    # What stands outside ----------------------------------------------------------------------------------------------

    def noisy(self, fit: Fit, share: float) -> bool:
        """Whether no class outside of a fit is aligned with what it leaves better, up to a factor, than the best of as
        many random ones would be."""
        sizes = self.sizes(fit.pulled)
        outside = np.ones(self.view.count, dtype=bool)
        outside[fit.classes] = False
        others = sizes[outside]
        if not others.size:
            return True
        typical = math.sqrt(float(np.mean(others**2)))
        return float(others.max()) <= share * typical * math.sqrt(2.0 * math.log(1.0 + others.size))

    def overlaps(self, fit: Fit, share: float, draws: int, rng: np.random.Generator) -> bool:
        """Whether any class outside of a fit has more than this share of what those inside have in common with sums of
        their images under random signs: an image much like one inside does. Two products a draw."""
        weights = self.loss.weights
        for _ in range(draws):
            ledger.tick()
            image = self.image(self.spread(fit.spots, rng.choice(np.array([-1.0, 1.0]), fit.spots.size)))
            common = np.abs(self.pull(self.view.outer.adjoint(image if weights is None else weights * image)))
            inside = float(np.median(common[fit.spots])) if fit.spots.size else 0.0
            common[fit.spots] = 0.0
            if float(common.max(initial=0.0)) > share * inside:
                return True
        return False

    # Fits -------------------------------------------------------------------------------------------------------------

    def start(self, classes: IntArray, u: FloatArray) -> Fit:
        """These classes with their coefficients in u: two products, or one if those are 0."""
        spots = self.view.coordinates(classes)
        used = u[spots].any()
        residual = self.problem.b - self.image(self.spread(spots, u[spots])) if used else self.problem.b
        return self.at(classes, spots, u[spots], residual)

    def taken(self, candidate: Candidate) -> Fit:
        """A candidate as a fit: two products."""
        classes = self.view.classes_of(candidate.face)
        spots = self.view.coordinates(classes)
        scale = self.view.user_scale(classes) * self.units[spots]
        return self.start(classes, self.spread(spots, candidate.c / np.where(scale != 0, scale, 1.0)))

    def at(self, classes: IntArray, spots: IntArray, c: FloatArray, residual: FloatArray) -> Fit:
        return Fit(classes, spots, c, residual, self.loss.value(residual), *self.look(residual))

    def again(self, it: Kept) -> Fit:
        """A fit that was kept."""
        classes = kept.places(it.arrays["classes"], self.view.count)
        spots = self.view.coordinates(classes)
        c, residual = kept.reals(it.arrays["c"], spots.size), kept.reals(it.arrays["residual"], self.problem.m)
        with ledger.elsewhere():  # it was paid for
            return self.at(classes, spots, c, residual)

    def descend(self, fit: Fit, ends: Ends) -> Fit:
        """Conjugate gradients on the classes of a fit, two products a step."""
        direction, before = np.zeros(fit.spots.size), np.zeros(fit.spots.size)
        for _ in range(ends.steps):
            slope = fit.pulled[fit.spots]
            size, last = float(slope @ slope), float(before @ before)
            if size == 0.0 or fit.loss <= ends.low or self.problem.exact(fit.loss) or self._settled(fit, ends.settled):
                break
            direction = slope + (max(float(slope @ (slope - before)), 0.0) / last if last else 0.0) * direction
            if float(direction @ slope) <= 0.0:
                direction = slope
            image = self.image(self.spread(fit.spots, direction))
            t = shortest(self.loss, fit.residual, fit.y, image)
            if t == 0.0:
                break
            fallen, before = fit.loss, slope
            fit = self.at(fit.classes, fit.spots, fit.c + t * direction, fit.residual - t * image)
            if fallen - fit.loss <= ends.gain * fit.loss:
                break
        return self._allowed(fit, ends) if self.view.nonnegative and (fit.c < 0).any() else fit

    def _settled(self, fit: Fit, share: float) -> bool:
        outside = fit.pulled.copy()
        outside[fit.spots] = 0.0
        return float(np.abs(fit.pulled[fit.spots]).max()) <= share * float(self.sizes(outside).max(initial=0.0))

    def _allowed(self, fit: Fit, ends: Ends) -> Fit:
        """Without the atoms that would need negative coefficients."""
        keep = fit.c > 0
        return self.descend(self.start(fit.classes[keep], self.spread(fit.spots, fit.c)), ends)

    def candidate(self, fit: Fit) -> Candidate:
        """A fit in the user's units."""
        view, used = self.view, np.ones(fit.classes.size, dtype=bool)
        if view.blocks is None:
            used = fit.c != 0
        classes, c = fit.classes[used], (fit.c * self.units[fit.spots])[np.repeat(used, view.sizes(fit.classes))]
        scale = view.user_scale(classes)
        gauge = None if view.unit_atoms is None else view.gauge(classes, c)
        return Candidate.of(view.face(classes), c * scale, fit.residual, fit.loss, unit_gauge=gauge)


def shortest(loss: Loss, residual: FloatArray, y: FloatArray, image: FloatArray) -> float:
    """The t >= 0 with the least f(residual - t image), or near it; y is the gradient at the residual."""
    slope, bend = float(y @ image), float(image @ image)
    if not slope > 0.0 or bend == 0.0:
        return 0.0
    if loss.squares:
        return slope / float(image @ (image if loss.weights is None else loss.weights * image))
    low, at_low, t = 0.0, slope, slope / (loss.smoothness * bend)  # so far the loss falls for certain
    for _ in range(LINE):
        high, at_high = t, float(loss.gradient(residual - t * image) @ image)
        if at_high <= 0:
            break
        low, at_low, t = t, at_high, 2 * t
    else:
        return low
    for _ in range(LINE):  # regula falsi; the end that stays counts for less each time
        t = low + (high - low) * at_low / (at_low - at_high)
        here = float(loss.gradient(residual - t * image) @ image)
        if abs(here) <= 1e-3 * slope:
            return t
        if here > 0:
            low, at_low, at_high = t, here, 0.5 * at_high
        else:
            high, at_high, at_low = t, here, 0.5 * at_low
    return low


class Descent:
    """Accelerated proximal gradients on all coefficients at once, down a ladder of penalties. Coefficients that are
    large pay less (the minimax concave penalty, by reweighting).

    relief : coefficients this many times lam pay nothing
    here : the point at the end of the last rung
    """

    def __init__(self, space: Space, at_zero: Fit, relief: float, found: Kept | None = None) -> None:
        self.space, self.relief, self.here = space, relief, at_zero
        self.u, self.residual = np.zeros(space.size), at_zero.residual
        if found is None:
            self.bend = space.curvature(at_zero.pulled)
        else:  # where an earlier one was
            self.here = space.again(found.inner[0])
            self.u, self.residual = space.spread(self.here.spots, self.here.c), self.here.residual
            self.bend = kept.real(found.told["bend"])

    def kept(self) -> Kept:
        """Where it is at the end of a rung, for a checkpoint."""
        return Kept("descent", {"bend": float(self.bend)}, {}, (self.here.kept(),))

    @property
    def held(self) -> int:
        """Classes in use."""
        return self.here.classes.size

    def rung(self, lam: float, steps: int, tol: float, weighings: int) -> None:
        """So many steps at most at this penalty, for each time that large coefficients are weighed, and a look."""
        for _ in range(weighings):
            price = lam * np.clip(1.0 - self.space.sizes(self.u) / (self.relief * lam), 0.0, 1.0)
            self._accelerate(price, steps, tol * lam)
        classes = np.flatnonzero(self.space.sizes(self.u))
        spots = self.space.view.coordinates(classes)
        self.here = self.space.at(classes, spots, self.u[spots], self.residual)

    def _accelerate(self, price: FloatArray, steps: int, tol: float) -> None:
        v, left, momentum = self.u, self.residual, 1.0
        for _ in range(steps):
            slope = self.space.look(left)[2]
            u, residual = self._step(v, left, slope, price)
            moved, step = u - v, u - self.u
            if float(moved @ step) < 0.0:  # the momentum has overshot
                momentum = 1.0
            after = 0.5 * (1 + math.sqrt(1 + 4 * momentum**2))
            share = (momentum - 1) / after
            v, left = u + share * step, residual + share * (residual - self.residual)
            self.u, self.residual, momentum = u, residual, after
            if self.bend * float(np.abs(moved).max(initial=0.0)) <= tol:
                break

    def _step(self, v: FloatArray, left: FloatArray, slope: FloatArray, price: FloatArray) -> tuple[Array, Array]:
        """One proximal step, as long as the curvature along it allows."""
        space, b = self.space, self.space.problem.b
        value = space.loss.value(left)
        while True:
            bend = max(self.bend, 1e-300)
            u = space.shrunk(v + slope / bend, price / bend)
            residual = b - space.image(u)
            moved = u - v
            model = value - float(slope @ moved) + 0.5 * bend * float(moved @ moved)
            if space.loss.value(residual) <= model + 1e-12 * abs(value):
                return u, residual
            self.bend = 1.5 * bend
