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
from fewatoms.methods.phases.barrier import Barrier, Central
from fewatoms.problem import EXACT, Problem
from fewatoms.relaxations import P1, P3
from fewatoms.retrieval import reduced_fit
from fewatoms.retrieval.damped import Damped
from fewatoms.retrieval.forms import Semiforms, enough, semiforms, writes_out


@dataclass(frozen=True, eq=False)
class SmallSemidefinite(Method):
    """Least squares over semidefinite matrices where M, written out, is small.

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
    cheap : slopes of an image up to which, without a bound, fewer atoms are tried as if they had been asked for
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
    cheap: float = 1e5
    larger: float = 3.0

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
        job.settle = lambda problem, found: (by_products if self._forms is None else self._settled)(problem, found)
        by_products = job.by_factors.settle
        return job

    def forget(self) -> None:
        self._forms: Semiforms | None = None
        self._central: Central | None = None
        self._relaxed, self._least = False, -math.inf
        if self.phases is not None:
            self.phases.forget()

    @property
    def forms(self) -> Semiforms:
        """M and b written out, when they are first needed."""
        if self._forms is None:
            self._forms = semiforms(self.inside)
        return self._forms

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
            if self._top() > 0 and self._relaxation() is not None and self._hopeless:
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
        """With a bound that is not met, or data that are nearly met, fewer atoms are tried too: another landscape."""
        best, most = math.inf, min(problem.budget.single, sufficient(problem))
        for k in range(most, 0, -1):
            asked = self._asked(Budget(k))
            tries = 1 if problem.alpha is None and k < most else None  # without a bound the first of each will do
            for candidate in islice(self._tried(asked), tries):
                best = min(best, candidate.loss)
                yield candidate
            if k == most and problem.alpha is None and not self._settled_on(asked, best):
                for candidate in self._from_fewer(asked, best):
                    best = min(best, candidate.loss)
                    yield candidate
            worthwhile = problem.alpha is not None or best <= self.method.nearly * problem.reference
            if not worthwhile or self._settled_on(problem, best) or self._hopeless:
                return

    def _from_fewer(self, problem: Problem, reached: float) -> Iterator[Candidate]:
        """What is reached with fewer atoms, and from there, as long as that is lower: with more it must be as low."""
        k = problem.budget.single
        tries = None if problem.m * self.n * k <= self.method.cheap else 1
        for few in range(k - 1, 0, -1):
            least = min(islice(self._tried(self._asked(Budget(few))), tries), key=lambda candidate: candidate.loss)
            if least.loss >= reached * (1 - self.method.agree):
                return
            yield least
            found = self._descended(problem, self._widened(least, k))
            yield found
            reached = min(least.loss, found.loss)
            if self._settled_on(problem, reached):
                return

    def _widened(self, found: Candidate, k: int) -> Array:
        """Its factor, with the atoms best aligned with what it leaves over."""
        forms = self.forms
        left: Array = found.face.factors(found.c)[0].astype(self.kind)
        r = forms.b - forms.image(_flat(left), left.shape[1])
        values, vectors = linalg.top_eigh(forms.adjoint(r), k - left.shape[1])
        more: Array = vectors.astype(self.kind) * np.sqrt(np.maximum(values, 1e-3 * max(float(values[0]), 1e-300)))
        image = forms.image(_flat(more), more.shape[1])
        size = max(float(image @ r), 0.0) / max(float(image @ image), 1e-300)
        return np.concatenate([left, math.sqrt(size) * more], axis=1)

    def _tried(self, problem: Problem) -> Iterator[Candidate]:
        """Candidates for a number of atoms, until one will do or several agree, or nothing better is to be had."""
        losses: list[float] = []
        for candidate in self._starts(problem):
            yield candidate
            losses.append(candidate.loss)
            self._bounded_by(candidate)
            alike = sum(loss <= min(losses) * (1 + self.method.agree) for loss in losses)
            if self._settled_on(problem, min(losses)) or alike >= 3 or self._hopeless:
                return
            if candidate.isolated and problem.alpha is None:
                return

    def _bounded_by(self, found: Candidate) -> None:
        """The loss is convex in X: f(X') >= f(X) - <M*y, X' - X>. That is what a point says of all X' up to some size;
        where no atom is aligned with what it leaves over, that none is better."""
        if not found.face.dim:
            return
        weights, r = self.inside.loss.weights, found.residual
        z = self.forms.adjoint(r if weights is None else np.sqrt(weights) * r)
        left = found.face.factors(found.c)[0]
        inside = float(np.vdot(left, z @ left).real)
        top = max(float(linalg.top_eigh(z, 1)[0][0]), 0.0)
        size = self.method.larger * max(found.gauge, self._gauge())
        self._least = max(self._least, found.loss + inside - top * size)

    def _settled_on(self, problem: Problem, loss: float) -> bool:
        """Whether a loss will do, or nobody does better with any number of atoms."""
        return self._ends(problem, loss) or loss <= self._least * (1 + self.method.agree)

    @property
    def _hopeless(self) -> bool:
        """Whether nothing, of a sensible size, is any better than nothing, or meets the bound."""
        endless = self._central is not None and self._central.endless
        return self._top() == 0 or endless or (self.inside.alpha is not None and not self.inside.meets(self._least))

    def _ends(self, problem: Problem, loss: float) -> bool:
        return problem.meets(loss) or problem.exact(loss)

    def _starts(self, problem: Problem) -> Iterator[Candidate]:
        """What data leave open is settled by the relaxation; elsewhere it comes second."""
        k = problem.budget.single
        if self._top() == 0:  # no X is better than none, whatever the loss leaves
            yield self._candidate(problem, np.zeros((self.n, 1), dtype=self.kind))
            return
        face = self.atoms.spanned(np.eye(self.n, k, dtype=self.kind))
        determined = face.freedom < problem.m
        if determined:
            yield self._aligned(problem, k) if self.phases is None else self._phased(problem, self.phases)
        relaxed = self._relaxation()
        if relaxed is not None:
            yield self._descended(problem, _root(relaxed.X, k))
        if not determined:
            yield self._aligned(problem, k)
        rng, size = self.dice(), math.sqrt(max(self._gauge(), 1e-300) / (self.n * k))
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
        image = self.forms.image(_flat(left), k)
        length = max(linalg.length(image), 1e-300)
        size = max(float((image / length) @ self.forms.b), 0.0) / length
        return self._descended(problem, math.sqrt(size) * left)

    def _phased(self, problem: Problem, phases: PhasesJob) -> Candidate:
        """By way of amplitudes; M is not written out for that."""
        found = phases.turned(
            problem, reduced_fit(problem, self.atoms.spanned(self._leading(problem.budget.single)[1]))
        )
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
                v, _ = self.method.newton.descend(self.forms, _flat(left), left.shape[1], target=target)
            return self._candidate(problem, v.view(self.kind).reshape(left.shape))

        found = found_once("descent", problem, work)
        ledger.keep(self._around(found))
        return found

    def _candidate(self, problem: Problem, left: Array) -> Candidate:
        """The point of a factor, its loss from a product with M."""
        left = np.ascontiguousarray(left)
        face, c = SymmetricTurning(self.atoms.spanned(left)).fold(_flat(left))
        face, c = face.prune(c, problem.k)
        residual = problem.b - (face.measure(problem.M, c) if face.dim else 0.0)
        return Candidate.of(face, c, residual, problem.loss.value(residual))

    # The relaxation ---------------------------------------------------------------------------------------------------

    def _relaxation(self) -> Central | None:
        """Solved once, for all numbers of atoms; None where that is dear."""
        if not self._relaxed and self.method.barrier.affordable(self.forms):
            self._central = self._solved(self.method.barrier)
        self._relaxed = True
        return self._central

    def _solved(self, barrier: Barrier) -> Central | None:
        """(P3) with a bound; where nothing meets it, and without one, (P1) at a small penalty."""
        alpha = self.inside.alpha
        found = None if alpha is None else barrier.bounded(self.forms, math.sqrt(2 * alpha))
        if found is not None and found.solved:
            return found
        light = barrier.penalised(self.forms, self.method.lightest * self._top())
        return light if found is None or light is None else replace(light, endless=found.endless)

    def _top(self) -> float:
        """The penalty at which the answer is zero; 0 where, up to rounding, no atom is aligned with the data."""
        z = self.forms.adjoint(self.forms.b)
        top = float(linalg.top_eigh(z, 1)[0][0])
        return top if top > self.n * np.finfo(float).eps * float(np.linalg.norm(z)) else 0.0

    def _gauge(self) -> float:
        """About that of an answer."""
        if self._central is not None:
            return self._central.gauge
        return float(np.linalg.norm(self.forms.b)) ** 2 / max(self._top(), 1e-300)

    # What is proven ---------------------------------------------------------------------------------------------------

    def evaluate(self, iterate: Iterate) -> DualPoint:
        """The relaxation solved, to what the proof asks: (P3), or (P1) at the penalty that the answer's residual is
        feasible for, if that is not next to nothing."""
        problem, at = self.problem, iterate.primal
        assert at is not None
        proof = self.method.proof
        able = proof.affordable(self.forms)
        if problem.alpha is not None:
            central = proof.bounded(self.forms, math.sqrt(2 * problem.alpha)) if able else None
            return self._dual(problem, central, P3(problem), at)
        y = problem.loss.gradient(at.residual)
        lam = max(problem.atoms.ceiling(problem.M.adjoint(y)), self.method.lightest * self.scale * self._top())
        central = proof.penalised(self.forms, lam / self.scale) if able else None
        return self._dual(problem, central, P1(problem, lam), at)

    def _dual(self, problem: Problem, central: Central | None, relaxation: P1 | P3, at: Candidate) -> DualPoint:
        if central is None:
            y = problem.loss.gradient(at.residual)
            z = problem.M.adjoint(y)
            return DualPoint(y, z, problem.atoms.ceiling(z), relaxation, at.loss, at.gauge)
        w = problem.loss.weights
        y = central.y if w is None else np.sqrt(w) * central.y
        z = problem.M.adjoint(y)
        return DualPoint(y, z, problem.atoms.ceiling(z), relaxation, central.loss, central.gauge / self.scale)

    def notes(self, problem: Problem, face: Face) -> list[str]:
        told = super().notes(problem, face)
        return told if self.phases is None else [*told, *self.phases.notes(problem, face)]


def _flat(left: Array) -> FloatArray:
    return np.ascontiguousarray(left).ravel().view(np.float64)


def _root(X: Array, k: int) -> Array:
    """The k leading directions of a positive definite matrix, with their sizes."""
    values, vectors = linalg.top_eigh(X, k)
    return vectors * np.sqrt(np.maximum(values, 0.0))


__all__ = ["SmallJob", "SmallSemidefinite"]
