"""What the answer's own dual vector proves: one bound for all choices, there before any search has begun."""

from __future__ import annotations

import math

import numpy as np

from fewatoms import kept
from fewatoms._types import FloatArray, IntArray
from fewatoms.faces import Face
from fewatoms.proofs.base import Checked, Checker, Question, Tampered, Tree
from fewatoms.proofs.paying import nothing

FIRST = "one vector"
TRIED_SHARES = 0.5 ** np.arange(
    0.0, 6.0, 0.5
)  # of the vector that are tried: all of dom f* along it is convex, and holds 0
NOBODY_IN: IntArray = np.empty(0, dtype=np.intp)


def first(question: Question, face: Face, c: FloatArray) -> tuple[float, Tree] | None:
    """The bound that the slope of the loss at an answer proves, and the tree by which that is seen again; None where
    one vector proves nothing."""
    problem, paying = question.problem, question.paying
    if paying is None or not paying.bounded or problem.beside.in_fits(problem.base_loss) is not None:
        return None
    image = face.measure(problem.measured, c) if face.dim else problem.measured.nothing()
    y = problem.loss.clip(problem.loss.gradient(problem.b - problem.seen.image(image)))
    bounds = [paying.bound(share * y, question.k, NOBODY_IN, NOBODY_IN) for share in TRIED_SHARES]
    best = int(np.argmax(bounds))
    if not bounds[best] > nothing(problem):
        return None
    return bounds[best], Tree(FIRST, {}, {"y": TRIED_SHARES[best] * y})


class FirstChecker(Checker):
    """That vector, once more."""

    def check(self, question: Question, tree: Tree, share: float, rng: np.random.Generator) -> Checked:
        problem, paying = question.problem, question.paying
        if paying is None or not paying.bounded or problem.beside.in_fits(problem.base_loss) is not None:
            raise Tampered("one vector proves nothing here")
        y = np.asarray(kept.finite(tree.arrays["y"], problem.b.size), dtype=np.float64)
        lower = paying.bound(y, question.k, NOBODY_IN, NOBODY_IN)
        return Checked(max(nothing(problem), lower) if math.isfinite(lower) else nothing(problem))
