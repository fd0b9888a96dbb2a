"""Starts for quadratic measurements: a descent on amplitudes instead of intensities, from several places.

The intensities |a_i L|^2 that the loss compares with b make a landscape with traps where data are few, and one whose
curvature goes with the fourth power of the rows. On amplitudes, smoothed and with every row in units of its length,

    sum_i (sqrt(|a_i L|^2 + b_i) - sqrt(2 b_i))^2 / |a_i|^2,

a descent hardly ever ends in a trap and takes a third of the steps. Data without noise have the same answer either way;
with noise it is where the descent on the loss itself begins.

Reference: Gao, Sun, Wang, "Perturbed amplitude flow for phase retrieval", IEEE Trans. Signal Processing 68 (2020).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from fewatoms import ledger, linalg
from fewatoms._types import Array, FloatArray
from fewatoms.candidates import Candidate
from fewatoms.capabilities import Intensities, Semidefinite
from fewatoms.faces import Face, SymmetricTurning
from fewatoms.kept import Kept
from fewatoms.problem import Problem
from fewatoms.retrieval.reduced_fit import reduced_fit

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

STAGE = "descending on amplitudes"


@dataclass(frozen=True)
class AmplitudeFlow:
    """How descents on amplitudes go.

    steps : of one descent at most
    window, fall : a descent ends when so many steps lower its value by less than this share: what is left to gain is
        gained faster by the descent on the loss that follows
    floor : of the data: a value that cannot become smaller, rounding
    idle : weights below this share of the largest do not count
    probes : random vectors that tell the lengths of rows which are known by products only
    """

    steps: int = 500
    window: int = 10
    fall: float = 0.02
    floor: float = 1e-30
    idle: float = 1e-6
    probes: int = 8


@dataclass(frozen=True, eq=False)
class Amplitudes:
    """The amplitudes of a problem whose data are intensities and whose unknown is a factor, and descents on them.

    problem : with its budget, over the semidefinite set itself
    M, atoms : what its operator and its set offer
    dice : makes the generator of a start anywhere
    keep : who is handed the point of a descent that is stopped on its way
    """

    problem: Problem
    M: Intensities
    atoms: Semidefinite
    flow: AmplitudeFlow
    dice: Callable[[], np.random.Generator]
    keep: Callable[[Candidate], None] = ledger.keep

    @cached_property
    def rng(self) -> np.random.Generator:
        """Made when the first draw is due: many descents end before."""
        return self.dice()

    @property
    def k(self) -> int:
        return self.problem.budget.single

    @property
    def n(self) -> int:
        return self.problem.atoms.shape[0]

    @cached_property
    def used(self) -> FloatArray:
        """1 for data that count, 0 for those whose weight is next to nothing."""
        w = self.problem.loss.weights
        return np.ones(self.problem.m) if w is None else (w > self.flow.idle * float(w.max())).astype(np.float64)

    @cached_property
    def units(self) -> FloatArray:
        """1 / |a_i|^2; 0 for rows that are zero or do not count. Lengths that are not known are estimated."""
        squares = self.M.row_squares()
        if squares is None:
            probes = self.rng.standard_normal((self.n, self.flow.probes)) / math.sqrt(self.flow.probes)
            squares, _ = self.M.measure_factor(probes)
        return np.divide(self.used, squares, out=np.zeros_like(squares), where=squares > 0)

    @cached_property
    def intensities(self) -> FloatArray:
        """b, without what noise has made negative."""
        return np.maximum(self.problem.b, 0.0)

    def starts(self, candidate: Candidate, *, all_of_them: bool) -> Iterator[Candidate]:
        """Candidates to descend from on the loss itself, the most promising first."""
        face, c = candidate.face.prune(candidate.c, self.k)
        if not face.size:
            return
        left = face.factors(c)[0]
        yield self.fitted(self.descent(left, self.units))
        if not all_of_them:
            return
        wider = min(self.n, self.k + max(1, self.k // 2))  # a column to spare leads around many traps
        yield self.fitted(self.descent(self.pruned(self.descent(self.spectral(wider), self.units)), self.units))
        if np.ptp(self.units) > 0:  # noise may have drowned the short rows
            yield self.fitted(self.descent(left, self.used))
        anywhere = self.rng.standard_normal((2, self.n, wider))
        left = anywhere[0] + 1j * anywhere[1] if self.M.complex else anywhere[0]
        yield self.fitted(self.descent(self.pruned(self.descent(left, self.units)), self.units))

    def pruned(self, left: Array) -> Array:
        """The k leading directions of a factor, with their sizes."""
        u, s, _ = np.linalg.svd(left, full_matrices=False)
        return (u * s)[:, : self.k]

    def fitted(self, left: Array) -> Candidate:
        """The loss fitted on the span of a factor."""
        return reduced_fit(self.problem, self.atoms.spanned(left))

    def unfitted(self, left: Array) -> Candidate:
        """The point of the k leading directions of a factor as it is."""
        left = np.ascontiguousarray(self.pruned(left))
        face, c = SymmetricTurning(self.atoms.spanned(left)).fold(left.ravel().view(np.float64))
        residual = self.problem.b - self.M.measure_factor(left)[0]
        return Candidate.of(face, c, residual, self.problem.loss.value(residual))

    def spectral(self, k: int) -> Array:
        """The leading eigenvectors of A^H diag(t) A, with t = (s - 1) / (s + sqrt(m / n) - 1) for intensities s of mean
        1: of all functions of the data the one whose leading vector tells most about a random signal.

        Reference: Mondelli, Montanari, "Fundamental limits of weak recovery with applications to phase retrieval",
        Foundations of Computational Mathematics 19 (2019).
        """
        s = self.units * self.intensities
        s = s / max(float(s.sum() / max(self.used.sum(), 1.0)), 1e-300)
        t = (s - 1.0) / (s + max(math.sqrt(self.problem.m / self.n), 1.0 + 1e-3) - 1.0)
        z = self.problem.M.adjoint(self.units * t)
        return linalg.top_eigh(linalg.hermitian_part(z, self.n), k, tol=1e-3)[1]

    def descent(self, left: Array, units: FloatArray) -> Array:
        """See `descended`; what was found before a kill is not looked for again."""
        with ledger.step("amplitudes") as here:
            found = None if here.found is None else here.found.arrays["left"]
            found = self.descended(left, units) if found is None else found
            here.mark(partial(Kept, "factor", {}, {"left": found}))
        return found

    def descended(self, left: Array, units: FloatArray) -> Array:
        """Descend on amplitudes from a factor of any size to one that fits, in units in which sum_i b_i / |a_i|^2 is 1
        and the unknowns begin with length 1."""
        from scipy.optimize import minimize

        left = left.astype(np.complex128 if self.M.complex else np.float64)
        left = left / max(float(np.linalg.norm(left)), 1e-300)
        start = np.ascontiguousarray(left).ravel().view(np.float64)
        along = [start]
        with ledger.stage(STAGE), linalg.single_thread():
            length, objective = self._objective(left, units)
            try:
                result = minimize(
                    objective,
                    start,
                    jac=True,
                    method="L-BFGS-B",
                    callback=self._enough(along),
                    options={
                        "maxiter": self.flow.steps, "maxfun": 2 * self.flow.steps, "maxcor": 10, "ftol": 0, "gtol": 0
                    },
                )  # fmt: skip
            except ledger.Stopped:
                self.keep(self.unfitted(length * along[0].view(left.dtype).reshape(left.shape)))
                raise
        return length * result.x.view(left.dtype).reshape(left.shape)

    def _objective(
        self, left: Array, units: FloatArray
    ) -> tuple[float, Callable[[FloatArray], tuple[float, FloatArray]]]:
        """The length that fits the data best along the start, and the value at length times v with its gradient, asked
        for at the start first."""
        M, b = self.M, self.intensities
        goal, total = np.sqrt(2.0 * b), max(float(np.dot(units, b)), 1e-300)
        image, pull = M.measure_factor(left)
        seen = float(np.dot(units, image))
        length = math.sqrt(total / seen) if seen > 0 else 1.0  # a start that has faded stays nothing
        at_hand = [(length**2 * image, lambda y: length * pull(y))]  # what the start's own measurement tells

        def measured(v: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], Array]]:
            return at_hand.pop() if at_hand else M.measure_factor(length * v.view(left.dtype).reshape(left.shape))

        def objective(v: FloatArray) -> tuple[float, FloatArray]:
            image, pull = measured(v)
            smooth = np.sqrt(image + b)
            off = smooth - goal
            # at b = 0 and a_i L = 0 the term is |a_i L|^2 itself
            share = np.divide(off, smooth, out=np.ones_like(off), where=smooth > 0)
            slope = pull(units * share) * (length / total)
            return float(np.dot(units, off * off)) / total, np.ascontiguousarray(slope).ravel().view(np.float64)

        return length, objective

    def _enough(self, along: list[FloatArray]) -> Callable[[OptimizeResult], None]:
        """Ends a descent that hardly falls any more, and says after each step, noted in `along`, that work goes on."""
        values: list[float] = []
        window, rest = self.flow.window, 1 - self.flow.fall

        def enough(intermediate_result: OptimizeResult) -> None:
            along[0] = intermediate_result.x
            ledger.tick()
            values.append(float(intermediate_result.fun))
            stalls = len(values) > window and values[-1] > rest * values[-1 - window]
            if values[-1] <= self.flow.floor or stalls:
                raise StopIteration

        return enough

    def spare(self, face: Face) -> float:
        """The share of the data beyond as many as there are unknowns."""
        return max(0.0, 1.0 - face.freedom / max(float(self.used.sum()), 1.0))

    def margin(self, candidate: Candidate) -> float:
        """What the least atom of a candidate is worth over all that is left to explain, which is more than any atom
        outside can add; the lower one, of that in the loss and that with rows in units. Unknowns nearly as many as data
        explain most of these even in a trap, so that the margin shrinks with what is spare."""
        if not candidate.face.size:
            return 0.0
        face, _ = candidate.face.prune(candidate.c, candidate.face.size - 1)
        without = reduced_fit(self.problem, face)
        margins = [(without.loss - candidate.loss) / max(candidate.loss, 1e-300)]
        here, there = (linalg.length(self.units * r) for r in (candidate.residual, without.residual))
        margins.append((min(there / here, 1e100) ** 2 - 1.0) if here else math.inf)
        return max(0.0, min(margins)) * self.spare(candidate.face) ** 3
