"""What coefficients prove by the dual vector that they make, rounded the safe way: from M and b alone.

Whatever coefficients x, v are: y = grad f(b - Mx - Fv) lies in dom f*, and so bounds. Where free columns stand beside
the atoms, v is first fitted anew, and y is near another point of dom f* at which F'y is 0 exactly: it is moved there in
directions that vanish at the border of dom f*, and what that may change is charged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewatoms._types import Array, FloatArray
from fewatoms.proofs.paying import HELD
from fewatoms.proofs.smooth.given import HUBER, LOGISTIC, MULTINOMIAL, SQUARES, Posed
from fewatoms.rounding import gamma

FREE_NEWTON = 12  # steps of Newton's method for free coefficients, at most
INWARDS = 1.0 - 1e-8  # what y is multiplied by to be off the border of dom f*, where that is symmetric
LOGARITHMS = 64.0  # no logarithm of a probability that counts is larger


@dataclass(frozen=True, eq=False)
class Duals:
    """Dual vectors y = w pi, a column each.

    pi, y : as they are
    value : <b, y> - f*(y), rounded down
    shares : in units of the weights, how far y may be moved, 0 at the border of dom f*: probabilities of classes, or
        what f bends by
    bend : what f bends by where that is something else (Huber's loss)
    """

    pi: FloatArray
    y: FloatArray
    value: FloatArray
    shares: FloatArray
    bend: FloatArray | None = None


class Exact:
    """Bounds of many coefficients at a time."""

    def __init__(self, posed: Posed) -> None:
        self.posed = posed
        self._w = posed.w[:, None]
        self._lift = np.linalg.norm(posed.F, axis=1)[:, None]  # lengths of the rows of F

    def gains(self, X: FloatArray, V: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What each column of coefficients proves without the gains of any class, rounded down, and these, a column
        each, rounded up."""
        posed = self.posed
        duals = self._duals(X, V)
        charge, moved_y = self._charges(duals) if posed.F.shape[1] else (0.0, 0.0)
        if posed.kind == HUBER and np.isinf(charge).any():  # at the border of dom f* nothing can be moved: off it
            duals = self._at(duals.pi, INWARDS)
            charge, moved_y = self._charges(duals)
        Z = posed.K.T @ duals.y + posed.shift[:, None] * X
        length = np.sqrt(np.einsum("ij,ij->j", duals.y, duals.y)) * HELD
        off = posed.off[:, None] * length + gamma(8) * posed.shift[:, None] * np.abs(X)
        value = duals.value - posed.off_data * length
        moved = 0.5 * posed.shift @ (X * X)
        value += moved * (1.0 - gamma(X.shape[0] + 8))
        if posed.F.shape[1]:
            value = value - charge
            off = off + posed.lengths[:, None] * moved_y
        seen = (np.maximum(Z, 0.0) if posed.paying.listing.nonnegative else np.abs(Z)) * HELD + off
        with np.errstate(invalid="ignore"):
            return value, self._summed(np.where(posed.live[:, None], seen, 0.0))

    def _summed(self, seen: FloatArray) -> FloatArray:
        """h of each class."""
        posed = self.posed
        d, cap = posed.d[:, None], posed.cap[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            c = np.where(d > 0, np.minimum(seen / d, cap), np.where(seen > 0, cap, 0.0))
            h = np.where(seen > 0, c * (seen - 0.5 * d * c), 0.0)
        widest = int(np.diff(posed.starts).max())
        return np.add.reduceat(h, posed.starts[:-1], axis=0) * (1.0 + gamma(2 * widest + 16))

    # Dual vectors -----------------------------------------------------------------------------------------------------

    def _duals(self, X: FloatArray, V: FloatArray) -> Duals:
        posed = self.posed
        left = posed.b[:, None] - posed.K @ X
        if not posed.F.shape[1]:
            return self._at(left)
        V = V.copy()
        for step in range(FREE_NEWTON):
            duals = self._at(left - posed.F @ V)
            slope = posed.F.T @ duals.y
            size = np.abs(posed.F).T @ np.abs(duals.y)
            if step == FREE_NEWTON - 1 or (np.abs(slope) <= 1e-14 * size).all():
                break
            V += self._newton(duals, slope)
        return duals

    def _newton(self, duals: Duals, slope: FloatArray) -> FloatArray:
        """Steps of the free coefficients."""
        bends = self._bends(duals.shares if duals.bend is None else duals.bend)
        q = slope.shape[0]
        top = np.einsum("bkk->b", bends)[:, None, None]
        bends = bends + (1e-13 * top + 1e-300) * np.eye(q)
        return np.linalg.solve(bends, slope.T[:, :, None])[:, :, 0].T

    def _bends(self, shares: FloatArray) -> FloatArray:
        """F'BF for each column, B made of these shares."""
        F, k = self.posed.F, self.posed.classes
        own = np.einsum("ik,ib,il->bkl", F, self._w * shares, F, optimize=True)
        if self.posed.kind != MULTINOMIAL:
            return own
        q, count = F.shape[1], shares.shape[1]
        R, P = F.reshape(-1, k, q), shares.reshape(-1, k, count)
        means = np.einsum("ick,icb->bik", R, P, optimize=True)
        w = self._w.reshape(-1, k)[:, 0]
        # what all classes share moves nothing: filled in, so that there is an inverse
        shared = R.sum(axis=1)
        fill = np.einsum("ik,i,il->kl", shared, w / k**2, shared, optimize=True)
        return own - np.einsum("bik,i,bil->bkl", means, w, means, optimize=True) + fill

    def _at(self, R: FloatArray, inwards: float = 1.0) -> Duals:
        posed, w = self.posed, self._w
        if posed.kind == MULTINOMIAL:
            return self._many(R)
        if posed.kind == LOGISTIC:
            return self._two(R)
        pi = R if posed.kind == SQUARES else inwards * np.clip(R, -posed.delta, posed.delta)
        terms, halves = posed.b[:, None] * pi, 0.5 * pi * pi
        value = (w * (terms - halves)).sum(axis=0)
        value -= gamma(posed.b.size + 32) * (w * (np.abs(terms) + halves)).sum(axis=0)
        if posed.kind == SQUARES:
            return Duals(pi, w * pi, value, np.ones_like(pi))
        shares = np.maximum(1.0 - np.abs(pi) / posed.delta, 0.0)
        return Duals(pi, w * pi, value, shares, (np.abs(R) <= posed.delta).astype(np.float64))

    def _two(self, R: FloatArray) -> Duals:
        posed, w, t = self.posed, self._w, self.posed.sign[:, None]
        rare = np.exp(-np.abs(R))
        pi = np.where(t * R > 0, 1.0, rare) / (1.0 + rare)
        rest = 1.0 - pi
        entropy = -(_xlogx(pi) + _xlogx(rest))
        terms = posed.b[:, None] * t * pi
        value = (w * (terms + entropy)).sum(axis=0)
        value -= gamma(posed.b.size + 256) * (w * (np.abs(terms) + entropy + 1.0)).sum(axis=0)
        return Duals(pi, w * t * pi, value, pi * rest)

    def _many(self, R: FloatArray) -> Duals:
        """Probabilities of all classes but the label's are what they are; that one has the rest."""
        posed, k, count = self.posed, self.posed.classes, R.shape[1]
        C = R.reshape(-1, k, count)
        P = np.exp(C.min(axis=1, keepdims=True) - C)
        P /= P.sum(axis=1, keepdims=True)
        rows = np.arange(len(P))
        P[rows, posed.code] = 0.0
        others = P.sum(axis=1)
        P *= np.where(others > 1.0 - 8 * k * 2.0**-53, 1.0 - 16 * k * 2.0**-53, 1.0)[:, None]
        others = P.sum(axis=1)
        Y = -P
        Y[rows, posed.code] = others
        P[rows, posed.code] = 1.0 - others
        w = posed.w.reshape(-1, k)[:, :1]
        entropy = -_xlogx(P).sum(axis=1)
        value = (w * entropy).sum(axis=0)
        value -= gamma(posed.b.size + 256 + 64 * k) * (w * (entropy + LOGARITHMS)).sum(axis=0)
        terms = posed.b[:, None] * self._w * Y.reshape(R.shape)
        value += terms.sum(axis=0) - gamma(posed.b.size + 32) * np.abs(terms).sum(axis=0)
        return Duals(Y.reshape(R.shape), self._w * Y.reshape(R.shape), value, P.reshape(R.shape))

    # What moving them costs -------------------------------------------------------------------------------------------

    def _charges(self, duals: Duals) -> tuple[FloatArray, FloatArray]:
        """By how much value and y change at most on the way to a point where F'y = 0.

        It is y - B F c with F'BF c = F'y, so |c| is at most that of F'y over the smallest eigenvalue of F'BF.
        """
        posed, kind, w = self.posed, self.posed.kind, self._w
        slope = np.abs(posed.F.T @ duals.y)
        slope += gamma(posed.b.size + 32) * (np.abs(posed.F).T @ np.abs(duals.y))
        bends = self._bends(duals.shares)
        q = bends.shape[1]
        trace = np.einsum("bkk->b", bends) + (0.0 if kind != MULTINOMIAL else float((w * posed.F**2).sum()))
        least = np.linalg.eigvalsh(bends)[:, 0] - gamma(32 * (posed.b.size + q * q)) * (q + 1) * trace
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            far = np.linalg.norm(slope, axis=0) * HELD / least
            each = self._lift * far * HELD  # |F_i c|
            most = each.max(axis=0)
            if kind == HUBER:
                inside, turned = most <= posed.delta, duals.shares * each
                change = w * turned * (np.abs(posed.b)[:, None] + posed.delta)
            elif kind == LOGISTIC:
                inside, turned = most <= 0.5, duals.shares * each
                change = w * (turned * np.abs(posed.b)[:, None] + 0.5 * each)
            else:
                # of k classes each share changes by 2 |F_i c| of itself at most; what is paid by (ln k + 1) times that
                inside, turned = most * np.sqrt(posed.classes) <= 0.25, 2.0 * np.sqrt(posed.classes) * each
                change = w * turned * (np.abs(posed.b)[:, None] + np.log(posed.classes) + 1.0)
            inside &= (least > 0) & np.isfinite(most)
            charge = np.where(inside, change.sum(axis=0) * (1.0 + gamma(posed.b.size + 32)), np.inf)
            length = np.sqrt(((w * turned) ** 2).sum(axis=0)) * (1.0 + gamma(posed.b.size + 32))
        return charge, np.where(inside, length, 0.0)


def _xlogx(t: Array) -> FloatArray:
    return np.where(t > 0, t * np.log(np.where(t > 0, t, 1.0)), 0.0)
