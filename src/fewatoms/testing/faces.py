"""Does a face keep its contract?"""

from __future__ import annotations

import math

import numpy as np

from fewatoms import linalg
from fewatoms._types import FloatArray, ModelDual
from fewatoms.faces import Face
from fewatoms.operators import Quadratic, as_operator
from fewatoms.testing.restrictions import check_restriction
from fewatoms.testing.saying import Draw, Duals, at_most, equal, gaussian, generator, inner, require, same, unchanged

BASIS_LIMIT = 1_000_000  # numbers in the basis of a merged face at most, to see what it holds


def check_face(
    face: Face,
    rng: object = None,
    *,
    tol: float = 1e-8,
    other: Face | None = None,
    duals: Duals | None = None,
) -> None:
    """Check a face: points and their transpose, projection, pruning, merging, restriction, turning.

    <point(c), z> = <c, adjoint(z)>;  project(c) is allowed and nearest to c;  prune(c, k) has at most k atoms, and the
    same point where the face has no more;  merge holds the points of both faces;  restrict(M).apply(c) = M point(c);
    fold(unfold(c)) has the same point, and pull(v, z) is the gradient of <z, point> by v.

    Parameters
    ----------
    face : Face
    rng : seed or Generator
    tol : float
        Relative, for identities that hold to rounding. Differences are compared to 1e-5.
    other : Face, optional
        Another face of the same set, to merge with; only parts of the face itself by default.
    duals : callable, optional
        Draws a dual z from a Generator; Gaussian arrays of the face's shape by default.

    Notes
    -----
    What a merged face holds is seen by least squares, up to a million numbers in the points of its basis and not
    beyond. Restrictions of complex faces are tried where their points are square matrices.
    """
    draw = generator(rng)
    complex_ = np.iscomplexobj(face.point(np.zeros(face.dim)))
    fresh = duals if duals is not None else lambda g: gaussian(g, face.shape, complex_)
    check_coefficients(face, fresh(draw), draw, tol)
    _check_pruning(face, draw, tol)
    _check_merging(face, other, draw, tol)
    if face.dim and not complex_:
        check_restriction(as_operator(draw.standard_normal((4, math.prod(face.shape)))), face, draw, tol)
    elif face.dim and len(face.shape) == 2 and face.shape[0] == face.shape[1]:
        check_restriction(Quadratic(gaussian(draw, (5, face.shape[0]), True)), face, draw, tol)
    _check_turning(face, fresh(draw), draw, tol)


def leaves(face: Face) -> list[Face]:
    """The faces that a face of sums is made of."""
    return [face] if face.parts[0] is face else [leaf for part in face.parts for leaf in leaves(part)]


def check_coefficients(face: Face, z: ModelDual, draw: Draw, tol: float) -> None:
    """Points and their transpose, and the projection onto what is allowed."""
    name = type(face).__name__
    c = draw.standard_normal(face.dim)
    before = c.copy()
    x, pulled = face.point(c), face.adjoint(z)
    require(x.shape == face.shape, f"{name}.point(c) has the model's shape", f"{x.shape} against {face.shape}")
    require(pulled.shape == c.shape, f"{name}.adjoint(z) has dim entries", f"{pulled.shape} against {c.shape}")
    size = float(np.linalg.norm(x) * np.linalg.norm(linalg.as_flat(z)) + np.linalg.norm(c) * np.linalg.norm(pulled))
    equal(f"{name}: <point(c), z> = <c, adjoint(z)>", inner(x, z), float(c @ pulled), size, tol)
    near = face.project(c)
    unchanged(f"{name} leaves c as it is", c, before)
    same(f"{name}: project(project(c)) = project(c)", face.project(near), near, tol)
    for d in draw.standard_normal((4, face.dim)):
        size = float(np.linalg.norm(c) * np.linalg.norm(d))
        beyond = float((c - near) @ (face.project(d) - near))
        at_most(f"{name}: project(c) is nearest, <c - Pc, d - Pc> <= 0 for allowed d", beyond, 0.0, size, tol)
    mean = face.mean_atom()
    same(f"{name}.mean_atom() is allowed", face.project(mean), mean, tol)


