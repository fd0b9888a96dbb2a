"""What is known of x from |A x|^2 is x up to one phase (a sign, if all is real): helpers to compare such answers."""

from __future__ import annotations

from typing import Any

import numpy as np

from fewatoms import _checks
from fewatoms._types import Array


def align(x: Any, reference: Any) -> Array:
    """x times the phase (the sign, if both are real) that brings it nearest to `reference`.

    Parameters
    ----------
    x, reference : (n,) arrays, or (n, k) factors L of the same matrix L L^H
        A factor is multiplied by the unitary (orthogonal, if both are real) matrix that brings it nearest: for points
        of a plane or of space, which are known from their distances, by a rotation or reflection.
    """
    x, reference = _pair(x, reference)
    if x.ndim == 1:
        inner = np.vdot(x, reference)
        return x * (inner / np.abs(inner) if inner != 0 else 1.0)
    u, _, vh = np.linalg.svd(x.conj().T @ reference)
    return np.asarray(x @ (u @ vh))


def relative_error(x: Any, reference: Any) -> float:
    """|align(x, reference) - reference| / |reference|.

    Parameters
    ----------
    x, reference : (n,) arrays, or (n, k) factors
        As for `align`.
    """
    x, reference = _pair(x, reference)
    size = float(np.linalg.norm(reference))
    if size == 0:
        raise ValueError("reference must not be zero; got zeros only")
    return float(np.linalg.norm(align(x, reference) - reference)) / size


def _pair(x: Any, reference: Any) -> tuple[Array, Array]:
    arrays = np.asarray(x), np.asarray(reference)
    for name, array in zip(("x", "reference"), arrays, strict=True):
        if array.dtype.kind not in "biufc":
            raise TypeError(f"{name} must hold numbers; got an array of {array.dtype}")
        if array.ndim not in (1, 2) or array.size == 0:
            raise ValueError(f"{name} must have shape (n,) or (n, k); got {array.shape}")
        _checks.finite(name, array)
    if arrays[0].shape != arrays[1].shape:
        raise ValueError(f"x and reference must have one shape; got {arrays[0].shape} and {arrays[1].shape}")
    return arrays


__all__ = ["align", "relative_error"]
