"""What searches over supports have in common, however they search: sizes asked for, supports found, stages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from fewatoms._types import IntArray
from fewatoms.effort import Effort
from fewatoms.methods.listed.support import Support, SupportFits


class Stages(ABC):
    """The best supports of every size asked for.

    supports : by size
    isolated : by size, whether no atom outside comes near those inside
    table : a row of atoms for each size, -1 beyond: where a search for another ridge begins
    """

    def __init__(self, fits: SupportFits, ks: Sequence[int], effort: Effort) -> None:
        self.fits, self.problem, self.view, self.effort = fits, fits.problem, fits.view, effort
        self.ks = sorted(ks)
        self.signed = not self.view.nonnegative
        self.supports: dict[int, Support] = {}
        self.isolated: dict[int, bool] = {}
        self.table: IntArray | None = None

    @abstractmethod
    def stages(self) -> Iterator[None]:
        """Answers at once, then better ones."""

    @abstractmethod
    def begin(self, k: int, classes: IntArray) -> None:
        """Take up an earlier answer."""

    def so_far(self, k: int) -> Support | None:
        """The best for k in the middle of the work, where that is stopped; None if there is nothing yet."""
        found = [support for size, support in self.supports.items() if size <= k]
        return min(found, key=lambda support: support.objective, default=None)

    def _met(self, support: Support) -> bool:
        return self.problem.meets(support.loss) or self.problem.exact(support.loss)