def _check_pruning(face: Face, draw: Draw, tol: float) -> None:
    name = type(face).__name__
    c = face.project(draw.standard_normal(face.dim))
    before, x = c.copy(), face.point(c)
    for norms in (None, draw.uniform(0.5, 2.0, face.dim)):
        for k in sorted({0, 1, 2, face.size, face.size + 1}):
            smaller, d = face.prune(c, k, norms)
            most = min(k, face.size)
            told = f"{smaller.size} against {most}"
            require(smaller.size <= most, f"{name}.prune(c, k) has at most k atoms, and no new ones", told)
            require(d.shape == (smaller.dim,), f"{name}.prune: one coefficient for each of dim", f"{d.shape}")
            same(f"{name}.prune(c, k): coefficients are allowed", smaller.project(d), d, tol)
            if k >= face.size:
                same(f"{name}.prune(c, size) has the same point", smaller.point(d), x, tol)
            for leaf, p in zip(leaves(smaller), _split(smaller, d), strict=True):
                told = f"{len(leaf.labels())} and {len(leaf.values(p))} against {leaf.size}"
                named = len(leaf.labels()) == len(leaf.values(p)) == leaf.size
                require(named, f"{name}: one label and one value for each atom", told)
    empty, _ = face.prune(0.0 * c, face.size)
    require(empty.size == 0, f"{name}.prune drops what contributes nothing", f"{empty.size} atoms of the point 0")
    unchanged(f"{name}.prune leaves c as it is", c, before)


def _split(face: Face, c: FloatArray) -> list[FloatArray]:
    """The coefficients of each of the leaves."""
    if face.parts[0] is face:
        return [c]
    return [q for part, p in zip(face.parts, face.split(c), strict=True) for q in _split(part, p)]


def _check_merging(face: Face, other: Face | None, draw: Draw, tol: float) -> None:
    name = type(face).__name__
    half = (face.size + 1) // 2
    first, second = (face.prune(face.project(draw.standard_normal(face.dim)), half)[0] for _ in range(2))
    for a, b in [(first, second), (second, face), (face, face)] + ([] if other is None else [(face, other)]):
        both = a.merge(b)
        told = f"{both.size} of {a.size} and {b.size}"
        require(both.size <= a.size + b.size, f"{name}.merge has no atoms but those of both", told)
        if a is b:
            require(both.size <= a.size, f"{name}.merge with itself adds nothing", told)
        if math.prod(face.shape) * max(1, both.dim) > BASIS_LIMIT:
            continue
        basis = _basis(both)
        for part in (a, b):
            points = _basis(part)
            found = basis @ np.linalg.lstsq(basis, points, rcond=None)[0]
            same(f"{name}.merge holds the points of both faces", found, points, tol)


def _basis(face: Face) -> FloatArray:
    """The points of the unit vectors as real columns: a complex entry is two rows."""
    points = np.array([face.point(e).ravel() for e in np.eye(face.dim)]).reshape(face.dim, math.prod(face.shape)).T
    return np.concatenate([points.real, points.imag])


def _check_turning(face: Face, z: ModelDual, draw: Draw, tol: float) -> None:
    name, turning = type(face).__name__, face.turning()
    if turning is None:
        return
    c = face.project(draw.standard_normal(face.dim))
    v, lower = turning.unfold(c), turning.lower()
    require(v.shape == lower.shape, f"{name}: one lower bound for each unknown", f"{lower.shape} against {v.shape}")
    below = float((lower - v).max(initial=0.0))
    at_most(f"{name}: unfold(c) keeps the lower bounds", below, 0.0, 1.0, tol)
    turned, d = turning.fold(v)
    require(turned.size <= face.size, f"{name}.fold has no more atoms", f"{turned.size} against {face.size}")
    same(f"{name}: fold(unfold(c)) has the same point", turned.point(d), face.point(c), tol)
    v = v + 0.1 * draw.standard_normal(v.size)
    gradient, h = turning.pull(v, z), 1e-5

    def value(unknowns: FloatArray) -> float:
        moved, e = turning.fold(unknowns)
        return inner(moved.point(e), z)

    for _ in range(3):
        step = draw.standard_normal(v.size)
        slope = (value(v + h * step) - value(v - h * step)) / (2 * h)
        size = float(np.linalg.norm(gradient) * np.linalg.norm(step))
        equal(f"{name}: <pull(v, z), d> = derivative of <z, point> along d", float(gradient @ step), slope, size, 1e-5)
