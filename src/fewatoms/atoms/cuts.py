"""A gauge from the support function alone: the slow and sure way, for small problems and for tests."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fewatoms._types import Array


def gauge_by_cuts(atoms: Any, x: Array, tol: float = 1e-9, rounds: int = 2000) -> float:
    """gauge(x) = sup {<z, x> : support(z) <= 1}, by cutting planes.

    The linear program over the atoms found so far bounds the gauge from above, z / support(z) from below; each round
    adds the atom that z violates most. It stops when the two agree to `tol`, and returns infinity if x is no
    combination of atoms. Meant for models of up to a few hundred entries.
    """
    from scipy.optimize import linprog

    flat = np.asarray(x, dtype=np.float64).ravel()
    scale = float(np.abs(flat).max(initial=0.0))
    if scale == 0.0:
        return 0.0
    flat = flat / scale
    box = 1e7  # a finite stand-in for "unbounded": directions no atom opposes
    rows: list[Array] = []
    z = flat / float(np.dot(flat, flat))
    best = 0.0
    for _ in range(rounds):
        sigma = atoms.support(z.reshape(atoms.shape))
        if sigma > 0:
            best = max(best, float(np.dot(z, flat)) / sigma)
        face = atoms.exposed(z.reshape(atoms.shape), 0.0, 1)
        if face.dim:
            rows.append(np.asarray(face.point(face.mean_atom()), dtype=np.float64).ravel())
            if atoms.centrosymmetric:
                rows.append(-rows[-1])
        A = np.array(rows) if rows else None
        result = linprog(-flat, A_ub=A, b_ub=None if A is None else np.ones(len(rows)), bounds=(-box, box))
        z = result.x
        upper = -float(result.fun)
        if upper >= 0.1 * box and sigma <= 1 + tol:
            return math.inf
        if upper <= best * (1 + tol):
            return upper * scale
    return best * scale
