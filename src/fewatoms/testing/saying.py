"""What the checkers share: how a failure is told, and what is drawn at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from fewatoms import _checks, linalg
from fewatoms._types import Array, ModelDual

Draw: TypeAlias = np.random.Generator
Duals: TypeAlias = Callable[[np.random.Generator], ModelDual]


def require(holds: bool, identity: str, told: str) -> None:
    """Raise an AssertionError that names the identity, and tells what came instead, unless it holds."""
    if not holds:
        raise AssertionError(f"{identity} does not hold: {told}")


def equal(identity: str, left: float, right: float, size: float, tol: float) -> None:
    """left = right up to tol times size."""
    if left == right:
        return
    off = abs(left - right)
    told = f"{left:.17g} against {right:.17g}, {off:.3g} apart, allowed {tol:.3g} * {size:.3g}"
    require(off <= tol * size, identity, told)


def at_most(identity: str, left: float, right: float, size: float, tol: float) -> None:
    """left <= right up to tol times size."""
    if left <= right:
        return
    told = f"{left:.17g} is above {right:.17g} by {left - right:.3g}, allowed {tol:.3g} * {size:.3g}"
    require(left - right <= tol * size, identity, told)


def same(identity: str, left: Array, right: Array, tol: float, size: float = 0.0) -> None:
    """Two arrays agree up to tol times their size, or a larger one; the entry that differs most is told."""
    left, right = np.asarray(left), np.asarray(right)
    require(left.shape == right.shape, identity, f"shape {left.shape} against {right.shape}")
    if left.size == 0 or np.array_equal(left, right):
        return
    off = np.abs(left - right)
    at = np.unravel_index(int(np.argmax(np.where(np.isnan(off), np.inf, off))), off.shape)
    size = max(size, float(np.abs(left).max()), float(np.abs(right).max()))
    where = tuple(int(i) for i in at)
    told = f"{left[at]:.17g} against {right[at]:.17g} at {where}, {off[at]:.3g} apart, allowed {tol:.3g} * {size:.3g}"
    require(bool(off[at] <= tol * size), identity, told)


def unchanged(identity: str, now: Array, before: Array) -> None:
    """An array that was passed in is as it was."""
    require(np.array_equal(now, before), identity, "the array passed in was modified")


def inner(x: Array, z: ModelDual) -> float:
    """The real inner product of a point and a dual in any form."""
    return float(np.vdot(np.asarray(x).ravel(), linalg.as_flat(z)).real)


def generator(rng: object) -> Draw:
    """The generator of a checker: the same points for the same seed, and for none."""
    return _checks.generator(rng)


def gaussian(draw: Draw, shape: tuple[int, ...], complex_: bool = False) -> Array:
    """Independent normal numbers."""
    real: Array = draw.standard_normal(shape)
    return real + 1j * draw.standard_normal(shape) if complex_ else real


def orthonormal(draw: Draw, n: int, r: int, complex_: bool = False) -> Array:
    """r orthonormal columns."""
    return np.linalg.qr(gaussian(draw, (n, r), complex_))[0]
