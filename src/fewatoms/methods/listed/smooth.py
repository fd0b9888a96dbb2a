"""Smooth losses over columns at hand: the search for the best supports, by way of their quadratic models.

Near the best coefficients of a support the loss is a parabola over a working set (`modelled.py`), and what least
squares does by compiled steps is done there: atoms are added and exchanged. What that proposes is fitted by Newton's
method and kept if it is better; where it is not, the best single exchanges are fitted one by one. Then it is held
against all atoms (`outlook.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from fewatoms import kept, ledger, linalg
from fewatoms._types import IntArray
from fewatoms.effort import Effort
from fewatoms.gram.drivers import Rules
from fewatoms.gram.steps import Support as Held
from fewatoms.gram.steps import worths
from fewatoms.kept import Kept, Plain
from fewatoms.methods.listed.exchanging import FALL, NOTHING
from fewatoms.methods.listed.modelled import Model, model
from fewatoms.methods.listed.outlook import Outlook
from fewatoms.methods.listed.searching import SETTLING
from fewatoms.methods.listed.stages import Stages
from fewatoms.methods.listed.support import Support, SupportFits

TRIED = 8  # best single exchanges that are fitted one by one where the model finds nothing; 20 find no more
MOVES = 200  # of exchanges at most
SHAKEN = 5  # one of so many atoms is replaced by a shake, and two at least
SHAKING = 3e9  # multiplications that shaking may cost, roughly
REACH = 1.5  # sizes that one model serves: up to so many times that of its support
AMONG = 4  # atoms that each of these is drawn from
# Share of shakes that look at all atoms first: on 500 x 1000, k = 20, correlations .2 to .8, the losses of 13 problems
# in 60 fall by .1 to 1 %, those of 4 rise; where all shakes do so, no more fall.
AFAR = 0.5
# Shakes with fits, for each in vain that the effort allows: so many for each atom, at least and at most. On 500 x 1000,
# k = 10 and 20, they take the loss from 0.2 % below the best peer's to 0.4 % on average. Shakes in the model alone,
# ladders of ridges, and going beyond k and back gain less in the same time.
PER_ATOM, AT_LEAST_FITTED, AT_MOST_FITTED = 0.025, 0.25, 0.4


class _Trodden(Exception):
    """A shake came to a support that an earlier one went on from."""


class SmoothSearch(Stages):
    """Supports are fitted as well as trials are; the table holds classes."""

    def __init__(self, fits: SupportFits, ks: Sequence[int], effort: Effort) -> None:
        super().__init__(fits, ks, effort)
        self.loss = self.problem.base_loss
        self.outlook = Outlook(fits, self.ks[-1])
        self.rules = Rules(self.signed, FALL, effort.trials, 0, 0, 0.0, 0)
        self._answers = True  # what is found counts if the run is stopped
        self._trodden: dict[frozenset[int], float] | None = None  # while shaking: supports that were gone on from

    def begin(self, k: int, classes: IntArray) -> None:
        with linalg.single_thread():
            support = self.fits.fit(classes)
            self.outlook.widened(support, k, first=True)
            self._hold(k, self._exchanged(support, k, patient=False))

    def stages(self) -> Iterator[None]:
        """Answers at once; better ones from larger sizes, or by shaking."""
        with self.followed():
            yield from self._staged()

    def _staged(self) -> Iterator[None]:
        if self.did(self._grow):
            yield
        if not self.effort.ladders or all(self._met(support) for support in self.supports.values()):
            return
        if len(self.ks) > 1:  # sizes help each other, and shakes are for the one that is chosen
            if self.did(self._shrink):
                yield
            if not self.outlook.whole:
                return
        if self.did(self._all_shaken):
            yield

    def _all_shaken(self) -> None:
        for k in self.ks:
            self._shaken(k)

    def did(self, part: Callable[[], object]) -> bool:
        with linalg.single_thread():
            return super().did(part)

    def noted(self) -> Callable[[], Kept]:
        near, known = self.outlook.near, super().noted()

        def told() -> Kept:
            it = known()
            return replace(it, arrays={**it.arrays, "near": near})

        return told

    def again(self, it: Kept) -> None:
        super().again(it)
        self.outlook.near = it.arrays["near"]

    def sketched(self) -> dict[int, Support]:
        """Answers for comparing, fitted to the last digit."""
        self._answers = False
        with linalg.single_thread():
            if self.outlook.whole:
                self._grow(patient=self.table is None)
            else:
                self._sweep()
            return {k: self.fits.fit(support.classes, support, trial=False) for k, support in self.supports.items()}

    def _hold(self, k: int, support: Support) -> bool:
        """Keep a support if it is the best for k so far; whether it is."""
        held = self.supports.get(k)
        if held is not None and not support.objective < held.objective * (1 - FALL):
            return False
        self.supports[k], self.isolated[k] = support, False
        if self.table is None:
            self.table = np.full((self.ks[-1] + 1, max(1, self.ks[-1])), -1, dtype=np.int64)
        self.table[k] = -1
        self.table[k, : support.classes.size] = support.classes
        if self._answers:
            ledger.keep(self.fits.candidate(support))
        return True

    # Sizes ------------------------------------------------------------------------------------------------------------

    def _grow(self, *, patient: bool = True) -> None:
        """Every size from the ones before, by doubling, or from what an earlier search found for it."""
        table, self.table = self.table, None
        support = self.fits.fit(self.view.forced)
        self.outlook.widened(support, self.ks[0], first=True)
        with ledger.step("growing") as here:
            done = 0 if here.found is None else kept.whole(here.found.told["done"])
            if here.found is not None:
                self.again(here.found.inner[0])
                support = self.held(here.found.inner[1])
            for i, k in enumerate(self.ks[done:], start=done + 1):
                support = self._grown(support, k, table, patient=patient)
                self._hold(k, support)
                if here.live:
                    here.mark(partial(_grown, i, self.noted(), support))

    def _grown(self, support: Support, k: int, table: IntArray | None, *, patient: bool) -> Support:
        """A support of k atoms from a smaller one."""
        while support.classes.size < k and not self._met(support):
            larger = self._filled(support, min(k, max(support.classes.size + 1, 2 * support.classes.size)))
            if larger is None:
                break
            support = larger
            self._hold(k, support)
        support = self._exchanged(support, k, patient=patient)
        if table is not None and table[k, 0] >= 0:
            earlier = self._exchanged(self._anew(table[k][table[k] >= 0], support), k, patient=False)
            support = earlier if earlier.objective < support.objective else support
        return support

    def _anew(self, classes: IntArray, start: Support) -> Support:
        """The fit of other classes from the coefficients of a support, better or not."""
        return self.fits.fit(classes, replace(start, loss=np.inf))

    def _sweep(self) -> None:
        """The same, several sizes in one model: the first step of each reaches half as far as what is there."""
        earlier, self.table = self.table, None
        support, left = self.fits.fit(self.view.forced), self.ks
        self.outlook.widened(support, self.ks[0], first=True)
        while left:
            high = max(left[0], int(REACH * support.classes.size))
            sizes = [k for k in left if k <= high]
            left = left[len(sizes) :]
            if not self._met(support):
                support = self._swept(support, sizes, earlier)
            for k in sizes:
                self._hold(k, self.supports.get(k, support))

    def _swept(self, support: Support, sizes: Sequence[int], earlier: IntArray | None) -> Support:
        """The supports of these sizes from the model near a smaller one, then from that near the largest of them."""
        low, high = sizes[0], sizes[-1]
        rows = np.full((high + 1, high), -1, dtype=np.int64) if earlier is None else earlier[: high + 1, :high]
        self.outlook.widened(support, high)
        for last in (False, True):
            model = self._model(support, rows[low:])
            table = np.where(rows >= 0, model.places(rows), -1)
            table = model.swept(model.places(support.classes), table, low, high, self._rules(model))
            rows = np.where(table >= 0, model.classes[table], -1)
            for k in sizes if last else sizes[-1:]:
                near = model.near(model.searched([table[k][table[k] >= 0]], k, self.rules._replace(swaps=0)))
                support = self._anew(self._whole(near.classes), near)
                if last:
                    self._hold(k, support)
        return support

    def _filled(self, support: Support, k: int) -> Support | None:
        """A better support with as many atoms as k, if there is one."""
        if support.classes.size:
            self.outlook.widened(support, k)
        model = self._model(support)
        return self._fitted(model, model.searched([model.places(support.classes)], k, self._rules(model)), support)

    def _shrink(self) -> None:
        """Every size from the one after: without its cheapest atoms."""
        pairs = [*zip(self.ks[:0:-1], self.ks[-2::-1], strict=True)]
        with ledger.step("shrinking") as here:
            done = 0 if here.found is None else kept.whole(here.found.told["done"])
            if here.found is not None:
                self.again(here.found.inner[0])
            for i, (larger, k) in enumerate(pairs[done:], start=done + 1):
                above = self.supports[larger]
                if above.factor is None or above.classes.size <= k or self._met(self.supports[k]):
                    continue
                costs = np.where(np.isin(above.classes, self.view.forced), np.inf, above.costs)
                stays = above.classes[np.sort(np.argsort(-costs, kind="stable")[:k])]
                if set(stays.tolist()) != set(self.supports[k].classes.tolist()):
                    self._hold(k, self._exchanged(self._anew(stays, above), k, patient=False))
                if here.live:
                    here.mark(partial(_grown, i, self.noted(), above))

    # Exchanges --------------------------------------------------------------------------------------------------------

    def _exchanged(self, support: Support, k: int, *, patient: bool) -> Support:
        """Exchange atoms as long as the objective falls: among those near, then among all."""
        for _ in range(MOVES):
            if self._met(support):
                break
            found = self._better(support, k, patient=patient)
            if found is None and patient and self.outlook.widened(support, k, floor=FALL * support.objective):
                found = self._better(support, k, patient=patient)
            if found is None:
                break
            support = found
        return support

    def _better(self, support: Support, k: int, *, patient: bool) -> Support | None:
        """What exchanges in the model lead to, if that is better: all that it makes, or the first, or another."""
        model = self._model(support)
        start, rules = [model.places(support.classes)], self._rules(model)
        tried: set[frozenset[int]] = set()
        for swaps in (1 << 30, 1):
            state = model.searched(start, k, rules._replace(swaps=swaps))
            proposed = frozenset(model.found(state).tolist())
            found = None if proposed in tried else self._fitted(model, state, support)
            if found is not None:
                return found
            tried.add(proposed)
        return self._next_best(model, support, k, tried) if patient else None

    def _next_best(self, model: Model, support: Support, k: int, tried: set[frozenset[int]]) -> Support | None:
        """The best single exchanges of the model, one by one, until one is better."""
        state = model.searched([model.places(support.classes)], support.classes.size, self.rules._replace(swaps=0))
        U = model.exchanges(state)
        for at in linalg.top_k(U.ravel(), TRIED):
            i, j = divmod(int(at), U.shape[1])
            classes = model.found(state)
            classes[i] = model.classes[j]
            if not np.isfinite(U[i, j]) or frozenset(classes.tolist()) in tried:
                continue
            trial = self.fits.fit(self._whole(classes), support)
            if self._falls(trial, support):
                return trial
        return None

    def _model(self, support: Support, others: IntArray = NOTHING) -> Model:
        """That near a support, of others as well."""
        ledger.tick()
        classes = self.outlook.around(support)
        if others.size:
            classes = np.union1d(classes, others[others >= 0])
        return model(self.fits, support, classes, self.loss.bowl(support.residual))

    def _rules(self, model: Model) -> Rules:
        """Those of a search in a model, whose objective counts from another zero."""
        return self.rules._replace(gain=FALL * 2.0 * model.support.objective / model.value)

    def _fitted(self, model: Model, state: Held, support: Support) -> Support | None:
        """What a model proposes, fitted, if that is better than a support."""
        near = model.near(state)
        proposed, trodden = frozenset(near.classes.tolist()), self._trodden
        if proposed == frozenset(support.classes.tolist()):
            return None
        if trodden is not None and trodden.get(proposed, np.inf) < support.objective:
            raise _Trodden
        trial = self.fits.fit(self._whole(near.classes), near)
        if not self._falls(trial, support):
            return None
        if trodden is not None:
            trodden[proposed] = trial.objective
        return trial

    def _whole(self, classes: IntArray) -> IntArray:
        """With those that must be inside: a model may have no use for them where the loss has."""
        forced = self.view.forced
        return np.concatenate([classes, forced[~np.isin(forced, classes)]]) if forced.size else classes

    def _falls(self, trial: Support, support: Support) -> bool:
        return trial.objective < support.objective * (1 - FALL)

    # Shakes -----------------------------------------------------------------------------------------------------------

    def _shaken(self, k: int) -> None:
        """Replace some atoms at random and exchange, as often as the effort and the work that it takes allow."""
        rng, idle, self._trodden = np.random.default_rng(0), 0, {}
        most = int(self.effort.idle * min(max(PER_ATOM * k, AT_LEAST_FITTED), AT_MOST_FITTED))
        tries = int(min(self.effort.shakes, SHAKING / self._price(k)))
        with ledger.step("shakes") as here:
            first = 0
            if here.found is not None:
                first, idle, self._trodden = self._taken_up(here.found, rng)
            for i in range(first, tries):
                if idle >= most or self._met(self.supports[k]):
                    break
                if here.live and i > first:
                    here.mark(partial(_shaken, (i, idle), dict(self._trodden), kept.drawn(rng), self.noted()))
                idle += 1
                held = self.supports[k]
                self._trodden[frozenset(held.classes.tolist())] = held.objective
                try:
                    trial = self._shake(held, k, rng)
                except _Trodden:
                    continue
                if trial is not None and self._hold(k, trial):
                    self.outlook.widened(trial, k, floor=FALL * trial.objective)
                    idle = 0
        self._trodden = None
        self._hold(k, self._exchanged(self.supports[k], k, patient=True))

    def _taken_up(self, it: Kept, rng: np.random.Generator) -> tuple[int, int, dict[frozenset[int], float]]:
        """Go on with shakes: how many there were, how many of the last in vain, and what was gone on from."""
        self.again(it.inner[0])
        kept.draw_on(rng, it.told["rng"])
        rows = [kept.rows(row) for row in kept.rows(it.told["trodden"])]
        trodden = {frozenset(kept.whole(j) for j in kept.rows(classes)): kept.real(v) for classes, v in rows}
        return kept.whole(it.told["done"]), kept.whole(it.told["idle"]), trodden

    def _price(self, k: int) -> float:
        """What one shake costs, roughly: four models, and eight fits of three steps."""
        view = self.view
        rows = view.M.shape[0] if view.at_hand is None else view.at_hand.image_size
        near = self.outlook.around(self.supports[k]).size
        return 1.0 + rows * view.largest**2 * (2.0 * near**2 + 24.0 * k**2)

    def _without(self, support: Support, gone: IntArray) -> Support:
        """A support without the atoms in these places, the others as they are: where they are not fitted anew, the loss
        is bent more, and its model promises less that does not hold."""
        out = np.zeros(support.classes.size, dtype=bool)
        out[gone] = True
        columns, slots = np.repeat(out, self.view.sizes(support.classes)), self.fits.images.slots(support.classes)
        residual = support.residual + self.fits.images.combine(slots[columns], support.c[columns])
        c, classes, squares = support.c[~columns], support.classes[~out], 0.0
        if self.fits.ridge:
            squares = float(np.dot(self.view.squares(classes), c * c))
        loss = self.loss.value(residual)
        return replace(support, classes=classes, c=c, residual=residual, loss=loss, squares=squares, factor=None)

    def _shake(self, support: Support, k: int, rng: np.random.Generator) -> Support | None:
        """Without some atoms, with others that are well aligned with what is then left, exchanged."""
        movable = np.flatnonzero(~np.isin(support.classes, self.view.forced))
        count = min(max(2, k // SHAKEN), movable.size)
        if not count:
            return None
        gone = rng.choice(movable, count, replace=False)
        rest = self._without(support, gone)
        if rng.random() < AFAR:
            self.outlook.beside(rest, AMONG * count)
        model = self._model(rest)
        held = model.places(rest.classes)
        worth = worths(model.searched([held], rest.classes.size, self.rules._replace(swaps=0)), self.signed)
        inside = model.places(support.classes[gone])
        worth[inside[inside >= 0]] = 0.0
        offers = linalg.top_k(worth, AMONG * count)
        offers = offers[worth[offers] > 0]
        if not offers.size:
            return None
        start = np.concatenate([held, rng.choice(offers, min(count, offers.size), replace=False)])
        state = model.searched([start], k, self._rules(model)._replace(swaps=SETTLING + 2 * count))
        trial = self._fitted(model, state, rest)
        return None if trial is None else self._exchanged(trial, k, patient=False)


def _grown(done: int, noted: Callable[[], Kept], support: Support) -> Kept:
    """How many sizes are done, for a checkpoint."""
    return Kept("sizes", {"done": done}, {}, (noted(), support.kept()))


def _shaken(at: tuple[int, int], trodden: dict[frozenset[int], float], rng: Plain, noted: Callable[[], Kept]) -> Kept:
    """How far shaking is, for a checkpoint."""
    known: list[Plain] = [[[*sorted(classes)], objective] for classes, objective in trodden.items()]
    return Kept("shakes", {"done": at[0], "idle": at[1], "trodden": known, "rng": rng}, {}, (noted(),))
