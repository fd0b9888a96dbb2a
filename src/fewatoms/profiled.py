"""Losses after the best coefficients of what stands beside the atoms."""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from fewatoms import ledger
from fewatoms._types import FloatArray
from fewatoms.losses import Bend, Loss, Quadratic
from fewatoms.operators import Margins
from fewatoms.reduced import Columns

ZERO = 1e-9  # times its terms: an inner product with a free column that counts as none
TRACE = 1e-9  # of what an average line weighs: a shrinkage that tells biases apart where entries do not
REFINED = 2  # times: digits of biases that are not shrunk
ORTHOGONAL = 1e-11  # the same where a residual is found: it must pass for a dual vector


class Profiled(Loss):
    """g(r) = min over v of f(r - F v): a loss after the best coefficients v of free columns F.

    g*(y) = f*(y) where F'y = 0, and infinite elsewhere. A small Newton method finds v at each residual.
    """

    def __init__(self, base: Loss, F: FloatArray) -> None:
        super().__init__(base.weights)
        self.base, self.F, self.anchored = base, F, base.anchored
        self._last = np.zeros(F.shape[1])

    def _settings(self) -> str:
        return f"{self.base!r}, {self.F.shape[1]} free columns"

    @property
    def smoothness(self) -> float:
        return self.base.smoothness

    def best_free(self, r: FloatArray) -> FloatArray:
        """v, from where the last one was."""
        v = self._last if self.base.value(r - self.F @ self._last) <= self.base.value(r) else np.zeros(self.F.shape[1])
        left = r - self.F @ v
        value = self.base.value(left)
        size = float((np.abs(self.F).T @ np.abs(self.base.gradient(left))).max(initial=0.0))
        nothing = self.base.nothing(r.size)
        ridge, columns, before, stale = 0.0, Columns(self.F), math.inf, False
        for _ in range(100):
            slope = self.F.T @ self.base.gradient(left)
            height = float(np.abs(slope).max(initial=0.0))
            if height <= 1e-14 * size or value <= nothing or (stale and height > 0.5 * before):
                break  # a conjugate needs F'y = 0 to more digits than the value shows
            before = height
            H = self.base.bend(left).gram(columns)
            unit = float(np.trace(H)) / len(H) + 1e-6 * self.smoothness * float(
                np.einsum("ij,ij->j", self.F, self.F).max()
            )
            step, t = np.linalg.lstsq(H + (ridge + 1e-14 * unit) * np.eye(len(H)), slope, rcond=None)[0], 1.0
            most = value + 1e-15 * abs(value)
            while (fresh := self.base.value(left - t * (self.F @ step))) > most and t > 1e-10:
                t *= 0.5
            if fresh > most:
                ridge = max(10 * ridge, 1e-3 * unit)
                if ridge > 1e6 * unit:
                    break
                continue
            v, left = v + t * step, left - t * (self.F @ step)
            ridge, stale, value = 0.1 * ridge, fresh >= value, fresh
        self._last = v
        return v

    def left(self, r: FloatArray) -> FloatArray:
        """r - F v."""
        return r - self.F @ self.best_free(r)

    def value(self, r: FloatArray) -> float:
        return self.base.value(self.left(r))

    def gradient(self, r: FloatArray) -> FloatArray:
        return self.base.gradient(self.left(r))

    def curvature(self, r: FloatArray) -> FloatArray:
        """That of f, an upper bound: the Hessian itself is not diagonal."""
        return self.base.curvature(self.left(r))

    def bend(self, r: FloatArray) -> Bend:
        return self.base.bend(self.left(r))

    def conjugate(self, y: FloatArray) -> float:
        off = np.abs(self.F.T @ y)
        if (off > ZERO * (np.abs(self.F).T @ np.abs(y))).any():
            return math.inf
        return self.base.conjugate(y)

    def clip(self, y: FloatArray) -> FloatArray:
        """A point of dom f* near y; F'y = 0 is for the caller to have."""
        return self.base.clip(y)

    def best_beta(self, y: FloatArray, alpha: float) -> float:
        return self.base.best_beta(y, alpha)


