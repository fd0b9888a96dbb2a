"""One data vector and what each atom adds to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewatoms._types import FloatArray
from fewatoms.drawn.atoms import Atoms

if TYPE_CHECKING:
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
        images = problem.measured.restrict(face).formed().matrix if face.dim else np.zeros((problem.m, 0))
        added = np.add.reduceat(images * c, spans[:-1], axis=1) if face.dim else np.zeros((problem.m, 0))
        image = added.sum(axis=1)
        fit = problem.data - (problem.b - problem.seen.image(image))
        order = np.argsort(-np.linalg.norm(added, axis=0), kind="stable")
        shown = order[:DRAWN_PARTS].tolist()
        labels = Atoms.of(solution, names).labels
        return cls(
            problem.data, fit, fit - image, [labels[i] for i in shown], added[:, shown].T, len(order) - len(shown)
        )

    @property
    def residual(self) -> FloatArray:
        return self.data - self.fit
