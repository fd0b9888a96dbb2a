"""Least squares over single columns at hand: the search for the best supports, in the space of a Gram matrix.

Where to exchange atoms from (`exchanging.py`): sweeps over sizes, ladders of penalties, sizes beyond the one asked for,
and shakes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from fewatoms import kept, ledger, linalg
from fewatoms._types import FloatArray, IntArray
from fewatoms.effort import NORMAL, Effort
from fewatoms.gram.drivers import SEEN, build, demanded
from fewatoms.gram.steps import Support as Held
from fewatoms.kept import Kept
from fewatoms.methods.listed import wandering
from fewatoms.methods.listed.blockwise import fitted
from fewatoms.methods.listed.enumerated import LISTED_ANYWAY, countable, ordered
from fewatoms.methods.listed.exchanging import DICE, NO_RUNGS, NOTHING, Exchanging
from fewatoms.methods.listed.rungs import CAREFULLY, PASSES, in_rows, ladder, nested, suggested
from fewatoms.methods.listed.support import Support, SupportFits
from fewatoms.methods.listed.sweeping import AT_ONCE, Sweep, largest

TELLINGS = 6  # in which sizes tell each other what they found outside of the working set
RUNGS = 24  # of a ladder of penalties
SHRINK = 0.7  # from one rung to the next
RELIEF = 3.0  # of the second ladder: coefficients so many times the penalty pay no more
RIDGES = np.array([3.0, 1.0, 0.3, 0.1, 0.03])  # of the ladder of ridges, above the one asked for
SWEPT = 64  # atoms up to which supports of all smaller sizes are searched on the way
PAIRED = 8  # atoms up to which exchanges of two at a time are looked at
LOOKS = 3  # looks of a ladder beyond the working set, where rows are few; one elsewhere
SHAKING_COST = 4e8  # multiplications that shaking may cost, roughly; more with more effort
FITTED = 12  # supports, where all have been looked at
SETTLING = 20  # exchanges after a shake at most, and two for each atom replaced


class Search(Exchanging):
    """The search for one number of atoms, or for several that help each other."""

    def __init__(self, fits: SupportFits, ks: Sequence[int], effort: Effort) -> None:
        super().__init__(fits, ks, effort)
        self._rows: IntArray | None = None  # of the last table that is whole, or of the first while it is filled
        self._die = 0  # shakes go on with other dice than those before them
        self._wanders, self._vain = np.random.default_rng(0), 0  # rounds that found nothing

    def noted(self) -> Callable[[], Kept]:
        known, more = super().noted(), {"die": self._die, "vain": self._vain, "wanders": kept.drawn(self._wanders)}

        def told() -> Kept:
            it = known()
            return replace(it, told={**it.told, **more})

        return told

    def again(self, it: Kept) -> None:
        super().again(it)
        self._die, self._vain = kept.whole(it.told["die"]), kept.whole(it.told["vain"])
        kept.draw_on(self._wanders, it.told["wanders"])

    # Stages -----------------------------------------------------------------------------------------------------------

    def stages(self) -> Iterator[None]:
        """Answers at once; better ones from ladders; better ones by shaking."""
        self.ready()
        with self.followed():
            yield from self._staged()

    def _staged(self) -> Iterator[None]:
        few = [k for k in self.ks if self.effort.ladders and countable(self.small, k, LISTED_ANYWAY)]
        if self.did(partial(self._first, few)):
            yield
        if not self.effort.ladders or all(self.isolated[k] or k in few for k in self.ks):
            return
        if len(self.ks) > 1:  # sizes help each other, and shakes are for the one that is chosen
            return
        (k,) = self.ks
        if countable(self.small, k):
            if self.did(partial(self._enumerated, k)):
                yield
            return
        if self.did(partial(self._laddered, k)):
            yield
        if self.did(partial(self._overshot, k)):
            yield
        yield from self._further(k)

    def _first(self, few: list[int]) -> None:
        self._swept()
        for k in few:
            self._enumerated(k)

    def _enumerated(self, k: int) -> None:
        """All supports: those that the Gram matrix takes for the best are fitted."""
        with linalg.single_thread():
            for row, loss in zip(*ordered(self.small, k, FITTED), strict=True):
                if self._met(self.supports[k]) or loss > 2 * self.supports[k].objective + SEEN * self.small.bb:
                    break
                self._take(k, self.small.classes[row])

    def so_far(self, k: int) -> Support | None:
        if k not in self.supports and self._rows is not None:
            size, row = largest(self._rows, k)
            if size not in self.supports:
                self.supports[size] = self.fits.fit(self.small.classes[row])
        return super().so_far(k)

    # One size, or all up to it ----------------------------------------------------------------------------------------

    def _swept(self) -> None:
        """From small supports to large ones and back, each exchanged from the one beside it; several sizes begin with
        large ridges, which smooth the way."""
        most = self.ks[-1]
        low = 1 if most <= SWEPT or len(self.ks) > 1 or self.problem.alpha is not None else most
        table, top = self.table, most
        ridges = [r for r in RIDGES if r > self.problem.ridge] if self._continued else []
        again = self._continued and self.view.blocks is None and self.problem.alpha is None
        sweeps = len(ridges) + 1 + 2 * again
        with ledger.step("sweeps") as here:
            done = 0 if here.found is None else kept.whole(here.found.told["done"])
            if here.found is not None:
                table, top = here.found.arrays["table"], kept.whole(here.found.told["top"])
            for i, ridge in enumerate([*ridges, self.problem.ridge]):
                if i >= done:
                    with ledger.counted("sweep", i, sweeps):
                        table, top = self.swept(ridge, low, table)
                    here.mark(partial(Kept, "sweeps", {"done": i + 1, "top": top}, {"table": table.copy()}))
        assert table is not None
        self.small.pay(self.problem.ridge)
        if again:
            with ledger.counted("sweep", len(ridges) + 1, sweeps):
                table = self._swept_from_rungs(low, table)
        for _ in range(TELLINGS):
            known = self.small.classes.size
            self._settled(table, top)
            if len(self.ks) == 1 or self.small.classes.size == known:
                break  # no size has found atoms that the others do not know
            table, top = self.swept(self.problem.ridge, low, self._with_found(table))
        self.table = table

    def _settled(self, table: IntArray, top: int) -> None:
        """The supports of a table, fitted and held against all atoms."""
        for i, k in enumerate(self.ks):
            row = table[min(k, top)]
            with ledger.counted("size", i, len(self.ks)):
                self._take(k, self.small.classes[row[row >= 0]])
                self._look_outside(k)

    def _with_found(self, table: IntArray) -> IntArray:
        """A table with the supports that have been found since."""
        for k in self.ks:
            places = self.small.places(self.supports[k].classes)
            table[k] = -1
            table[k, : places.size] = places
        return table

    def _swept_from_rungs(self, low: int, table: IntArray) -> IntArray:
        """The better one of a table's supports and those that a sweep finds from ladders of penalties, swept again."""
        small, most = self.small, self.ks[-1]
        lams, limit = small.penalties(RUNGS, SHRINK), 2 * most + 32
        X = [ladder(small, self.rules._replace(relief=relief), lams, limit) for relief in (0.0, RELIEF)]
        other = self.swept(self.problem.ridge, low, nested(small, np.concatenate(X), most))[0]
        for k in range(low, most + 1):
            fits = [fitted(small, row[row >= 0]) for row in (table[k], other[k])]
            losses = [np.inf if fit is None else fit.loss for fit in fits]
            if losses[0] < losses[1]:
                other[k] = table[k]
        return self.swept(self.problem.ridge, low, other)[0]

    @property
    def _continued(self) -> bool:
        """Whether a sweep comes down from larger ridges: not where it begins with a table."""
        return len(self.ks) > 1 and self.effort.ladders and self.table is None

    def swept(self, ridge: float, low: int, begin: IntArray | None) -> tuple[IntArray, int]:
        """The best supports of every size in the working set, a row of places for each, and the largest size that the
        bound asks for; `begin` is a table of other data, or of another ridge."""
        most, small = self.ks[-1], self.small
        small.pay(ridge)
        table = np.full((most + 1, max(most, 1)), -1, dtype=np.int64) if begin is None else begin.copy()
        sweep = Sweep.of(small, self._forced(small.state(most)), table, self.rules)
        target = 2 * self.problem.tolerance if self.problem.alpha is not None else -1.0
        low = min(max(low, self.view.forced.size), most)
        self._rows = table if self._rows is None else self._rows
        top = sweep.through(low, most, target)
        self._rows = table
        return table, top

    def _forced(self, state: Held) -> Held:
        if self.view.forced.size:
            build(self.small.G, self.small.h, self.small.bb, state, demanded(state))
        return state

    # Ladders and shakes -----------------------------------------------------------------------------------------------

    def _laddered(self, k: int) -> None:
        """Supports from two ladders of penalties and one of ridges."""
        rules, lams = self.rules, self.small.penalties(RUNGS, SHRINK)
        few, single = self.small.whole and k * k * self.small.columns <= AT_ONCE, self.view.blocks is None
        patient = few or single or self.effort.shakes > NORMAL.shakes  # of many blocks, the others are seldom better
        if few or not single:
            self._run(k, NOTHING, rules, lams, NO_RUNGS)
            if patient:
                self._run(k, NOTHING, rules._replace(relief=RELIEF), lams, NO_RUNGS)
        else:
            self._rungs(k, lams)
        if patient:
            self._run(k, NOTHING, rules, NO_RUNGS, RIDGES[self.problem.ridge < RIDGES])
        self._look_outside(k)

    def _rungs(self, k: int, lams: FloatArray) -> None:
        """Exchange from the rungs of two ladders of penalties."""
        small, limit, rows = self.small, 4 * k + 32, []
        rough = wandering.roughness(k, self.view.count, self.problem.m) >= wandering.ROUGH
        for relief in (0.0, RELIEF):
            looks, passes = (LOOKS, CAREFULLY) if rough else (int(not relief), PASSES)
            X = ladder(small, self.rules._replace(relief=relief), lams, limit, looks=looks, passes=passes)
            rows += suggested(X, k, small.stays)
        most = max(4, int(AT_ONCE / max(1, k * k * small.columns)))
        if len(rows) > most:
            fits = [fitted(small, row) for row in rows]
            losses = [np.inf if fit is None else fit.loss for fit in fits]
            rows = [rows[i] for i in np.argsort(losses, kind="stable")[:most]]
        self._run(k, in_rows(rows, k), self.rules, NO_RUNGS, NO_RUNGS)

    def _overshot(self, k: int) -> None:
        """Up to more atoms than are asked for, and back: where columns are alike, the way to k leads through more."""
        small, most = self.small, min(k + max(4, k // 2), self.small.classes.size)
        if most <= k or self._met(self.supports[k]):
            return
        table, state = np.full((most + 1, most), -1, dtype=np.int64), small.state(most)
        build(small.G, small.h, small.bb, state, small.places(self.supports[k].classes))
        Sweep.of(small, state, table, self.rules).through(k, most, -1.0)
        if self._take(k, small.classes[table[k][table[k] >= 0]]):
            self._look_outside(k)

    def _further(self, k: int) -> Iterator[None]:
        """Shakes, beyond the working set too. Whoever asks for more gets what others get, and goes on from there."""
        if not self._met(self.supports[k]) and self.did(partial(self._shaken_by, k, NORMAL)):
            yield
        yield from self._wandered(k)
        more = self.effort.shakes > NORMAL.shakes and not self._met(self.supports[k])
        if more and self.did(partial(self._shaken, k)):
            yield

    def _wandered(self, k: int) -> Iterator[None]:
        """Where rows are few for so many atoms: take in what stands behind the best support, and shake again."""
        more = self.effort.shakes / NORMAL.shakes
        rounds = int(more * wandering.rounds(k, self.view.count, self.problem.m))
        for _ in range(rounds):
            held = self.supports[k]
            if self.view.blocks is not None or not held.classes.size or self._met(held):
                return
            shown = self.did(partial(self._round, k))
            if 2 * self._vain > rounds and not self._behind:
                return
            if shown:
                yield

    def _round(self, k: int) -> None:
        """Shake once more, from parts of the best support."""
        held = self.supports[k]
        parts = wandering.parts(held, self.problem.m, self._wanders)
        if not self.small.whole:
            self.small.take(wandering.behind(self.small, parts))
        starts = in_rows([self.small.places(part) for part in parts], k)
        self._run(k, starts, self.rules, NO_RUNGS, NO_RUNGS)
        self._shaken_by(k, NORMAL)
        self._vain = self._vain + 1 if self.supports[k] is held else 0

    def _shaken(self, k: int) -> None:
        """Replace some atoms at random and exchange, as often as the effort and the work that it takes allow."""
        self._shaken_by(k, self.effort)

    def _shaken_by(self, k: int, effort: Effort) -> None:
        replaced = max(2, k // 10)
        swaps = SETTLING + 2 * replaced
        work = self.supports[k].c.size * self.small.columns * self.view.largest * (4.0 * replaced + 3.0 * swaps)
        work = max(1.0, work)
        more = effort.shakes / NORMAL.shakes
        most = effort.shakes if self.view.blocks is None else effort.shakes // 2
        tries = int(min(most, more * 5 * k, more * SHAKING_COST / work))
        pairs = effort.pairs if k <= PAIRED else 0
        rules, idle = self.rules._replace(pairs=pairs, swaps=swaps), 0
        if pairs and self._run(k, NOTHING, rules, NO_RUNGS, NO_RUNGS):
            self._look_outside(k)
        at_once = min(tries, max(1, int(AT_ONCE / work)))
        most_idle = min(effort.idle, max(1, tries // 2))
        rules = rules._replace(pairs=0, shakes=at_once, idle=most_idle)
        with ledger.step("shakes") as here:
            done = 0
            if here.found is not None:
                done, idle = (kept.whole(here.found.told[name]) for name in ("done", "idle"))
                self.again(here.found.inner[0])
            for i in range(done, -(-tries // max(1, at_once))):
                if i and (idle >= most_idle or self._met(self.supports[k])):
                    break
                better = self._run(k, NOTHING, rules, NO_RUNGS, NO_RUNGS, DICE[self._die :])
                idle, self._die = 0 if better else idle + at_once, (self._die + 31 * at_once) % (DICE.size // 2)
                if here.live:
                    here.mark(partial(_shaken, i + 1, idle, self.noted()))
        if tries:
            self._look_outside(k)


def _shaken(done: int, idle: int, noted: Callable[[], Kept]) -> Kept:
    """How far shaking is, for a checkpoint."""
    return Kept("shakes", {"done": done, "idle": idle}, {}, (noted(),))
