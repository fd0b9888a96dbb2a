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
from fewatoms.effort import Effort
from fewatoms.gram import engine
from fewatoms.gram.drivers import Rules, build, demanded, leading
from fewatoms.gram.state import PIVOT
from fewatoms.gram.steps import Support as Held
from fewatoms.gram.steps import best_entry, cheapest
from fewatoms.methods.listed.blockwise import exchanged
from fewatoms.methods.listed.small import small
from fewatoms.methods.listed.stages import Stages
from fewatoms.methods.listed.support import Support, SupportFits

FALL = 1e-9  # the share by which an exchange must lower the objective
ISOLATED = 12.0  # an answer whose least atom is worth this many times the best one outside is not searched further
WHOLE = 2e7  # multiplications, for each budget, that the Gram matrix of all atoms may cost
FIRST, EACH = 64, 6  # atoms that a search begins with at least, and for each one asked for
OUTWARD = 12  # looks outside of the working set, for each support
RUNGS = 24  # of a ladder of penalties
SHRINK = 0.7  # from one rung to the next
RELIEF = 3.0  # of the second ladder: coefficients so many times the penalty pay no more
RIDGES = np.array([3.0, 1.0, 0.3, 0.1, 0.03])  # of the ladder of ridges, above the one asked for
CROWD = 16  # atoms from which on exchanges of many at once come before those of one at a time
SWEPT = 64  # atoms up to which supports of all smaller sizes are searched on the way
CROSSING = 4_000_000  # inner products of a support with all atoms, for a look at all exchanges
PAIRED = 8  # atoms up to which exchanges of two at a time are looked at, where coefficients are nonnegative
DEEP = 0.9  # coefficients as a share of the data with which a ladder for many atoms ends: the last rungs find most
HOPE = 1.1  # supports with more than this many times the lowest loss of their ladder seldom end up better
AT_ONCE = 3e7  # multiplications from one look at the clock to the next, roughly
WORK = 1e9  # multiplications that shaking may cost, roughly
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
        yield
        if not self.effort.ladders or all(self.isolated[k] for k in self.ks):
            return
        if len(self.ks) > 1:  # sizes help each other, and shakes are for the one that is chosen
            return
        (k,) = self.ks
        self._laddered(k)
        yield
        if not self._met(self.supports[k]):
            self._shaken(k)
            yield

    def _room(self, support: Support, k: int) -> int:
        """How many more atoms are allowed: those that must be in an answer keep their place where they are idle."""
        return k - np.union1d(support.classes, self.view.forced).size

    # The working set --------------------------------------------------------------------------------------------------

    def ready(self) -> None:
        """All atoms where their Gram matrix costs little, else those best aligned with the data."""
        if self._z is not None:
            return
        view, m, most = self.view, self.problem.m, self.ks[-1]
        self._z = view.pull(view.outer.adjoint(self.problem.loss.gradient(self.problem.b)))
        first = max(FIRST // view.largest, EACH * most)
        columns = int(view.sizes(np.arange(view.count)).sum())
        few = view.count <= first or m * float(columns) ** 2 <= WHOLE * (1 + len(self.ks))
        if few and columns <= view.images.room:
            self.small.take(np.arange(view.count))
            return
        alignments = self.small.promise(self._z)
        self.small.take(np.concatenate([view.forced, linalg.top_k(alignments, first)]))

    # One size, or all up to it ----------------------------------------------------------------------------------------

    def _swept(self) -> None:
        """From small supports to large ones and back, each exchanged from the one beside it; several sizes begin with
        large ridges, which smooth the way."""
        most = self.ks[-1]
        low = 1 if most <= SWEPT or len(self.ks) > 1 or self.problem.alpha is not None else most
        table, top = self.table, most
        ridges = [r for r in RIDGES if r > self.problem.ridge] if self._continued else []
        for ridge in [*ridges, self.problem.ridge]:
            table, top = self.swept(ridge, low, table)
        assert table is not None
        self.table = table
        for k in self.ks:
            row = table[min(k, top)]
            self._take(k, self.small.classes[row[row >= 0]])
            self._look_outside(k)

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
        support = self.fits.fit(classes)
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
            places = self._blockwise(start[start >= 0], k)
            rows[1 + i, : places.size] = places
        with linalg.single_thread():
            engine().search(small.G, small.h, small.bb, best, spare, rows, lams, ridges, k, rules, dice)
        places = best.S[: best.count[0]]
        better = set(places.tolist()) != set(rows[0, : held.size].tolist()) and self._take(k, small.classes[places])
        if small.whole:
            self.isolated[k] = self._alone(best, k)
        return better

    def _blockwise(self, places: IntArray, k: int) -> IntArray:
        """A start, exchanged many atoms at a time where there are many."""
        return places if k < CROWD or self.view.blocks is not None else exchanged(self.small, places, k)

    def _alone(self, state: Held, k: int) -> bool:
        """Whether the least atom inside is worth many times the best one outside. Nonnegative atoms may have nothing to
        add and be better all the same, once another one is gone."""
        if not self.signed or state.count[0] < k or self.view.forced.size:
            return False
        return cheapest(state)[1] >= ISOLATED * best_entry(state, self.signed)[1]

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
        support, state = self.supports[k], self.small.state(k)
        if self._grown_by_qr(k) or self._met(support):
            self.isolated[k] = False
            return
        build(self.small.G, self.small.h, self.small.bb, state, self.small.places(support.classes))
        self.isolated[k] = self._alone(state, k)

    def _promising(self, k: int) -> tuple[IntArray, bool]:
        """Classes outside of the working set that would lower the objective, the best first, and whether none of all
        those that are not in the support comes near those that are."""
        support, view, fits = self.supports[k], self.view, self.fits
        ledger.tick()
        self._z = z = view.pull(view.outer.adjoint(fits.images.dual(support.residual)))
        promise = self.small.promise(z)
        promise[support.classes] = -np.inf
        gained, alone = self._gains(support, z, promise, k)
        gained[self.small.classes] = 0.0
        offers = linalg.top_k(gained, max(16, k))
        return offers[gained[offers] > FALL * support.objective], alone

    def _gains(self, support: Support, z: FloatArray, promise: FloatArray, k: int) -> tuple[FloatArray, bool]:
        """What each atom outside would lower the objective by, in place of the best atom inside for that; where that
        is too much to compute, what it promises alone."""
        size, n = support.classes.size, self.view.count
        open_ = np.isfinite(promise)
        if not size or support.factor is None or size * n > CROSSING or not self.view.single:
            gains = 0.5 * np.where(open_, promise, 0.0) ** 2
            return gains, self._alone_among(support, gains, k)
        H, c, unit = support.inverse, support.c, 1.0 + self.problem.ridge
        K = self.view.crossings.rows(support.classes)
        HK, eta = H @ K, H.diagonal()
        left = np.maximum(unit - np.einsum("ij,ij->j", K, HK), 0.0)
        usable = open_ & (promise > 0)
        entry = np.where(usable & (left > PIVOT), 0.5 * promise**2 / np.maximum(left, PIVOT), 0.0)
        costs = 0.5 * c * c / eta
        full = self._room(support, k) <= 0
        alone = bool(full and self.signed and not self.view.forced.size)
        alone = alone and float(costs.min()) >= ISOLATED * float(entry.max(initial=0.0))
        best = np.zeros(n) if full else entry
        for i in range(size):
            if self.view.forced.size and support.classes[i] in self.view.forced:
                continue
            reach = z + (c[i] / eta[i]) * HK[i]
            if not self.signed:
                reach = np.maximum(reach, 0.0)
            room = left + HK[i] ** 2 / eta[i]
            gain = 0.5 * reach**2 / np.maximum(room, PIVOT) - costs[i]
            np.maximum(best, np.where(room > PIVOT, gain, 0.0), out=best)
        best[~open_] = 0.0
        return best, alone

    def _alone_among(self, support: Support, gains: FloatArray, k: int) -> bool:
        """The same where the atoms of the working set are known exactly, and others by what they promise alone: half
        of them is taken to be new."""
        if self.view.blocks is None or not support.classes.size:
            return False
        state, small = self.small.state(k), self.small
        build(small.G, small.h, small.bb, state, small.places(support.classes))
        others = gains.copy()
        others[small.classes] = 0.0
        return self._alone(state, k) and cheapest(state)[1] >= ISOLATED * 4.0 * float(others.max(initial=0.0))

    def _grown_by_qr(self, k: int) -> bool:
        """Where a Gram matrix sees nothing more to add, the images themselves may: atoms that those inside nearly
        explain. Whether any were added."""
        if self.view.blocks is not None:
            return False
        support, images, moved = self.supports[k], self.fits.images, False
        while self._room(support, k) > 0 and not self._met(support) and images.size > support.classes.size:
            ledger.tick()
            j = self._beyond(support)
            if j is None:
                break
            trial = self.fits.fit(np.append(support.classes, j))
            if trial.classes.size <= support.classes.size or not trial.objective < support.objective * (1 - FALL):
                break
            self.supports[k] = support = trial
            moved = True
        return moved

    def _beyond(self, support: Support) -> int | None:
        """The atom of the working set that lowers the loss most by what the others leave of it, seen in its image."""
        images, small = self.fits.images, self.small
        A = linalg.dense(images.columns(np.arange(images.size)))
        lengths = np.linalg.norm(A, axis=0)
        A = A / np.where(lengths > 0, lengths, 1.0)
        if support.classes.size:
            Q = np.linalg.qr(A[:, small.places(support.classes)])[0]
            for _ in range(2):
                A = A - Q @ (Q.T @ A)
        left, z = np.einsum("ij,ij->j", A, A), A.T @ support.residual
        z = z if self.signed else np.maximum(z, 0.0)
        worth = np.where(small.may & (left > (64 * self.problem.m) * 2.0**-104), z * z / np.maximum(left, 1e-300), 0.0)
        worth[small.places(support.classes)] = 0.0
        j = int(worth.argmax())
        return int(small.classes[j]) if worth[j] > 0 else None

    # Ladders and shakes -----------------------------------------------------------------------------------------------

    def _laddered(self, k: int) -> None:
        """Supports from two ladders of penalties and one of ridges."""
        few = self.small.whole and k * k * self.small.columns <= AT_ONCE
        if few or self.view.blocks is not None:
            lams = self.small.penalties(RUNGS, SHRINK)
            self._run(k, NOTHING, self.rules, lams, NO_RUNGS)
            self._run(k, NOTHING, self.rules._replace(relief=RELIEF), lams, NO_RUNGS)
        else:
            self._rungs(k, 0.0, looks=not self.small.whole)
            self._rungs(k, RELIEF, looks=False)
        self._run(k, NOTHING, self.rules, NO_RUNGS, RIDGES[self.problem.ridge < RIDGES])
        self._look_outside(k)

    def _rungs(self, k: int, relief: float, *, looks: bool) -> None:
        """Down a ladder of penalties, one call a rung; with `looks` the working set takes in what it asks for."""
        small, lowest = self.small, np.inf
        limit = 4 * k + 32 if k < CROWD else DEEP * self.problem.m
        rules = self.rules._replace(relief=relief)
        x, q, tried = np.zeros(small.h.size), small.h.copy(), set[bytes]()
        for lam in small.penalties(RUNGS, SHRINK):
            for _ in range(3):
                ledger.tick()
                with linalg.single_thread():
                    engine().rung(small.G, x, q, lam, rules, small.may, 20, 1e-2)
                if not looks or not small.take(self._violators(x, lam)):
                    break
                x = np.concatenate([x, np.zeros(small.h.size - x.size)])
                q = small.h - small.G @ x
            held = np.count_nonzero(x)
            if 2 * held >= k:
                places = np.sort(leading(x, k, small.stays))
                loss = small.bb - float(small.h[places] @ (small.solved(places) * small.lengths[places]))
                lowest = min(lowest, loss)
                if places.tobytes() not in tried and loss <= HOPE * lowest:
                    tried.add(places.tobytes())
                    self._run(k, places[None, :], self.rules, NO_RUNGS, NO_RUNGS)
            if held >= limit:
                break

    def _violators(self, x: FloatArray, lam: float) -> IntArray:
        """Classes outside of the working set that do not stay at zero."""
        images, small, view = self.fits.images, self.small, self.view
        r = images.target - images.combine(np.arange(x.size), x / np.where(small.lengths > 0, small.lengths, 1.0))
        a = small.promise(view.pull(view.outer.adjoint(images.dual(r))))
        a[small.classes] = -np.inf
        fresh = linalg.top_k(a, max(32, x.size // 4))
        return fresh[a[fresh] > lam]

    def _shaken(self, k: int) -> None:
        """Replace some atoms at random and exchange, as often as the effort and the work that it takes allow."""
        replaced = max(2, k // 10)
        swaps = SETTLING + 2 * replaced
        work = max(1.0, self.supports[k].classes.size * self.small.h.size * (4.0 * replaced + 3.0 * swaps))
        tries = int(min(self.effort.shakes, 5 * k, WORK / work))
        pairs = self.effort.pairs if k <= PAIRED and not self.signed else 0
        rules, idle, die = self.rules._replace(pairs=pairs, swaps=swaps), 0, 0
        if pairs and self._run(k, NOTHING, rules, NO_RUNGS, NO_RUNGS):
            self._look_outside(k)
        at_once = min(tries, max(1, int(AT_ONCE / work)))
        most_idle = min(self.effort.idle, max(1, tries // 2))
        rules = rules._replace(pairs=0, shakes=at_once, idle=most_idle)
        for _ in range(-(-tries // max(1, at_once))):
            better = self._run(k, NOTHING, rules, NO_RUNGS, NO_RUNGS, DICE[die:])
            idle, die = 0 if better else idle + at_once, (die + 31 * at_once) % (DICE.size // 2)
            if idle >= most_idle or self._met(self.supports[k]):
                break
        if tries:
            self._look_outside(k)
