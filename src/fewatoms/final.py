"""Answers in their final form: largest contributions first, nothing in them that is rounding, losses recomputed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from fewatoms._types import FloatArray
from fewatoms.budget import none_of
from fewatoms.candidates import Candidate
from fewatoms.capabilities import SampledEntries
from fewatoms.evidence import ROUNDING
from fewatoms.faces import Face
from fewatoms.operators import by_lines
from fewatoms.problem import Problem

IDLE = 1e-13  # of the largest coefficient: smaller ones are rounding, if the loss says so too


def _left(problem: Problem, image: FloatArray) -> FloatArray:
    """b - image. Where entries are sampled, which may be many, in the place of the image: elsewhere the image may be
    something that a user's operator keeps."""
    if not problem.measured.arrays:
        return problem.b - image
    ours = problem.measured.offers(SampledEntries) is not None
    return np.subtract(problem.b, image, out=image if ours and image.flags.writeable else None)


def no_atoms(problem: Problem) -> tuple[Face, FloatArray]:
    """x = 0 in compact form."""
    return problem.atoms.expose(np.zeros(problem.atoms.shape), none_of(problem.atoms).k), np.zeros(0)


def certify(problem: Problem, best: Candidate | None) -> tuple[Candidate, FloatArray]:
    """The answer in its final form, largest contributions first, with its loss recomputed from the compact point alone;
    and the numbers beside the atoms that go best with it."""
    if best is None:
        (face, c), norms = no_atoms(problem), None
    else:
        face, c, norms = best.face, best.c, best.norms
        if not problem.budget.nothing_said or problem.atoms.finite:
            face, c = face.prune(c, face.size if problem.budget.nothing_said else problem.k, norms)
    final, beside = _recomputed(problem, face, c)
    fewer = _without_idle(face, c)
    if fewer is not None:
        pruned, other = _recomputed(problem, *fewer)
        if _as_good(problem, pruned.loss, final.loss):
            final, beside = pruned, other
    return (final if best is None else replace(final, note=best.note, unit_gauge=best.unit_gauge)), beside


def _recomputed(problem: Problem, face: Face, c: FloatArray) -> tuple[Candidate, FloatArray]:
    image = _image(problem, face, c)
    beside = problem.seen.fitted(image)
    residual = _left(problem, problem.seen.image(image))
    squares = 0.0 if problem.ridged is None else problem.ridged.squares(face, c)
    final = Candidate.of(face, c, residual, problem.loss.value(residual), squares=squares)
    if by_lines(problem.measured) is not None:  # a path keeps many answers: one pass makes it again
        final = replace(final, left=lambda: _left(problem, problem.seen.image(_image(problem, face, c))))
    return final, beside


def _image(problem: Problem, face: Face, c: FloatArray) -> FloatArray:
    return face.measure(problem.measured, c) if face.dim else problem.measured.nothing()


def _as_good(problem: Problem, loss: float, before: float) -> bool:
    """Whether a loss is no higher than another one, up to rounding in residuals of the size of b, and meets the bound
    if that does."""
    rounding = ROUNDING * (before + 2.0 * math.sqrt(problem.reference * before)) + IDLE**2 * problem.reference
    return bool(loss <= before + rounding) and problem.meets(loss) >= problem.meets(before)


def _without_idle(face: Face, c: FloatArray) -> tuple[Face, FloatArray] | None:
    """The answer without atoms whose coefficients are rounding; None where there are none of these."""
    kept = tuple(_busy(f.contributions(p)) for f, p in zip(face.parts, face.split(c), strict=True))
    if sum(kept) == sum(f.size for f in face.parts):
        return None
    return face.prune(c, kept if len(kept) > 1 else kept[0])


def _busy(shares: FloatArray) -> int:
    """How many of the contributions of a part are more than rounding."""
    return int(np.count_nonzero(shares > IDLE * shares.max(initial=0.0)))
