"""Which atoms to take from parts that contain each other's: several ladders, then exchanges between the parts.

A pixel is also a rank-one block, and a block a rank-one matrix: what a coarse part takes of a finer one leaves the
finer one free atoms, which end in what the coarse part is short of. Such a mistake is a local minimum; an exchange
mends it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np

from fewatoms import _checks, kept, ledger
from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.candidates import Iterate
from fewatoms.capabilities import SeenAsIs, need
from fewatoms.faces import Face
from fewatoms.methods.demixing.parts import Point
from fewatoms.methods.demixing.scales import Fit, Guess, Scales
from fewatoms.operators import Operator
from fewatoms.problem import Problem

START, TRIAL, LAST = Fit(1, 30, 1e-2), Fit(2, 30, 1e-2), Fit(20)


@dataclass(frozen=True)
class Start:
    """One way down to the budgets.

    power : of what noise reaches in a part, by which thresholds are multiplied: 0 treats all parts alike, with 1 finer
        parts wait the longest
    shrink : from one threshold to the next
    fitted : whether all atoms are fitted together at each
    """

    power: float
    shrink: float
    fitted: bool


@dataclass(frozen=True)
class Search:
    """minimise |b - M(x_1 + x_2 + ...)|^2 / 2 over parts of at most k_i atoms, some of which turn: matrices, blocks.

    Ladders of thresholds lead to several starts, which are fitted by Gauss-Newton steps on all atoms together. Then
    atoms are exchanged while the loss falls: all parts grow and are trimmed; an atom of a coarse part is given up for a
    few of a finer one, whose least atoms go, for another of its own; a fine atom within a coarse one that fits badly is
    tried at other places.

    gain : by this share the loss must fall for another round

    The others are tuned: by what was found of planted pictures of four scales, 64 x 64, with and without noise.

    starts : the ways down to the budgets
    share : by which all parts grow
    stand_ins : atoms of a finer part that may stand in for one
    tries : exchanges of each kind fitted in a round
    elsewhere : places tried for an atom
    looked : atoms of a part looked at
    begun : starts that exchanges begin at, the best of those that differ
    trials : exchanges fitted in vain, at most, or for less than `paying`, a share of the loss: where unknowns are more
        than data that may go on for ever
    floor : the last threshold, as a share of the first
    largest : entries of a model, which is filled in
    """

    gain: float = 1e-3
    starts: tuple[Start, ...] = (
        Start(0.0, 0.8, fitted=False),
        Start(0.5, 0.8, fitted=False),
        Start(0.0, 0.9, fitted=True),
        Start(0.5, 0.9, fitted=True),
        Start(0.25, 0.9, fitted=True),
    )
    share: float = 0.3
    stand_ins: int = 2
    tries: int = 8
    elsewhere: int = 4
    looked: int = 400
    begun: int = 3
    trials: int = 120
    paying: float = 0.05
    floor: float = 1e-6
    largest: int = 1 << 24

    def __post_init__(self) -> None:
        _checks.number("gain", self.gain)

    def quick(self) -> Search:
        """Two starts, and no exchanges."""
        return replace(self, starts=self.starts[:2], trials=0)

    def thorough(self) -> Search:
        """More of each."""
        return replace(
            self, tries=4 * self.tries, begun=len(self.starts), elsewhere=2 * self.elsewhere, gain=0.1 * self.gain
        )

    def suits(self, problem: Problem) -> bool:
        """Whether atoms of a part turn, and it is known how."""
        if problem.atoms.n > self.largest:
            return False
        empty = [part.expose(np.zeros(part.shape), 0) for part in problem.atoms.parts or (problem.atoms,)]
        turn = any(face.turning() is not None for face in empty)
        return turn and all(face.tangent(np.zeros(0)) is not None for face in empty)

    def iterates(self, problem: Problem, M: Operator) -> Iterator[Iterate]:
        run = Exchanges(problem, M, self)
        if len(run.parts) == 1 and need(M, SeenAsIs).places() is None:
            yield run.iterate(run.passed(run.nothing()))  # the leading atoms: nothing is better
            return
        found: list[Guess] = []
        for number, start in enumerate(self.starts):
            with ledger.counted("start", number, len(self.starts)):
                found.append(run.begun(start))
            if found[-1] is _best(found):
                yield run.iterate(found[-1])
            if run.enough(found[-1]):
                return
        for best in _different(found, self.gain)[: self.begun]:
            with ledger.stage("exchanges"):
                for better in run.improved(best):
                    found.append(better)
                    if better is _best(found):
                        yield run.iterate(better)
                    if run.enough(better):
                        return


def _best(guesses: Sequence[Guess]) -> Guess:
    return min(guesses, key=lambda guess: guess.loss)


def _different(guesses: Sequence[Guess], gain: float) -> list[Guess]:
    """The lowest first; what two starts have both led to, once."""
    kept: list[Guess] = []
    for guess in sorted(guesses, key=lambda guess: guess.loss):
        if not kept or kept[-1].loss < (1 - gain) * guess.loss:
            kept.append(guess)
    return kept


@dataclass(frozen=True, eq=False)
class Atom:
    """An atom of part i with its coefficients, at their places in those of the part, as entries of x.

    worth : its length
    """

    i: int
    own: IntArray
    at: IntArray
    values: FloatArray
    worth: float


class Exchanges(Scales):
    """The moves."""

    def __init__(self, problem: Problem, M: Operator, settings: Search) -> None:
        super().__init__(problem, M)
        self.settings, self.left = settings, settings.trials

    def begun(self, start: Start) -> Guess:
        """Where a way down ends; what was found before a kill is not looked for again."""
        with ledger.step("start") as here:
            guess = None if here.found is None else Guess.read(here.found)
            guess = self.settled(self.ladder(start), LAST) if guess is None else guess
            here.mark(guess.kept)
        return guess

    def ladder(self, start: Start) -> Guess:
        """Passes with thresholds that fall until all budgets are used."""
        guess, b = self.nothing(), self.pulled(self.problem.b)
        units = [reach**start.power for reach in self.reaches]
        t = top = max(part.support(b) / unit for part, unit in zip(self.parts, units, strict=True))
        with ledger.stage("ladder of thresholds"):
            while self._short(guess) and t > self.settings.floor * top:
                t *= start.shrink
                guess = self.passed(guess, [t * unit for unit in units])
                guess = self.settled(guess, START) if start.fitted else guess
                if ledger.current().found is None:
                    ledger.keep(self.candidate(guess))  # what a stop before the first answer ends with
        return self.passed(guess)

    def _short(self, guess: Guess) -> bool:
        sizes = (face.size for face, _ in guess.points)
        return not self.enough(guess) and any(n < most for n, most in zip(sizes, self.limits, strict=True))

    def improved(self, guess: Guess) -> Iterator[Guess]:
        """Better and better ones, as long as there are some, and trials are left."""
        with ledger.step("exchanges") as here:
            better = self._better(guess) if here.found is None else Guess.read(here.found)
            if here.found is not None:
                self.left = kept.whole(here.found.told["left"])
            while better is not None:
                here.mark(partial(better.kept, left=self.left))
                yield better
                better = self._better(better)

    def _better(self, guess: Guess) -> Guess | None:
        level, trials = (1 - self.settings.gain) * guess.loss, self.exchanges(guess)
        while self.left > 0:
            trial = next(trials, None)
            if trial is None:
                return None
            if trial.loss > (1 - self.settings.paying) * guess.loss:
                self.left -= 1
            if trial.loss < level:
                return trial
        return None

    def exchanges(self, guess: Guess) -> Iterator[Guess]:
        """Guesses that may be better, the most promising first."""
        tidy = [face.prune(c, face.size) for face, c in guess.points]  # one coefficient for each atom
        guess = replace(guess, points=tuple(tidy))
        yield self._grown(guess)
        atoms = [atom for i in range(len(self.parts)) if self.finer(i) for atom in self._atoms(guess, i)]
        for net, atom, j, count in self._substitutes(guess, atoms)[: self.settings.tries]:
            if net < guess.loss:
                yield self._substituted(guess, atom, j, count)
        yield from self._elsewhere(guess, atoms)

    def _grown(self, guess: Guess) -> Guess:
        """All parts with more atoms than they may have, fitted together, and trimmed."""
        more = [most + max(1, round(self.settings.share * most)) for most in self.limits]
        most = [min(n, part.inner.count) for n, part in zip(more, self.parts, strict=True)]
        wide = self.settled(self.passed(guess, limits=most), TRIAL)
        return self.settled(self.passed(self.trimmed(wide)), LAST)

    # Atoms of a coarse part that are something finer

    def _atoms(self, guess: Guess, i: int) -> list[Atom]:
        """The atoms of a part, the least first."""
        face, c = guess.points[i]
        found = []
        for own in _singles(face, c)[-self.settings.looked :][::-1]:
            ledger.tick()
            x = face.point(_alone(c, own)).ravel()
            at = np.flatnonzero(x)
            found.append(Atom(i, own, at, x[at], float(np.linalg.norm(x[at]))))
        return found

    def _substitutes(self, guess: Guess, atoms: Sequence[Atom]) -> list[tuple[float, Atom, int, int]]:
        """What the loss should rise by if an atom makes room for another of its part, and so many of a finer part that
        stand in for it do for the least of theirs; the lowest first. To first order: nothing is fitted again."""
        z, found = self.pulled(guess.r), []
        for j in range(len(self.parts)):
            coarse = [atom for atom in atoms if j in self.finer(atom.i)]
            gains = {
                (i, count): self._room(guess, z, i, j, count)
                for i in {atom.i for atom in coarse}
                for count in range(1, self.settings.stand_ins + 1)
            }
            for atom in coarse:
                ledger.tick()
                left = np.zeros(z.size)
                left[atom.at] = z[atom.at] + atom.values
                caught = self.parts[j].sizes(*self.parts[j].nearest(left, 0.0, self.settings.stand_ins))
                for count in range(1, caught.size + 1):
                    rise = 0.5 * (left @ left - caught[:count] @ caught[:count] - z[atom.at] @ z[atom.at])
                    found.append((float(rise - gains[atom.i, count]), atom, j, count))
        return sorted(found, key=lambda one: one[0])

    def _room(self, guess: Guess, z: Array, i: int, j: int, count: int) -> float:
        """What another atom of part i gains, less what the `count` least of part j are worth, which go."""
        face, c = guess.points[j]
        least = np.concatenate([np.zeros(0, dtype=np.intp), *_singles(face, c)[-count:]])
        x = face.point(_alone(c, least)).ravel()
        gain = self.parts[i].support(z + x)
        return 0.5 * (gain * gain - float(x @ x))

    def _substituted(self, guess: Guess, atom: Atom, j: int, count: int) -> Guess:
        guess = self._without(guess, atom)
        most = min(self.limits[j] + count, self.parts[j].inner.count)
        wide = self.filled(self.filled(guess, j, 0.0, most), atom.i, 0.0, self.limits[atom.i])
        narrow = self.trimmed(self.settled(wide, TRIAL))
        for part in (j, atom.i, j, atom.i):
            narrow = self.filled(narrow, part, 0.0, self.limits[part])
        return self.settled(narrow, LAST)

    def _without(self, guess: Guess, atom: Atom) -> Guess:
        face, c = guess.points[atom.i]
        c = c.copy()
        c[atom.own] = 0.0
        return self.replaced(guess, atom.i, face.prune(c, face.size))

    # Fine atoms inside coarse ones

    def _elsewhere(self, guess: Guess, atoms: Sequence[Atom]) -> Iterator[Guess]:
        """Atoms of finer parts, inside those that the most is left of, tried at other places."""
        z = self.pulled(guess.r)
        worst = sorted(atoms, key=lambda atom: -float(z[atom.at] @ z[atom.at]) / max(1, atom.at.size))
        tried, seen = 0, set()
        for atom in worst[: self.settings.tries]:
            inside = np.zeros(z.size, dtype=bool)
            inside[atom.at] = True
            for j in self.finer(atom.i):
                for x in self._inside(guess.points[j], j, inside):
                    place = j, x.nonzero()[0].tobytes()
                    if place in seen or tried >= 2 * self.settings.tries:
                        continue
                    seen.add(place)
                    tried += 1
                    yield from self._moved(guess, j, x)

    def _inside(self, point: Point, j: int, inside: Array) -> list[FloatArray]:
        """A few atoms of part j that lie there."""
        face, c = point
        own = np.where(inside, face.point(c).ravel(), 0.0)
        some, d = self.parts[j].nearest(own, 0.0, self.settings.elsewhere)
        return [some.point(_alone(d, one)).ravel() for one in _singles(some, d)]

    def _moved(self, guess: Guess, j: int, x: FloatArray) -> Iterator[Guess]:
        """Part j without an atom, and with others that are aligned well with what is left then."""
        face, c = guess.points[j]
        part, own = self.parts[j], face.point(c).ravel()
        without = self.replaced(guess, j, part.nearest(own - x, 0.0, self.limits[j] - 1))
        without = self.settled(without, replace(TRIAL, steps=3))
        face, c = without.points[j]
        others, d = part.nearest(self.pulled(without.r), 0.0, self.settings.elsewhere)
        for one in _singles(others, d):
            both = face.point(c).ravel() + others.point(_alone(d, one)).ravel()
            yield self.settled(self.replaced(without, j, part.nearest(both, 0.0, self.limits[j])), LAST)


def _singles(face: Face, c: FloatArray) -> list[IntArray]:
    """The coefficients of each atom of a point that was pruned: those that are not zero, one by one, where atoms share
    coefficients."""
    spans = face.spans()
    if spans is None:
        return [np.array([i]) for i in np.flatnonzero(c)[np.argsort(-np.abs(c[c != 0.0]), kind="stable")]]
    return [np.arange(a, b) for a, b in pairwise(spans)]


def _alone(c: FloatArray, which: IntArray) -> FloatArray:
    d = np.zeros_like(c)
    d[which] = c[which]
    return d
