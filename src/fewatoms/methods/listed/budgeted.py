"""What is looked for down a ladder of penalties on all coefficients: k atoms, or as few as meet a bound."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fewatoms import kept, ledger
from fewatoms._types import FloatArray
from fewatoms.candidates import Candidate, DualPoint
from fewatoms.continued import candidate_again, candidate_kept
from fewatoms.kept import Kept, Plain
from fewatoms.methods.listed.space import Descent, Fit, Space
from fewatoms.problem import Problem

if TYPE_CHECKING:
    from fewatoms.methods.listed.many import ManyAtoms


class Search(ABC):
    """What is looked for along the ladder, for one budget.

    done : whether further rungs are no use
    spent : whether exchanges are no use either
    """

    counts: ClassVar[tuple[str, ...]] = ("done", "spent", "idle")

    def __init__(self, problem: Problem, space: Space, method: ManyAtoms) -> None:
        self.problem, self.space, self.method = problem, space, method
        self.done = self.spent = False
        self.idle = 0  # rungs or exchanges in a row that gained nothing

    @property
    @abstractmethod
    def best(self) -> Fit | None:
        """The answer so far."""

    @abstractmethod
    def first(self, dual: DualPoint) -> Candidate | None:
        """An answer at once, from the dual vector of x = 0."""

    def settled(self) -> Candidate | None:
        """Go on from the first answer, and be done where nothing better is to be expected."""
        return self.answer()

    @abstractmethod
    def near(self, descent: Descent) -> bool:
        """Whether answers are to be expected from here on."""

    @abstractmethod
    def see(self, descent: Descent) -> None:
        """Take what a rung gives."""

    @abstractmethod
    def exchange(self) -> None:
        """Go on from the best fit: a gradient step gives atoms outside the coefficients that they would have alone, and
        those that are larger than some inside come in for these."""

    def answer(self) -> Candidate | None:
        return None if self.best is None else self.space.candidate(self.best)

    @property
    @abstractmethod
    def fits(self) -> dict[str, Fit | None]:
        """What it has found, by the names of its attributes."""

    def kept(self) -> Kept:
        """All of it, for a checkpoint."""
        found = {name: fit for name, fit in self.fits.items() if fit is not None}
        told: dict[str, Plain] = {name: int(vars(self)[name]) for name in self.counts}
        return Kept("search", {**told, "fits": [*found]}, {}, tuple(fit.kept() for fit in found.values()))

    def go_on(self, it: Kept) -> None:
        """Know that again."""
        for name in self.counts:
            setattr(self, name, type(vars(self)[name])(kept.whole(it.told[name])))
        for found, fit in zip(kept.rows(it.told["fits"]), it.inner, strict=False):
            setattr(self, str(found), self.space.again(fit))

    def _fit(self, u: FloatArray, pulled: FloatArray, k: int, low: float = -math.inf) -> Fit:
        """The k atoms that contribute most to u, fitted, down to a loss that is low enough."""
        space = self.space
        return space.descend(space.start(space.leading(u, pulled, k), u), self.method.refit._replace(low=low))

    def _stepped(self, fit: Fit, k: int, low: float = -math.inf) -> Fit:
        """The fit of k atoms after a gradient step from another fit."""
        return self._fit(self.space.spread(fit.spots, fit.c) + fit.pulled, fit.pulled, k, low)


class Allowed(Search):
    """The lowest loss with at most k atoms, or the first that meets the bound with as many.

    lowest : the fit with the lowest loss
    full : the best one up to the first rung whose own point has k atoms
    final : the answer, fitted closely
    """

    counts = (*Search.counts, "rungs", "exchanges")

    def __init__(self, problem: Problem, space: Space, method: ManyAtoms) -> None:
        super().__init__(problem, space, method)
        self.lowest: Fit | None = None
        self.full: Fit | None = None
        self.final: Fit | None = None
        self._begun: Candidate | None = None
        self.rungs = self.exchanges = 0  # since then

    @property
    def fits(self) -> dict[str, Fit | None]:
        return {"lowest": self.lowest, "full": self.full, "final": self.final}

    def kept(self) -> Kept:
        """With the first answer, which exchanges begin with."""
        mine = super().kept()
        return mine if self._begun is None else replace(mine, inner=(*mine.inner, candidate_kept(self._begun)))

    def go_on(self, it: Kept) -> None:
        super().go_on(it)
        for known in it.inner[len(kept.rows(it.told["fits"])) :]:
            self._begun = candidate_again(known, self.problem)

    @property
    def k(self) -> int:
        return self.problem.budget.single

    @property
    def best(self) -> Fit | None:
        lowest, full = self.lowest, self.full
        if self.final is not None:
            return self.final
        if lowest is None or full is None or self.problem.meets(lowest.loss):
            return lowest
        return lowest if lowest.loss <= self._telling * full.loss else full

    @cached_property
    def _telling(self) -> float:
        """The share of the loss that must not be left by answers that count."""
        share = self.k / self.problem.m
        told_apart = share * (1.0 + math.log(self.space.view.count / self.k)) <= self.method.telling
        return 1.0 if told_apart else max(0.0, 1.0 - share) ** self.method.much

    def first(self, dual: DualPoint) -> Candidate:
        pursuit, space = self.method.pursuit, self.space
        if pursuit.applies(self.problem, space.view):
            self._begun = pursuit.chase(self.problem, space.view, dual.z)[0]
        else:
            self._begun = space.candidate(self._fit(np.zeros(space.size), space.pull(dual.z), self.k))
        return self._begun

    def settled(self) -> Candidate | None:
        """Exchange from the first answer until that ends. Where k atoms can be told from others, no other one has much
        in common with them, and what they leave looks like noise to all, they are the answer."""
        method, space = self.method, self.space
        if self._begun is None or self._telling < 1.0 or not self.problem.loss.squares:
            return self.answer()
        fit = space.taken(self._begun)
        end = None if self._overlaps(fit) else self._exchanged(fit)
        if end is not None and not self._overlaps(end):
            self.lowest = self.final = space.descend(end, method.last)
            self.done = True
        return self.answer()

    def _overlaps(self, fit: Fit) -> bool:
        return self.space.overlaps(fit, self.method.overlap, self.method.signs, ledger.generator())

    def _exchanged(self, fit: Fit) -> Fit | None:
        """Where exchanges from a fit end, if they do soon and what is left looks like noise."""
        method = self.method
        fit = self.space.descend(fit, method.refit)
        for _ in range(method.settling):
            after = self._stepped(fit, self.k)
            ended = after.loss > method.moving * fit.loss
            fit = after if after.loss < fit.loss else fit
            exact = self.problem.exact(fit.loss)
            if exact or ended:
                return fit if exact or self.space.noisy(fit, method.noisy) else None
        return None

    def near(self, descent: Descent) -> bool:
        return 2 * descent.held >= self.k

    def see(self, descent: Descent) -> None:
        if self.done or 4 * descent.held < self.k:
            return
        fit = self._fit(descent.u, descent.here.pulled, self.k)
        if self.lowest is not None and np.array_equal(np.sort(fit.classes), np.sort(self.lowest.classes)):
            fit = self.space.descend(fit, self.method.last)  # these may be the ones
        self._take(fit)
        if descent.held >= self.k:
            self.full, self.rungs = self.full or self.lowest or fit, self.rungs + 1
            self.done = self._over(self.rungs) or self.problem.meets(self.full.loss)

    def exchange(self) -> None:
        if self.lowest is None or self.final is not None:
            self.spent = True
            return
        if self.exchanges == 0:
            self.done, self.idle = True, 0
        self.exchanges += 1
        if not self._over(self.exchanges) and not self.problem.meets(self.lowest.loss):
            self._take(self._stepped(self.lowest, self.k))
        else:
            assert self.best is not None
            self.spent = True
            self.final = self.space.descend(self.best, self.method.last)

    def _over(self, count: int) -> bool:
        """Whether so many are enough."""
        return count > self.method.beyond or self.idle >= self.method.idle

    def _take(self, fit: Fit) -> None:
        before = np.inf if self.lowest is None else self.lowest.loss
        self.idle = 0 if fit.loss < 0.99 * before else self.idle + 1
        if fit.loss < before:
            self.lowest = fit


class Unlimited(Search):
    """As few atoms as meet the bound."""

    fewest: Fit | None = None

    @property
    def fits(self) -> dict[str, Fit | None]:
        return {"fewest": self.fewest}

    @property
    def best(self) -> Fit | None:
        return self.fewest

    def first(self, dual: DualPoint) -> None:
        return None

    def near(self, descent: Descent) -> bool:
        return self.problem.meets(descent.here.loss / self.method.sight)

    def see(self, descent: Descent) -> None:
        if self.done or not descent.held or not self.near(descent):
            return
        most = descent.held if self.fewest is None else min(descent.held, self._fewer(self.fewest))
        fit = self._fit(descent.u, descent.here.pulled, most, self.problem.tolerance)
        if self.problem.meets(fit.loss):
            self.fewest, self.idle = self._bisected(fit, descent), 0
        elif self.fewest is not None:
            self.idle += 1
            self.done = self.idle >= self.method.idle

    def exchange(self) -> None:
        self.done = True
        if self.fewest is None or self.fewest.classes.size == 1:
            self.spent = True
            return
        fit = self._stepped(self.fewest, self._fewer(self.fewest), self.problem.tolerance)
        self.spent = not self.problem.meets(fit.loss)
        self.fewest = self.fewest if self.spent else fit

    def _fewer(self, fit: Fit) -> int:
        return max(1, fit.classes.size - max(1, int(self.method.close * fit.classes.size)))

    def _bisected(self, fewest: Fit, descent: Descent) -> Fit:
        """The fewest of the atoms that contribute most to the ladder's point, by halving steps."""
        low = 0
        while self._fewer(fewest) > low:
            ledger.keep(self.space.candidate(fewest))
            k = (low + fewest.classes.size) // 2
            fit = self._fit(descent.u, descent.here.pulled, k, self.problem.tolerance)
            if self.problem.meets(fit.loss):
                fewest = fit
            else:
                low = k
        return fewest
