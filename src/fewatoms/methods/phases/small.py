"""Small problems over semidefinite matrices: M is written out once, and everything else is read off that.

Data may be far fewer than unknowns, or more. Where they leave a choice the smallest gauge is preferred: descents begin
at the solution of the relaxation (`barrier.py`), which has it. Where they do not, they begin where phases are found,
and at the relaxation and anywhere if that was in vain. Descents are Newton's (`retrieval/damped.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from fewatoms import ledger, linalg
from fewatoms._types import Array, FloatArray
from fewatoms.budget import Budget
from fewatoms.candidates import Candidate, DualPoint, Iterate
from fewatoms.capabilities import Intensities, Semidefinite, need
from fewatoms.continued import found_once
from fewatoms.faces import Face, SymmetricTurning
from fewatoms.methods.base import Job, Method, Pace
from fewatoms.methods.general import General, GeneralJob, Growing
from fewatoms.methods.phases import Phases, PhasesJob, refuse_negative
from fewatoms.methods.phases.barrier import Barrier
from fewatoms.methods.phases.relaxed import Relaxed, flat, root
from fewatoms.problem import EXACT, Problem
from fewatoms.retrieval import reduced_fit
from fewatoms.retrieval.damped import Damped
from fewatoms.retrieval.forms import enough, slope_of, writes_out


@dataclass(frozen=True, eq=False)
class SmallSemidefinite(Method):
    """Least squares, or Huber's loss, over semidefinite matrices where M, written out, is small.

    With a bound, whoever meets it with k atoms meets it with more: what was tried for fewer atoms is tried too. So it
    is without one, where data leave over more than any number of atoms must, for as long as fewer atoms do better.

    phases : how a factor is found that intensities determine
    newton : how descents go
    barrier : how the relaxation is solved, for starts
    proof : the same for certificates, which somebody asks for
    lightest : penalty of the relaxation where there is no bound, as a share of the one at which the answer is zero
    nearly : share of f(b): a loss that is smaller, and not rounding, may be one that should be 0: the search goes on
    spread : descents from anywhere, at most, where others do not agree
    agree : relative; losses this close are one answer
    climbs : multiplications of steps with each number of atoms up to which all of them are tried; else those next to k
    first : steps of a descent after which it is seen whether its factor has columns to spare
    gap : times as large as the next: singular values of a factor that stand out
    larger : times the gauge of an answer: how large others may be of which it is said that they are no better
    """

    phases: Phases = field(default_factory=Phases)
    newton: Damped = field(default_factory=Damped)
    barrier: Barrier = field(default_factory=Barrier)
    proof: Barrier = field(default_factory=lambda: Barrier(work=4e9))
    lightest: float = 1e-3
    nearly: float = 1e-6
    spread: int = 3
    agree: float = 1e-5
    climbs: float = 1.2e7
    larger: float = 3.0
    first: int = 25
    gap: float = 10.0

    def open(self, problem: Problem, budgets: Sequence[Budget]) -> Job | None:
        inside = problem.atoms.unwrapped()
        if inside.maps or inside.scale < 0 or not writes_out(problem.over(inside.inner)) or problem.price.ridge != 0:
            return None
        if problem.alpha is None and any(k.nothing_said for k in budgets):
            return None
        most = sufficient(problem)
        unknowns = max(most if k.nothing_said else min(k.single, most) for k in budgets) * problem.atoms.shape[0]
        if not self.newton.affordable(problem.m, unknowns * (2 if problem.M.complex else 1)):
            return None
        refuse_negative(problem)
        return SmallJob(problem, budgets, self)


def sufficient(problem: Problem) -> int:
    """Atoms that suffice for whatever any number of them can do."""
    return enough(problem.m, problem.atoms.shape[0], problem.M.complex)


class SmallJob(GeneralJob):
    """Works over the semidefinite set itself; a positive multiple of it is put around what was found."""

    pace = Pace(complete=True)

    def __init__(self, problem: Problem, budgets: Sequence[Budget], method: SmallSemidefinite) -> None:
        super().__init__(problem, budgets, General())
        self.method, self.pace = method, Pace(complete=True)
        self.scale, self.inside = problem.atoms.unwrapped().scale, problem.over(problem.atoms.unwrapped().inner)
        self.atoms = need(self.inside.atoms, Semidefinite)
        self.dice: Callable[[], np.random.Generator] = np.random.default_rng
        self.phases = self._phases(budgets)
        self.forget()

    def _phases(self, budgets: Sequence[Budget]) -> PhasesJob | None:
        """Who finds factors from intensities; None where data are something else."""
        if self.inside.M.offers(Intensities) is None or not self.inside.plain:
            return None
        job = PhasesJob(self.inside, budgets, self.method.phases)
        job.settle = lambda problem, found: (self._settled if self.relaxed.written else by_products)(problem, found)
        by_products = job.by_factors.settle
        return job

    def forget(self) -> None:
        method = self.method
        self.relaxed = Relaxed(self.inside, method.barrier, method.proof, method.lightest)
        self._least = -math.inf
        if self.phases is not None:
            self.phases.forget()

    def courses(self) -> list[list[Budget]]:
        return [[k] for k in self.budgets]

    # The search -------------------------------------------------------------------------------------------------------

    def iterates(self, course: Sequence[Budget]) -> Iterator[Iterate]:
        (budget,) = course
        self.dice = ledger.dice()
        if self.phases is not None:
            self.phases.dice = self.dice
        if budget.nothing_said:
            few = Growing(self.inside)
            if self.relaxed.top > 0 and self.relaxed.solved() is not None and self._hopeless:
                few.asks = few.most
            found: Iterator[Candidate] = iter([few.retrieve(self._best)])
        else:
            found = self._searched(self.inside.with_budget(budget))
        for i, candidate in enumerate(found):
            around = self._around(candidate)
            yield Iterate(primal=around, worth=float(i))

    def retrieve(self, iterate: Iterate, budget: Budget) -> Candidate:
        assert iterate.primal is not None
        return iterate.primal

    def _asked(self, budget: Budget) -> Problem:
        return self.inside.with_budget(budget)

    def _around(self, found: Candidate) -> Candidate:
        """A candidate over the set that was asked for."""
        if self.scale == 1.0:
            return found
        face, c = self.problem.atoms.around(found.face), found.c / self.scale
        return replace(found, gauge=face.gauge(c), make=lambda: (face, c))

    def _best(self, k: int) -> Candidate:
        """The best of what is tried for a number of atoms."""
        asked = self._asked(Budget(min(k, sufficient(self.inside))))
        return min(self._tried(asked), key=lambda candidate: candidate.loss)

    def _searched(self, problem: Problem) -> Iterator[Candidate]:
        """With data that are not met, fewer atoms are tried too: another landscape, and what few do more must."""
        best, most = math.inf, min(problem.budget.single, sufficient(problem))
        asked = self._asked(Budget(most))
        for candidate in self._tried(asked):
            best = min(best, candidate.loss)
            yield candidate
        climbs = self._work(most) <= self.method.climbs
        enough = self._ends if climbs else self._settled_on  # what nobody of a sensible size beats others may
        if enough(asked, best) or self._hopeless:
            return
        for candidate in (self._climbed if climbs else self._from_fewer)(asked, best):
            best = min(best, candidate.loss)
            yield candidate
            if enough(asked, best):
                return

    def _work(self, most: int) -> float:
        """About how many multiplications a step of Newton's method takes with each number of atoms up to this one."""
        m, wide = self.inside.m, 2 if self.inside.M.complex else 1
        sides = [wide * self.n * k for k in range(1, most + 1)]
        return float(sum(min(m, side) * m * side for side in sides))

    def _climbed(self, problem: Problem, reached: float) -> Iterator[Candidate]:
        """From one atom upwards, each number from its own starts and from the best of those before: so that the way up
        to more atoms begins with this one, and ends no higher."""
        before: Candidate | None = None
        for k in range(1, problem.budget.single + 1) if problem.budget.single > 1 else ():
            asked, found = self._asked(Budget(k)), [] if before is None else [before]
            if k < problem.budget.single:
                found += self._tried(asked)
            if before is not None and before.face.size:
                found.append(self._descended(asked, self._widened(before, k)))
            before = min(found, key=lambda candidate: candidate.loss)
            yield before

    def _from_fewer(self, problem: Problem, reached: float) -> Iterator[Candidate]:
        """What is reached with fewer atoms, and from there, as long as that is lower; with a bound down to one."""
        k, bounded = problem.budget.single, problem.alpha is not None
        for few in range(k - 1, 0, -1):
            found = islice(self._tried(self._asked(Budget(few))), None if bounded else 1)
            least = min(found, key=lambda candidate: candidate.loss)
            yield least
            if least.loss < reached * (1 - self.method.agree) and least.face.size:
                wider = self._descended(problem, self._widened(least, k))
                yield wider
                reached = min(least.loss, wider.loss)
            elif not bounded:
                return

    def _widened(self, found: Candidate, k: int) -> Array:
        """Its factor, with the atoms best aligned with what it leaves over."""
        forms = self.relaxed.forms
        left: Array = found.face.factors(found.c)[0].astype(self.kind)
        r = slope_of(forms, forms.b - forms.image(flat(left), left.shape[1]))
        values, vectors = linalg.top_eigh(forms.adjoint(r), k - left.shape[1])
        more: Array = vectors.astype(self.kind) * np.sqrt(np.maximum(values, 1e-3 * max(float(values[0]), 1e-300)))
        image = forms.image(flat(more), more.shape[1])
        size = max(float(image @ r), 0.0) / max(float(image @ image), 1e-300)
        return np.concatenate([left, math.sqrt(size) * more], axis=1)

    def _tried(self, problem: Problem) -> Iterator[Candidate]:
        """Candidates for a number of atoms, until one will do or several agree, or nothing better is to be had."""
        losses: list[float] = []
        for candidate in self._starts(problem):
            yield candidate
            losses.append(candidate.loss)
            if candidate.face.dim:
                self._least = max(self._least, self.relaxed.bound(candidate, self.method.larger))
            alike = sum(loss <= min(losses) * (1 + self.method.agree) for loss in losses)
            if self._settled_on(problem, min(losses)) or alike >= 3 or self.relaxed.top == 0:
                return
            if candidate.isolated and problem.alpha is None and problem.loss.squares:
                return  # amplitudes agree: of gross errors they know nothing

    def _settled_on(self, problem: Problem, loss: float) -> bool:
        """Whether a loss will do, or nobody does better with any number of atoms."""
        return self._ends(problem, loss) or loss <= self._least * (1 + self.method.agree)

    @property
    def _hopeless(self) -> bool:
        """Whether nothing, of a sensible size, is any better than nothing, or meets the bound."""
        beyond = self.relaxed.top == 0 or self.relaxed.endless
        return beyond or (self.inside.alpha is not None and not self.inside.meets(self._least))

    def _ends(self, problem: Problem, loss: float) -> bool:
        return problem.meets(loss) or problem.exact(loss)

    def _starts(self, problem: Problem) -> Iterator[Candidate]:
        """What data leave open is settled by the relaxation; elsewhere it comes second."""
        k = problem.budget.single
        if self.relaxed.top == 0:  # no X is better than none, whatever the loss leaves
            yield self._candidate(problem, np.zeros((self.n, 1), dtype=self.kind))
            return
        face = self.atoms.spanned(np.eye(self.n, k, dtype=self.kind))
        determined = face.freedom < problem.m
        if determined:
            yield self._aligned(problem, k) if self.phases is None else self._phased(problem, self.phases)
        relaxed = self.relaxed.solved()
        if relaxed is not None:
            yield self._descended(problem, root(relaxed.X, k))
        if not determined:
            yield self._aligned(problem, k)
        rng, size = self.dice(), math.sqrt(max(self.relaxed.gauge, 1e-300) / (self.n * k))
        for _ in range(self.method.spread):
            left = rng.standard_normal((2, self.n, k))
            yield self._descended(problem, size * (left[0] + 1j * left[1] if problem.M.complex else left[0]))

    @property
    def n(self) -> int:
        return self.inside.atoms.shape[0]

    @property
    def kind(self) -> type:
        return np.complex128 if self.inside.M.complex else np.float64

    def _aligned(self, problem: Problem, k: int) -> Candidate:
        """From the atoms best aligned with the data."""
        values, vectors = self._leading(k)
        left = vectors * np.sqrt(np.maximum(values, 1e-3 * max(float(values[0]), 1e-300)))
        image = self.relaxed.forms.image(flat(left), k)
        length = max(linalg.length(image), 1e-300)
        size = max(float((image / length) @ self.relaxed.forms.b), 0.0) / length
        return self._descended(problem, math.sqrt(size) * left)

    def _phased(self, problem: Problem, phases: PhasesJob) -> Candidate:
        """By way of amplitudes; M is not written out for that."""
        found = phases.turned(
            problem, reduced_fit(problem, self.atoms.spanned(self._leading(problem.budget.single)[1]))
        )
        if found.isolated and found.face.size < problem.budget.single:  # atoms have faded: it is an answer of fewer
            found = replace(found, isolated=False)
        return found if found.isolated or self._ends(problem, found.loss) else self._settled(problem, found)

    def _leading(self, k: int) -> tuple[FloatArray, Array]:
        """The atoms best aligned with the data, from one product."""
        inside, n = self.inside, self.n
        z = inside.M.adjoint(inside.loss.gradient(inside.b))
        values, vectors = linalg.top_eigh(linalg.hermitian_part(z, n), k)
        return values, vectors.astype(self.kind)

    def _settled(self, problem: Problem, found: Candidate) -> Candidate:
        """The same answer to the last digit."""
        left = found.face.factors(found.c)[0]
        if not left.shape[1]:  # nothing is as good as any start: there is nothing to go on from
            return found
        better = self._descended(problem, left)
        return replace(better, isolated=found.isolated) if better.loss < found.loss else found

    def _descended(self, problem: Problem, left: Array) -> Candidate:
        """Newton's method from a factor, down to the bound."""
        target = max(EXACT * problem.reference, problem.tolerance)

        def work() -> Candidate:
            with ledger.stage("descending on factors"), linalg.single_thread():
                return self._candidate(problem, self._newton(left, target, problem.reference))

        found = found_once("descent", problem, work)
        ledger.keep(self._around(found))
        return found

    def _newton(self, left: Array, target: float, reference: float) -> Array:
        """A factor, descended from another. One with more columns than its matrix has rank comes to exact data by ever
        smaller shares: without those columns it is there at once."""
        method, forms = self.method, self.relaxed.forms
        for newton in (replace(method.newton, steps=method.first), method.newton):
            v, value = newton.descend(forms, flat(left), left.shape[1], target=target)
            left = v.view(self.kind).reshape(left.shape)
            if value <= target:
                break
            fewer = _outstanding(left, method.gap) if value <= method.nearly * reference else None
            if fewer is not None:
                v, few = method.newton.descend(forms, flat(fewer), fewer.shape[1], target=target)
                if few < value:
                    return v.view(self.kind).reshape(fewer.shape)
        return left

    def _candidate(self, problem: Problem, left: Array) -> Candidate:
        """The point of a factor, its loss from a product with M."""
        left = np.ascontiguousarray(left)
        face, c = SymmetricTurning(self.atoms.spanned(left)).fold(flat(left))
        face, c = face.prune(c, problem.k)
        residual = problem.b - (face.measure(problem.M, c) if face.dim else 0.0)
        return Candidate.of(face, c, residual, problem.loss.value(residual))

    def evaluate(self, iterate: Iterate) -> DualPoint:
        assert iterate.primal is not None
        return self.relaxed.proven(self.problem, iterate.primal, self.scale)

    def notes(self, problem: Problem, face: Face) -> list[str]:
        told = super().notes(problem, face)
        return told if self.phases is None else [*told, *self.phases.notes(problem, face)]


def _outstanding(left: Array, gap: float) -> Array | None:
    """The leading directions of a factor before the largest gap among its singular values; None where there is none."""
    u, s, _ = np.linalg.svd(left, full_matrices=False)
    gaps = s[:-1] / np.maximum(s[1:], 1e-300)
    if not gaps.size or gaps.max() < gap:
        return None
    few = int(np.argmax(gaps)) + 1
    return np.ascontiguousarray((u * s)[:, :few])


__all__ = ["SmallJob", "SmallSemidefinite"]
