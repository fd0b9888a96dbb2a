"""Reduced operators: c -> M point(c), its transpose and its normal equations."""

from __future__ import annotations

import numpy as np

from fewatoms.faces import Face
from fewatoms.operators import Operator
from fewatoms.reduced import ReducedOperator
from fewatoms.testing.saying import Draw, equal, require, same


def check_restriction(M: Operator, face: Face, draw: Draw, tol: float) -> None:
    """What `M.restrict(face)` gives."""
    check_reduced(f"restrict({type(face).__name__})", M.restrict(face), M, face, draw, tol)


def check_reduced(told: str, reduced: ReducedOperator, M: Operator, face: Face, draw: Draw, tol: float) -> None:
    """A reduced operator, however it was made, against M and the points of its face."""
    require(reduced.dim == face.dim, f"{told}.dim = face.dim", f"{reduced.dim} against {face.dim}")
    m = M.shape[0]
    c, b, weights = draw.standard_normal(face.dim), draw.standard_normal(m), draw.uniform(0.5, 2.0, m)
    image, pulled = reduced.apply(c), reduced.adjoint(b)
    same(f"{told}.apply(c) = M point(c)", image, M.apply(face.point(c)), tol)
    size = float(np.linalg.norm(image) * np.linalg.norm(b) + np.linalg.norm(c) * np.linalg.norm(pulled))
    equal(f"{told}: <R c, b> = <c, R*b>", float(image @ b), float(c @ pulled), size, tol)
    R = np.stack([M.apply(face.point(e)) for e in np.eye(face.dim)], axis=1) if face.dim else np.zeros((m, 0))
    some = weights * (draw.random(m) < 0.7)  # rows that are left out have weight 0
    for w, named in ((None, ""), (weights, " with weights"), (some, " with weights of 0")):
        G, h = reduced.normal_equations(b, w)
        WR = R if w is None else w[:, None] * R
        same(f"{told}.normal_equations: Gram matrix{named}", G, R.T @ WR, tol)
        same(f"{told}.normal_equations: right-hand side{named}", h, WR.T @ b, tol)
    norms = reduced.norms()
    if norms is not None:
        same(f"{told}.norms() = |M a_i|", norms, np.linalg.norm(R, axis=0), tol)
