"""From an answer to the question whether any other k atoms are better."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from fewatoms import _checks, linalg
from fewatoms._types import FloatArray
from fewatoms.capabilities import Spectrum
from fewatoms.faces import Face
from fewatoms.figures import Decided
from fewatoms.memory import free
from fewatoms.problem import Problem
from fewatoms.proofs.base import Question
from fewatoms.proofs.paying import Paying
from fewatoms.rounding import gamma
from fewatoms.solution import Solution

MEMORY = 2e9  # bytes that a search may keep at most
OF_FREE = 0.25  # the share of what is free that it may keep

# What is no answer itself, and where one is in it.
ASKED_INSTEAD = {
    "Path": "a path has several answers: prove(path[k]), or prove(path.best)",
    "Solutions": "prove(answers[i]) is about one data vector",
    "LowRank": "a model has no data: prove the Solution that it is from",
    "Proof": "proof.solution is the answer that it is about",
}


def attached(solution: object, M: object, b: npt.ArrayLike | None) -> Solution:
    """The answer with its problem."""
    solution = _checked(solution)
    if solution.status.name == "BAD_DATA":
        raise ValueError(f"solution must be an answer; this one is none: {solution.status.value}")
    if (M is None) != (b is None):
        raise TypeError(f"M and b must be given together, or neither; got {'M' if b is None else 'b'} alone")
    if M is not None and b is not None:
        return solution.attach(M, b)
    if not solution.certificate.attached:
        raise ValueError(
            "M and b must be given where the solution has lost its problem, as one that was loaded from a file has: "
            "prove(solution, M, b), or prove(solution.attach(M, b, ...)) where more has to be given again"
        )
    return solution


def _checked(solution: object) -> Solution:
    if not isinstance(solution, Solution):
        hint = ASKED_INSTEAD.get(type(solution).__name__)
        told = "" if hint is None else f": {hint}"
        raise TypeError(f"solution must be a Solution, the answer of fit; got {_checks.came(solution)}{told}")
    return solution


def posed(solution: Solution, *, gap: float, seconds: float, cap: float | None, frobenius: float | None) -> Question:
    """The question about an answer that has its problem, checked."""
    problem = solution.certificate.problem
    k = _budget(solution, problem)
    listing = problem.atoms.listing()
    if listing is None:
        return _of_matrices(solution, problem, k, gap, seconds, cap, frobenius)
    if frobenius is not None:
        raise ValueError(
            "frobenius must be left out where atoms can be listed: fit(..., ridge=...) is what their coefficients pay; "
            f"got {frobenius!r}"
        )
    if cap is not None and _checks.number("cap", cap, positive=True) != problem.price.cap:
        fitted = "none" if problem.price.cap is None else f"{problem.price.cap:.6g}"
        raise ValueError(f"cap must be the one that the answer was fitted with, {fitted}; got {cap!r}: fit(..., cap=)")
    face, c = solution.compact
    best = np.union1d(listing.classes_of(face), listing.forced).astype(np.intp)
    if best.size > k:
        raise ValueError(f"solution must have at most k = {k} atoms, with those included; this one has {best.size}")
    paying = Paying.of(problem)
    upper, exact = objective_above(problem, paying, face, c)
    question = Question(problem, k, upper, best, gap, seconds, _memory(), exact=exact)
    vars(question)["paying"] = paying  # its lengths are read once
    return question


def _memory() -> float:
    there = free()
    return MEMORY if there is None else min(MEMORY, OF_FREE * there)


def _budget(solution: Solution, problem: Problem) -> int:
    budget = problem.budget
    if budget.parts or problem.atoms.parts:
        raise ValueError(
            f"solution must be made of atoms of one set; this one is over {problem.atoms!r}: for sums and unions "
            "solution.certificate tells what the relaxation proves"
        )
    if budget.most is None:
        few = solution.cardinality
        hint = f": prove(fit(..., k={few - 1})) tells whether fewer than {few} could meet the bound" if few > 1 else ""
        raise ValueError(f"solution must be an answer to a number of atoms, fit(..., k=...); k was None{hint}")
    return budget.most


# Matrices ------------------------------------------------------------------------------------------------------------


def _of_matrices(
    solution: Solution,
    problem: Problem,
    k: int,
    gap: float,
    seconds: float,
    cap: float | None,
    frobenius: float | None,
) -> Question:
    if problem.atoms.offers(Spectrum) is None:
        raise ValueError(
            f"solution must be over atoms that can be listed, or rank-one matrices; alignments of {problem.atoms!r} "
            "are not known: solution.certificate tells what the relaxation proves"
        )
    if not problem.measured.arrays:
        raise ValueError(
            f"solution must be one whose dual vectors are arrays; {problem.measured!r} has others: "
            "solution.certificate tells what the relaxation proves"
        )
    face, c = solution.compact
    values = np.abs(np.atleast_1d(face.values(c)))
    if cap is not None:
        cap, largest = _checks.number("cap", cap, positive=True), float(values.max(initial=0.0))
        if cap < largest * (1 - 1e-12):
            raise ValueError(f"cap must be at least the answer's largest singular value, {largest:.6g}; got {cap:.6g}")
        cap = max(cap, largest)
    rho = 0.0 if frobenius is None else _checks.number("frobenius", frobenius)
    size = float(values @ values) * (1.0 + gamma(4 * values.size + 64 + sum(face.shape)))
    upper, exact = objective_above(problem, None, face, c)
    upper += 0.5 * rho * size * (1.0 + gamma(8))
    return Question(
        problem, k, upper, np.empty(0, dtype=np.intp), gap, seconds, _memory(), cap, rho, exact and not rho * size
    )


# Objectives ----------------------------------------------------------------------------------------------------------


def objective_above(problem: Problem, paying: Paying | None, face: Face, c: FloatArray) -> tuple[float, bool]:
    """What an answer leaves, and what its coefficients pay, recomputed from the compact point and rounded upwards; and
    whether that is nothing but rounding."""
    image = face.measure(problem.measured, c) if face.dim else problem.measured.nothing()
    loss = problem.loss.value(problem.b - problem.seen.image(image))
    u, paid = _in_units(paying, face, c), 0.0
    if problem.price.on_squares:
        paid = 0.5 * problem.price.on_squares * float(u @ u)
    elif problem.price.on_gauge:
        paid = problem.price.on_gauge * face.gauge(c)
    exact = problem.loss.anchored and problem.exact(loss + paid)
    # a residual is summed of b and of images; the slope of a loss that is never negative is at most sqrt(2 L f)
    summed, terms = problem.measured.summed(), 2 * problem.m + 2 * max(1, face.dim) + 64
    longest = 1.0 if summed is None or summed.each is None else _unprojected(problem, paying, face, summed.each)
    sizes = linalg.length(problem.data) + linalg.length(image) + longest * float(np.abs(u).sum())
    off, bend = gamma(2 * terms) * sizes, problem.loss.smoothness
    loss += gamma(terms) * abs(loss) + math.sqrt(2.0 * bend * max(loss, 0.0)) * off + 0.5 * bend * off**2
    return float((loss + paid * (1.0 + gamma(terms))) * (1.0 + gamma(8))), exact


def _in_units(paying: Paying | None, face: Face, c: FloatArray) -> FloatArray:
    """The coefficients of images, where atoms can be listed."""
    if paying is None or not face.dim:
        return np.zeros(0)
    return np.asarray(c * paying.lengths[paying.coordinates(paying.listing.classes_of(face))])


def _unprojected(problem: Problem, paying: Paying | None, face: Face, each: FloatArray) -> float:
    """How many times as long as their images the columns of a face are at most, past free columns or not."""
    if paying is None or paying.listing.maps or not face.dim:
        return 1.0
    where = paying.coordinates(paying.listing.classes_of(face))
    lengths = paying.lengths[where]
    seen = lengths > 0
    return float((abs(paying.listing.factor) * each[where][seen] / lengths[seen]).max(initial=1.0))


def gap_of(gap: object) -> float:
    """A relative gap, checked."""
    number = _checks.number("gap", gap, positive=True)
    if number >= 1:
        raise ValueError(f"gap must be below 1, a share of what the answer has; got {number:g}")
    return number


# Words ---------------------------------------------------------------------------------------------------------------


def subject_of(question: Question) -> str:
    """What there is none of that is better."""
    listing, k = question.problem.atoms.listing(), question.k
    if listing is None:
        limits = "" if question.cap is None else f" and singular values of at most {question.cap:.6g}"
        return f"matrix of rank {k} at most{limits}"
    names = question.problem.atoms.called(question.problem.measured.names).atoms
    noun = "features" if names is not None else "groups" if listing.grouped else "atoms"
    count = listing.atoms.count - listing.barred.size
    given = f" with the {listing.forced.size} included" if listing.forced.size else ""
    return f"choice of {k} of the {count} {noun}{given}"


def what_of(question: Question) -> str:
    """What is minimised, in a word."""
    pays = question.problem.price
    return "objective" if pays.on_squares or pays.on_gauge or question.frobenius else "loss"


def decided(question: Question, lower: float, about: str, remedy: str, *, proven: bool) -> Decided:
    """What a certificate keeps of a proof."""
    return Decided(
        lower, question.upper, question.gap, proven, about or subject_of(question), what_of(question), remedy
    )