class Biased(Quadratic):
    """g(r) = min over v of f(r - F v) + shrink |v|^2 / 2: least squares after the best row and column biases v.

    F is given by its products (`forward`, `backward`); no vector as long as the data is kept. g*(y) = f*(y) + |F'y|^2 /
    (2 shrink), so that any y gives a bound, however roughly v was found. With shrink = 0 it is f*(y) where F'y = 0,
    up to rounding, and infinite elsewhere; of all v that are best there, one without what entries do not determine.
    """

    def __init__(self, base: Loss, F: Margins, shrink: float) -> None:
        super().__init__(base.weights)
        self.base, self.F, self.shrink = base, F, shrink
        self._last: FloatArray | None = None

    def _settings(self) -> str:
        return f"{self.base!r}, biases shrunk by {self.shrink:g}"

    def best_free(self, r: FloatArray) -> FloatArray:
        """v, by conjugate gradients from where the last ones ended: a residual seen just now costs nothing."""
        return self._solved(self.F.backward(self._weighed(r)))

    def best_beside(self, b: FloatArray, image: FloatArray) -> FloatArray:
        """That of b - image, which is not formed: it would be as long as the data."""
        return self._solved(self.F.backward(self._weighed(b)) - self.F.backward(self._weighed(image)))

    def _solved(self, gathered: FloatArray) -> FloatArray:
        """(F'WF + shrink) v = F'W r."""
        v = self._found(gathered, self._last)
        for _ in range(0 if self.shrink > 0 else REFINED):
            v = v + self._found(gathered - self.F.backward(self._weighed(self.F.forward(v))), None)
        self._last = v
        return v

    def _found(self, gathered: FloatArray, begin: FloatArray | None) -> FloatArray:
        """The same up to a trace, without which entries may leave v undetermined: refinement takes out what it does."""
        F, n, diagonal = self.F, gathered.size, self.F.diagonal(self.weights)
        shrink = self.shrink or TRACE * float(diagonal.mean())
        diagonal = diagonal + shrink

        def product(v: FloatArray) -> FloatArray:
            ledger.tick()
            return F.backward(self._weighed(F.forward(v))) + shrink * v

        v, _ = cg(
            LinearOperator((n, n), matvec=product, dtype=np.float64),
            gathered,
            x0=begin,
            rtol=1e-10,
            maxiter=500,
            M=LinearOperator((n, n), matvec=lambda v: v / diagonal, dtype=np.float64),
        )
        return np.asarray(v)

    def _weighed(self, r: FloatArray) -> FloatArray:
        """r in the weights; itself without any: it is as long as the data."""
        return r if self.weights is None else self.weights * r

    def left(self, r: FloatArray, v: FloatArray | None = None) -> FloatArray:
        """r - F v."""
        left = self.F.forward(self.best_free(r) if v is None else v)
        left *= -1.0
        left += r  # r - F v in the place of F v: as long as the data, one of them is enough
        if self.shrink > 0:
            return left
        off = self.F.backward(self._weighed(left))  # in digits of what is left, which may be far less than r
        return left if self._orthogonal(off, left) else left - self.F.forward(self._found(off, None))

    def _orthogonal(self, gathered: FloatArray, y: FloatArray) -> bool:
        """Whether F'y is rounding beside its terms."""
        return bool((np.abs(gathered) <= ORTHOGONAL * self.F.backward(abs(self._weighed(y)))).all())

    def value(self, r: FloatArray) -> float:
        v = self.best_free(r)
        return self.base.value(self.left(r, v)) + 0.5 * self.shrink * float(np.dot(v, v))

    def gradient(self, r: FloatArray) -> FloatArray:
        return self.base.gradient(self.left(r))

    def conjugate(self, y: FloatArray) -> float:
        gathered = self.F.backward(y)
        if self.shrink <= 0:
            terms = self.F.backward(abs(y))
            return self.base.conjugate(y) if (np.abs(gathered) <= ZERO * terms).all() else math.inf
        return self.base.conjugate(y) + 0.5 * float(np.dot(gathered, gathered)) / self.shrink
