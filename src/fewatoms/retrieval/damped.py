"""Newton's method on factors, damped: for problems whose data are forms of the factors.

minimise |b - image(v)|^2 / 2. Curvature is exact, directions in which data say nothing are damped in units of what they
say elsewhere, and since images are quadratic in v the best length of a step is a root of a cubic: no step is ever
refused. Steps are solved for in the space of the unknowns or in that of the data, whichever is smaller. Huber's loss is
a few least squares: those that touch it where a step begins, and along the step where it has come to.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from fewatoms import ledger
from fewatoms._types import Array, FloatArray
from fewatoms.retrieval.forms import Forms, loss_of, parabola

ALONG = 5  # of least squares along a step


@dataclass(frozen=True)
class Damped:
    """How Newton's steps go.

    steps : at most
    first, least, most : damping, as a share of the curvature of the data: of the first step, and its limits
    floor : curvatures below this share of the largest count as that much: what data do not see is not moved by rounding
    fall, idle : the search is over when so many steps in a row bring less than this share of the value
    side : of the system that a step is solved with, at most: the smaller of unknowns and data
    room : numbers of all slopes of an image, at most
    """

    steps: int = 80
    first: float = 1e-3
    least: float = 1e-10
    most: float = 10.0
    floor: float = 1e-12
    fall: float = 1e-9
    idle: int = 2
    side: int = 1000
    room: float = 4e6

    def affordable(self, m: int, unknowns: int) -> bool:
        """Whether steps cost little."""
        return min(m, unknowns) <= self.side and float(m) * unknowns <= self.room

    def descend(self, forms: Forms, v: FloatArray, k: int, target: float = 0.0) -> tuple[FloatArray, float]:
        """From v downhill, until the value is at most `target` or hardly falls; and the value there."""
        damping, idle = self.first, 0
        for _ in range(self.steps):
            ledger.tick()
            J = forms.slopes(v, k)
            r = forms.b - 0.5 * (J @ v)
            value = loss_of(forms, r)
            if value <= target:
                break
            step, damping = self._step(_touched(forms, J, r), k, damping)
            t, gain = _along(forms, r, J @ step, forms.image(step, k))
            if t < 0.2:
                damping = min(self.most, 8.0 * damping)
            elif t > 0.8:
                damping = max(self.least, damping / 8.0)
            v = v + t * step
            idle = idle + 1 if gain <= self.fall * value else 0
            if idle >= self.idle or not t:
                break
        return v, loss_of(forms, forms.b - forms.image(v, k))

    def _step(self, at: _Touched, k: int, damping: float) -> tuple[FloatArray, float]:
        """A direction downhill, with as little damping as makes the curvature positive, and that damping."""
        J, r, core = at.J, at.r, at.core
        m, size = J.shape
        seen = np.einsum("ij,ij->j", J, J) + np.repeat(np.abs(core).sum(axis=1), size // len(core))
        seen = np.maximum(seen, self.floor * max(float(seen.max()), 1e-300))
        wide = size > m
        bent = J if at.bent is None else J[at.bent]
        H = None if wide else bent.T @ bent - spread(core, k)
        while True:
            step = _by_data(J, r, core, damping * seen) if H is None else _by_unknowns(H, J.T @ r, damping * seen)
            if step is not None:
                return step, damping
            damping = max(1e-6, 4.0 * damping)  # enough of it makes all curvatures positive


@dataclass(frozen=True, eq=False)
class _Touched:
    """Slopes and residual of the least squares that touch the loss, their core, and which data bend the loss itself:
    all where there is no telling."""

    J: FloatArray
    r: FloatArray
    core: Array
    bent: Array | None = None


def _touched(forms: Forms, J: FloatArray, r: FloatArray) -> _Touched:
    root = parabola(forms, r)
    if root is None:
        return _Touched(J, r, forms.core(r))
    return _Touched(root[:, None] * J, root * r, forms.core(root**2 * r), root == 1.0)


def _along(forms: Forms, r: FloatArray, along: FloatArray, square: FloatArray) -> tuple[float, float]:
    """The best t > 0 of r - t along - t^2 square, or one that is nearly as good, and by how much the loss falls."""
    if forms.limits is None:
        return _length(r, along, square)
    t, first = 0.0, loss_of(forms, r)
    value, left = first, r
    for _ in range(ALONG):
        root = parabola(forms, left)
        assert root is not None
        trial, _ = _length(root * r, root * along, root * square)
        left = r - trial * along - trial**2 * square
        before, value = value, loss_of(forms, left)
        if not value < before:
            return t, first - before
        t = trial
    return t, first - value


def spread(core: Array, k: int) -> FloatArray:
    """A matrix that acts on each of k columns of unknowns, over the flat real unknowns."""
    n, eye = len(core), np.eye(k)
    if not np.iscomplexobj(core):
        return np.einsum("ij,ab->iajb", core, eye).reshape(n * k, n * k)
    parts = np.array([[core.real, -core.imag], [core.imag, core.real]])
    return np.einsum("stij,ab->iasjbt", parts, eye).reshape(2 * n * k, 2 * n * k)


def _by_unknowns(H: FloatArray, h: FloatArray, damping: FloatArray) -> FloatArray | None:
    """(H + diag(damping))^-1 h; None where that is not positive definite."""
    bent = H.copy()
    bent.flat[:: len(H) + 1] += damping
    factor, bad = scipy.linalg.lapack.dpotrf(bent, lower=1, clean=0, overwrite_a=1)
    return None if bad else np.asarray(scipy.linalg.lapack.dpotrs(factor, h, lower=1)[0])


def _by_data(J: FloatArray, r: FloatArray, core: Array, damping: FloatArray) -> FloatArray | None:
    """(J^T J + B)^-1 J^T r = B^-1 J^T (I + J B^-1 J^T)^-1 r, where B = damping - core is the same for all columns; None
    where it is not positive definite."""
    m, n = len(J), len(core)
    rows = damping.reshape(n, -1).max(axis=1)
    try:
        factor = scipy.linalg.cho_factor(np.diag(rows) - core, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    whole = J.view(core.dtype).reshape(m, n, -1).transpose(1, 0, 2).reshape(n, -1)  # J as matrices, side by side
    solved = scipy.linalg.cho_solve(factor, whole, check_finite=False).reshape(n, m, -1).transpose(1, 0, 2)
    far = np.ascontiguousarray(solved).reshape(m, -1).view(np.float64)
    inner = J @ far.T
    inner.flat[:: m + 1] += 1.0
    units = 1.0 / np.sqrt(np.diag(inner))
    lower, bad = scipy.linalg.lapack.dpotrf(units[:, None] * inner * units, lower=1, clean=0)
    if bad:
        return None
    return np.asarray((units * scipy.linalg.lapack.dpotrs(lower, units * r, lower=1)[0]) @ far)


def _length(r: FloatArray, along: FloatArray, square: FloatArray) -> tuple[float, float]:
    """The t > 0 for which r - t along - t^2 square is shortest, and by how much half its square falls."""
    a1 = -float(along @ r)
    a2 = 0.5 * float(along @ along) - float(r @ square)
    a3, a4 = float(along @ square), 0.5 * float(square @ square)
    if not math.isfinite(a1 + a2 + a3 + a4):
        return 0.0, 0.0
    straight = a4 <= 1e-30 * abs(a2)  # a step so small that images do not bend along it, or none
    roots = np.array([-0.5 * a1 / a2 if a2 > 0 else 0.0]) if straight else np.roots([4 * a4, 3 * a3, 2 * a2, a1])
    real = roots[np.abs(roots.imag) <= 1e-8 * np.abs(roots)].real
    tried = real[real > 0]
    if not tried.size:
        return 0.0, 0.0
    falls = -(tried * (a1 + tried * (a2 + tried * (a3 + tried * a4))))
    best = int(np.argmax(falls))
    return (float(tried[best]), float(falls[best])) if falls[best] > 0 else (0.0, 0.0)


__all__ = ["Damped", "spread"]
