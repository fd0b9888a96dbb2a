"""Sampled entries of a low-rank matrix as many small regressions.

For least squares over entries (i, j) of X = U V^T each row of U, given V, is a small ridge regression on the entries of
its row, and so is each row of V, given U. |U|^2 / 2 + |V|^2 / 2 is smallest, over all factors of one X, where
U^T U = V^T V, and then it is the nuclear norm of X: a ridge on the factors is (P1) with rank-one atoms.
Row and column biases are one more feature on each side, with coefficient 1 on the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from fewatoms import kept, kernels, ledger, linalg
from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.kept import Kept, Plain
from fewatoms.sides import HELD_SINGLY, NONE, Lines, Regressed

AWAKE = 1e-4  # times the first singular value: where atoms are kept on the way down a ladder of penalties
ROUNDED_LOSS = 1e-29  # share of |b|^2 below which a loss is rounding
NONNEGATIVE_LOSS = 1e-15  # and where coordinate descent, which comes near zero slowly, may stop
ROUNDED_ROW = 1e-10  # times the longest row of a factor: where others are rounding
CANCELLED = 1e-6  # share of |b|^2 below which a loss found by differences is found again from residuals, and where
# squares of rounding to single precision, 1e-15, would be seen beside it

Ahead = tuple[Array, FloatArray]  # V and the column biases to start a sweep from, instead of those at hand


@dataclass(frozen=True, eq=False)
class Triple:
    """X = P diag(s) Q^T, and the biases beside it (empty without). s falls.

    P and Q are orthonormal; where factors must not be negative (`signed` is False) their columns have length 1 only.
    fine : whether so little is left over that a sweep from here on would feel single precision
    """

    P: Array
    s: FloatArray
    Q: Array
    row: FloatArray
    col: FloatArray
    signed: bool = True
    fine: bool = False

    @property
    def rank(self) -> int:
        return self.s.size

    @property
    def gauge(self) -> float:
        """The nuclear norm, or what the representation bounds it by."""
        return float(self.s.sum())

    def halves(self) -> tuple[Array, Array]:
        """U and V, the scale split evenly."""
        root = np.sqrt(self.s)
        return self.P * root, self.Q * root

    def cut(self, rank: int) -> Triple:
        """The leading part."""
        return replace(self, P=self.P[:, :rank], s=self.s[:rank], Q=self.Q[:, :rank])

    def alive(self) -> Triple:
        """The same with no atom so small that sweeps at a lower penalty would not wake it."""
        return replace(self, s=np.maximum(self.s, AWAKE * float(self.s[0]))) if self.rank else self

    def biases_squared(self) -> float:
        """The squares of all biases."""
        return float(self.row @ self.row + self.col @ self.col)

    def kept(self) -> Kept:
        """For a checkpoint."""
        arrays = {"P": self.P, "s": self.s, "Q": self.Q, "row": self.row, "col": self.col}
        return Kept("triple", {"signed": self.signed, "fine": bool(self.fine)}, arrays)

    @classmethod
    def read(cls, it: Kept) -> Triple:
        """What was kept."""
        return cls(**it.arrays, signed=it.told["signed"] is True, fine=it.told["fine"] is True)


@dataclass(frozen=True, eq=False)
class Swept:
    """A point of a descent.

    reached : what the sweeps there have come to
    number : how many sweeps led there
    last : the loss of the point before
    before, weight : the point that momentum comes from, and Nesterov's weight
    gain : what the last sweep lowered
    """

    at: Triple
    reached: float
    number: int = 0
    last: float = np.inf
    before: Triple | None = None
    weight: float = 1.0
    gain: float = np.inf

    def __iter__(self) -> Iterator[Triple | float]:
        """The point, and what was reached."""
        return iter((self.at, self.reached))

    def kept(self) -> Kept:
        """For a checkpoint."""
        told: dict[str, Plain] = {name: vars(self)[name] for name in ("reached", "number", "last", "weight", "gain")}
        before = () if self.before is None else (self.before.kept(),)
        return Kept("swept", told, {}, (self.at.kept(), *before))

    @classmethod
    def read(cls, it: Kept) -> Swept:
        """What was kept."""
        at, *before = map(Triple.read, it.inner)
        told = {name: kept.real(it.told[name]) for name in ("reached", "last", "weight", "gain")}
        return cls(at, number=kept.whole(it.told["number"]), before=before[0] if before else None, **told)


def balanced(U: Array, V: Array) -> tuple[Array, FloatArray, Array]:
    """P, s, Q with U V^T = P diag(s) Q^T: orthonormal P and Q."""
    with linalg.single_thread():  # for so few columns threads wait for each other
        (A, R), (B, S) = np.linalg.qr(U), np.linalg.qr(V)
        u, s, vh = np.linalg.svd(R @ S.T, full_matrices=False)
        return A @ u, s, B @ vh.T


def normalised(U: Array, V: Array) -> tuple[Array, FloatArray, Array]:
    """The same with the columns of U and V as they are, in units of their lengths."""
    a, b = np.linalg.norm(U, axis=0), np.linalg.norm(V, axis=0)
    order = np.argsort(-a * b, kind="stable")
    a, b = a[order], b[order]
    return U[:, order] / np.where(a > 0, a, 1.0), a * b, V[:, order] / np.where(b > 0, b, 1.0)


class Factored:
    """Least squares over sampled entries, kept row by row and column by column.

    rows, cols : the entries in both orders; shape : of the matrix
    biased : whether there are row and column biases
    nonnegative : whether U and V must not be negative
    narrow : whether the second order may hold values and weights in single precision, where factors do: rounding then
        moves what is reached by less than tolerances, but a bound might be missed by it

    Passes over the entries tick the clock of the run; whoever makes them charges them.
    """

    background = 0.0  # weight of all other cells, as zeros

    def __init__(
        self,
        rows: Lines,
        shape: tuple[int, int],
        *,
        biased: bool = False,
        nonnegative: bool = False,
        narrow: bool = False,
    ) -> None:
        self.biased, self.nonnegative, self.shape, self.rows = biased, nonnegative, shape, rows
        self.size = rows.square()  # twice the loss of nothing at all
        # the feature that carries biases, in the units of the others: the roots of those of the values
        unit = max((self.size / rows.weight()) ** 0.25, 1e-300)
        # single precision holds factors of usual sizes; where no loops are compiled it would save nothing
        self.single = rows.count >= kernels.WORTHWHILE and 1 / HELD_SINGLY < unit < HELD_SINGLY
        self.unit = (float(np.float32(unit)) if self.single else unit) if biased else None
        self.linked: tuple[IntArray, IntArray, int] | None = None  # which lines hang together, once somebody has looked
        self.cols = rows.turned(shape, narrow=narrow and self.single)

    @property
    def heavy(self) -> float:
        """What entries weigh, about, as a power of two: singular values of M*y are so many times those of x."""
        return self.rows.heavy

    def determines(self, rank: int, ample: float) -> bool:
        """Whether there are so many entries for each unknown of a matrix of this rank."""
        return self.rows.count >= ample * rank * (sum(self.shape) - rank)

    @property
    def uneven(self) -> bool:
        """Whether some entries weigh so much more than others that the latter hardly count."""
        return self.rows.uneven

    def signed(self) -> Factored:
        """The same entries for factors of any sign."""
        other = copy(self)
        other.nonnegative = False
        return other

    def tempered(self, power: float) -> Factored:
        """The same entries with their weights raised to a power below 1, scaled to the same mean."""
        other = copy(self)
        unit = self.rows.tempering(power)
        other.rows, other.cols = self.rows.tempered(power, unit), self.cols.tempered(power, unit)
        other.size = other.rows.square()
        return other

    # Where to start --------------------------------------------------------------------------------------------------

    def biases(self, shrink: float, rounds: int = 10) -> tuple[FloatArray, FloatArray]:
        """Row and column biases alone; empty where there are none."""
        if not self.biased:
            return NONE, NONE
        ones, ridge, col = [np.ones((n, 1)) for n in self.shape], np.array([shrink]), np.zeros(self.shape[1])
        for _ in range(rounds):
            row = self.rows.solve(ones[1], col, ridge)[0].ravel()
            before, col = col, self.cols.solve(ones[0], row, ridge)[0].ravel()
            ledger.tick()
            if np.abs(col - before).max() <= 1e-3 * np.abs(col).max():
                break
        return row, col

    def leading(self, rank: int, shrink: float = 0.0, rounds: int = 3) -> Triple:
        """Roughly the leading singular triplets of M*y at X = 0, by rounds of subspace iteration: a place to start."""
        row, col = self.biases(shrink)
        width = min(rank + 4, *self.shape)
        Q = ledger.generator().standard_normal((self.shape[1], width))
        kind = np.float32 if self.single else np.float64
        for _ in range(rounds):
            P = np.linalg.qr(self.rows.times(Q.astype(kind), row, col))[0]
            Q, R = np.linalg.qr(self.cols.times(P.astype(kind), col, row))
            ledger.tick()
        u, s, vh = np.linalg.svd(R.T)  # M*y ~ P R^T Q^T
        at = Triple(P @ u, s / self.heavy, Q @ vh.T, row, col).cut(rank)
        return without_signs(at) if self.nonnegative else at

    def of(self, U: Array, V: Array, row: FloatArray = NONE, col: FloatArray = NONE) -> Triple:
        """U V^T as a triple, with biases beside it. Factors that have signs lose them where they must."""
        if self.nonnegative and min(U.min(initial=0.0), V.min(initial=0.0)) >= 0:
            return Triple(*normalised(U, V), row, col, signed=False)
        at = Triple(*balanced(U, V), row, col)
        return without_signs(at) if self.nonnegative else at

    def beside(self, at: Triple, more: Triple) -> Triple:
        """The atoms of two points together, with the biases of the first."""
        more = without_signs(more) if self.nonnegative else more
        (U, V), (A, B) = at.halves(), more.halves()
        P, s, Q = self._shaped(np.concatenate([U, A], axis=1), np.concatenate([V, B], axis=1))
        return replace(at, P=P, s=s, Q=Q, signed=not self.nonnegative)

    def _shaped(self, U: Array, V: Array) -> tuple[Array, FloatArray, Array]:
        return normalised(U, V) if self.nonnegative else balanced(U, V)

    # Going on --------------------------------------------------------------------------------------------------------

    def sweep(self, at: Triple, lam: float, shrink: float, ahead: Ahead | None = None) -> tuple[Triple, float]:
        """Rows for the V and the column biases at hand (or others), columns for those rows; the factors balanced.

        Also what was reached: f + lam times the nuclear norm + the share of the biases. No sweep raises it.

        The factors that regressions are on are rounded to single precision where that is felt less than tolerances are:
        rounding by d raises what is reached by d^2 |b|^2. The point is that of the rounded ones.
        """
        U, own = at.halves()
        V, col = (own, at.col) if ahead is None else ahead
        kind = self._kind(at)
        if kind == np.float64 and self.cols.narrow:  # from here on values are felt as they are
            self.cols = self.rows.turned(self.shape)
        U, row, _ = self._half(self.rows, V.astype(kind, copy=False), col, lam, shrink, (U, at.row))
        U = U.astype(kind, copy=False)
        V, col, left = self._half(self.cols, U, row, lam, shrink, (V, col))
        ledger.tick()
        fresh = Triple(*self._shaped(U.astype(np.float64, copy=False), V), row, col, signed=not self.nonnegative)
        split = lam * (fresh.gauge - 0.5 * float(np.sum(V * V)))  # the minima hold the ridge of V, not that of U
        reached = 0.5 * float(left.sum()) + 0.5 * shrink * float(row @ row) + split
        if reached <= CANCELLED * self.size:  # a difference of large numbers: worth a look at the residual itself
            reached = self.loss(fresh) + lam * fresh.gauge + 0.5 * shrink * fresh.biases_squared()
        return replace(fresh, fine=reached <= CANCELLED * self.size), reached

    def _kind(self, at: Triple) -> type[np.float32 | np.float64]:
        """The precision of features."""
        return np.float32 if self.single and not at.fine else np.float64

    def judged(self, at: Triple) -> Triple:
        """A point from elsewhere, told how little it leaves over."""
        return replace(at, fine=self.loss(at) <= CANCELLED * self.size)

    def _half(
        self, side: Lines, V: Array, offset: FloatArray, lam: float, shrink: float, own: tuple[Array, FloatArray]
    ) -> Regressed:
        """One side's factors and biases for those of the other; its own so far are a start where signs are bound."""
        begin = own if self.nonnegative else None
        return side.regress(_without_noise(V), lam, offset, unit=self.unit, shrink=shrink, begin=begin)

    def descent(self, at: Triple, lam: float, shrink: float, tol: float, reached: float = np.inf) -> Iterator[Swept]:
        """Sweeps with momentum, one after the other, until one lowers what is reached by less than a share of `tol`.

        Each starts from V + beta (V - V_before), V_before turned to V; what does not go down is done again without.
        `reached` may tell what is reached at the start. A run that was killed goes on from the last of them.
        """
        floor = (NONNEGATIVE_LOSS if self.nonnegative else ROUNDED_LOSS) * self.size
        with ledger.step("sweeps") as step:
            here = Swept(at, reached)
            if step.found is not None:
                here = Swept.read(step.found)
                yield here
            while (here.gain > tol * here.reached and here.reached > floor) or not here.number:
                ahead, weight = None, here.weight
                if here.before is not None:
                    following = 0.5 * (1.0 + float(np.sqrt(1.0 + 4.0 * weight**2)))
                    beta, weight = (weight - 1.0) / following, following
                    ahead = _ahead(here.at, here.before, beta) if beta > 0 else None
                fresh, value = self.sweep(here.at, lam, shrink, ahead)
                if value > here.reached and ahead is not None:
                    here = replace(here, before=None, weight=1.0)
                    continue
                if not here.reached - value > 0:
                    return
                last = here.reached - lam * here.at.gauge if here.number else np.inf
                here = Swept(fresh, value, here.number + 1, last, here.at, weight, here.reached - value)
                step.mark(here.kept)
                yield here

    def loss(self, at: Triple) -> float:
        """f of what X and the biases leave over."""
        return 0.5 * self.rows.misfit(at.P * at.s, at.Q, at.row, at.col)


