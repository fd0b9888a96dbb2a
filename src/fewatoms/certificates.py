"""What is proven about an answer: losses recomputed, duality gaps, the paper's epsilon_i, bounds on beta, safe sets.

Every statement about duality is about a relaxation at its own lambda, tau or alpha. None of them proves optimality for
the cardinality problem (P).
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property

import numpy as np

from fewatoms import ledger, words
from fewatoms._types import FloatArray, IntArray, ModelDual
from fewatoms.atoms import AtomicSet
from fewatoms.budget import none_of
from fewatoms.candidates import Candidate
from fewatoms.capabilities import Spectrum
from fewatoms.evidence import Evidence, rounded_gap
from fewatoms.problem import Problem
from fewatoms.relaxations import Relaxation

# Classes of atoms that solutions can use at most, nested as the parts of sums are; None where nothing is known.
SafeSet = IntArray | tuple["SafeSet", ...] | None


class Certificate:
    """What is proven about an answer. `str(certificate)` says it in words, and says what is not.

    loss, cardinality, gauge : recomputed from the answer (gauge: of its representation, an upper bound)
    meets_bound, within_budget : bool or None; whether the loss meets alpha, whether k is kept
    relaxation : P1, P2 or P3, the one the dual vectors were made for; None if there was no dual vector. With the
        default for listed atoms and a matrix at hand, its atoms are in units of their images
    y : a feasible dual vector of it; primal, dual : best values seen; gap : their sum
    tau_lower : every x that meets alpha has a gauge of at least this
    beta_bounds : (low, high) around beta* of (P3), or None

    Computed on first access, counted in `products`:

    norm : a proven upper bound of |M|_A, or None
    epsilon : atoms of any solution of the relaxation are epsilon-exposed by M*y (Theorem 2), or None
    threshold : the alignment <a, M*y> that every such atom has at least, or None
    safe_set : of listed atoms, the only ones that solutions of the relaxation can use (per part, for sums), or None
    hausdorff : for matrix sets, a bound of the distance from such atoms to the k leading singular pairs, or None
    """

    def __init__(self, problem: Problem, candidate: Candidate, evidence: Evidence) -> None:
        self._problem, self._evidence = problem, evidence
        self._spent = 0
        self.loss, self.gauge = candidate.loss, candidate.gauge
        self.cardinality = candidate.cardinality
        self.within_budget = problem.budget.allows(candidate.face)
        self.meets_bound = None if problem.alpha is None else problem.meets(candidate.loss)

    # What the run has collected. Dual points that are dear to evaluate wait until somebody asks for one of these.

    @property
    def relaxation(self) -> Relaxation | None:
        return self._evidence.settle().relaxation

    @property
    def y(self) -> FloatArray | None:
        return self._evidence.settle().y

    @property
    def primal(self) -> float:
        return self._evidence.settle().primal

    @property
    def dual(self) -> float:
        return self._evidence.settle().dual

    @property
    def gap(self) -> float:
        return self._evidence.gap

    @property
    def tau_lower(self) -> float:
        return self._evidence.settle().levels.tau_low

    @property
    def beta_bounds(self) -> tuple[float, float] | None:
        bounds = self._evidence.settle().relaxed.beta
        return bounds if self._problem.alpha and bounds != (0.0, math.inf) else None

    @property
    def in_units(self) -> bool:
        """Whether the relaxation has its atoms in units of their images."""
        return self._atoms is not self._problem.atoms

    @property
    def _atoms(self) -> AtomicSet:
        return self._problem.atoms if self.relaxation is None else self.relaxation.problem.atoms

    @property
    def problem(self) -> Problem:
        """What was asked."""
        return self._problem

    @property
    def products(self) -> int:
        """Products with M and M* made for the parts of this certificate that were asked for."""
        return self._spent + self._evidence.products

    @cached_property
    def _z(self) -> ModelDual:
        assert self.y is not None
        with ledger.opened() as spent:
            z = self._problem.M.adjoint(self.y)
        self._spent += spent.products
        return z

    @cached_property
    def _atom_norms(self) -> FloatArray | None:
        return self._norms_of(self._atoms)

    def _norms_of(self, atoms: AtomicSet) -> FloatArray | None:
        with ledger.opened() as spent:
            norms = atoms.atom_norms(self._problem.M)
        self._spent += spent.products
        return norms

    @cached_property
    def norm(self) -> float | None:
        if self._atoms.finite and not self._atoms.parts and self._atoms.bounded:
            return None if self._atom_norms is None else float(self._atom_norms.max())
        with ledger.opened() as spent:
            value = self._atoms.operator_norm(self._problem.M)
        self._spent += spent.products
        return value if value is not None and math.isfinite(value) else None

    def _gap_at(self, dual: float) -> float:
        """What a dual value leaves open."""
        return rounded_gap(self.primal, dual, self._evidence.settle().terms)

    @cached_property
    def radius(self) -> float | None:
        """A bound of |y - y*|, the distance to the dual solution (for (P3), to a known multiple of it), or None."""
        if self.relaxation is None or self.y is None:
            return None
        return self.relaxation.radius(self.y, self.dual, self._gap_at, self.beta_bounds)

    @cached_property
    def _level(self) -> float:
        """The alignment that support atoms have with M*y* less what y may be off: lambda, 1, or the support value."""
        assert self.relaxation is not None
        assert self.y is not None
        return self.relaxation.level(self.y, lambda: self._atoms.reached(self._z), self.beta_bounds)

    @cached_property
    def epsilon(self) -> float | None:
        if self.relaxation is None or self.radius is None or self.norm is None:
            return None
        return self.relaxation.epsilon(self.norm, self.radius, self._level)

    @cached_property
    def threshold(self) -> float | None:
        if self.relaxation is None or self.epsilon is None:
            return None
        return self.relaxation.threshold(self._level, self.epsilon)

    @cached_property
    def safe_set(self) -> SafeSet:
        return None if self.radius is None else self._safe(self._atoms, self._level, self._atom_norms)

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
        if alignments is None or sizes is None or self.radius is None or self.relaxation is None:
            return None
        slack = self.relaxation.slack(sizes, self.norm)
        if slack is None:
            return None
        return np.flatnonzero(alignments >= level - slack * self.radius - 1e-12 * abs(self._level))

    @cached_property
    def hausdorff(self) -> float | None:
        atoms, k = self._problem.atoms, self._problem.budget.most
        plain = atoms.unwrapped()
        spectrum = atoms.offers(Spectrum) if plain.inner is atoms else None
        if self.epsilon is None or spectrum is None or k is None or k >= atoms.count:
            return None
        values = spectrum.spectrum(self._z, k + 1)
        spread = float(values[0] - values[-1])
        return math.sqrt(2 * min(self.epsilon / spread, 1.0)) if spread > 0 else math.sqrt(2)

    @property
    def knows_epsilon(self) -> bool:
        """Whether epsilon, which is dear, has been asked for."""
        return "epsilon" in self.__dict__

    def __str__(self) -> str:
        return words.certificate(self)


def certify(problem: Problem, best: Candidate | None) -> tuple[Candidate, FloatArray]:
    """The answer in its final form, largest contributions first, with its loss recomputed from the compact point alone;
    and the numbers beside the atoms that go best with it."""
    if best is None:
        face, c = problem.atoms.expose(np.zeros(problem.atoms.shape), none_of(problem.atoms).k), np.zeros(0)
        norms = None
    else:
        face, c, norms = best.face, best.c, best.norms
        if not problem.budget.nothing_said or problem.atoms.finite:
            face, c = face.prune(c, face.size if problem.budget.nothing_said else problem.k, norms)
    image = face.measure(problem.measured, c) if face.dim else np.zeros(problem.m)
    beside = problem.beside.coefficients(problem.seen, problem.data, image)
    residual = problem.b - problem.beside.image(problem.seen, image)
    final = Candidate.of(face, c, residual, problem.loss.value(residual))
    return (final if best is None else replace(final, note=best.note, unit_gauge=best.unit_gauge)), beside
