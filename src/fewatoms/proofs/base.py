"""The contract of those who prove that no other k atoms are better, and the one choice among them.

A prover is frozen settings. It opens a question that is its own: the search that it returns tells in short breaths
what is known by then, and leaves a tree behind from which anybody can see again why. Everything that is told must hold
at any time: a search may be abandoned between two breaths, or inside one, at any call of `ledger.tick()`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from fewatoms._types import Array, IntArray
from fewatoms.kept import Kept, Plain
from fewatoms.problem import Problem
from fewatoms.proofs.paying import Paying

MARGIN = 1e-3  # share of the gap asked for that is left to rounding, between a search's figures and those told


class Tampered(ValueError):
    """What is said to be a proof is none: it does not follow from M, b and what was kept."""


@dataclass(frozen=True, eq=False)
class Question:
    """Can any choice of k atoms do better than this one?

    problem : the answer's, with M and b, its budget and what coefficients pay; `problem.M`, `problem.b` and
        `problem.loss` as methods see them (free columns projected out for least squares)
    k : the budget, a number
    upper : the objective of the answer (the loss, and what coefficients pay), recomputed and rounded upwards
    best : its classes, sorted; empty for sets whose atoms cannot be listed
    gap : relative; proven once upper - lower <= gap * upper
    seconds : what there is, a hint by which work is chosen: whoever asks ends it when they are over
    memory : bytes that a search may keep
    cap, frobenius : of sets whose atoms cannot be listed: the largest singular value allowed, or None; rho in
        (rho / 2) |X|_F^2. Those of listed atoms are in `problem.price`
    exact : whether the objective is 0, but for what rounding may have added
    """

    problem: Problem
    k: int
    upper: float
    best: IntArray
    gap: float = 1e-4
    seconds: float = 60.0
    memory: float = 1e9
    cap: float | None = None
    frobenius: float = 0.0
    exact: bool = False

    @cached_property
    def paying(self) -> Paying | None:
        """What coefficients pay and what dual vectors gain; None where atoms cannot be listed."""
        return Paying.of(self.problem)

    def enough(self, upper: float | None = None) -> float:
        """The lower bound that suffices below such an objective: where that is rounding of f(b), 0 does."""
        upper = self.upper if upper is None else upper
        if self.exact or (self.problem.loss.anchored and self.problem.exact(upper)):
            return 0.0
        return upper - (1.0 - MARGIN) * self.gap * upper


@dataclass(frozen=True)
class Standing:
    """One breath of a search.

    lower : no choice of k atoms has a lower objective; valid at any time
    upper : that of the best choice known, no higher than the question's
    best : its classes, sorted, which may be better ones than the question's
    nodes : of the tree that have been looked at, or choices that were listed
    ended : whether the tree is finished: every leaf reaches `question.enough(upper)`, or there is nothing left to try
    """

    lower: float
    upper: float
    best: IntArray
    nodes: int
    ended: bool = False


@dataclass(frozen=True, eq=False)
class Tree:
    """What is left of a search: plain data, from which its bound is proven again without trusting whoever searched.

    name : by which who checks it is found, see `CHECKERS` in `fewatoms.proofs.families`
    told : plain words and numbers
    arrays : by name; leaves one after the other, in whatever form a family likes
    """

    name: str
    told: Mapping[str, Plain] = field(default_factory=dict)
    arrays: Mapping[str, Array] = field(default_factory=dict)

    def kept(self) -> Kept:
        return Kept(self.name, self.told, self.arrays)

    @classmethod
    def read(cls, known: Kept) -> Tree:
        return cls(known.kind, known.told, known.arrays)


@dataclass(frozen=True)
class Checked:
    """What a check of a tree comes to.

    lower : the bound that the leaves looked at prove, recomputed from M, b and the tree alone; of all choices where
        share is 1
    share : of the leaves that were looked at (of their work, where that differs much)
    """

    lower: float
    share: float = 1.0


class Search(ABC):
    """One proof under way.

    name : as its tree's
    about : what the bound is about, in words, where that is not the whole of (P) with k atoms: "" elsewhere
    """

    name = ""
    about = ""

    @abstractmethod
    def standings(self) -> Generator[Standing]:
        """What is known by now, again and again, with a tenth of a second between two of them at most.

        `ledger.tick()` in long loops between two of them may raise `ledger.Stopped` (a deadline, a callback, Ctrl-C):
        `final` and `tree` hold after that as well, and after the generator was closed. Products with M are charged by
        themselves, those of loops of one's own by `ledger.spend`.
        """

    @abstractmethod
    def final(self) -> Standing:
        """What has been reached, its lower bound evaluated anew from what the tree keeps (y and M where leaves have
        them) and rounded the safe way: what users are told. `check` of the tree finds no less, but for `MARGIN` of
        rounding. Called once, after the last standing."""

    @abstractmethod
    def tree(self) -> Tree:
        """What is left behind, finished or not."""

    def remedy(self) -> str:
        """Where nothing, or next to nothing, could be proven: why, and what the user could do, as a sentence that ends
        with a full stop: "without a ridge or a cap nothing can be proven where columns depend on each other: give
        fit(..., ridge=...) or cap=...". Otherwise ""."""
        return ""


class Prover(ABC):
    """Whoever can search for proofs of some kind: frozen settings, and this one question."""

    @abstractmethod
    def open(self, question: Question) -> Search | None:
        """A search for this question, or None where it is not this prover's. Cheap: no products."""


class Checker(ABC):
    """Whoever sees again why a tree of one name proves what it does."""

    @abstractmethod
    def check(self, question: Question, tree: Tree, share: float, rng: np.random.Generator) -> Checked:
        """Go through the leaves, or a share of them drawn at random, with nothing but the question and the tree.

        `question.best` and `question.upper` are the answer's. A tree that leaves any choice of k atoms out, that holds
        what cannot be (places out of range, an atom both in and out, nan, arrays that do not fit) or whose leaves do
        not reach what it claims of them raises `Tampered`. Nothing else may escape on account of what a tree holds.
        `ledger.tick()` between leaves.
        """

    def about(self, question: Question) -> str:
        """What such trees are about, as `Search.about`."""
        return ""


def choose(provers: Sequence[Prover], question: Question) -> Search | None:
    """The search of the first of these provers that opens the question."""
    for prover in provers:
        search = prover.open(question)
        if search is not None:
            return search
    return None


def relative(upper: float, lower: float) -> float:
    """(upper - lower) / upper: 0 where nothing is left between them, 1 at most for losses that are never negative."""
    if not upper > lower:
        return 0.0
    return (upper - lower) / upper if upper > 0 else math.inf
