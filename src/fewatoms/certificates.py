"""What is proven about an answer: losses recomputed, duality gaps, the paper's epsilon_i, bounds on beta, safe sets.

Every statement about duality is about a relaxation at its own lambda, tau or alpha. None of them proves optimality for
the cardinality problem (P): that is what `fewatoms.prove` is for, and a certificate tells what it has found.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from fewatoms import doubts, ledger, pages, words
from fewatoms._types import FloatArray, ModelDual
from fewatoms.asked import Asked, Fingerprint
from fewatoms.atoms import AtomicSet
from fewatoms.candidates import Candidate
from fewatoms.capabilities import Spectrum
from fewatoms.evidence import Evidence, Proof, proven_again, rounded_gap
from fewatoms.faces import Face
from fewatoms.figures import Decided, Figures, Named, Relaxed, SafeSet
from fewatoms.problem import Problem
from fewatoms.relaxations import Relaxation
from fewatoms.rounding import above
from fewatoms.units import unit_atoms

T = TypeVar("T")

SAME_ANSWER = 1e-6  # share by which the loss of an answer that gets its M back may differ
ROUNDED = 1e-13  # of f(b): losses below are rounding


class Certificate:
    """What is proven about an answer. `str(certificate)` says it in words, and says what is not.

    loss, cardinality, gauge : recomputed from the answer (gauge: of its representation, an upper bound)
    objective : the loss and what the coefficients pay, recomputed too
    meets_bound, within_budget : bool or None; whether the loss meets alpha, whether k is kept
    relaxation : P1, P2 or P3, the one the dual vectors were made for; None if there was no dual vector. With the
        default for listed atoms and a matrix at hand, its atoms are in units of their images
    y : a feasible dual vector of it; primal, dual : best values seen; gap : their sum
    tau_lower : every x that meets alpha has a gauge of at least this
    beta_bounds : (low, high) around beta* of (P3), or None
    decided : what `fewatoms.prove` has found out about all other choices of k atoms; None before

    Computed on first access, counted in `products`:

    norm : a proven upper bound of |M|_A, or None
    epsilon : atoms of any solution of the relaxation are epsilon-exposed by M*y (Theorem 2), or None
    threshold : the alignment <a, M*y> that every such atom has at least, or None
    safe_set : of listed atoms, the only ones that solutions of the relaxation can use (per part, for sums), or None
    hausdorff : for matrix sets, a bound of the distance from such atoms to the k leading singular pairs, or None

    Of an answer without its M and b (unpickled, or loaded) what was known then is known; everything else, y too, raises
    a ValueError until `solution.attach(M, b)` gives them back. After that y is made from the answer itself.
    """

    def __init__(
        self,
        figures: Figures,
        proof: Proof | None,
        asked: Asked | None = None,
        fingerprint: Fingerprint | None = None,
    ) -> None:
        self._figures, self._proof, self._asked, self._print = figures, proof, asked, fingerprint
        self._spent = figures.products
        self.loss, self.gauge, self.cardinality = figures.loss, figures.gauge, figures.cardinality
        self.objective = figures.loss + figures.paid
        self.within_budget, self.meets_bound = figures.within_budget, figures.meets_bound
        self.exact, self.decided = figures.exact, figures.decided

    @classmethod
    def of(
        cls, problem: Problem, candidate: Candidate, evidence: Evidence, *, unreachable: bool = False
    ) -> Certificate:
        """At the end of a run, which may have proven that no x meets alpha."""
        met = None if problem.alpha is None else candidate.loss <= problem.tolerance
        within = problem.budget.allows(candidate.face)
        paid = problem.paid(candidate)
        size = candidate.cardinality
        figures = Figures(
            candidate.loss, candidate.gauge, size, within, met, paid=paid, unreachable=unreachable,
            exact=problem.loss.anchored and problem.exact(candidate.loss + paid),
        )  # fmt: skip
        return cls(figures, Proof(lambda: (problem, evidence), later=False))

    def __copy__(self) -> Certificate:
        other = object.__new__(type(self))
        other.__dict__.update(vars(self))
        return other

    def __deepcopy__(self, memo: dict[int, object]) -> Certificate:
        return copy(self)  # M and b are not copied, and nothing else in it changes

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.known(), None, self.asked.bare(), self.fingerprint)

    def known(self) -> Figures:
        """All that has been computed."""
        relaxed = self._figures.relaxed
        later = {**self._figures.later} | {name: vars(self)[name] for name in LATER if name in vars(self)}
        if self.knows_epsilon and "threshold" not in later and self.attached:
            later = {**later, "threshold": self.threshold}  # costs nothing any more, and is told with epsilon
        evidence = None if self._proof is None else self._proof.ready
        if relaxed is None and evidence is not None:
            relaxation = evidence.relaxation
            named = None if relaxation is None else Named(relaxation.name, relaxation.parameter)
            relaxed = Relaxed(named, self.in_units, self.primal, self.dual, self.gap, self.tau_lower, self.beta_bounds)
        return replace(
            self._figures,
            products=self.products,
            relaxed=relaxed,
            later=later,
            safe_sets=(self.safe_set,) if "safe_set" in vars(self) else self._figures.safe_sets,
        )

    def deciding(self, decided: Decided) -> Certificate:
        """The same, with what a proof has found out."""
        other = copy(self)
        other._figures, other.decided = replace(self._figures, decided=decided), decided
        return other

    @property
    def attached(self) -> bool:
        """Whether M and b are there."""
        return self._proof is not None

    def attach(self, problem: Problem, face: Face, c: FloatArray) -> Certificate:
        """The certificate of an answer that has its problem again, if that is the one it was."""
        with ledger.opened() as spent:
            self.fingerprint.refuse(Fingerprint.of(problem))
            image = face.measure(problem.measured, c) if face.dim else problem.measured.nothing()
            loss = problem.loss.value(problem.b - problem.seen.image(image))
        # one large column may hide all others in a fingerprint
        if not abs(loss - self.loss) <= SAME_ANSWER * max(loss, self.loss) + ROUNDED * problem.reference:
            told = f"M must be the one that this answer was fitted to, with a loss of {self.loss:.6g}"
            raise ValueError(f"{told}; got one with {loss:.6g}")
        figures = replace(self.known().for_another_y(), products=self.products + spent.products)
        relaxed, atoms = figures.relaxed, problem.atoms
        if relaxed is not None and relaxed.in_units:
            units = unit_atoms(problem)
            atoms, figures = (atoms, figures.for_another_relaxation()) if units is None else (units, figures)
        again = proven_again(problem, face, c, figures, atoms)
        return Certificate(figures, Proof(lambda: (problem, again)), None, self.fingerprint)

    @cached_property
    def asked(self) -> Asked:
        """What was asked, without M and b."""
        return Asked.of(self.problem) if self._asked is None else self._asked

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """Of M and b: one product, once for an operator."""
        return self.counted(lambda: Fingerprint.of(self.problem)) if self._print is None else self._print

    def _need(self, what: str) -> Proof:
        if self._proof is None:
            raise ValueError(
                f"{what} was not computed before this answer left M and b behind, and needs them: "
                "s.attach(M, b) gives them back"
            )
        return self._proof

    def counted(self, work: Callable[[], T]) -> T:
        """Work whose products are counted here."""
        with ledger.opened() as spent:
            result = work()
        self._spent += spent.products
        return result

    # What the run has collected. Dual points that are dear to evaluate wait until somebody asks for one of these.

    def _evidence(self, what: str) -> Evidence:
        return self._need(what).evidence.settle()

    @property
    def relaxation(self) -> Relaxation | Named | None:
        known = self._figures.relaxed
        return self._relaxation if known is None or self.attached else known.named

    @property
    def _relaxation(self) -> Relaxation | None:
        return self._evidence("relaxation").relaxation

    @property
    def y(self) -> FloatArray | None:
        """A feasible dual vector of the relaxation; None if there was none."""
        return self._evidence("y").y

    @property
    def primal(self) -> float:
        """The lowest value of the relaxation that was seen."""
        known = self._figures.relaxed
        return self._evidence("primal").primal if known is None else known.primal

    @property
    def dual(self) -> float:
        """The lowest value of its dual, as a minimisation, that was seen: the optimum is at least minus this."""
        known = self._figures.relaxed
        return self._evidence("dual").dual if known is None else known.dual

    @property
    def gap(self) -> float:
        """How far the relaxation's optimum lies below `primal` at most."""
        known = self._figures.relaxed
        return self._evidence("gap").gap if known is None else known.gap

    @property
    def tau_lower(self) -> float:
        """Every x that meets alpha has a gauge of at least this."""
        known = self._figures.relaxed
        return self._evidence("tau_lower").tau_lower if known is None else known.tau_lower

    @property
    def beta_bounds(self) -> tuple[float, float] | None:
        """(low, high) around beta* of (P3); None where nothing is known."""
        known = self._figures.relaxed
        if known is not None:
            return known.beta_bounds
        bounds = self._evidence("beta_bounds").relaxed.beta
        return bounds if self.problem.alpha and bounds != (0.0, math.inf) else None

    @property
    def in_units(self) -> bool:
        """Whether the relaxation has its atoms in units of their images."""
        known = self._figures.relaxed
        return self.atoms is not self.problem.atoms if known is None else known.in_units

    @property
    def atoms(self) -> AtomicSet:
        """Those of the relaxation."""
        return self.problem.atoms if self._relaxation is None else self._relaxation.problem.atoms

    @property
    def problem(self) -> Problem:
        """What was asked, with M and b."""
        return self._need("problem").problem

    @property
    def products(self) -> int:
        """Products with M and M* made for the parts of this certificate that were asked for."""
        return self._spent + (0 if self._proof is None else self._proof.products)

    @cached_property
    def _z(self) -> ModelDual:
        y = self.y
        assert y is not None
        return self.counted(lambda: self.problem.M.adjoint(y))

    @cached_property
    def _atom_norms(self) -> FloatArray | None:
        return self._norms_of(self.atoms)

    def _norms_of(self, atoms: AtomicSet) -> FloatArray | None:
        return self.counted(lambda: atoms.atom_norms(self.problem.M))

    def _later(self, name: str, compute: Callable[[], float | None]) -> float | None:
        """A figure that was computed before, or is computed now."""
        if name in self._figures.later:
            return self._figures.later[name]
        self._need(name)
        return compute()

    @cached_property
    def norm(self) -> float | None:
        return self._later("norm", self._norm)

    def _norm(self) -> float | None:
        if self.atoms.finite and not self.atoms.parts and self.atoms.bounded:
            return None if self._atom_norms is None else float(self._atom_norms.max())
        value = self.counted(lambda: self.atoms.operator_norm(self.problem.M))
        return value if value is not None and math.isfinite(value) else None

    def _gap_at(self, dual: float) -> float:
        """What a dual value leaves open."""
        evidence = self._evidence("gap")
        return rounded_gap(min(self.primal, evidence.primal), dual)

    @cached_property
    def radius(self) -> float | None:
        """A bound of |y - y*|, the distance to the dual solution (for (P3), to a known multiple of it), or None."""
        return self._later("radius", self._radius)

    def _radius(self) -> float | None:
        if self._relaxation is None or self.y is None:
            return None
        return self._relaxation.radius(self.y, self._evidence("radius").dual, self._gap_at, self.beta_bounds)

    @cached_property
    def _level(self) -> float:
        """The alignment that support atoms have with M*y* less what y may be off: lambda, 1, or the support value."""
        relaxation, y = self._relaxation, self.y
        assert relaxation is not None
        assert y is not None
        return relaxation.level(y, lambda: self.atoms.reached(self._z), self.beta_bounds)

    @cached_property
    def epsilon(self) -> float | None:
        return self._later("epsilon", self._epsilon)

    def _epsilon(self) -> float | None:
        if self._relaxation is None or self.radius is None or self.norm is None:
            return None
        return self._relaxation.epsilon(self.norm, self.radius, self._level)

    @cached_property
    def threshold(self) -> float | None:
        return self._later("threshold", self._threshold)

    def _threshold(self) -> float | None:
        if self._relaxation is None or self.epsilon is None:
            return None
        return self._relaxation.threshold(self._level, self.epsilon)

    @cached_property
    def safe_set(self) -> SafeSet:
        if self._figures.safe_sets:
            return self._figures.safe_sets[0]
        self._need("safe_set")
        return None if self.radius is None else self._safe(self.atoms, self._level, self._atom_norms)

    def _safe(self, atoms: AtomicSet, level: float, norms: FloatArray | None) -> SafeSet:
        """Indices of the atoms (classes) that reach the level, part by part; per-atom norms where they are known.

        In a sum each part answers for the level less the supports of the others; they are off by their own norms, so
        the norm of the whole covers an atom and the others together.
        """
        if atoms.parts:
            others = atoms.others_support(self._z)
            if others is None:
                sets = tuple(self._safe(p, level, self._norms_of(p)) for p in atoms.parts)
            else:
                sets = tuple(self._safe(p, level - o, None) for p, o in zip(atoms.parts, others, strict=True))
            return None if all(s is None for s in sets) else sets
        alignments, sizes = atoms.alignments(self._z), self.norm if norms is None else norms
        if alignments is None or sizes is None or self.radius is None or self._relaxation is None:
            return None
        slack, y = self._relaxation.slack(sizes, self.norm), self.y
        if slack is None or y is None:
            return None
        blur = doubts.of_support(self._relaxation.problem, y) + 1e-12 * abs(self._level)
        return np.flatnonzero(alignments >= level - above(1.0) * slack * self.radius - blur)

    @cached_property
    def hausdorff(self) -> float | None:
        return self._later("hausdorff", self._hausdorff)

    def _hausdorff(self) -> float | None:
        atoms, k = self.problem.atoms, self.problem.budget.most
        plain = atoms.unwrapped()
        spectrum = atoms.offers(Spectrum) if plain.inner is atoms else None
        if self.epsilon is None or spectrum is None or k is None or k >= atoms.count:
            return None
        values = spectrum.spectrum(self._z, k + 1)
        spread = float(values[0] - values[-1])
        return math.sqrt(2 * min(self.epsilon / spread, 1.0)) if spread > 0 else math.sqrt(2)

    @property
    def unreachable(self) -> bool:
        """Whether it is proven that no x, with any number of atoms, meets alpha."""
        return self._figures.unreachable or (self.knows_gap and math.isinf(self.tau_lower))

    @property
    def knows_epsilon(self) -> bool:
        """Whether epsilon, which is dear, has been asked for."""
        return "epsilon" in vars(self) or "epsilon" in self._figures.later

    @property
    def knows_gap(self) -> bool:
        """Whether the relaxation's figures are there, or can be had from M and b."""
        return self.attached or self._figures.relaxed is not None

    def __str__(self) -> str:
        return words.certificate(self)

    __repr__ = words.proven
    _repr_html_ = pages.certificate


LATER = ("norm", "radius", "epsilon", "threshold", "hausdorff")  # figures that are computed when asked for
