"""Many data vectors: which atoms they use, how well they are fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewatoms._types import FloatArray, IntArray

if TYPE_CHECKING:
    from fewatoms.solutions import Solutions

MAPS = 6  # atoms whose amounts are mapped
ONE_BY_ONE = 12  # data vectors that are looked at one by one


@dataclass(frozen=True, eq=False)
class Abundances:
    """One row for each atom that is used, those used most often first.

    labels, used, means : what it is called, in how many data vectors it is, its mean coefficient there
    amounts : of the first few atoms, a row of coefficients over all data vectors
    misfits : of the data vectors; losses where misfits mean nothing
    """

    labels: list[str]
    used: IntArray
    means: FloatArray
    amounts: FloatArray
    misfits: FloatArray
    means_misfit: bool

    @classmethod
    def of(cls, answers: Solutions, names: list[str] | None = None) -> Abundances:
        found: dict[str, list[tuple[int, float]]] = {}
        called = answers.names
        for i, (labels, values) in enumerate(zip(answers.indices, answers.coefficients, strict=True)):
            named = called[i]
            for label, value in zip((labels if named is None else named).tolist(), values, strict=True):
                text = str(label) if named is not None or names is None else names[int(label)]
                found.setdefault(text, []).append((i, float(np.linalg.norm(value) if np.ndim(value) else value)))
        order = sorted(found, key=lambda label: -len(found[label]))
        amounts = np.zeros((min(MAPS, len(order)), len(answers)))
        for row, label in zip(amounts, order, strict=False):
            for i, value in found[label]:
                row[i] += value
        misfits = answers.misfit
        means_something = bool(np.isfinite(misfits).any())
        used = np.array([len(found[label]) for label in order], dtype=np.intp)
        means = np.array([np.mean([value for _, value in found[label]]) for label in order], dtype=np.float64)
        return cls(order, used, means, amounts, misfits if means_something else answers.loss, means_something)

    def looked_at(self) -> list[int]:
        """Data vectors from the best fitted to the worst, evenly spread."""
        good = np.flatnonzero(np.isfinite(self.misfits))
        order = good[np.argsort(self.misfits[good], kind="stable")]
        if not order.size:
            return []
        places = np.unique(np.linspace(0, order.size - 1, min(order.size, ONE_BY_ONE)).round().astype(int))
        return order[places].tolist()
