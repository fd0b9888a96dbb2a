"""Matrices: what one dual vector proves about all those of rank k, and nothing beyond that.

With p(s) = lam s + (rho / 2) s^2 for each singular value s <= C, and h its conjugate, <Z, X> is at most the sum of
s_i(Z) s_i(X), so that for any y in dom f*, with Z = M*y,

    min over rank k of f(b - M(X)) + sum p(s_i(X))  >=  <b, y> - f*(y) - (sum of the k largest h(s_i(Z)));

for semidefinite X the positive eigenvalues of the Hermitian part of Z take the place of singular values. Where all
entries are seen as they are, with least squares, f has a curvature of 1 in X: that is as good as rho + 1 with y = b,
and the bound is attained. With lam alone h is 0 up to lam and infinite beyond: that is (P1), which knows no k.

What is looked for is the best y: averages of matrices of rank k go downhill by conditional gradients, and every step
has a dual vector.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass

import numpy as np

from fewatoms import kept, ledger
from fewatoms._types import FloatArray, ModelDual
from fewatoms.capabilities import Prox, SeenAsIs, Spectrum
from fewatoms.oracles import ProximalGradient
from fewatoms.problem import Problem
from fewatoms.proofs.base import Checked, Checker, Prover, Question, Search, Standing, Tampered, Tree
from fewatoms.proofs.paying import nothing, worth
from fewatoms.relaxations import P1
from fewatoms.rounding import DECOMPOSED, below, gamma
from fewatoms.spread import length_of

ROOT_BOUND = "root"
RANKS, ALL_RANKS, SEEN = "ranks", "all ranks", "seen"  # what a bound rests on
NEARLY_CLOSED = 1e-4  # share of the gap that is left between both ends of the relaxation
ASCENTS = 10_000
FAINT_ALIGNMENT = 1e-9  # of the largest alignment: what is nothing but rounding
REMEDIES = {
    "": "Without a price on singular values nothing can be proven about matrices of which not all entries are seen: "
    "prove(..., cap=) bounds the largest one, prove(..., frobenius=rho) adds (rho / 2) |X|^2.",
    RANKS: "About matrices there is one bound, with no search behind it: a smaller cap, or a larger frobenius, helps.",
    ALL_RANKS: "This is the bound of (P1), over all ranks: what a smaller rank must lose is not in it.",
    SEEN: "",
}


@dataclass(frozen=True)
class Spectral:
    """What singular values pay.

    lam, rho, cap : see above; curvature : that of f in X, where y = b then stands for all of it
    """

    lam: float
    rho: float
    cap: float | None
    curvature: float = 0.0

    @classmethod
    def of(cls, question: Question) -> Spectral:
        problem = question.problem
        seen = problem.measured.offers(SeenAsIs)
        whole = seen is not None and seen.places() is None and problem.base_loss.squares
        plain = problem.plain and problem.base_loss.weights is None and problem.atoms.unwrapped().inner is problem.atoms
        return cls(problem.price.on_gauge, question.frobenius, question.cap, 1.0 if whole and plain else 0.0)

    @property
    def kind(self) -> str:
        """What a bound rests on; "" where there is none."""
        if self.curvature:
            return SEEN
        if self.rho or self.cap is not None:
            return RANKS
        return ALL_RANKS if self.lam else ""

    def best(self, values: FloatArray) -> FloatArray:
        """The singular values that gain most by these alignments."""
        bend, most = self.rho + self.curvature, math.inf if self.cap is None else self.cap
        over = np.maximum(values - self.lam, 0.0)
        if not bend:
            return np.where(over > 0, most, 0.0)
        return np.asarray(np.minimum(over / bend, most))

    def gains(self, values: FloatArray) -> FloatArray:
        """h, one by one."""
        best, over = self.best(values), np.maximum(values - self.lam, 0.0)
        return np.asarray(best * (over - 0.5 * (self.rho + self.curvature) * best))

    def paid(self, values: FloatArray) -> float:
        """The sum of p."""
        return float(self.lam * values.sum() + 0.5 * self.rho * values @ values)


def bound(question: Question, spectral: Spectral, y: FloatArray, z: ModelDual) -> float:
    """What y proves, rounded down; z = M*y."""
    problem = question.problem
    if spectral.kind == ALL_RANKS:
        relaxation = P1(problem, spectral.lam)
        _, value = relaxation.feasible(y, z, problem.atoms.ceiling(z))
        return -value
    known = problem.atoms.offers(Spectrum)
    assert known is not None
    values = np.maximum(known.spectrum(z, question.k), 0.0)
    terms = DECOMPOSED * sum(problem.atoms.shape) + problem.m
    above = values + gamma(terms) * float(values.max(initial=0.0)) + problem.off_by * length_of(y)
    gained = float(spectral.gains(above).sum()) * (1.0 + gamma(2 * question.k + 32))
    if spectral.kind == SEEN:
        squares = 0.5 * float(problem.b @ problem.b)
        return below(squares - gamma(problem.m + 8) * squares - gained, 8)
    return below(worth(problem, y) - gained, 8)


class Roots(Prover):
    """For sets of matrices, whose atoms cannot be listed."""

    def open(self, question: Question) -> Search | None:
        return OneBound(question) if question.problem.atoms.listing() is None else None


class OneBound(Search):
    """The best dual vector that is found."""

    name = ROOT_BOUND

    def __init__(self, question: Question) -> None:
        self.question, self.spectral = question, Spectral.of(question)
        self.lower, self.y, self.nodes = nothing(question.problem), question.problem.b[:0], 0
        self.about = RootsChecker().about(question)

    def standings(self) -> Generator[Standing]:
        kind = self.spectral.kind
        if not kind:
            return
        with ledger.stage("bounding from below"):
            if kind == SEEN:
                self._see(self.question.problem.b)
            else:
                yield from self._down() if kind == RANKS else self._over_all_ranks()
        yield self._standing(ended=True)

    def _standing(self, *, ended: bool = False) -> Standing:
        return Standing(self.lower, self.question.upper, self.question.best, self.nodes, ended)

    def _see(self, y: FloatArray, z: ModelDual = None) -> ModelDual:
        """Take a dual vector; M*y."""
        z = self.question.problem.M.adjoint(y) if z is None else z
        lower, self.nodes = bound(self.question, self.spectral, y, z), self.nodes + 1
        if lower > self.lower or not self.y.size:
            self.lower, self.y = max(lower, self.lower), y.copy()
        return z

    @property
    def _enough(self) -> bool:
        return self.lower >= self.question.enough()

    def _down(self) -> Iterator[Standing]:
        """Conditional gradients over averages of matrices of rank k."""
        problem, spectral, k = self.question.problem, self.spectral, self.question.k
        image, paid = np.zeros(problem.m), 0.0
        for _ in range(ASCENTS):
            residual = problem.b - image
            y = problem.loss.clip(problem.loss.gradient(residual))
            z = self._see(y)
            yield self._standing()
            ledger.tick()
            highest = problem.loss.value(residual) + paid
            if self._enough or highest - self.lower <= NEARLY_CLOSED * (self.question.upper - self.lower):
                return
            face = problem.atoms.expose(z, k)
            aligned = face.adjoint(z)  # singular values, and rounding beside them
            c = spectral.best(np.where(aligned > FAINT_ALIGNMENT * aligned.max(initial=0.0), aligned, 0.0))
            towards = problem.seen.image(face.measure(problem.measured, c))
            pays = spectral.paid(np.abs(np.atleast_1d(face.values(c))))
            share = _share(problem, image, towards, paid, pays)
            image, paid = image + share * (towards - image), paid + share * (pays - paid)

    def _over_all_ranks(self) -> Iterator[Standing]:
        """Proximal gradients for (P1)."""
        problem, lam = self.question.problem, self.spectral.lam
        if problem.atoms.offers(Prox) is None:
            return
        for _, point in zip(range(ASCENTS), ProximalGradient(lam).iterates(problem), strict=False):
            relaxation = P1(problem, lam)
            y, value = relaxation.feasible(point.y, point.z, point.support)
            self.nodes += 1
            if -value > self.lower:
                self.lower, self.y = -value, y.copy()
            yield self._standing()
            ledger.tick()
            if self._enough or point.loss + lam * point.gauge + value <= NEARLY_CLOSED * (
                self.question.upper - self.lower
            ):
                return

    def final(self) -> Standing:
        checked = RootsChecker().check(self.question, self.tree(), 1.0, np.random.default_rng(0))
        self.lower = checked.lower
        return self._standing(ended=not self.spectral.kind or self._enough)

    def tree(self) -> Tree:
        return Tree(ROOT_BOUND, {"kind": self.spectral.kind}, {"y": self.y})

    def remedy(self) -> str:
        return REMEDIES[self.spectral.kind]


def _share(problem: Problem, image: FloatArray, towards: FloatArray, paid: float, pays: float) -> float:
    """How far to go: where the loss, and what is paid at most on the way, is lowest."""
    low, high = 0.0, 1.0
    golden = 0.5 * (math.sqrt(5.0) - 1.0)

    def value(t: float) -> float:
        return problem.loss.value(problem.b - image - t * (towards - image)) + paid + t * (pays - paid)

    for _ in range(30):
        a, b = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, b) if value(a) <= value(b) else (a, high)
    return 0.5 * (low + high)


class RootsChecker(Checker):
    """One dual vector, once more."""

    def about(self, question: Question) -> str:
        return "matrix, of whatever rank," if Spectral.of(question).kind == ALL_RANKS else ""

    def check(self, question: Question, tree: Tree, share: float, rng: np.random.Generator) -> Checked:
        spectral, problem = Spectral.of(question), question.problem
        if tree.told.get("kind") != spectral.kind:
            raise Tampered(f"the bound must rest on {spectral.kind!r}; got {tree.told.get('kind')!r}")
        y = kept.finite(tree.arrays["y"])
        if not y.size:
            return Checked(nothing(problem))
        y = np.asarray(kept.finite(y, problem.b.size), dtype=np.float64)
        if spectral.kind == SEEN and not np.array_equal(y, problem.b):
            raise Tampered("the dual vector must be the data where all entries are seen")
        return Checked(max(nothing(problem), bound(question, spectral, y, problem.M.adjoint(y))))
