"""Many data vectors over the same single atoms, by least squares: one Gram matrix, one block product for the inner
products with all atoms, and a search for each of them in compiled loops, on all cores.

The Gram matrix only searches: coefficients are corrected by what they leave of the data, and losses are those of the
columns themselves.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from fewatoms import kernels, linalg
from fewatoms._types import Array, FloatArray, IntArray, Matrix
from fewatoms.compressed import Compressed, Found
from fewatoms.effort import Effort
from fewatoms.gram import CREW, engine
from fewatoms.gram.columns import Asked
from fewatoms.gram.drivers import Rules
from fewatoms.methods.listed.enumerated import Every, countable
from fewatoms.methods.listed.exchanging import DICE, FALL
from fewatoms.methods.listed.searching import RELIEF
from fewatoms.methods.listed.small import Small
from fewatoms.methods.listed.view import View
from fewatoms.problem import EXACT, Problem

SMALLEST = 2e-290  # squares that are still ordinary numbers
SHARP = 1e-6  # misfit below which a Gram matrix does not see enough
CUT = 1e-7  # share of the largest coefficient that rounding may have made of one that is 0
EXACTLY = 1e-12  # misfit below which there is nothing to be seen
SERVED = 64  # atoms up to which this way pays
FEW, MORE = 16, 4  # atoms that there is room for at first, where only a bound is given; times as many after that
GRAM_WORK = 1e8  # multiplications for each data vector that the Gram matrix may cost
BEFORE = 4  # data vectors that it is paid for beforehand
LARGEST_BLOCK = 1024  # data vectors in a block, at most
SECONDS, GROWTH = 0.15, 8.0  # that a block is to take, and how much larger than the one before it may be
CHUNKS = 4  # for each thread, of a block
GATHERED = 1 << 21  # numbers


class Spent(NamedTuple):
    """What may be spent on each data vector: see `gram.columns.Asked`.

    pairs : of atoms in one look at pairs
    idle, most_idle, places : shakes in vain, at least and at most; as many as there are k x n in so many places
    """

    rungs: int
    kicks: int
    rows: int
    pairs: int
    shakes: int
    idle: int
    most_idle: int
    places: int


# Per signal, misfits over the planted support's, on 342 minerals (k = 3, nonnegative) / 256 cosines (k = 5), where
# orthogonal matching pursuit has 1.26 in .01 ms: quick .13 ms, 1.10 / .11, 1.013; normal .9, .998 / .15, .995; thorough
# 3, .997 / .8, .991. Losses beside those of `fit`: see `fit_many`.
SPENT = {
    "quick": Spent(0, 64, 0, 0, 0, 0, 0, 0),
    "normal": Spent(24, 64, 128, 1 << 16, 100, 2, 16, 3600),
    "thorough": Spent(24, 1024, 1024, 1 << 20, 400, 20, 200, 16384),
}


def worth_it(problem: Problem, columns: int, count: int) -> bool:
    """Whether a Gram matrix of so many columns pays for so many data vectors."""
    return problem.m * float(columns) ** 2 <= GRAM_WORK * (BEFORE + count)


@dataclass(frozen=True, eq=False)
class Block:
    """Some data vectors, a row each, past what free columns explain and in the weights of the loss.

    raw : in the weights alone; T : divided by their sizes
    reference, at_zero, alpha : see `Problem`; alpha is None where there is no bound
    bad : those that nothing can be fitted to; zeros stand for them
    """

    raw: FloatArray
    T: FloatArray
    sizes: FloatArray
    reference: FloatArray
    alpha: FloatArray | None
    bad: Array

    @property
    def at_zero(self) -> FloatArray:
        return 0.5 * self.sizes**2


class Columns:
    """What all data vectors share: the atoms in units of their images, their Gram matrix, what is asked."""

    def __init__(self, problem: Problem, view: View, effort: Effort) -> None:
        self.problem, self.view = problem, view
        self.small = Small(view, problem.ridge)
        self.small.take(np.arange(view.count))
        self.spent = SPENT[effort.name]
        self.root = view.images.root
        held = view.images.columns(np.arange(view.images.size))
        self.D: Matrix = sp.csr_array(held.T) if sp.issparse(held) else np.ascontiguousarray(held.T)  # an atom a row
        if view.scale is None:
            scale = 1.0 / np.where(self.small.lengths > 0, self.small.lengths, 1.0)
            self.D = sp.csr_array(sp.diags_array(scale) @ self.D) if sp.issparse(self.D) else self.D * scale[:, None]
        self.user = view.user_scale(self.small.classes) / self.small.lengths
        budget = problem.budget
        self.k = None if budget.nothing_said else min(budget.single, view.count)

    # What is asked ----------------------------------------------------------------------------------------------------

    def block(self, data: Array) -> Block:
        """Data vectors, a column each."""
        problem, root = self.problem, self.root
        B = np.array(data, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.einsum("ij,ij->j", B, B) if root is None else np.einsum("ij,ij,i->j", B, B, root**2)
        bad = ~np.isfinite(squares) | ((squares < SMALLEST) & B.any(axis=0))
        B[:, bad] = 0.0
        seen = np.asarray(problem.seen.image(B)).T
        raw, T = (B.T, seen) if root is None else (B.T * root, seen * root)
        sizes, reference = np.linalg.norm(T, axis=1), np.where(bad, 0.0, 0.5 * squares)
        alpha = None if problem.alpha is None else np.full(bad.size, problem.alpha)
        if problem.misfit is not None:
            alpha = problem.misfit**2 * reference
        return Block(raw, T / np.where(sizes > 0, sizes, 1.0)[:, None], sizes, reference, alpha, bad)

    def zero(self, block: Block) -> Array:
        """For which of them x = 0 is an answer."""
        if self.view.forced.size:
            return block.bad
        nothing = block.at_zero <= EXACT * block.reference
        return nothing if block.alpha is None else nothing | self.meets(block, block.at_zero)

    def meets(self, block: Block, loss: FloatArray) -> Array:
        assert block.alpha is not None
        return loss <= block.alpha * (1 + 1e-12) + 1e-26 * block.reference + self.problem.slack

    # The search -------------------------------------------------------------------------------------------------------

    def blocks(self, data: Array) -> Generator[Found, None, None]:
        """Answers to the columns of the data, some at a time."""
        workers = kernels.threads()
        pool: AbstractContextManager[Executor | None] = ThreadPoolExecutor(workers) if workers > 1 else nullcontext()
        with pool as threads:
            first, size, count = 0, 1, data.shape[1]
            while first < count:
                last, began = min(first + size, count), time.perf_counter()
                found = self.found(self.block(data[:, first:last]), threads)
                took = max(time.perf_counter() - began, 1e-9)
                CREW.expect("many", took / size * (count - last))
                yield found
                first, size = last, int(min(LARGEST_BLOCK, max(1, size * min(GROWTH, SECONDS / took))))

    def skipped(self, data: Array) -> Found:
        block, nobody = self.block(data), np.zeros(data.shape[1], dtype=bool)
        table = np.full((data.shape[1], 1), -1, dtype=np.int64)
        return replace(self._answered(block, table, self.zero(block), nobody), left=nobody, stopped=~nobody)

    def found(self, block: Block, threads: Executor | None) -> Found:
        count, small = block.sizes.size, self.small
        H = np.asarray((self.D @ block.T.T).T, order="C")
        if self.view.outer is self.problem.M:  # elsewhere the columns have been asked for, and paid
            self.problem.measured.charge(count)
        zero, left = self.zero(block), np.zeros(count, dtype=bool)
        targets = np.full(count, -1.0)
        if block.alpha is not None:
            bound = 2.0 * (1 - 1e-9) * (block.alpha + self.problem.slack)
            targets = bound / np.where(block.sizes > 0, block.sizes, 1.0) ** 2
            left = ~zero & (targets < SHARP**2)
        independent = int(small.may.sum()) if small.ridge else min(int(small.may.sum()), self.problem.m)
        most = min(independent, SERVED) if self.k is None else self.k
        table = np.full((count, max(1, most)), -1, dtype=np.int64)
        todo, k = np.flatnonzero(~zero & ~left), min(FEW, most) if self.k is None else self.k
        if self._every is not None and block.alpha is None:
            table[todo], left[todo] = self._every.best(block.T[todo])
            todo = todo[:0]
        while todo.size:
            table[todo, :k], left[todo] = self._search(H[todo], targets[todo], k, threads)
            if k == most:
                break
            # where only a bound is given, those that have not met it get more room
            share = self._fitted(block.T[todo], table[todo, :k])[1]
            todo, k = todo[share > targets[todo] * (1 + 1e-9)], min(MORE * k, most)
        width = max(1, int((table >= 0).sum(axis=1).max(initial=0)))
        return self._answered(block, table[:, :width], zero, left)

    @cached_property
    def _every(self) -> Every | None:
        """All supports, where they are few enough to be looked at for each data vector."""
        if self.k is None or not self.spent.rungs or not countable(self.small, self.k):
            return None
        return Every(self.small, self.k)

    def _search(self, H: FloatArray, targets: FloatArray, k: int, threads: Executor | None) -> tuple[IntArray, Array]:
        """The atoms of each data vector, and whether that is doubtful."""
        small, spent, count = self.small, self.spent, len(H)
        n = len(small.G)
        rows = min(spent.rows, max(spent.rows // 8, spent.pairs // n))
        idle = max(spent.idle, spent.places // (n * max(1, k)))
        idle = min(idle if small.signed else 2 * idle, spent.most_idle)  # fewer exchanges leave all signs as they are
        shakes = spent.shakes if k > 2 else 0  # nothing is left to them
        asked = Asked(k, self.k is None, small.ridge, spent.rungs, spent.kicks, rows, shakes, idle)
        rules = Rules(small.signed, FALL, 0, 0, 0, 0.0, 0)
        atoms, doubts, bbs = np.full((count, k), -1, dtype=np.int64), np.zeros(count, dtype=bool), np.ones(count)
        work, relieved = engine().many, rules._replace(relief=RELIEF)

        def search(span: tuple[int, int]) -> None:
            work(
                small.G, H, bbs, targets, small.may, small.stays, *span, asked, rules, relieved, DICE, atoms, doubts
            )  # fmt: skip

        with linalg.single_thread():
            if threads is None:
                search((0, count))
            else:
                cuts = np.unique(np.linspace(0, count, CHUNKS * kernels.threads() + 1).astype(int)).tolist()
                list(threads.map(search, pairwise(cuts)))
        return atoms, doubts

    # Answers ----------------------------------------------------------------------------------------------------------

    def _fitted(self, T: FloatArray, table: IntArray) -> tuple[FloatArray, FloatArray, Array]:
        """The coefficients of the atoms in a table filled up with -1, |t - Dc|^2, and whether that is no fit: the Gram
        matrix of nearly parallel columns may not see enough."""
        C, left, blind = np.zeros(table.shape), np.empty(len(table)), np.zeros(len(table), dtype=bool)
        step = max(1, GATHERED // max(1, table.shape[1] * T.shape[1]))
        for first in range(0, len(table), step):
            some = slice(first, first + step)
            inside = table[some] >= 0
            C[some], left[some], blind[some] = self._corrected(T[some], np.maximum(table[some], 0), inside)
        return C, left, blind | ~(left <= np.einsum("pm,pm->p", T, T) * (1 + 1e-9))

    def _corrected(self, T: FloatArray, table: IntArray, inside: Array) -> tuple[FloatArray, FloatArray, Array]:
        """Coefficients from the Gram matrix, corrected once by what they leave of the data: what squares have cost in
        digits comes back. Where more than rounding had to be cut off to keep signs, they are none."""
        G = np.where(inside[:, :, None] & inside[:, None, :], self.small.G[table[:, :, None], table[:, None, :]], 0.0)
        G[:, np.arange(table.shape[1]), np.arange(table.shape[1])] += ~inside
        inverse = np.linalg.inv(G)
        columns = None if sp.issparse(self.D) else self.D[table]
        C, R, cut = np.zeros(table.shape), T, np.zeros(len(table), dtype=bool)
        for _ in range(2):
            if columns is None:
                pulled = np.take_along_axis(np.asarray((self.D @ R.T).T), table, axis=1)
            else:
                pulled = np.einsum("pkm,pm->pk", columns, R)
            step = np.where(inside, pulled, 0.0) - self.small.ridge * C
            C = C + np.einsum("pij,pj->pi", inverse, step)
            if not self.small.signed:
                cut |= C.min(axis=1, initial=0.0) < -CUT * np.abs(C).max(axis=1, initial=0.0)
                C = np.maximum(C, 0.0)
            R = T - (self._combined(table, C) if columns is None else np.einsum("pkm,pk->pm", columns, C))
        return C, np.einsum("pm,pm->p", R, R), cut

    def _combined(self, table: IntArray, C: FloatArray) -> FloatArray:
        X = sp.csr_array((C.ravel(), table.ravel(), np.arange(0, C.size + 1, C.shape[1])), (len(C), len(self.small.G)))
        return np.asarray((X @ self.D).toarray())

    def _answered(self, block: Block, table: IntArray, zero: Array, left: Array) -> Found:
        C, share, blind = self._fitted(block.T, table)
        misfit, left = np.sqrt(share), left | (blind & ~zero)
        C *= block.sizes[:, None]
        loss = np.where(zero, block.at_zero, 0.5 * share * block.sizes**2)
        if block.alpha is None:
            left = left | (~zero & (misfit > EXACTLY) & (misfit < SHARP))
            met = np.zeros(zero.size, dtype=bool)
        else:
            met = self.meets(block, loss)
            left = left | (~zero & ~met & ((self.k is None) | (misfit < SHARP)))
        order = np.argsort(-np.abs(C), axis=1, kind="stable")
        table, C = np.take_along_axis(table, order, axis=1), np.take_along_axis(C, order, axis=1)
        used = C != 0
        starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.intp)
        c = C[used] * self.user[table[used]]
        held = Compressed(self.view.listing, self.small.classes[table[used]].astype(np.intp), c, starts)
        return Found(
            held=held,
            loss=loss,
            squares=np.einsum("pk,pk->p", C, C),
            reference=block.reference,
            at_zero=block.at_zero,
            alpha=np.full(zero.size, np.nan) if block.alpha is None else block.alpha,
            free=self._free(block, table, C),
            zero=zero,
            met=met,
            left=left,
            ridge=self.problem.ridge,
            twins=self.twins,
            stopped=np.zeros(zero.size, dtype=bool),
            bad=block.bad,
            unreachable=np.zeros(zero.size, dtype=bool),
        )

    def _free(self, block: Block, table: IntArray, C: FloatArray) -> FloatArray:
        """The coefficients of the free columns, a row for each data vector."""
        if self._beside is None:
            return np.zeros((len(C), 0))
        inverse, across = self._beside
        return np.asarray(block.raw @ inverse.T - np.einsum("pkq,pk->pq", across[table], C))

    @cached_property
    def _beside(self) -> tuple[FloatArray, FloatArray] | None:
        """What makes coefficients of free columns of data, and of each image."""
        F, problem = self.problem.beside.columns, self.problem
        if F is None:
            return None
        root = np.ones(problem.m) if self.root is None else self.root
        inverse = np.asarray(np.linalg.pinv(root[:, None] * F), dtype=np.float64)
        pulled = problem.measured.adjoint_block((root * inverse).T)
        across = np.stack([self.view.pull(z) for z in pulled.T], axis=1)[self.small.classes]
        return inverse, across / self.small.lengths[:, None]

    @cached_property
    def twins(self) -> IntArray:
        """For each class another one with the same image up to its sign; -1 where there is none."""
        images, out = self.view.images, np.full(self.view.count, -1, dtype=np.intp)
        alike = np.abs(self.small.G)
        np.fill_diagonal(alike, 0.0)
        for i in np.flatnonzero(alike.max(axis=1, initial=0.0) >= 1 - 1e-12):
            pair = images.twins(self.small.classes[[i]])
            if pair is not None:
                out[pair[0]] = pair[1]
        return out
