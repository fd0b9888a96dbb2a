"""Least squares over single columns at hand: the search for the best supports, in the space of a Gram matrix.

Everything happens among the atoms of a working set (`small.py`), by compiled steps (`gram/`). What is found there is
fitted to the last digit and held against all atoms: as long as one outside would lower the loss, it is taken in and the
search goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fewatoms import ledger, linalg
from fewatoms._types import FloatArray, IntArray
from fewatoms.effort import NORMAL, Effort
from fewatoms.gram import engine
from fewatoms.gram.drivers import SEEN, Rules, build, demanded
from fewatoms.gram.steps import Support as Held
from fewatoms.methods.listed import wandering
from fewatoms.methods.listed.blockwise import fitted
from fewatoms.methods.listed.enumerated import LISTED_ANYWAY, countable, ordered
from fewatoms.methods.listed.outside import ISOLATED, Look, beyond, isolated
from fewatoms.methods.listed.rungs import CAREFULLY, PASSES, in_rows, ladder, nested, suggested
from fewatoms.methods.listed.small import small
from fewatoms.methods.listed.stages import Stages
from fewatoms.methods.listed.support import Support, SupportFits

FALL = 1e-9  # the share by which an exchange must lower the objective
WHOLE = 2e7  # multiplications, for each budget, that the Gram matrix of all atoms may cost
FIRST, EACH, EACH_BLOCK = 128, 12, 6  # atoms that a search begins with at least, and for each one asked for
TELLINGS = 6  # in which sizes tell each other what they found outside of the working set
OUTWARD = 12  # looks outside of the working set, for each support
RUNGS = 24  # of a ladder of penalties
SHRINK = 0.7  # from one rung to the next
RELIEF = 3.0  # of the second ladder: coefficients so many times the penalty pay no more
RIDGES = np.array([3.0, 1.0, 0.3, 0.1, 0.03])  # of the ladder of ridges, above the one asked for
SWEPT = 64  # atoms up to which supports of all smaller sizes are searched on the way
PAIRED = 8  # atoms up to which exchanges of two at a time are looked at
AT_ONCE = 3e7  # multiplications from one look at the clock to the next, roughly
LOOKS = 3  # looks of a ladder beyond the working set, where rows are few; one elsewhere
SHAKING_COST = 4e8  # multiplications that shaking may cost, roughly; more with more effort
FITTED = 12  # supports, where all have been looked at
SETTLING = 20  # exchanges after a shake at most, and two for each atom replaced
NOTHING = np.zeros((0, 1), dtype=np.int64)
NO_RUNGS = np.zeros(0)
DICE = np.random.default_rng(0).random(997)  # of shakes: the same for all


class Search(Stages):
    """Supports are fitted to the last digit; the table holds places in the working set."""

    def __init__(self, fits: SupportFits, ks: Sequence[int], effort: Effort) -> None:
        super().__init__(fits, ks, effort)
        self.small = small(self.view, self.problem.ridge)
        self._z: FloatArray | None = None
        self._die = 0  # shakes go on with other dice than those before them
        self.rules = Rules(self.signed, FALL, effort.trials, 0, 0, 0.0, 0)

    def begin(self, k: int, classes: IntArray) -> None:
        self.ready()
        self.small.take(classes)
        self.supports[k] = self.fits.fit(classes)
        self._run(k, NOTHING, self.rules, NO_RUNGS, NO_RUNGS)

    # Stages -----------------------------------------------------------------------------------------------------------

    def stages(self) -> Iterator[None]:
        """Answers at once; better ones from ladders; better ones by shaking."""
        self.ready()
        self._swept()
        few = [k for k in self.ks if self.effort.ladders and countable(self.small, k, LISTED_ANYWAY)]
        for k in few:
            self._enumerated(k)
        yield
        if not self.effort.ladders or all(self.isolated[k] or k in few for k in self.ks):
            return
        if len(self.ks) > 1:  # sizes help each other, and shakes are for the one that is chosen
            return
        (k,) = self.ks
        if countable(self.small, k):
            self._enumerated(k)
            yield
            return
        self._laddered(k)
        yield
        self._overshot(k)
        yield
        yield from self._further(k)

    def _room(self, support: Support, k: int) -> int:
        """How many more atoms are allowed: those that must be in an answer keep their place where they are idle."""
        return k - np.union1d(support.classes, self.view.forced).size

    def _enumerated(self, k: int) -> None:
        """All supports: those that the Gram matrix takes for the best are fitted."""
        with linalg.single_thread():
            for row, loss in zip(*ordered(self.small, k, FITTED), strict=True):
                if self._met(self.supports[k]) or loss > 2 * self.supports[k].objective + SEEN * self.small.bb:
                    break
                self._take(k, self.small.classes[row])

    # The working set --------------------------------------------------------------------------------------------------

    def ready(self) -> None:
        """All atoms where their Gram matrix costs little, else those best aligned with the data."""
        if self._z is not None:
            return
        view, most = self.view, self.ks[-1]
        self._z = view.pull(view.outer.adjoint(self.problem.loss.gradient(self.problem.b)))
        first = max(FIRST // view.largest, (EACH if view.blocks is None else EACH_BLOCK) * most)
        columns = int(view.sizes(np.arange(view.count)).sum())
        if (view.count <= first or self._few(columns)) and columns <= view.images.room:
            self.small.take(np.arange(view.count))
            return
        first = min(first, max(most, view.images.room // (2 * view.largest)))  # others shall find room as well
        alignments = self.small.promise(self._z)
        self.small.take(np.concatenate([view.forced, linalg.top_k(alignments, first)]))

    def _few(self, columns: int) -> bool:
        """Whether the Gram matrix of so many columns costs little."""
        more = max(1.0, self.effort.shakes / NORMAL.shakes)
        return self.problem.m * float(columns) ** 2 <= more * WHOLE * (1 + len(self.ks))

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
        for i, ridge in enumerate([*ridges, self.problem.ridge]):
            with ledger.counted("sweep", i, sweeps):
                table, top = self.swept(ridge, low, table)
        assert table is not None
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
        losses = np.full(most + 1, np.inf)
        state, spare = self._forced(small.state(most)), small.state(most)
        target = 2 * self.problem.tolerance if self.problem.alpha is not None else -1.0
        low = min(max(low, self.view.forced.size), most)
        with linalg.single_thread():
            top = engine().sweep(small.G, small.h, small.bb, state, spare, table, losses, low, most, target, self.rules)
        ledger.tick()
        return table, int(top)

    def _forced(self, state: Held) -> Held:
        if self.view.forced.size:
            build(self.small.G, self.small.h, self.small.bb, state, demanded(state))
        return state

    def _take(self, k: int, classes: IntArray) -> bool:
        """Fit these classes; whether they are the best for k so far."""
        ledger.tick()
        return self._better(k, self.fits.fit(classes))

    def _better(self, k: int, support: Support) -> bool:
        """Keep a support if it is the best for k so far; whether it is."""
        held = self.supports.get(k)
        if held is not None and not support.objective < held.objective * (1 - FALL):
            return False
        self.supports[k] = support
        return True

    def _run(
        self,
        k: int,
        starts: IntArray,
        rules: Rules,
        lams: FloatArray,
        ridges: FloatArray,
        dice: FloatArray = DICE,
    ) -> bool:
        """Search from the best support for k; whether a better one was found."""
        ledger.tick()
        small, held = self.small, self.supports[k].classes
        best, spare = small.state(k), small.state(k)
        rows = np.full((1 + len(starts), max(k, starts.shape[1])), -1, dtype=np.int64)
        rows[0, : held.size] = small.places(held)
        for i, start in enumerate(starts):
            rows[1 + i, : start.size] = start
        with linalg.single_thread():
            engine().search(small.G, small.h, small.bb, best, spare, rows, lams, ridges, k, rules, dice)
        places = best.S[: best.count[0]]
        better = set(places.tolist()) != set(rows[0, : held.size].tolist()) and self._take(k, small.classes[places])
        if small.whole:
            self.isolated[k] = self._alone(best, k)
        return better

    def _alone(self, state: Held, k: int) -> bool:
        """Whether the least atom inside is worth many times the best one outside."""
        return self._may_be_alone(int(state.count[0]), k) and isolated(state, self.signed)

    def _may_be_alone(self, size: int, k: int) -> bool:
        """Nonnegative atoms may have nothing to add and be better all the same, once another one is gone."""
        return self.signed and size >= k and not self.view.forced.size

    # Against all atoms ------------------------------------------------------------------------------------------------

    def _look_outside(self, k: int) -> None:
        """Take in atoms that would lower the loss, and go on from there, until there are none."""
        if self.small.whole:
            self._settle(k)
            return
        for _ in range(OUTWARD):
            if self._met(self.supports[k]):
                self.isolated[k] = False
                return
            fresh, alone = self._promising(k)
            self.isolated[k] = alone
            if alone or not fresh.size or not self.small.take(fresh):
                break
            if not self._run(k, NOTHING, self.rules, NO_RUNGS, NO_RUNGS):
                break
        self._grown_by_qr(k)

    def _settle(self, k: int) -> None:
        """Where all atoms are in the working set: what the Gram matrix could not see, and whether others come near."""
        support, small, self.isolated[k] = self.supports[k], self.small, False
        if self._grown_by_qr(k) or self._met(support):
            return
        if self.view.blocks is None:
            fit = fitted(small, small.places(support.classes)) if self._may_be_alone(support.classes.size, k) else None
            self.isolated[k] = fit is not None and fit.apart(ISOLATED)
            return
        state = small.state(k)
        build(small.G, small.h, small.bb, state, small.places(support.classes))
        self.isolated[k] = self._alone(state, k)

    def _promising(self, k: int) -> tuple[IntArray, bool]:
        """Classes outside of the working set that would lower the objective, the best first, and whether none of all
        those that are not in the support comes near those that are."""
        support = self.supports[k]
        ledger.tick()
        alone = self._may_be_alone(support.classes.size, k)
        look = Look(self.small, support, k, self._room(support, k), alone)
        gained = look.gains.copy()
        gained[self.small.classes] = -np.inf
        offers = linalg.top_k(gained, max(16, k))
        # what blocks gain is known from below alone: the best few are looked at more closely in any case
        least = FALL * support.objective if self.view.blocks is None else -np.inf
        return offers[gained[offers] > least], look.isolated

    def _grown_by_qr(self, k: int) -> bool:
        """Where a Gram matrix sees nothing more to add, the images themselves may: atoms that those inside nearly
        explain. Whether any were added."""
        if self.view.blocks is not None:
            return False
        support, images, moved = self.supports[k], self.fits.images, False
        while self._room(support, k) > 0 and not self._met(support) and images.size > support.classes.size:
            ledger.tick()
            j = beyond(self.small, support)
            if j is None:
                break
            trial = self.fits.fit(np.append(support.classes, j))
            if trial.classes.size <= support.classes.size or not trial.objective < support.objective * (1 - FALL):
                break
            self.supports[k] = support = trial
            moved = True
        return moved

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
        table, losses = np.full((most + 1, most), -1, dtype=np.int64), np.full(most + 1, np.inf)
        state, spare = small.state(most), small.state(most)
        with linalg.single_thread():
            build(small.G, small.h, small.bb, state, small.places(self.supports[k].classes))
            engine().sweep(small.G, small.h, small.bb, state, spare, table, losses, k, most, -1.0, self.rules)
        ledger.tick()
        if self._take(k, small.classes[table[k][table[k] >= 0]]):
            self._look_outside(k)

    def _further(self, k: int) -> Iterator[None]:
        """Shakes, beyond the working set too. Whoever asks for more gets what others get, and goes on from there."""
        if not self._met(self.supports[k]):
            self._shaken_by(k, NORMAL)
            yield
        yield from self._wandered(k)
        if self.effort.shakes > NORMAL.shakes and not self._met(self.supports[k]):
            self._shaken(k)
            yield

    def _wandered(self, k: int) -> Iterator[None]:
        """Where rows are few for so many atoms: take in what stands behind the best support, and shake again."""
        more = self.effort.shakes / NORMAL.shakes
        rounds = int(more * wandering.rounds(k, self.view.count, self.problem.m))
        rng, vain = np.random.default_rng(0), 0
        for _ in range(rounds):
            held = self.supports[k]
            if self.view.blocks is not None or not held.classes.size or self._met(held):
                return
            parts = wandering.parts(held, self.problem.m, rng)
            if not self.small.whole:
                self.small.take(wandering.behind(self.small, parts))
            starts = in_rows([self.small.places(part) for part in parts], k)
            self._run(k, starts, self.rules, NO_RUNGS, NO_RUNGS)
            self._shaken_by(k, NORMAL)
            vain = vain + 1 if self.supports[k] is held else 0
            if 2 * vain > rounds:
                return
            yield

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
        for _ in range(-(-tries // max(1, at_once))):
            better = self._run(k, NOTHING, rules, NO_RUNGS, NO_RUNGS, DICE[self._die :])
            idle, self._die = 0 if better else idle + at_once, (self._die + 31 * at_once) % (DICE.size // 2)
            if idle >= most_idle or self._met(self.supports[k]):
                break
        if tries:
            self._look_outside(k)
