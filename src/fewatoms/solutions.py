"""The answers for several data vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

from fewatoms._types import Array, FloatArray
from fewatoms.solution import Solution, Status


class Solutions(Sequence[Solution]):
    """The answers for several data vectors, one per column of b, each with its own atoms.

    A sequence of `Solution`; x, loss, misfit, cardinality and free_coefficients hold them side by side.
    """

    def __init__(self, solutions: Sequence[Solution]) -> None:
        self._solutions = list(solutions)

    def __len__(self) -> int:
        return len(self._solutions)

    @overload
    def __getitem__(self, which: int) -> Solution: ...
    @overload
    def __getitem__(self, which: slice) -> Solutions: ...
    def __getitem__(self, which: int | slice) -> Solution | Solutions:
        return Solutions(self._solutions[which]) if isinstance(which, slice) else self._solutions[which]

    def __repr__(self) -> str:
        met = sum(s.success for s in self)
        return f"Solutions({len(self)} data vectors, {met} as asked, largest misfit {self.misfit.max(initial=0.0):.3g})"

    @property
    def success(self) -> bool:
        """Whether what was asked holds for all of them."""
        return all(s.success for s in self)

    @property
    def message(self) -> str:
        """How many ended how."""
        ends = Counter(s.status for s in self)
        return " ".join(f"{count} of {len(self)}: {status.value}" for status, count in ends.items())

    @property
    def status(self) -> list[Status]:
        """Why each run ended."""
        return [s.status for s in self]

    @property
    def indices(self) -> list[Array]:
        """Which atoms, for each data vector."""
        return [s.indices for s in self]

    @property
    def coefficients(self) -> list[Array]:
        """Their coefficients."""
        return [s.coefficients for s in self]

    @property
    def x(self) -> Array:
        """The models side by side, n x p."""
        return np.stack([s.x for s in self], axis=-1)

    @property
    def loss(self) -> FloatArray:
        return np.array([s.loss for s in self])

    @property
    def misfit(self) -> FloatArray:
        return np.array([s.misfit for s in self])

    @property
    def cardinality(self) -> Array:
        return np.array([s.cardinality for s in self])

    @property
    def free_coefficients(self) -> Array:
        """Of the free columns, q x p."""
        return np.stack([s.free_coefficients for s in self], axis=-1)

    @property
    def products(self) -> int:
        """All products with M and M*."""
        return sum(s.products for s in self)

    def predict(self, M_new: object, *, free: npt.ArrayLike | None = None) -> Array:
        """What the models say about data not seen, one column each."""
        return np.stack([s.predict(M_new, free=free) for s in self], axis=1)
