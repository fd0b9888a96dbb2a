"""One data vector and what each atom adds to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from fewatoms._types import FloatArray, IntArray
from fewatoms.drawn.atoms import Atoms
from fewatoms.reduced import Columns

if TYPE_CHECKING:
    from fewatoms.faces import Face
    from fewatoms.problem import Problem
    from fewatoms.solution import Solution

DRAWN_PARTS = 8  # contributions that are drawn one by one


@dataclass(frozen=True, eq=False)
class Spectra:
    """Data, the fit, and what the largest atoms add; beside is what intercepts and free columns add.

    labels : of the atoms whose contributions are told one by one
    others : how many atoms are not
    """

    data: FloatArray
    fit: FloatArray
    beside: FloatArray
    labels: list[str]
    parts: FloatArray
    others: int = 0

    @classmethod
    def of(cls, solution: Solution, names: list[str] | None = None) -> Spectra:
        """Of an answer to one data vector of numbers, over atoms that can be listed, with its M and b."""
        problem, (face, c) = solution.certificate.problem, solution.compact
        spans = face.spans()
        if spans is None or problem.classes is not None or solution.shares_atoms:
            raise ValueError(
                "contributions to the data are told for one data vector of numbers and atoms that can be listed"
            )
        image = problem.measured.restrict(face).apply(c) if face.dim else np.zeros(problem.m)
        fit = problem.data - (problem.b - problem.seen.image(image))
        parts, order = _added(problem, face, c, spans)
        labels = Atoms.of(solution, names).labels
        shown = [labels[i] for i in order[: len(parts)].tolist()]
        return cls(problem.data, fit, fit - image, shown, parts, len(order) - len(parts))

    @property
    def residual(self) -> FloatArray:
        return self.data - self.fit


def _added(problem: Problem, face: Face, c: FloatArray, spans: IntArray) -> tuple[FloatArray, IntArray]:
    """What the largest atoms add to the data, a row each, and the order of all of them. Images may be sparse, and then
    stay so: thousands of them need not fit in memory side by side."""
    if not face.dim:
        return np.zeros((0, problem.m)), np.zeros(0, dtype=np.intp)
    images = problem.measured.restrict(face).formed().matrix
    sums = sp.csc_array((c, np.arange(face.dim), spans), shape=(face.dim, len(spans) - 1))
    added = images @ sums
    order = np.argsort(-Columns(added).norms(), kind="stable")
    largest = added[:, order[:DRAWN_PARTS]]
    return np.asarray(largest.toarray() if sp.issparse(largest) else largest).T, order