def _ahead(at: Triple, before: Triple, beta: float) -> Ahead:
    (U, V), (U_before, V_before) = at.halves(), before.halves()
    if at.signed:
        a, _, b = np.linalg.svd(U_before.T @ U + V_before.T @ V)
        V_before = V_before @ (a @ b)
    V = V + beta * (V - V_before)
    return V if at.signed else np.maximum(V, 0.0), at.col + beta * (at.col - before.col)


def _without_noise(V: Array) -> Array:
    """V with rows that are rounding beside the longest set to zero: regressions on them would divide by nothing."""
    lengths = np.einsum("ij,ij->i", V, V)
    noise = lengths < ROUNDED_ROW**2 * lengths.max(initial=0.0)
    return np.where(noise[:, None], 0.0, V) if noise.any() else V


def without_signs(at: Triple) -> Triple:
    """A nonnegative start: each pair of singular vectors with the sign under which more of it is positive."""
    P, Q = np.empty_like(at.P), np.empty_like(at.Q)
    s = np.empty_like(at.s)
    for a in range(at.rank):
        u, v = at.P[:, a], at.Q[:, a]
        parts = [(np.maximum(t * u, 0.0), np.maximum(t * v, 0.0)) for t in (1.0, -1.0)]
        x, y = max(parts, key=lambda pair: float(np.linalg.norm(pair[0]) * np.linalg.norm(pair[1])))
        x, y = x + 0.1 * np.abs(u).mean(), y + 0.1 * np.abs(v).mean()
        long, wide = float(np.linalg.norm(x)), float(np.linalg.norm(y))  # 0 of an atom that has faded, which stays so
        P[:, a], Q[:, a], s[a] = x / (long or 1.0), y / (wide or 1.0), at.s[a] * long * wide
    order = np.argsort(-s, kind="stable")
    return replace(at, P=P[:, order], s=s[order], Q=Q[:, order], signed=False)


__all__ = ["Factored", "Triple", "balanced", "normalised", "without_signs"]
