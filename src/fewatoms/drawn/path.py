"""A path over k: how well answers fit, and which atoms are in for which k."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewatoms._types import FloatArray, IntArray

if TYPE_CHECKING:
    from fewatoms.path import Path


@dataclass(frozen=True, eq=False)
class Curve:
    """Misfits, or losses, against numbers of atoms.

    k, sizes, heights : what was asked for, atoms used, misfits there (losses where misfits mean nothing)
    misfits : which of both
    scored : what was compared last, by the name of the way; None where nothing was
    chosen : the place among them of the k that was chosen, or None
    """

    k: list[str]
    sizes: IntArray
    heights: FloatArray
    misfits: bool
    scored: tuple[str, FloatArray] | None = None
    chosen: int | None = None

    @classmethod
    def of(cls, path: Path) -> Curve:
        sizes = np.array([path[k].cardinality for k in path], dtype=np.intp)
        misfits = not bool(np.isnan(path.misfits).any())
        scored = None
        if path.scores:
            way, scores = next(reversed(path.scores.items()))
            scored = way, scores[path.ridges.index(path.ridge)] if scores.ndim > 1 else scores
        chosen = None if path.chosen is None else path.k.index(path.chosen)
        heights = path.misfits if misfits else path.losses
        return cls([str(k) for k in path], sizes, heights, misfits, scored, chosen)

    @property
    def label(self) -> str:
        return "misfit |b - Mx| / |b|" if self.misfits else "loss"


@dataclass(frozen=True, eq=False)
class Supports:
    """Which atoms are in for which k: those that are in most often first.

    labels : of all atoms that any answer has
    values : a row for each of them, a column for each k; nan where it is not in
    """

    labels: list[str]
    values: FloatArray

    @classmethod
    def of(cls, sizes: list[dict[str, float]]) -> Supports:
        """From the coefficients of each answer, by label."""
        often: dict[str, int] = {}
        for one in sizes:
            for label in one:
                often[label] = often.get(label, 0) + 1
        labels = sorted(often, key=lambda label: -often[label])
        values = np.array([[one.get(label, math.nan) for one in sizes] for label in labels], dtype=np.float64)
        return cls(labels, values.reshape(len(labels), len(sizes)))
