"""Does an operator keep its contract?"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from fewatoms import linalg
from fewatoms._types import Array
from fewatoms.faces import Coordinates, Face, Factors, SymmetricFactors
from fewatoms.norms import dense
from fewatoms.operators import Operator, as_operator
from fewatoms.testing.of_operators import check_offered
from fewatoms.testing.restrictions import check_restriction
from fewatoms.testing.saying import Draw, equal, gaussian, generator, inner, orthonormal, require, same, unchanged


def check_operator(M: object, rng: object = None, *, tol: float = 1e-9, trials: int = 3) -> None:
    """Check that M and its adjoint belong together, that both are linear, that restrictions to faces agree with M, and
    every capability that it offers.

    <Mx, y> = <x, M*y>;  M(s x + t x') = s Mx + t Mx';  blocks and columns are products one by one;
    restrict(face).apply(c) = M point(c), with its transpose and normal equations.

    Parameters
    ----------
    M : anything that `Problem` takes as M
    rng : seed or Generator
    tol : float
        Relative. Operators that compute in single precision need about 1e-5.
    trials : int
        Random points an identity.
    """
    op, draw = as_operator(M), generator(rng)
    _check_shapes(op, draw)
    for _ in range(trials):
        _check_products(op, draw, tol)
    if not op.complex:
        _check_blocks(op, draw, tol)
    for face in _faces_for(op, draw):
        check_restriction(op, face, draw, tol)
    check_offered(op, draw, tol)


def _check_shapes(op: Operator, draw: Draw) -> None:
    m, n = op.shape
    require(m >= 1 and n >= 1, "shape has at least one row and one column", f"{op.shape}")
    require(math.prod(op.model_shape) == n, "model_shape has shape[1] entries", f"{op.model_shape} against {n}")
    complex_ = np.iscomplexobj(linalg.as_flat(op.adjoint(draw.standard_normal(m))))
    require(op.complex or not complex_, "M*y is real unless `complex` says otherwise", "a complex array")


def _draw_model(op: Operator, draw: Draw) -> Array:
    """A random point; Hermitian where M*y is complex, since only Hermitian matrices are measured then."""
    x = gaussian(draw, op.model_shape, op.complex)
    return x + x.conj().T if op.complex else x


def _check_products(op: Operator, draw: Draw, tol: float) -> None:
    m = op.shape[0]
    x, other = _draw_model(op, draw), _draw_model(op, draw)
    y, more = draw.standard_normal(m), draw.standard_normal(m)
    s, t = draw.standard_normal(2)
    x_before, y_before = x.copy(), y.copy()
    image = np.array(op.apply(x))
    require(image.shape == (m,), "apply(x) has shape (m,)", f"{image.shape} against {(m,)}")
    require(image.dtype.kind == "f", "apply(x) is real", f"an array of {image.dtype}")
    z = np.array(linalg.as_flat(op.adjoint(y)))
    require(z.size == op.shape[1], "adjoint(y) has n entries", f"{z.size} against {op.shape[1]}")
    unchanged("apply leaves x as it is", x, x_before)
    unchanged("adjoint leaves y as it is", y, y_before)
    size = float(np.linalg.norm(image) * np.linalg.norm(y) + np.linalg.norm(x) * np.linalg.norm(z))
    equal("adjoint identity <Mx, y> = <x, M*y>", float(image @ y), inner(x, z), size, tol)
    same("apply of a flat x = apply of x in the model's shape", op.apply(x.ravel()), image, tol)
    same("linearity M(s x + t x') = s Mx + t Mx'", op.apply(s * x + t * other), s * image + t * op.apply(other), tol)
    combined = np.array(linalg.as_flat(op.adjoint(s * y + t * more)))
    apart = s * z + t * linalg.as_flat(op.adjoint(more))
    same("linearity M*(s y + t y') = s M*y + t M*y'", combined, apart, tol)


def _check_blocks(op: Operator, draw: Draw, tol: float) -> None:
    m, n = op.shape
    some = draw.choice(n, size=min(n, 4), replace=False).astype(np.intp)
    same("columns(i) = M e_i", dense(op.columns(some)), dense(op.apply_block(np.eye(n)[:, some])), tol)
    for width in (0, 3):
        X, Y = draw.standard_normal((n, width)), draw.standard_normal((m, width))
        forward = np.array([op.apply(x) for x in X.T]).reshape(width, m).T
        same("apply_block(X) = M X", dense(op.apply_block(X)), forward, tol)
        back = np.array([linalg.as_flat(op.adjoint(y)) for y in Y.T]).reshape(width, n).T
        same("adjoint_block(Y) = M* Y", dense(op.adjoint_block(Y)), back, tol)
    if len(op.model_shape) == 2:
        U, V = (draw.standard_normal((side, 2)) for side in op.model_shape)
        same("apply_factors(U, V) = M(U V^T)", op.apply_factors(U, V), op.apply(U @ V.T), tol)


def _faces_for(op: Operator, draw: Draw) -> Iterator[Face]:
    """Random faces that live in the operator's model space."""
    shape, n = op.model_shape, op.shape[1]
    if not op.complex:
        some = draw.choice(n, size=min(n, 3), replace=False).astype(np.intp)
        yield Coordinates(some, draw.choice([-1.0, 1.0], size=some.size), shape)
    if len(shape) != 2:
        return
    p, q = shape
    if not op.complex:
        yield Factors(orthonormal(draw, p, min(p, 2)), orthonormal(draw, q, min(q, 3)))
    if p == q:
        yield SymmetricFactors(orthonormal(draw, p, min(p, 2), op.complex))
