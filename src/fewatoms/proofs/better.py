"""A better answer that was found on the way, made as `fit` would make it of the same atoms."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import numpy as np

from fewatoms import ledger
from fewatoms._types import IntArray
from fewatoms.candidates import Candidate
from fewatoms.evidence import Evidence, proven_again
from fewatoms.figures import Figures
from fewatoms.methods import METHODS
from fewatoms.methods.base import choose
from fewatoms.methods.listed.images import IMAGE_ROOM
from fewatoms.methods.listed.support import SupportFits
from fewatoms.methods.listed.view import View
from fewatoms.problem import Problem
from fewatoms.proofs.base import Question
from fewatoms.proofs.question import objective_above
from fewatoms.records import Record
from fewatoms.run import Way, proving
from fewatoms.solution import Solution, Status


def better(question: Question, answer: Solution, classes: IntArray) -> tuple[Question, Solution] | None:
    """The question about an answer made of these classes; None where that turns out to be no better."""
    problem = question.problem
    fits = SupportFits(problem, View(problem, problem.M, IMAGE_ROOM))
    candidate = fits.candidate(fits.fit(classes, trial=False))
    with closing(choose(METHODS, problem, [problem.budget])) as job:
        record = Record(problem, job)
        record.evidence = _evidence(problem, candidate)
        record.best, record.iterations, record.status = candidate, answer.iterations, _status(problem, candidate)
        found = record.answer(ledger.current())
    found.products, found.held_out = answer.products, answer.held_out
    face, c = found.compact
    upper, exact = objective_above(problem, question.paying, face, c)
    bound_lost = problem.alpha is not None and problem.meets(answer.loss) and not problem.meets(found.loss)
    if bound_lost or not upper < question.upper:
        return None
    listing = problem.atoms.listing()
    assert listing is not None
    best = np.union1d(listing.classes_of(face), listing.forced).astype(np.intp)
    return replace(question, upper=upper, best=best, exact=exact), found


def _status(problem: Problem, candidate: Candidate) -> Status:
    if problem.alpha is None:
        return Status.SMALLEST_LOSS
    return Status.BOUND_MET if problem.meets(candidate.loss) else Status.NOT_REACHED


def _evidence(problem: Problem, candidate: Candidate) -> Evidence:
    """As the run that would have found it, or from what it leaves of the data."""
    known = proving(Way(METHODS))(problem, candidate.face, candidate.c)
    if known is not None:
        return known
    figures = Figures(candidate.loss, candidate.gauge, candidate.cardinality, True, None)
    return proven_again(problem, candidate.face, candidate.c, figures, problem.atoms)
