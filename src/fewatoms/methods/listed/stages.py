"""What searches over supports have in common, however they search: sizes asked for, supports found, stages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from fewatoms import journal, kept, ledger
from fewatoms._types import IntArray
from fewatoms.effort import Effort
from fewatoms.kept import Kept, Plain
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
        self.parts = 0  # done
        self._behind = 0
        self._here: journal.Step = journal.NOWHERE

    @abstractmethod
    def stages(self) -> Iterator[None]:
        """Answers at once, then better ones."""

    # After a kill -----------------------------------------------------------------------------------------------------

    @contextmanager
    def followed(self) -> Iterator[None]:
        """The stages inside the block are gone on with after a kill: those that `did` did are not done again."""
        with ledger.step("search") as here:
            self._here, self._behind = here, 0
            if here.found is not None:
                self._behind = self.parts = kept.whole(here.found.told["parts"])
                self.again(here.found)
            yield

    def did(self, part: Callable[[], object]) -> bool:
        """Do a part of the search, if it was not done before. Whether what there is now has yet to be shown: of parts
        that were done before, that is so for the last one."""
        if self._behind:
            self._behind -= 1
            return not self._behind
        part()
        self.parts += 1
        if self._here.live:
            self._here.mark(self.noted())
        return True

    def noted(self) -> Callable[[], Kept]:
        """Note what has been found, for a checkpoint."""
        found = dict(self.supports)
        isolated = [k for k, alone in self.isolated.items() if alone]
        told: dict[str, Plain] = {"parts": self.parts, "ks": [*self.ks], "sizes": [*found], "isolated": [*isolated]}
        arrays = {} if self.table is None else {"table": self.table.copy()}
        return lambda: Kept("search", told, arrays, tuple(support.kept() for support in found.values()))

    def again(self, it: Kept) -> None:
        """Know that again."""
        sizes, isolated = (kept.rows(it.told[name]) for name in ("sizes", "isolated"))
        self.ks = [kept.whole(k) for k in kept.rows(it.told["ks"])]
        self.supports = {kept.whole(k): self.held(one) for k, one in zip(sizes, it.inner, strict=True)}
        self.isolated = {k: k in isolated for k in self.supports}
        self.table = it.arrays.get("table")

    def held(self, it: Kept) -> Support:
        """A support that was kept, as if it had been fitted."""
        support = Support.read(self.view, it)
        self.fits.asked[support.classes] = True
        return support

    @abstractmethod
    def begin(self, k: int, classes: IntArray) -> None:
        """Take up an earlier answer."""

    def so_far(self, k: int) -> Support | None:
        """The best for k in the middle of the work, where that is stopped; None if there is nothing yet."""
        found = [support for size, support in self.supports.items() if size <= k]
        return min(found, key=lambda support: support.objective, default=None)

    def _met(self, support: Support) -> bool:
        return self.problem.meets(support.loss) or self.problem.exact(support.loss)
