"""A gauge from the support function alone: the slow and sure way, for small problems and for tests."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.linalg

from fewatoms._types import Array, FloatArray

BOX = 1e5  # a finite stand-in for "unbounded": how far a dual may go in directions that no atom opposes
OUTSIDE = 1e-7  # a share of x left over at that price is a distance from the cone of the atoms, not rounding
TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def gauge_by_cuts(atoms: Any, x: Array, tol: float = 1e-9, rounds: int = 2000) -> float:
    """gauge(x) = sup {<z, x> : support(z) <= 1}, by cutting planes.

    The linear program over the atoms found so far bounds the gauge from above, z / support(z) from below; each round
    adds the atom that z violates most. It stops when the two agree to `tol`, and returns infinity if x is no
    combination of atoms; if the rounds run out it returns the lower bound. Meant for real models of up to a hundred
    entries or so, and for bounded sets: rays have no support function to cut with.
    """
    if not atoms.bounded:
        raise ValueError(f"the gauge of {atoms!r} is not computed: one of its parts is a cone, whose gauge is 0")
    if np.iscomplexobj(x):
        raise TypeError(f"x must be real for the gauge of {atoms!r}; got an array of {np.asarray(x).dtype}")
    flat = np.asarray(x, dtype=np.float64).ravel()
    scale = float(np.abs(flat).max(initial=0.0))
    if scale == 0.0:
        return 0.0
    flat = flat / scale
    z = flat / float(np.dot(flat, flat))
    sigma = atoms.support(z.reshape(atoms.shape))
    if sigma <= 1e-14 * _reach(atoms) * float(np.linalg.norm(z)):
        return math.inf  # no atom points towards x
    best = 1.0 / sigma
    unit = float(np.abs(z).max()) / sigma  # the program's variables are z / unit, of moderate size
    rows = np.zeros((0, flat.size))
    duals = [z]
    for _ in range(rounds):
        rows = np.vstack([rows, *(_cut(atoms, z, unit) for z in duals)])
        result = _program(flat, rows)
        # the multipliers write x as a combination of the atoms found, plus what is left outside of their cone
        c = np.abs(result.ineqlin.marginals)
        outside = float(np.abs(result.lower.marginals).sum() + np.abs(result.upper.marginals).sum())
        upper = unit * (float(c.sum()) + (BOX * outside if outside > OUTSIDE else 0.0))
        duals = [unit * result.x]
        if outside <= OUTSIDE:  # the shortest z that fits the atoms in use does not wander where x does not ask it to
            used = rows[c > 1e-9 * c.max()]
            duals.append(unit * scipy.linalg.lstsq(used, np.ones(len(used)))[0])
        for z in duals:
            sigma = atoms.support(z.reshape(atoms.shape))
            best = max(best, float(np.dot(z, flat)) / sigma if sigma > 0 else math.inf)
        if upper <= best * (1 + tol):
            return math.inf if outside > OUTSIDE else upper * scale
        if len(rows) > 8 * flat.size + 50:  # cuts far from binding are forgotten, and found again if needed
            rows = rows[np.argsort(-(rows @ result.x), kind="stable")[: 5 * flat.size + 20]]
    return best * scale


def _cut(atoms: Any, z: FloatArray, unit: float) -> Array:
    """The atom that z exposes, as a row of the program; with its negative if that is an atom too."""
    face = atoms.exposed(z.reshape(atoms.shape), 0.0, 1)
    if face.dim == 0:
        return np.zeros((0, z.size))
    atom = unit * np.asarray(face.point(face.mean_atom()), dtype=np.float64).ravel()
    return np.array([atom, -atom] if atoms.centrosymmetric else [atom])


def _reach(atoms: Any) -> float:
    """The support function in a few directions of length one: what counts as large for this set."""
    directions = np.random.default_rng(0).standard_normal((2, atoms.n))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return max(atoms.support(d.reshape(atoms.shape)) for d in [*directions, *-directions])


def _program(x: FloatArray, rows: FloatArray) -> Any:
    """max <z, x> subject to rows z <= 1 in a large box; to HiGHS' common tolerance where its tight one fails."""
    from scipy.optimize import linprog

    ones = np.ones(len(rows))
    result = linprog(-x, A_ub=rows, b_ub=ones, bounds=(-BOX, BOX), options=TIGHT)
    return result if result.x is not None else linprog(-x, A_ub=rows, b_ub=ones, bounds=(-BOX, BOX))
