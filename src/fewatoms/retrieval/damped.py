"""Newton's method on factors, damped: for small problems whose data are forms of the factors.

minimise |b - image(v)|^2 / 2 + lam cost |v|^2: the loss, and what the gauge pays. Curvature is exact, directions in
which data say nothing are damped in units of what they say elsewhere, and since images are quadratic in v the best
length of a step is a root of a cubic: no step is ever refused.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from fewatoms import ledger
from fewatoms._types import FloatArray
from fewatoms.retrieval.forms import Forms


@dataclass(frozen=True)
class Damped:
    """How Newton's steps go.

    steps : at most
    first, least, most : damping, as a share of the curvature of the data: of the first step, and its limits
    floor : curvatures below this share of the largest count as that much: what data do not see is not moved by rounding
    fall, idle : the search is over when so many steps in a row promise, or bring, less than this share of the value
    """

    steps: int = 80
    first: float = 1e-3
    least: float = 1e-10
    most: float = 10.0
    floor: float = 1e-12
    fall: float = 1e-9
    idle: int = 2

    def descend(
        self, forms: Forms, v: FloatArray, k: int, lam: float = 0.0, target: float = 0.0
    ) -> tuple[FloatArray, float]:
        """From v downhill, until the value is at most `target` or hardly falls; and the loss there."""
        pays, damping, idle = 2.0 * lam * forms.cost, self.first, 0
        for _ in range(self.steps):
            ledger.tick()
            J = forms.slopes(v, k)
            r = forms.b - 0.5 * (J @ v)
            value = 0.5 * float(r @ r) + 0.5 * pays * float(v @ v)
            if value <= target:
                break
            slope = pays * v - J.T @ r
            step, damping = self._step(forms, J, r, slope, pays, damping, k)
            t, gain = _length(r, J @ step, forms.image(step, k), slope, step, pays)
            damping = min(self.most, damping * 8.0) if t < 0.2 else max(self.least, damping / 8.0) if t > 0.8 else damping
            v = v + t * step
            idle = idle + 1 if gain <= self.fall * value else 0
            if idle >= self.idle or not t:
                break
        r = forms.b - forms.image(v, k)
        return v, 0.5 * float(r @ r)

    def _step(
        self, forms: Forms, J: FloatArray, r: FloatArray, slope: FloatArray, pays: float, damping: float, k: int
    ) -> tuple[FloatArray, float]:
        """A direction downhill, with as little damping as makes the curvature positive."""
        H, bend = J.T @ J, forms.bend(r, k)
        seen = np.diag(H) + pays + np.abs(bend).sum(axis=1)  # damped by as much the curvature cannot be negative
        seen = np.maximum(seen, self.floor * max(float(seen.max()), 1e-300))
        H -= bend
        H.flat[:: len(H) + 1] += pays
        while True:
            bent = H.copy()
            bent.flat[:: len(H) + 1] += damping * seen
            factor, bad = scipy.linalg.lapack.dpotrf(bent, lower=1, clean=0, overwrite_a=1)
            if not bad:
                return -scipy.linalg.lapack.dpotrs(factor, slope, lower=1)[0], damping
            damping = max(1e-6, 4.0 * damping)


def _length(
    r: FloatArray, along: FloatArray, square: FloatArray, slope: FloatArray, step: FloatArray, pays: float
) -> tuple[float, float]:
    """The t > 0 for which v + t step is lowest, and by how much: r(t) = r - t along - t^2 square is all there is."""
    a1 = float(slope @ step)
    a2 = 0.5 * float(along @ along) - float(r @ square) + 0.5 * pays * float(step @ step)
    a3, a4 = float(along @ square), 0.5 * float(square @ square)
    roots = np.roots([4 * a4, 3 * a3, 2 * a2, a1]) if a4 > 0 else np.array([-0.5 * a1 / a2 if a2 > 0 else 0.0])
    real = roots[np.abs(roots.imag) <= 1e-8 * np.abs(roots)].real
    tried = real[real > 0]
    if not tried.size:
        return 0.0, 0.0
    falls = -(tried * (a1 + tried * (a2 + tried * (a3 + tried * a4))))
    best = int(np.argmax(falls))
    return (float(tried[best]), float(falls[best])) if falls[best] > 0 else (0.0, 0.0)
